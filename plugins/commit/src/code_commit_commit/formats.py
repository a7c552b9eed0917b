"""The response formats: `files`, which is that of the seeds, and those of plugins."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from code_commit.plugin_api import (
    Change,
    Interrupted,
    MessageLogged,
    NotReady,
    PluginFailed,
    ResponseRefused,
    UsageError,
    describe,
    did_you_mean,
    installation,
    require_sync,
    running,
)
from code_commit_commit.changed_parts import MANY_LINES
from code_commit_commit.hooks import MalformedResponse, ResponseFormat
from code_commit_commit.prompts import Section
from code_commit_commit.response import TooManyFiles, parse_changes, watch_response
from code_commit_commit.seen_files import HEADER

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from code_commit.plugin_api import Host, Run, Tree, Watch

FILES = "files"
EDITS = "edits"
AUTO = "auto"
_OWN = "code-commit-commit"
EDITS_OWNER = "code-commit-edits"
_HOOK = "code_commit_formats"
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class ChosenFormat:
    """The response format of a run, and the distribution that offers it."""

    format: ResponseFormat
    distribution: str

    @property
    def name(self) -> str:
        """The name of the format."""
        return self.format.name

    @property
    def is_partial(self) -> bool:
        """Whether a response can change a part of a file."""
        return self.format.is_partial is True

    @property
    def sections(self) -> tuple[Section, ...]:
        """The section of the prompts that explains the format, if it needs one."""
        if not self.format.instructions:
            return ()
        return (Section("response format", self.format.instructions, is_constant=True),)

    def parse(self, text: str, tree: Tree, max_files: int) -> tuple[Change, ...]:
        """Return the changes of a response.

        Raises:
            MalformedResponse: the text does not follow the format, or changes too many files.
            ResponseRefused: the code of the format failed.
        """
        try:
            with self.running():
                changes = _checked(require_sync(self.format.parse(text, tree)))
        except (MalformedResponse, Interrupted, KeyboardInterrupt):
            raise
        except BaseException as error:
            name = f"the response format {self.format.name} of {self.distribution}"
            raise ResponseRefused(
                f"{name} cannot read the response: {describe(error)}",
                hint=f"fix or uninstall {self.distribution}, or use --format {FILES}",
            ) from error
        if len(changes) > max_files:
            raise TooManyFiles.than(max_files)
        return changes

    def watch(self, max_files: int) -> Watch | None:
        """Return what finds out early that a response is malformed, if the format can."""
        if self.format.watch is None:
            return None
        return partial(_Watcher, self.format.watch, max_files, self.running)

    def running(self) -> AbstractContextManager[None]:
        """Note that the block runs code of the format."""
        return running(f"the response format {self.name}", self.distribution)


def choose_format(run: Run, codebase: str) -> ChosenFormat:
    """Return the format of `--format` or the setting; `auto` depends on the `codebase`.

    Raises:
        UsageError: `--format` names a format that is not installed.
        NotReady: the setting does.
    """
    formats = _installed(run)
    name = run.settings.response_format
    if run.options.format is not None:
        name = run.options.format
    if name == AUTO:
        name = _name_for(run, codebase, formats)
    if name in formats:
        return formats[name]
    if run.options.format is not None:
        message, hint = _unknown(name, formats)
        raise UsageError(message, hint=hint)
    raise _unknown_in_settings(name, formats)


def require_known_format(host: Host) -> None:
    """Check the format of the settings for `code-commit doctor`.

    Raises:
        NotReady: it is not installed.
    """
    name = host.settings().response_format
    names = [FILES]
    names += [item.name for _, item in host.collect(_HOOK) if not _problem(item)]
    if name not in {AUTO, *names}:
        raise _unknown_in_settings(name, names)


def _unknown_in_settings(name: str, installed: Iterable[str]) -> NotReady:
    message, hint = _unknown(name, installed)
    return NotReady(f"response_format in [plugins.commit]: {message}", hint=hint)


def _unknown(name: str, installed: Iterable[str]) -> tuple[str, str]:
    """Return the message and the hint of the error for a format that is not installed."""
    names = [AUTO, *installed]
    hint = f"installed: {', '.join(names)}"
    if name == EDITS:
        hint += f"; for {EDITS}: {installation(EDITS_OWNER)}"
    return f"there is no response format {name!r}{did_you_mean(name, names)}", hint


def _name_for(run: Run, codebase: str, formats: Mapping[str, ChosenFormat]) -> str:
    """Return the format that `auto` selects, and say why."""
    if large := _first_large_file(codebase):
        reason = f"{large} has more than {MANY_LINES} lines"
        name = EDITS
    else:
        reason = f"no file has more than {MANY_LINES} lines"
        name = FILES
    if name not in formats:
        name = FILES
        reason += f", but {EDITS} is not installed: {installation(EDITS_OWNER)}"
    run.emit(MessageLogged(f"response format {name}: {reason}"))
    return name


def _first_large_file(codebase: str) -> str:
    """Return the first file of a rollup with more than `MANY_LINES` lines, or an empty text."""
    path, start = "", 0
    for header in HEADER.finditer(codebase):
        if codebase.count("\n", start, header.start()) > MANY_LINES and path:
            return path
        path, start = header[1], header.end()
    return path if codebase.count("\n", start) > MANY_LINES else ""


def _installed(run: Run) -> dict[str, ChosenFormat]:
    """Return all formats by name. Unusable ones of plugins are left out and reported."""
    formats = {FILES: ChosenFormat(_files_format(run.max_files), _OWN)}
    offers: dict[str, list[ChosenFormat]] = {}
    for distribution, item in run.collect(_HOOK):
        if problem := _problem(item):
            _report(run, distribution, problem)
        else:
            offers.setdefault(item.name, []).append(ChosenFormat(item, distribution))
    for name, claims in sorted(offers.items()):
        if len(claims) == 1:
            formats[name] = claims[0]
            continue
        rivals = sorted({claim.distribution for claim in claims})
        for rival in rivals:
            error = f"the response format {name!r} is claimed by {' and '.join(rivals)}"
            _report(run, rival, error)
    return formats


def _files_format(max_files: int) -> ResponseFormat:
    return ResponseFormat(
        name=FILES,
        help="each changed file whole",
        instructions="",  # the sentences of the seeds explain it
        parse=lambda text, _tree: parse_changes(text, max_files=max_files),
        watch=watch_response,
    )


def _problem(item: Any) -> str:
    """Return why an object of a plugin is not a usable format, or an empty text."""
    if not isinstance(item, ResponseFormat):
        return f"a response format must be a ResponseFormat, not a {type(item).__name__}"
    fields: Any = item  # a plugin's types are unchecked
    name = fields.name
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return f"{name!r:.100} is not a valid name of a response format"
    if name in {FILES, AUTO}:
        return f"the response format {name!r} belongs to {_OWN}"
    if not isinstance(fields.instructions, str):
        return f"the instructions of the response format {name!r} are not a string"
    if not callable(fields.parse) or not (fields.watch is None or callable(fields.watch)):
        return f"`parse` and `watch` of the response format {name!r} must be functions"
    return ""


def _report(run: Run, distribution: str, error: str) -> None:
    run.emit(PluginFailed(plugin=distribution, distribution=distribution, stage=_HOOK, error=error))


def _checked(changes: Any) -> tuple[Change, ...]:
    """Return what `parse` of a plugin returned, whose types are unchecked.

    Raises:
        TypeError: it is no sequence of changes.
    """
    items: tuple[Any, ...] = tuple(changes)
    for item in items:
        if not isinstance(item, Change):
            raise TypeError(f"`parse` returned {item!r:.100} for a Change")
    return items


class _Watcher:
    """Watches one response with the code of a plugin.

    After an error it decides nothing: `parse` reads the same text.
    """

    def __init__(
        self,
        watch: Callable[[int], Callable[[str], int | None]],
        max_files: int,
        running: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._watch = watch
        self._max_files = max_files
        self._running = running
        self._read: Callable[[str], int | None] | None = None
        self._is_broken = False

    def __call__(self, piece: str) -> int | None:
        if self._is_broken:
            return None
        try:
            with self._running():
                if self._read is None:
                    self._read = self._watch(self._max_files)
                position = self._read(piece)
        except (Interrupted, KeyboardInterrupt):
            raise
        except BaseException:  # noqa: BLE001 - a plugin may raise anything
            self._is_broken = True
            return None
        return position if isinstance(position, int) else None
