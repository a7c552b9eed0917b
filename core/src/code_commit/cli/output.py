"""Print errors and notes on stderr, and the last event of a run that did not start, without keys."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from code_commit.plugin_api.errors import ExitCode
from code_commit_workspace import printable

if TYPE_CHECKING:
    from code_commit.plugins.registry import Registry
    from code_commit_workspace import Redactor

_loaded: list[Registry] = []


def redact_secrets_of(registry: Registry) -> Registry:
    """Redact the secrets that its plugins declare in everything that the command prints from now on."""
    _loaded.append(registry)
    return registry


def redacted(text: str) -> str:
    """Return the text of an error without keys and without values that look like keys."""
    from code_commit.config.keys import likely_keys

    return redactor_of_all(likely_keys(os.environ)).text(text)


def redactor_of_all(keys: Iterable[str] = ()) -> Redactor:
    """Return a redactor of the `keys`, the keys that are configured here and the loaded plugins' secrets."""
    from pathlib import Path

    from code_commit.config.keys import KeyStore
    from code_commit.plugin_api.errors import CodeCommitError
    from code_commit.plugins import first_party
    from code_commit_workspace import Redactor

    redactor = Redactor(keys)
    with suppress(CodeCommitError, OSError):  # another message reports this
        variables = first_party.names("key_variable").union(*(each.secret_variables() for each in _loaded))
        KeyStore(Path.cwd(), redactor.add, os.environ).redact_all(variables)
    return redactor


def print_error(message: str, hint: str = "", *, folder: str = "") -> None:
    """Print an error on stderr: what happened and what to do."""
    lines = [f"code-commit: {message}"]
    if hint:
        lines.append(f"  what to do: {hint}")
    if folder:
        lines.append(f"  the log: {folder}")
    # Indented, a further line of a message cannot look like one of ours.
    indented = (line.replace("\n", "\n    ") for line in lines)
    print_note(redacted("\n".join(indented)))


def print_note(text: str) -> None:
    """Write `text` to stderr, escaped. A closed stderr changes no exit code."""
    from code_commit_workspace import SafeStream

    stream = SafeStream(sys.stderr)
    stream.write(printable(text) + "\n")
    stream.flush()


def print_run_finished(exit_code: ExitCode, summary: str, hint: str = "") -> None:
    """Print `run.finished` for a run that did not start."""
    from code_commit.log.json_lines import JsonLines, data_of
    from code_commit.plugin_api.event import Record, RunFinished

    data = {"hint": redacted(hint)} if hint else {}
    end = RunFinished(exit_code.outcome, int(exit_code), redacted(summary), data)
    record = Record(seq=1, time=time.time(), run="", span=0, parent=None, kind=end.kind, data=data_of(end))
    with suppress(OSError):  # the exit code tells it too
        JsonLines(sys.stdout).receive(record)
