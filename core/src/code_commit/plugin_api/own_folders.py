"""The platform's folders for the user's own files of code-commit."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from code_commit.plugin_api.errors import NotReady


def config_folder() -> Path:
    """Return the folder of the configuration, which may not exist.

    Raises:
        NotReady: this account has no home folder.
    """
    from platformdirs import user_config_path

    _require_home("XDG_CONFIG_HOME")
    return user_config_path("code-commit", appauthor=False)


def cache_folder() -> Path:
    """Return the folder of what can be made again, which may not exist.

    Raises:
        NotReady: this account has no home folder.
    """
    from platformdirs import user_cache_path

    _require_home("XDG_CACHE_HOME")
    return user_cache_path("code-commit", appauthor=False)


def _require_home(variable: str) -> None:
    """Check that there is a home folder, or a folder that `variable` names instead."""
    # Versions of platformdirs differ in what they do without one.
    if os.environ.get("HOME") or os.environ.get(variable):
        return
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        raise NotReady("this account has no home folder", hint="set HOME to one") from None
