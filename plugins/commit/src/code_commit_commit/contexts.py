"""The contexts of installed plugins: find the one that is asked for, and call it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from code_commit.plugin_api import (
    CodeCommitError,
    NotReady,
    UsageError,
    describe,
    did_you_mean,
    installation,
    require_sync,
    running,
)
from code_commit_commit.hooks import Context, ContextRequest, Selection
from code_commit_commit.recorded_rollup import RecordedChoice
from code_commit_commit.window import PromptTooLong

if TYPE_CHECKING:
    from code_commit.plugin_api import Host

AUTO, ALL = "auto", "all"
RANKED = "ranked"
_OWNER = "code-commit-context"
_HOOK = "code_commit_contexts"
_OF_THE_PLUGIN = (RANKED, "map")  # of code-commit-context


@dataclass(frozen=True, slots=True)
class InstalledContext:
    """A context and the distribution that offers it."""

    context: Context
    distribution: str

    @property
    def name(self) -> str:
        """The name of the context."""
        return self.context.name

    def choose(self, request: ContextRequest) -> Selection:
        """Call the context.

        Raises:
            NotReady: it failed, or returned something else than a selection.
            CodeCommitError: it raised this error.
        """
        try:
            with running(f"the context {self.name}", self.distribution):
                return _checked(require_sync(self.context.choose(request)))
        except (CodeCommitError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise NotReady(
                f"the context {self.name} of {self.distribution} failed: {describe(error)}",
                hint=f"choose another with --context, or uninstall {self.distribution}",
            ) from error

    def related(
        self,
        request: ContextRequest,
        failure: str,
        changed: Sequence[str],
        warn: Callable[[str], None],
    ) -> tuple[str, ...]:
        """Return files for a repair, best first. A failure is a warning: calls were paid for."""
        if self.context.related is None:
            return ()
        try:
            with running(f"the context {self.name}", self.distribution):
                paths = require_sync(self.context.related(request, failure, changed))
                return _texts(paths, "related paths")
        except (CodeCommitError, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - reported, and the repair goes on
            warn(
                f"the context {self.name} of {self.distribution} found no related files: "
                f"{describe(error)}"
            )
            return ()


class Contexts:
    """The contexts of the installed plugins by name. `warn` gets a line about each unusable one."""

    def __init__(self, offers: Iterable[tuple[str, Any]], warn: Callable[[str], None]) -> None:
        self._offers: dict[str, list[InstalledContext]] = {}
        for distribution, context in offers:
            if fault := _fault(context):
                warn(f"{distribution} offers a context that {fault}; it is left out")
                continue
            self._offers.setdefault(context.name, []).append(
                InstalledContext(context, distribution)
            )

    @classmethod
    def of(
        cls,
        collect: Callable[[str], Iterable[tuple[str, Any]]],
        warn: Callable[[str], None],
    ) -> Contexts:
        """Return what `collect`, such as `Run.collect`, finds."""
        return cls(collect(_HOOK), warn)

    def find(self, name: str) -> InstalledContext | None:
        """Return the context with this name, or None if not exactly one plugin offers it.

        The names of code-commit-context are its own.
        """
        offers = self._offers.get(name, [])
        own = [offer for offer in offers if offer.distribution == _OWNER]
        if len(own or offers) != 1:
            return None
        return (own or offers)[0]

    def recorded(self, choice: RecordedChoice) -> InstalledContext:
        """Return a context that chooses what `code-commit rollup` recorded."""
        distribution, related = "code-commit-commit", None
        if installed := self.find(choice.context):
            distribution, related = installed.distribution, installed.context.related
        if choice.related:
            related = choice.next_related()
        context = Context(choice.context, "", lambda _: choice.selection, related)
        return InstalledContext(context, distribution)

    def require(self, name: str, *, is_flag: bool) -> InstalledContext:
        """Return the context with this name.

        Raises:
            UsageError: no plugin offers it, and a flag names it.
            NotReady: the same, and a setting names it; or several distributions offer it.
        """
        if context := self.find(name):
            return context
        if offers := self._offers.get(name):
            owners = " and ".join(sorted(offer.distribution for offer in offers))
            raise NotReady(
                f"{owners} offer the context {name}", hint="uninstall or disable one of them"
            )
        names = [AUTO, ALL, *sorted(self._offers)]
        hint = f"installed: {', '.join(names)}"
        if name in _OF_THE_PLUGIN:
            hint += f"; for this one: {installation(_OWNER)}"
        where = "--context" if is_flag else "context in [plugins.commit]"
        error = UsageError if is_flag else NotReady
        raise error(f"{where}: there is no context {name!r}{did_you_mean(name, names)}", hint=hint)


def collect_contexts(host: Host, hook: str) -> Iterator[tuple[str, Any]]:
    """Call a hook for a command; yield (distribution, item), as `Run.collect` does."""
    distributions = {plugin.name: plugin.distribution for plugin in host.plugins}
    for name, item in host.collect(hook):
        yield distributions[name], item


def with_hint_of_context(
    error: PromptTooLong,
    setting: str,
    context: InstalledContext | None,
) -> PromptTooLong:
    """Return the error for code that does not fit, with what to install to choose from it."""
    if setting != AUTO or context:
        return error
    install = installation(_OWNER)
    return PromptTooLong(
        error.message,
        hint=f"{error.hint}; or, to show the files that fit the query: {install}",
    )


def _fault(context: object) -> str:
    """Return why a plugin's offer is not usable, or an empty text."""
    if not isinstance(context, Context):
        return f"is {type(context).__name__}, not a Context"
    name: object = context.name
    if not isinstance(name, str) or not name.isprintable() or not name.strip():
        return f"has the name {name!r:.50}"
    if name in {AUTO, ALL}:
        return f"has the name {name}, which has a meaning of its own"
    return ""


def _checked(selection: object) -> Selection:
    """Return a selection with fields of the right types, whatever a plugin gave.

    Raises:
        TypeError: it is something else, or a field has a wrong type.
    """
    if not isinstance(selection, Selection):
        raise TypeError(f"it returned {type(selection).__name__}, not a Selection")
    if not isinstance(selection.map, Mapping):
        raise TypeError(f"its map is {type(selection.map).__name__}, not a mapping")
    names_by_path = {
        path: _texts(names, "names in the map")
        for path, names in zip(
            _texts(selection.map, "paths in the map"), selection.map.values(), strict=True
        )
    }
    paths = _texts(selection.paths, "paths")
    return Selection(paths=paths, map=names_by_path, reason=str(selection.reason))


def _texts(values: object, what: str) -> tuple[str, ...]:
    """Return `values` as a tuple.

    Raises:
        TypeError: they are no texts.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"its {what} are {type(values).__name__}, not a sequence of texts")
    texts = tuple(values)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"its {what} have {type(text).__name__}, not only texts")
    return texts
