"""`code-commit init`: create the files that a project needs, and run its build once."""

from __future__ import annotations

import errno
import os
import stat
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from code_commit.plugin_api import PRIVATE_FOLDER, ExitCode, Host, NotReady, UsageError
from code_commit_commit.build_scripts.detection import Gate, find_gate
from code_commit_commit.build_scripts.folder import project_folder
from code_commit_commit.build_scripts.part import Part, build_script
from code_commit_commit.commands.first_build import FirstBuild, print_first_build, run_first_build
from code_commit_commit.commands.format_hint import format_hint
from code_commit_commit.commands.installation import Installation, document_of, fix, next_step
from code_commit_commit.query_file import QUERY, SAMPLE_QUERY
from code_commit_workspace import (
    Git,
    NoRepository,
    ProjectTree,
    create_file,
    require_gitignore_line,
)

_DESCRIPTION = """\
Create the files that a project needs before its first run: agent-config with a sample query, \
the line /agent-config in .gitignore, and a build.sh and a codeRollup.sh for the languages of the \
project. Then run build.sh once. Existing files stay unchanged, except that .gitignore gets lines. \
The exit code is 1 if the build fails.
"""
_ROLLUP = """\
#!/usr/bin/env bash
# Collects the code for the model in agent-config/codeRollup.txt.
# --include and --exclude take .gitignore patterns; see `code-commit rollup --help`.
set -euo pipefail
cd "$(dirname "$0")"
exec code-commit rollup "$@"
"""
_COMMIT = 'code-commit --query "Describe the change"'
_OBSTACLES = {errno.ELOOP: "it is a link", errno.ENOTDIR: "it is a link or a file, not a folder"}


@dataclass(slots=True)
class _LaidOut:
    """The paths that were created, changed and kept; `lines` were added to `.gitignore`."""

    created: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def add(self, path: str, *, is_new: bool) -> None:
        """Note a path that was created, or was there."""
        if is_new:
            self.created.append(path)
        else:
            self.unchanged.append(path)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `init`."""
    parser.description = _DESCRIPTION
    parser.add_argument("--no-build", action="store_true", help="do not run build.sh")
    parser.add_argument(
        "--fix", action="store_true", help="install what build.sh lacks, in the sandbox of builds"
    )
    parser.add_argument(
        "--here", action="store_true", help="also in a folder inside of another project"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")


def init(host: Host, arguments: Namespace) -> int:
    """Create missing files in the working directory and run `build.sh` once; return 1 if it fails.

    Raises:
        UsageError: the flags do not fit together.
        NotReady: something else has the name of a file, or the folder is not writable, or lies
            inside of a project.
    """
    if arguments.fix and arguments.no_build:
        raise UsageError("--fix cannot be used with --no-build")
    root = _root(host, here=arguments.here)
    needs_git = _needs_git(root)
    if needs_git:
        host.out.note("This folder is in no git repository. A run needs one: `git init`\n")
    gate, laid_out = _prepare(root)
    if not arguments.json:
        _print_files(host, laid_out)
    if "build.sh" in laid_out.created:
        _print_gate(host, gate)
    build: FirstBuild | None = None
    installations: list[Installation] = []
    if not arguments.no_build:
        build = run_first_build(host, "\nRunning build.sh ...")
        print_first_build(host, build)
        if arguments.fix:
            build, installations = fix(host, gate.parts, build)
            _ignore_environments(host, root, gate, laid_out)
    next_command = "git init" if needs_git else _next_command(gate, laid_out, build, installations)
    if arguments.json:
        document = _document(gate, laid_out, build, installations)
        host.out.document({**document, "next": next_command})
    else:
        _print_next(host, next_command)
    return ExitCode.NOT_REACHED if build and not build.passed else ExitCode.REACHED


def _prepare(root: Path) -> tuple[Gate, _LaidOut]:
    """Find what `build.sh` checks, and create the files that are missing.

    Raises:
        NotReady: one of them cannot be created.
    """
    try:
        with ProjectTree(root) as tree:
            gate = find_gate(project_folder(tree))
            return gate, _lay_out(tree, gate)
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) else "a file"
        why = _OBSTACLES.get(error.errno or 0) or error.strerror
        raise NotReady(f"cannot create {where} in {root}: {why}", hint="move it away") from error


def _ignore_environments(host: Host, root: Path, gate: Gate, laid_out: _LaidOut) -> None:
    """Let git ignore what was installed, also beside a `build.sh` of the user."""
    with ProjectTree(root) as tree:
        parts = [part for part in gate.parts if part.install]
        lines = [leaf for leaf in _missing_lines(tree, parts) if tree.lstat(leaf.rstrip("/"))]
        if lines:
            _append(tree, lines)
            laid_out.changed.append(".gitignore")
            host.out.note(f"added {', '.join(lines)} to .gitignore")


def _document(
    gate: Gate,
    laid_out: _LaidOut,
    build: FirstBuild | None,
    installations: Sequence[Installation],
) -> dict[str, object]:
    parts = [{"language": part.language, "folder": part.folder or "."} for part in gate.parts]
    return {
        "languages": parts,
        "not_covered": gate.not_covered,
        "remarks": gate.remarks,
        "created": laid_out.created,
        "changed": laid_out.changed,
        "kept": laid_out.unchanged,
        "installations": document_of(installations),
        "build": build.document() if build else None,
    }


def _print_next(host: Host, next_command: str) -> None:
    host.out.note(f"\nNext: {next_command}")
    if next_command != _COMMIT:
        return
    if missing := _missing_key(host):
        host.out.note(f"A run needs a key, unless you use a local model: {missing}")
    if hint := format_hint(host):
        host.out.note(hint)
    host.out.note("`code-commit doctor` checks everything that a run needs.")


def _root(host: Host, *, here: bool) -> Path:
    """Return the folder of the new project, which lies in no other unless the user wants it.

    Raises:
        NotReady: it does.
    """
    if here:
        return Path.cwd().resolve()
    try:
        return host.root
    except NotReady as error:
        hint = f"{error.hint}, or `code-commit init --here` for a project in this folder"
        raise NotReady(error.message, hint=hint) from None


def _needs_git(root: Path) -> bool:
    try:
        Git(root).require_repository()
    except NoRepository:
        return True
    return False


def _print_files(host: Host, laid_out: _LaidOut) -> None:
    for path in laid_out.created:
        host.out.line(f"created  {path}")
    for path in laid_out.unchanged:
        host.out.line(f"kept     {path}")
    for path in laid_out.changed:
        host.out.line(f"changed  {path} (added {', '.join(laid_out.lines)})")


def _print_gate(host: Host, gate: Gate) -> None:
    about = "build.sh fails until you add the commands that check this project"
    if gate.parts:
        languages = " and ".join(map(str, gate.parts))
        about = f"build.sh is for {languages}. Check it: it decides whether a change is good."
    host.out.note(f"\n{about}")
    if gate.not_covered:
        what = ", ".join(gate.not_covered)
        host.out.note(f"not covered: {what}; build.sh fails until you decide, see its end")
    for remark in gate.remarks:
        host.out.note(f"not used: {remark}")


def _next_command(
    gate: Gate,
    laid_out: _LaidOut,
    build: FirstBuild | None,
    installations: Sequence[Installation],
) -> str:
    if build and not build.passed:
        return next_step(gate.parts, build, installations)
    if build is None and "build.sh" in laid_out.created and not gate.is_whole:
        return "./build.sh"
    return _COMMIT


def _missing_key(host: Host) -> str:
    """Return how to set a key for one of the installed providers, or "" if one has a key."""
    places: list[str] = []
    for _, provider in host.registry.providers.values():
        if not provider.key_variable:
            continue
        key_file = f"agent-config/{provider.name}-key.txt"
        if host.environ.get(provider.key_variable) or (host.root / key_file).exists():
            return ""
        places.append(f"{provider.key_variable} (or {key_file})")
    return f"set {' or '.join(places)}" if places else ""


def _lay_out(tree: ProjectTree, gate: Gate) -> _LaidOut:
    """Create each missing file, and add missing lines to `.gitignore`."""
    laid_out = _LaidOut()
    files = {
        QUERY: (SAMPLE_QUERY, 0o644),
        "build.sh": (build_script(gate.parts, gate.not_covered), 0o755),
        "codeRollup.sh": (_ROLLUP, 0o755),
    }
    has_rules = tree.lstat(".gitignore") is not None
    has_build = tree.lstat("build.sh") is not None
    laid_out.lines = _missing_lines(tree, () if has_build else gate.parts)
    if laid_out.lines:
        _append(tree, laid_out.lines)
    if laid_out.lines and has_rules:
        laid_out.changed.append(".gitignore")
    else:
        laid_out.add(".gitignore", is_new=bool(laid_out.lines))
    laid_out.add("agent-config/", is_new=_make_folder(tree, "agent-config"))
    for path, (text, mode) in files.items():
        laid_out.add(path, is_new=_make_file(tree, path, text, mode))
    return laid_out


def _missing_lines(tree: ProjectTree, parts: Sequence[Part]) -> list[str]:
    """Return the lines that `.gitignore` lacks.

    They hide what builds create; the last line keeps keys out of git.
    """
    leaves = dict.fromkeys(leaf for part in parts for leaf in part.leaves)
    paths = {f"{part.folder}/{leaf}".lstrip("/"): leaf for part in parts for leaf in part.leaves}
    try:
        ignored = {paths[path] for path in Git(tree.root).ignored(list(paths))}
    except NotReady:  # no repository
        ignored = set((tree.read(".gitignore") or b"").decode("utf-8", "replace").split())
    lines = [leaf for leaf in leaves if leaf not in ignored]
    try:
        require_gitignore_line(tree.root, PRIVATE_FOLDER)
    except NotReady:
        lines.append("/agent-config")  # at the end, where no later line can revert it
    return lines


def _append(tree: ProjectTree, lines: Sequence[str]) -> None:
    content = tree.read(".gitignore")
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(".gitignore", flags, 0o644, dir_fd=tree.handle)
    end = "\r\n" if content and b"\r\n" in content else "\n"
    text = "".join(f"{line}{end}" for line in lines)
    if content and not content.endswith(b"\n"):
        text = end + text
    with open(handle, "ab") as file:  # noqa: PTH123 - a handle
        file.write(text.encode())


def _make_folder(tree: ProjectTree, name: str) -> bool:
    try:
        os.mkdir(name, 0o700, dir_fd=tree.handle)
    except FileExistsError:
        with tree.folder(name):  # a link or a file is an error
            return False
    return True


def _make_file(tree: ProjectTree, path: str, text: str, mode: int) -> bool:
    with tree.parent(path) as (folder, name):
        try:
            create_file(name, text.encode(), mode, folder=folder)
        except FileExistsError:
            if stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                return False
            raise OSError(errno.EEXIST, "it is not a regular file", path) from None
    return True
