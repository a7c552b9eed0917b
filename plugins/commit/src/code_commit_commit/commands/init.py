"""`code-commit init`: create the files that a project needs before its first run."""

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
Create the files that a project needs before its first run: agent-config with a sample query, the line /agent-config \
in .gitignore, and a build.sh and a codeRollup.sh for the detected language. Existing files stay unchanged.
"""
_QUERY = """\
Describe the change here in your own words: what the program should do
afterwards, and how to verify it.
"""
_BUILD = """\
#!/usr/bin/env bash
# Builds and tests the project: exit code 0 means success. code-commit runs it after every change.
set -euo pipefail
cd "$(dirname "$0")"

{commands}"""
_ROLLUP = """\
#!/usr/bin/env bash
# Collects the code for the model in agent-config/codeRollup.txt.
# --include and --exclude take .gitignore patterns; see `code-commit rollup --help`.
set -euo pipefail
cd "$(dirname "$0")"
exec code-commit rollup{left_out} "$@"
"""
_NEXT = """\
Next steps:

  1. describe the change in agent-config/query.txt
  2. check build.sh: it must exit with 0 only if the project builds and its tests pass
  3. write your key, one line, to agent-config/gemini-key.txt (or openai-key.txt, anthropic-key.txt)
  4. code-commit rollup
  5. code-commit
"""

_OBSTACLES = {errno.ELOOP: "it is a link", errno.ENOTDIR: "it is a link or a file, not a folder"}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `init`."""
    parser.description = _DESCRIPTION
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")


def init(host: Host, arguments: Namespace) -> int:
    """Create missing files in the working directory. Existing files stay unchanged, except for the `.gitignore` line.

    Raises:
        NotReady: something else is in the place of a file, or the folder is not writable.
    """
    root = host.root
    try:
        with ProjectTree(root) as tree:
            language = language_of(path.name for path in root.iterdir())
            created, kept = _lay_out(tree, language)
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) else "a file"
        why = _OBSTACLES.get(error.errno or 0) or error.strerror
        raise NotReady(f"cannot create {where} in {root}: {why}", hint="move it away") from error
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
    for line in _git_advice(Git(root), language):
        host.out.note(f"\n{line}")
    return ExitCode.REACHED


def _git_advice(git: Git, language: Language) -> Iterator[str]:
    """Yield advice about git: create a repository, or ignore the build's output."""
    try:
        git.require_repository()
        not_ignored = sorted(set(language.leaves) - git.ignored(language.leaves))
    except GitError:
        return
    except NotReady as error:
        yield f"{error}: {error.hint} first, so that git can show the change."
        return
    if not_ignored:
        yield f"The build may create {' and '.join(not_ignored)}: add what git should ignore to .gitignore."


def _lay_out(tree: ProjectTree, language: Language) -> tuple[list[str], list[str]]:
    """Create each missing file. Return the paths that were created or extended, and those that existed."""
    options = "".join(f" --exclude '{pattern}'" for pattern in language.left_out)
    files = {
        "agent-config/query.txt": (_QUERY, 0o644),
        "build.sh": (_BUILD.format(commands=language.build), 0o755),
        "codeRollup.sh": (_ROLLUP.format(left_out=options), 0o755),
    }
    made = {".gitignore": _ignore_agent_config(tree), "agent-config/": _make_folder(tree, "agent-config")}
    made |= {path: _make_file(tree, path, text, mode) for path, (text, mode) in files.items()}
    return [path for path, new in made.items() if new], [path for path, new in made.items() if not new]


def _ignore_agent_config(tree: ProjectTree) -> bool:
    """Append the line that keeps keys out of git: at the end, no later line can revert it."""
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
            raise OSError(errno.EEXIST, "it is not a regular file", path) from None
    with open(handle, "w", encoding="utf-8") as file:  # noqa: PTH123 - a handle
        file.write(text)
    return True
