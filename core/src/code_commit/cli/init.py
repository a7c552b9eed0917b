"""`code-commit init`: what a project needs before its first run, as far as it is missing."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from code_commit.cli.arguments import Parser
from code_commit.gitignore_line import require_gitignore_line
from code_commit.languages import Language, language_of
from code_commit.project_tree import ProjectTree
from code_commit.records.errors import ExitCode, NotReady
from code_commit.terminal import printable

_QUERY = """\
Say here, in your own words, what is to be changed: what the program should do
afterwards, and how it will be seen that it does.
"""
_BUILD = """\
#!/usr/bin/env bash
# Judges the project: exit code 0 means that it is sound. code-commit runs it after every change.
set -euo pipefail
cd "$(dirname "$0")"

{commands}"""
_ROLLUP = """\
#!/usr/bin/env bash
# Collects the code that the model is shown into agent-config/codeRollup.txt.
# --include and --exclude take patterns as .gitignore writes them; `code-commit rollup --help` has the rest.
set -euo pipefail
cd "$(dirname "$0")"
exec code-commit rollup{left_out} "$@"
"""
_NEXT = """\
What to do next:

  1. write into agent-config/query.txt what is to be changed
  2. read build.sh: it must exit with 0 when the project is sound, and only then
  3. put your key, one line, into agent-config/gemini-key.txt (or openai-key.txt, anthropic-key.txt)
  4. code-commit rollup
  5. code-commit
"""


def init(argv: Sequence[str]) -> int:
    """Make what is missing in the working directory; nothing that is there is altered, but `.gitignore` gets its line.

    Raises:
        NotReady: something else stands where a file should be, or nothing can be written here.
    """
    parser = Parser(prog="code-commit init", description="Make what a project needs before its first run.")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    as_json = parser.parse_args(argv).json
    root = Path.cwd().resolve()
    try:
        with ProjectTree(root) as tree:
            language = language_of(path.name for path in root.iterdir())
            created, kept = _lay_out(tree, language)
    except OSError as error:
        where = os.fsdecode(error.filename) if error.filename else str(root)
        raise NotReady(f"{where} cannot be made in {root}: {error.strerror}", hint="see what stands there") from error
    if as_json:
        document = {"language": language.name, "created": created, "kept": kept}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return ExitCode.REACHED
    for path in created:
        sys.stdout.write(f"made  {path}\n")
    for path in kept:
        sys.stdout.write(f"kept  {path}\n")
    sys.stderr.write(printable(f"\nbuild.sh is written for {language.name}. ") + _NEXT)
    if not (root / ".git").exists():
        sys.stderr.write("\nThere is no git repository here: run `git init` first, for only git can show the change.\n")
    return ExitCode.REACHED


def _lay_out(tree: ProjectTree, language: Language) -> tuple[list[str], list[str]]:
    """Make each piece that is missing. Returns the paths that were made or added to, and those that were there."""
    options = "".join(f" --exclude '{pattern}'" for pattern in language.left_out)
    pieces = {
        "agent-config/query.txt": (_QUERY, 0o644),
        "build.sh": (_BUILD.format(commands=language.build), 0o755),
        "codeRollup.sh": (_ROLLUP.format(left_out=options), 0o755),
    }
    made = {".gitignore": _ignore_agent_config(tree), "agent-config/": _make_folder(tree, "agent-config")}
    made |= {path: _make_file(tree, path, text, mode) for path, (text, mode) in pieces.items()}
    return [path for path, new in made.items() if new], [path for path, new in made.items() if not new]


def _ignore_agent_config(tree: ProjectTree) -> bool:
    """Add the line that keeps keys out of git, at the end, where no other line takes it back."""
    try:
        require_gitignore_line(tree.root)
    except NotReady:
        pass
    else:
        return False
    content = tree.read(".gitignore")
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(".gitignore", flags, 0o644, dir_fd=tree.handle)
    with open(handle, "ab") as file:  # noqa: PTH123 - a handle
        file.write(b"\n" * bool(content and not content.endswith(b"\n")) + b"/agent-config\n")
    return True


def _make_folder(tree: ProjectTree, name: str) -> bool:
    try:
        os.mkdir(name, 0o700, dir_fd=tree.handle)
    except FileExistsError:
        with tree.folder(name):  # a link or a file is an error
            return False
    return True


def _make_file(tree: ProjectTree, path: str, text: str, mode: int) -> bool:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with tree.parent(path) as (folder, name):
        try:
            handle = os.open(name, flags, mode, dir_fd=folder)
        except FileExistsError:
            return False
    with open(handle, "w", encoding="utf-8") as file:  # noqa: PTH123 - a handle
        file.write(text)
    return True
