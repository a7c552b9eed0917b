"""Show the coach what changed in a codebase since a commit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

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
    """Return the names of changed files and a unified diff, new files included, about `limit`
    characters in total.

    Files that no model may see are left out, and so is the plan folder.
    """
    base = (
        run.git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}", check=False)
        .decode()
        .strip()
    )
    readable = frozenset(run.files())
    tracked = (
        _listed(run, "diff", "--name-only", "-z", "--no-renames", "--relative", base, "--")
        if base
        else ()
    )
    known = frozenset(tracked)
    gone = [path for path in tracked if path not in readable and _is_gone(run, path)]
    changed = sorted({path for path in tracked if path in readable} | set(gone))
    added = _listed(
        run, "ls-files", "-z", "--others", "--exclude-standard", *(() if base else ("--cached",))
    )
    fresh = [path for path in sorted(set(added) - known) if path in readable]
    changed, fresh = (
        [path for path in paths if not path.startswith(f"{FOLDER}/")] for paths in (changed, fresh)
    )
    if not changed and not fresh:
        return "Nothing has changed."
    names = "\n".join(
        [
            *(f"changed: {legible(path)}" for path in changed),
            *(f"new: {legible(path)}" for path in fresh),
        ]
    )
    diff = "".join([*_diffs(run, base, changed), *_new_files(run, fresh, limit)])
    return f"{head_and_tail(names, limit // 4)}\n\n{head_and_tail(diff, limit, whole='read the files')}"


def _listed(run: Run, *args: str) -> tuple[str, ...]:
    return tuple(os.fsdecode(run.git(*args)).split("\0")[:-1])


def _is_gone(run: Run, path: str) -> bool:
    """Return whether a deleted file may be shown."""
    return not os.path.lexists(run.root / path) and run.may_read(path) is None


def _diffs(run: Run, base: str, paths: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(paths), _AT_ONCE):
        some = paths[start : start + _AT_ONCE]
        diff = run.git("--literal-pathspecs", *_DIFF, "--relative", base, "--", *some)
        yield diff.decode("utf-8", "replace")


def _new_files(run: Run, paths: Sequence[str], limit: int) -> Iterator[str]:
    shown = 0
    for path in paths:
        content = run.tree.read(path, _NEW_FILE_LIMIT) or b""
        head = f"diff --git a/{legible(path)} b/{legible(path)}\nnew file\n"
        if b"\0" in content:
            yield f"{head}Binary file\n"
            continue
        if shown > limit:  # the limit would drop the rest
            yield f"{head}[not shown]\n"
            continue
        lines = content.decode("utf-8", "replace").split("\n")
        body = "".join(f"+{line}\n" for line in (lines[:-1] if lines[-1] == "" else lines))
        shown += len(body)
        yield f"{head}--- /dev/null\n+++ b/{legible(path)}\n{body}"
