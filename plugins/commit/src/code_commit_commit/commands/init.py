"""`code-commit init`: what a project needs before its first run, as far as it is missing."""

from __future__ import annotations

import errno
import os
import stat
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from code_commit.plugin_api import ExitCode, Host, NotReady
from code_commit_commit.languages import Language, language_of
from code_commit_workspace import Git, GitError, ProjectTree, require_gitignore_line

_DESCRIPTION = """\
Make what a project needs before its first run, as far as it is missing: agent-config with a sample query, the line \
/agent-config in .gitignore, and a build.sh and a codeRollup.sh for the language found. What is there stays as it is.
"""
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

_IN_THE_WAY = {errno.ELOOP: "it is a link", errno.ENOTDIR: "it is a link or a file, no folder"}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `init`."""
    parser.description = _DESCRIPTION
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")


def init(host: Host, arguments: Namespace) -> int:
    """Make what is missing in the working directory; nothing that is there is altered, but `.gitignore` gets its line.

    Raises:
        NotReady: something else stands where a file should be, or nothing can be written here.
    """
    root = host.root
    try:
        with ProjectTree(root) as tree:
            language = language_of(path.name for path in root.iterdir())
            created, kept = _lay_out(tree, language)
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) else "a file"
        why = _IN_THE_WAY.get(error.errno or 0) or error.strerror
        raise NotReady(f"{where} cannot be made in {root}: {why}", hint="see what stands there") from error
    if arguments.json:
        host.out.document({"language": language.name, "created": created, "kept": kept})
        return ExitCode.REACHED
    for path in created:
        host.out.line(f"made  {path}")
    for path in kept:
        host.out.line(f"kept  {path}")
    host.out.note(
        "\n" + (f"build.sh is written for {language.name}. " if "build.sh" in created else "") + _NEXT.rstrip()
    )
    for line in _of_git(Git(root), language):
        host.out.note(f"\n{line}")
    return ExitCode.REACHED


def _of_git(git: Git, language: Language) -> Iterator[str]:
    """Say what git still lacks: a repository, or lines for what the build will leave behind."""
    try:
        git.require_repository()
        seen = sorted(set(language.leaves) - git.ignored(language.leaves))
    except GitError:
        return
    except NotReady as error:
        yield f"{error}: {error.hint} first, for only git can show the change."
        return
    if seen:
        yield f"The build may leave {' and '.join(seen)} behind: add what git should not see to .gitignore."


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
    end = b"\r\n" if content and b"\r\n" in content else b"\n"
    with open(handle, "ab") as file:  # noqa: PTH123 - a handle
        file.write(end * bool(content and not content.endswith(b"\n")) + b"/agent-config" + end)
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
            if stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                return False
            raise OSError(errno.EEXIST, "what stands there is no regular file", path) from None
    with open(handle, "w", encoding="utf-8") as file:  # noqa: PTH123 - a handle
        file.write(text)
    return True
