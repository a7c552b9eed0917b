"""What a command is, and the `Host` that it is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TextIO


@dataclass(frozen=True, slots=True)
class CommandDefinition:
    """A command that a plugin offers: `code-commit NAME`. Code is named as `"package.module:name"`, imported when used.

    `run` is a `Callable[[Host, argparse.Namespace], int]` that returns the exit code; `arguments` a
    `Callable[[argparse.ArgumentParser], None]` that adds the command's own arguments. `help` is one line.
    """

    name: str
    help: str
    run: str
    arguments: str | None = None


class Host(Protocol):
    """What a command may use of the host. Each part is made when it is asked for.

    `root` is the working directory, `argv0` the program as it was started, for hints that work as printed, `out` the
    stream for results.
    """

    root: Path
    environ: Mapping[str, str]
    argv0: str
    out: TextIO
