"""The environment of a process: the user's, without keys."""

from __future__ import annotations

import os
from collections.abc import Mapping

from code_commit_workspace.proxy import is_proxy, without_password
from code_commit_workspace.records import SandboxSettings
from code_commit_workspace.redaction import Redactor


def without_keys(environment: Mapping[str, str], redactor: Redactor, settings: SandboxSettings) -> dict[str, str]:
    """Return `environment` without the secret variables of `settings`, and without values that hold a key.

    A proxy keeps its password: a build needs it for the network.
    """
    return {
        name: value
        for name, value in environment.items()
        if name not in settings.secret_variables
        and not name.startswith(settings.secret_prefixes)
        and not redactor.holds_key(os.fsencode(without_password(value) if is_proxy(name) else value))
    }
