"""Check that the interpreter in a script's first line can start, as the kernel and `env` do."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.path_kinds import exists, is_file, is_link

BLANKS = " \t"  # what the kernel splits at
_FIRST_BLANKS = re.compile("[ \t]+")
_MOST_SCRIPTS = 4  # that Linux starts one through the other
_BEGINNING = 256  # bytes of a program that Linux looks at
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SPLIT_STRING = re.compile(r"(?:(?P<flags>-[i0v]*)S|--split-string=)(?P<words>.*)", re.DOTALL)
_EXPANDED_BY_ENV = frozenset("\\$#")
_FLAGS = re.compile(r"-[i0v]*|--ignore-environment|--null|--debug")
_WITH_VALUE = frozenset({"-u", "--unset"})
_USUAL_PATH = f"/usr/local/bin:{os.defpath}"  # without the variable


def hiding_nothing(path: str) -> str:  # noqa: ARG001 - as every such function
    """Return an empty text: builds see every path."""
    return ""


def interpreter_named(words: str) -> tuple[str, str]:
    """Return the interpreter and the argument that the `words` after `#!` name."""
    interpreter, *argument = _FIRST_BLANKS.split(words, 1)
    if "/" not in interpreter:
        interpreter = f"./{interpreter}"
    return interpreter, "".join(argument)


def require_interpreter(
    root: Path,
    script: str,
    words: str,
    hiding: Callable[[str], str],
    scripts: int = 0,
) -> None:
    """Check the interpreter that the first line of `script` names in `words`, and its own one.

    Relative paths begin at `root`, where builds start. `scripts` is how many scripts started this
    one.

    Raises:
        NotReady: it is missing, hidden or cannot start.
    """
    interpreter, argument = interpreter_named(words)
    _require_file(root, script, interpreter, hiding)
    own_words = _own_words(root, script, interpreter)
    if own_words:
        if scripts == _MOST_SCRIPTS:
            raise NotReady(
                f"Linux does not start {script}: too many scripts are interpreters of each other",
                hint=f"name a program in the first line of {script}",
            )
        require_interpreter(root, interpreter, own_words, hiding, scripts + 1)
    if Path(interpreter).name == "env":
        _require_program_of_env(root, script, argument, hiding)


def _require_file(root: Path, script: str, interpreter: str, hiding: Callable[[str], str]) -> None:
    """Check that the interpreter is a file that can be executed.

    Raises:
        NotReady: it is not, or it is hidden.
    """
    path = root / interpreter
    subject = f"the interpreter {interpreter}, which the first line of {script} names,"
    hint = f"install it, or correct the first line of {script}"
    place = ""
    if not interpreter.startswith("/"):
        env = f"#!/usr/bin/env {Path(interpreter).name}"
        hint = f"use its absolute path, or `{env}` if it is on PATH"
        place = f" in {root}"
    if is_link(path) and not exists(path):
        raise NotReady(f"{subject} is a link to {path.readlink()}, which is missing", hint=hint)
    if not exists(path):
        raise NotReady(f"{subject} does not exist{place}", hint=hint)
    if not (os.access(path, os.X_OK) and is_file(path)):
        raise NotReady(f"{subject} is not an executable file{place}", hint=hint)
    hidden_in = hiding(str(path))
    if hidden_in:
        raise _hidden(subject, hidden_in)


def _hidden(subject: str, place: str) -> NotReady:
    return NotReady(
        f"{subject} is in {place}, which builds in the sandbox do not see",
        hint="use one in another folder, or pass --sandbox off",
    )


def _own_words(root: Path, script: str, interpreter: str) -> str:
    """Return what follows `#!` if the interpreter is itself a script.

    Raises:
        NotReady: it is a text without a first line, which Linux does not start.
    """
    try:
        with (root / interpreter).open("rb") as file:
            beginning = file.read(_BEGINNING)
    except OSError:
        return ""  # it may be executable without being readable
    first_line = beginning.partition(b"\n")[0]
    words = os.fsdecode(first_line.removeprefix(b"#!")).strip(BLANKS)
    if first_line.startswith(b"#!") and words:
        return words
    if b"\0" in beginning:
        return ""
    raise NotReady(
        f"the interpreter {interpreter}, which the first line of {script} names, is a text "
        "without a first line such as #!/bin/sh: Linux does not start it",
        hint="add a first line that names its own interpreter",
    )


@dataclass(frozen=True, slots=True)
class _Started:
    """What `env` starts; without the variable PATH unless `has_path`."""

    program: str
    has_path: bool = True


def _require_program_of_env(
    root: Path,
    script: str,
    argument: str,
    hiding: Callable[[str], str],
) -> None:
    """Check that the program which `env` would start is on PATH, if that is plain.

    Raises:
        NotReady: it is missing or hidden; or `env` has no such option.
    """
    if _is_no_option(argument):
        raise NotReady(
            f"env takes `{argument}` in the first line of {script} as one option, and has none of "
            "this name",
            hint=f"write `#!/usr/bin/env -S {argument}`",
        )
    started = _started_by_env(argument)
    if started is None:
        return
    program = started.program
    paths = _places(root, started)
    subject = f"{program}, which the first line of {script} names,"
    if not paths:
        hint = f"install {program}, or correct the first line of {script}"
        if " " in program:
            hint = f"env takes all of it as one name: write `#!/usr/bin/env -S {program}`"
        raise NotReady(f"{subject} was not found on PATH", hint=hint)
    hiding_places = [hiding(path) for path in paths]
    if all(hiding_places):
        raise _hidden(subject, hiding_places[0])


def _places(root: Path, started: _Started) -> list[str]:
    """Return the paths where `env` finds the program, in the order of PATH."""
    if "/" in started.program:
        path = str(root / started.program)
        return [path] if os.access(path, os.X_OK) else []
    searched = _USUAL_PATH
    if started.has_path:
        searched = os.environ.get("PATH", _USUAL_PATH)
    folders = [str(root / folder) for folder in searched.split(os.pathsep)]
    paths = (shutil.which(started.program, path=folder) for folder in folders)
    return [path for path in paths if path]


def _is_no_option(argument: str) -> bool:
    """Return whether `env` refuses an argument: it takes blanks in it as a part of the option."""
    option, _, words = argument.partition(" ")
    return bool(words) and (option == "--" or _FLAGS.fullmatch(option) is not None)


def _started_by_env(argument: str) -> _Started | None:
    """Return what `env` starts; None if that is not plain."""
    split = _SPLIT_STRING.fullmatch(argument)
    if split is None:
        if not argument or argument.startswith("-") or _ASSIGNMENT.match(argument):
            return None
        return _Started(argument)
    if _EXPANDED_BY_ENV & set(split["words"]):
        return None
    try:
        words = shlex.split(split["words"])
    except ValueError:
        return None
    return _started_by_words(words, has_path="i" not in (split["flags"] or ""))


def _started_by_words(words: list[str], *, has_path: bool) -> _Started | None:
    """Return what `env` starts with these arguments; None if that is not plain."""
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option == "--":
            break
        if option in _WITH_VALUE and words:
            if words.pop(0) == "PATH":
                has_path = False
        elif not _FLAGS.fullmatch(option):
            return None
        elif option in {"-", "--ignore-environment"} or "i" in option.partition("--")[0]:
            has_path = False
    if any(word.startswith("PATH=") for word in words):
        return None
    for word in words:
        if not _ASSIGNMENT.match(word):
            return _Started(word, has_path)
    return None
