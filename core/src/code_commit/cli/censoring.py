"""Keeps keys out of what is told outside of a run, where no session has found them."""

from __future__ import annotations

from contextlib import suppress


def censored(text: str) -> str:
    """Return `text` without the keys that are configured here, as far as they can be found."""
    import os
    from pathlib import Path

    from code_commit.config.keys import KeyStore, likely_keys
    from code_commit.plugin_api.errors import CodeCommitError
    from code_commit.plugins import first_party
    from code_commit_workspace.redaction import Redactor

    redactor = Redactor(likely_keys(os.environ))
    with suppress(CodeCommitError, OSError):  # why there is none is not what is to be told
        KeyStore(Path.cwd(), redactor, os.environ).censor_all(first_party.names("key_variable"))
    return redactor.text(text)
