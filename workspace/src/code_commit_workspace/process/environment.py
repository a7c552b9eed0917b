"""The environment of a process: the user's, without keys."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from code_commit_workspace.redaction import Redactor

_OURS = "CODE_COMMIT_"  # our settings, which may hold a key of any provider


def without_keys(environment: Mapping[str, str], redactor: Redactor, secret_variables: Iterable[str]) -> dict[str, str]:
    """Return `environment` without `secret_variables`, our settings, and any value that holds a live key."""
    secret = frozenset(secret_variables)
    return {
        name: value
        for name, value in environment.items()
        if name not in secret and not name.startswith(_OURS) and not redactor.holds_key(os.fsencode(value))
    }
