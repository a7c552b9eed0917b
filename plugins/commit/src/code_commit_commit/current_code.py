"""Collect the current code in the form of a rollup, if the rollup is missing or out of date."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from code_commit.plugin_api import (
    LimitReached,
    MessageLogged,
    NotReady,
    RolledUp,
    count_of,
    read_text,
)
from code_commit_commit.left_out import exclude_paths
from code_commit_commit.recorded_rollup import recorded_choice
from code_commit_commit.rollup_text import LARGEST, Batch, Rollup, add, batches
from code_commit_commit.window import LARGE, RequireFit, require_code_fits

if TYPE_CHECKING:
    from typing import Protocol

    from code_commit.plugin_api import Run, Tree

    class Source(Protocol):
        """A `Run`, or a `Workspace`."""

        @property
        def tree(self) -> Tree: ...
        def files(self, patterns: Sequence[str] = ()) -> tuple[str, ...]: ...


CODEBASE = "agent-config/codeRollup.txt"


@dataclass(frozen=True, slots=True)
class CurrentCode:
    """The `text` for the model, and the digests to compare files with.

    `str()` returns its size for people.
    """

    text: str = field(repr=False)
    rolled_up: RolledUp
    rollup: Rollup

    def __str__(self) -> str:
        files = count_of(len(self.rollup.files), "file")
        return f"{files}, about {count_of(self.rollup.tokens, 'token')}"


def new_files(source: Source, rolled_up: RolledUp) -> list[str]:
    """Return the files created since the rollup that it would have if it were made now, sorted.

    Without the patterns of the rollup, no file counts as new.
    """
    if rolled_up.patterns is None or rolled_up.others is None:
        return []
    include, exclude = rolled_up.patterns
    created = [
        path
        for path in source.files(include)
        if path not in rolled_up.digests and path not in rolled_up.others
    ]
    rollup = Rollup()
    paths, _ = exclude_paths(created, exclude, source.tree)
    for batch in batches(source.tree.contents(paths, LARGEST)):
        add(batch, rollup)
    return sorted(rollup.files)


def describe_difference(changed: Sequence[str], created: Sequence[str]) -> str:
    """Return how many files changed, and how many are new."""
    parts = []
    if changed:
        parts.append(f"{count_of(len(changed), 'file')} changed")
    if created:
        parts.append(count_of(len(created), "file is new", "files are new"))
    return " and ".join(parts)


def collect_current_code(
    source: Source,
    require_fit: RequireFit,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    *,
    counts_all: Callable[[], bool] = lambda: True,
) -> CurrentCode:
    """Collect the files that `code-commit rollup` would collect with these patterns.

    Unless `counts_all`, stop as soon as the code cannot fit; the error then names what was read.

    Raises:
        NotReady: no file matches, there is no git repository, or the code is far longer than the
            model's window.
    """
    rollup = Rollup()
    visible, paths = paths_to_collect(source, include, exclude)
    contents = source.tree.contents(paths, LARGEST)
    text = b"".join(_texts(batches(contents), rollup, require_fit, counts_all=counts_all))
    if not rollup.files:
        raise NotReady(
            "there is no code to collect: git lists no text file here",
            hint="add source files, or check .gitignore",
        )
    not_collected = [path for path in visible if path not in rollup.files]
    rolled_up = RolledUp.of_files(source.tree, text, rollup.files, not_collected)
    return CurrentCode(text.decode(), rolled_up, rollup)


def collect_missing(run: Run, collect: Callable[[], CurrentCode]) -> CurrentCode:
    """Collect the code where there is no rollup, and say so. Raises as `collect`."""
    code = collect()
    run.emit(MessageLogged(f"there is no {CODEBASE}: collected {code}"))
    return code


def collect_again(
    run: Run,
    changed: Sequence[str],
    created: Sequence[str],
    collect: Callable[[], CurrentCode],
) -> CurrentCode:
    """Collect the code where files changed since the rollup, and say so. Raises as `collect`."""
    code = collect()
    difference = f"{describe_difference(changed, created)} since the rollup"
    run.emit(MessageLogged(f"{difference}: collected the code again, {code}"))
    return code


def fresh_code(run: Run, require_fit: RequireFit) -> str | None:
    """Collect the code if our rollup is missing or out of date, and return it.

    Return None if it is up to date, has what a context chose, or was written by another program.

    Raises:
        NotReady: there is no code, or it is far longer than the model's window.
    """
    collect = partial(collect_current_code, run, require_fit)
    codebase = read_text(run.tree, CODEBASE)
    if codebase is None:
        return collect_missing(run, collect).text
    rolled_up = RolledUp.of(run.tree, codebase)
    if rolled_up.patterns is None or recorded_choice(run.tree):
        return None
    changed, created = rolled_up.changed(), new_files(run, rolled_up)
    if not (changed or created):
        return None
    return collect_again(run, changed, created, partial(collect, *rolled_up.patterns)).text


def paths_to_collect(
    source: Source,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> tuple[Sequence[str], Sequence[str]]:
    """Return all visible files, and those that `code-commit rollup` collects, both sorted."""
    visible = source.files()
    matching = source.files(include) if include else visible
    paths, _ = exclude_paths(matching, exclude, source.tree)
    return visible, paths


def _texts(
    collected: Iterable[Batch],
    rollup: Rollup,
    require_fit: RequireFit,
    *,
    counts_all: Callable[[], bool],
) -> list[bytes]:
    """Return the texts of the batches.

    Once they cannot fit, keep none, and only count the rest, or stop unless `counts_all`.

    Raises:
        NotReady: they do not fit.
    """
    texts: list[bytes] = []
    too_long = False
    for batch in collected:
        text = add(batch, rollup)
        if not too_long:
            texts.append(text)
            too_long = rollup.size > LARGE and _is_too_long(rollup, require_fit)
        if too_long:
            texts.clear()
            if not counts_all():
                break
    if too_long:
        require_code_fits(rollup, require_fit)
    return texts


def _is_too_long(rollup: Rollup, require_fit: RequireFit) -> bool:
    try:
        require_code_fits(rollup, require_fit)
    except (NotReady, LimitReached):
        return True
    return False
