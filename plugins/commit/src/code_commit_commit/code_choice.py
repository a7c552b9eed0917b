"""Which code a run shows: all of it, or what a context selects, according to flags and settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from code_commit.plugin_api import MessageLogged, UsageError
from code_commit_commit.contexts import ALL, AUTO, RANKED, Contexts, InstalledContext
from code_commit_commit.recorded_rollup import recorded_choice
from code_commit_commit.selected_code import SelectedCode

if TYPE_CHECKING:
    from pathlib import Path

    from code_commit.plugin_api import Run
    from code_commit_commit.hooks import Project

_MOST_TOKENS = 200_000
_TOKENS = 100_000  # if the window of the model is unknown


@dataclass(frozen=True)
class CodeChoice:
    """What flags and settings say about the code of a run.

    `named` are the files of `--files`, which come first. `limit` is the most tokens, if that is
    known. `is_recorded` means that `code-commit rollup` chose before.
    """

    setting: str
    find: Callable[[], InstalledContext | None]
    named: tuple[str, ...] = ()
    limit: int | None = None
    is_recorded: bool = False

    @cached_property
    def context(self) -> InstalledContext | None:
        """The context that selects files, if any; with "auto", only if not all of the code fits.

        Most runs need none: plugins are asked on first use.
        """
        return self.find()

    @property
    def selects(self) -> bool:
        """Whether files are selected even if all of the code fits."""
        return bool(self.named) or self.setting not in {AUTO, ALL}

    @property
    def shows_only_named(self) -> bool:
        """Whether the context gives only the map of files that are not named."""
        return bool(self.named) and self.setting in {AUTO, ALL}

    @property
    def name(self) -> str:
        """The name of the context, or "named" for `--files` alone."""
        if self.context is None or self.shows_only_named:
            return "named"
        return self.context.name

    @property
    def most_code(self) -> int | None:
        """The most tokens of all of the code: a limit from flags or settings, with "auto"."""
        return self.limit if self.setting == AUTO else None

    @property
    def may_select(self) -> bool:
        """Whether files are selected if all of the code does not fit."""
        return self.selects or (self.setting == AUTO and self.context is not None)


def code_choice(run: Run) -> CodeChoice:
    """Return what flags and settings say.

    Raises:
        UsageError: a flag names a context or a file that is not there, or a file that a model may
            not see.
        NotReady: a setting names a context that no installed plugin offers.
    """
    setting = run.options.context
    is_flag = "context" in run.flags
    if is_flag and setting == ALL and run.options.files:
        raise UsageError("--files cannot be used with --context all")

    def contexts() -> Contexts:
        return Contexts.of(run.collect, partial(warn, run))

    limit = run.options.context_tokens
    if setting == AUTO and not run.options.files and (recorded := recorded_choice(run.tree)):
        return CodeChoice(
            recorded.context,
            lambda: contexts().recorded(recorded),
            recorded.named,
            limit=limit or recorded.limit,
            is_recorded=True,
        )
    named = named_files(run.options.files, run, run.root)
    if setting in {AUTO, ALL}:
        return CodeChoice(setting, lambda: contexts().find(RANKED), named, limit)
    context = contexts().require(setting, is_flag=is_flag)
    return CodeChoice(setting, lambda: context, named, limit)


def named_files(given: Sequence[str], project: Project, root: Path) -> tuple[str, ...]:
    """Return the paths that `--files` gives, relative to the root, each once.

    Raises:
        UsageError: a file is not there, or a model may not see it.
    """
    paths = dict.fromkeys(_relative(name, root) for name in given)
    code = SelectedCode(project, (), 0)
    for path in paths:
        if os.path.isdir(root / path):  # noqa: PTH112 - raises nothing
            raise UsageError(f"--files takes files, and {path} is a folder", hint="name its files")
        if reason := code.why_not(path):
            raise UsageError(
                f"--files: a model cannot see {path}: {reason}",
                hint="name files of the project, relative to its root",
            )
    return tuple(paths)


def _relative(name: str, root: Path) -> str:
    path = os.path.normpath(os.path.join(root, name))  # noqa: PTH118 - follows no link
    relative = os.path.relpath(path, root)
    if relative == os.pardir or relative.startswith(f"{os.pardir}/"):
        raise UsageError(
            f"--files: {name} is outside of the project",
            hint="name files of the project, relative to its root",
        )
    return relative


def token_limit(configured: int | None, window: int | None) -> int:
    """Return the most tokens of selected code: by default half of the model's window."""
    if configured is not None:
        return configured
    if window is None:
        return _TOKENS
    return min(window // 2, _MOST_TOKENS)


def warn(run: Run, text: str) -> None:
    """Log a warning."""
    run.emit(MessageLogged(text, level="warning"))
