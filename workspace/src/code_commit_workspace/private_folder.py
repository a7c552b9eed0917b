"""The line in `.gitignore` without which no key is read (seed 001, "Safety")."""

from __future__ import annotations

from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.small_file import read_in_project

_FOLDER = "agent-config"
_LINES = {f"{before}{_FOLDER}{after}" for before in ("", "/") for after in ("", "/")}
_LIMIT = 16 * 1024 * 1024
_HINT = f"add the line /{_FOLDER} to the project's .gitignore, so that no key can be committed"


def require_gitignore_line(root: Path) -> None:
    """Return when `.gitignore` in `root` keeps git from taking in `agent-config`.

    Raises:
        NotReady: the file or the line is missing, or a later line takes it back.
    """
    content = read_in_project(root, ".gitignore", limit=_LIMIT)
    if content is None:
        raise NotReady(f"{root / '.gitignore'} is missing, and with it the line /{_FOLDER}", hint=_HINT)
    lines = [_pattern(line) for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    wanted = [number for number, line in enumerate(lines) if line in _LINES]
    if not wanted:
        raise NotReady(f"{root / '.gitignore'} holds no line for /{_FOLDER}", hint=_HINT)
    for number, line in enumerate(lines[wanted[-1] :], start=wanted[-1] + 1):
        if line.startswith("!") and _takes_back(line):
            raise NotReady(
                f"line {number} of {root / '.gitignore'} takes the line for /{_FOLDER} back",
                hint=f"move the line /{_FOLDER} to the end of the file",
            )


def _pattern(line: bytes) -> str:
    """The pattern as git reads the line: without its CR and its trailing blanks."""
    text = line.removesuffix(b"\r").decode("utf-8", "surrogateescape")
    stripped = text.rstrip(" ")
    return text if stripped.endswith("\\") else stripped


def _takes_back(negation: str) -> bool:
    """Whether a negated pattern matches the folder. What lies in an ignored folder cannot be taken back by itself."""
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines([negation[1:]]).match_file(f"{_FOLDER}/")
    except ValueError:  # git passes over what is no pattern
        return False
