"""The environment of a process: the user's, without keys."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from code_commit_workspace.redaction import Redactor


def without_keys(
    environment: Mapping[str, str],
    redactor: Redactor,
    secret_variables: Iterable[str],
    secret_prefixes: Iterable[str] = (),
) -> dict[str, str]:
    """Return `environment` without `secret_variables`, names with `secret_prefixes`, and values that hold a key."""
    secret, prefixes = frozenset(secret_variables), tuple(secret_prefixes)
    return {
        name: value
        for name, value in environment.items()
        if name not in secret and not name.startswith(prefixes) and not redactor.holds_key(os.fsencode(value))
    }
