"""Show the coach what changed in a codebase since a commit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from code_commit.plugin_api import Run
from code_commit_planner.dialog.text import legible
from code_commit_planner.plan_folder.folder import FOLDER
from code_commit_toolbox.shortening import head_and_tail

_AT_ONCE = 200  # paths per command line
_NEW_FILE_LIMIT = 256 * 1024
_DIFF = (
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-renames",
    "--submodule=short",
)


def changes_since(commit: str, run: Run, limit: int) -> str:
    """Return the names of changed files and a unified diff, new files included.

    The text has about `limit` characters in total.

    The plan folder and files that no model may see are left out.
    """
    base = _resolve(run, commit)
    readable = frozenset(run.files())
    tracked = _tracked_changes(run, base) if base else ()
    changed = _outside_plan(
        path for path in tracked if path in readable or _is_shown_as_deleted(run, path)
    )
    new = _outside_plan((_untracked(run, base) - frozenset(tracked)) & readable)
    if not changed and not new:
        return "Nothing has changed."
    names = [f"changed: {legible(path)}" for path in changed]
    names += [f"new: {legible(path)}" for path in new]
    diff = "".join([*_diffs(run, base, changed), *_new_files(run, new, limit)])
    shown_names = head_and_tail("\n".join(names), limit // 4)
    return f"{shown_names}\n\n{head_and_tail(diff, limit, whole='read the files')}"


def _resolve(run: Run, commit: str) -> str:
    """Return the id of `commit`, or "" if it does not exist."""
    name = f"{commit}^{{commit}}"
    commit_id = run.git("rev-parse", "--verify", "--quiet", name, check=False)
    return commit_id.decode().strip()


def _tracked_changes(run: Run, base: str) -> tuple[str, ...]:
    return _paths(run, "diff", "--name-only", "-z", "--no-renames", "--relative", base, "--")


def _untracked(run: Run, base: str) -> frozenset[str]:
    """Return untracked files; before the first commit, also staged ones."""
    staged = () if base else ("--cached",)
    return frozenset(_paths(run, "ls-files", "-z", "--others", "--exclude-standard", *staged))


def _paths(run: Run, *args: str) -> tuple[str, ...]:
    listing = os.fsdecode(run.git(*args))
    return tuple(listing.split("\0")[:-1])


def _is_shown_as_deleted(run: Run, path: str) -> bool:
    return not os.path.lexists(run.root / path) and run.may_read(path) is None


def _outside_plan(paths: Iterable[str]) -> list[str]:
    return sorted(path for path in set(paths) if not path.startswith(f"{FOLDER}/"))


def _diffs(run: Run, base: str, paths: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(paths), _AT_ONCE):
        batch = paths[start : start + _AT_ONCE]
        diff = run.git("--literal-pathspecs", *_DIFF, "--relative", base, "--", *batch)
        yield diff.decode("utf-8", "replace")


def _new_files(run: Run, paths: Sequence[str], limit: int) -> Iterator[str]:
    """Yield a diff of each new file; beyond `limit` characters, only the name of the file."""
    shown = 0
    for path in paths:
        name = legible(path)
        head = f"diff --git a/{name} b/{name}\nnew file\n"
        content = run.tree.read(path, _NEW_FILE_LIMIT) or b""
        if b"\0" in content:
            yield f"{head}Binary file\n"
        elif shown > limit:
            yield f"{head}[not shown]\n"
        else:
            body = _added_lines(content.decode("utf-8", "replace"))
            shown += len(body)
            yield f"{head}--- /dev/null\n+++ b/{name}\n{body}"


def _added_lines(text: str) -> str:
    lines = text.removesuffix("\n").split("\n") if text else []
    return "".join(f"+{line}\n" for line in lines)
