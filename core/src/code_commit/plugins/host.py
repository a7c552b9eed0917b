"""Load plugins and call their hooks. A failing plugin is reported and left out.

pluggy does not isolate plugins: a failing import stops all later loading, the second of two plugins
with the same name is dropped silently, and a misspelled hook is accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from types import MappingProxyType, ModuleType
from typing import Any

import pluggy

from code_commit import __version__
from code_commit.imports import import_object
from code_commit.plugin_api import hookspecs
from code_commit.plugin_api.errors import Interrupted, UsageError
from code_commit.plugin_api.host import HOST, Plugin, PluginFailure
from code_commit.plugin_api.running_code import running
from code_commit.plugin_api.sync_result import require_sync
from code_commit.plugins import first_party
from code_commit.plugins.discovery import PATH_RULES_GROUP, PluginSource, discover
from code_commit.terminal.streams import prints_aside, stdout_aside
from code_commit_workspace import STOP
from code_commit_workspace.words import describe, did_you_mean, traceback_of

PREFIX = "code_commit_"
ADDHOOKS = "code_commit_addhooks"
PATH_RULES = "code_commit_path_rules"
ACCEPTANCE = "code_commit_acceptance"
AFTER_RUN = "code_commit_after_run"
CHECKS = "code_commit_checks"
_TEXT_HOOKS = frozenset({AFTER_RUN, "code_commit_settings"})
_LONGEST_ERROR = 2000  # characters
_OFFERS = {ACCEPTANCE: "acceptance checks"}  # that the name of the hook does not tell
_OPTIONAL = "mark a hook of a plugin that may be missing with @hookimpl(optionalhook=True)"


class _PluginManager(pluggy.PluginManager):
    """Looks for hooks among the functions of a module.

    pluggy examines each attribute, which takes a tenth of a start.
    """

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        if type(plugin) is ModuleType:
            attribute = vars(plugin).get(name)
            if not callable(attribute) or isinstance(attribute, type):
                return None
        return super().parse_hookimpl_opts(plugin, name)


class PluginHost:
    """The plugins of one run, with their own pluggy manager.

    `builtin` holds (name, module) pairs of the host's plugins. `on_failure` is called with each
    failure after loading; `failures` also holds those of loading, `traces` the tracebacks of those
    that an exception caused.
    """

    def __init__(
        self,
        sources: Sequence[PluginSource] | None = None,
        *,
        builtin: Iterable[tuple[str, str]] = (),
        disabled: Iterable[str] = (),
    ) -> None:
        self.plugins: list[Plugin] = []
        self.failures: list[PluginFailure] = []
        self.traces: list[str] = []
        self._on_failure: ContextVar[Callable[[PluginFailure], None] | None] = ContextVar(
            "on failure", default=None
        )
        self._manager = _PluginManager("code_commit")
        self._manager.add_hookspecs(hookspecs)
        builtins = [
            PluginSource(name, HOST, __version__, "code_commit", module) for name, module in builtin
        ]
        if sources is None:
            sources = discover()
        self.disabled = frozenset(disabled)
        _require_known(self.disabled, sources)
        enabled = [
            source for source in sources if not self.disabled & {source.name, source.distribution}
        ]
        self._load_all([*builtins, *enabled])
        # Declare all hooks before registering plugins, so that a wrong implementation of a hook
        # fails alone.
        for plugin in self.plugins:
            self._declare(plugin)
        self.plugins = [plugin for plugin in self.plugins if self._register(plugin)]
        self._report_unknown_hooks()

    @property
    def on_failure(self) -> Callable[[PluginFailure], None] | None:
        """What is called with each failure in this context: each of several runs has its own."""
        return self._on_failure.get()

    @on_failure.setter
    def on_failure(self, report: Callable[[PluginFailure], None]) -> None:
        self._on_failure.set(report)

    def collect(
        self,
        hook: str,
        arguments: Mapping[str, Callable[[Plugin], Any]] = MappingProxyType({}),
        *,
        only: Plugin | None = None,
    ) -> Iterator[tuple[Plugin, Any]]:
        """Call `hook` of each plugin, or of `only`; yield each returned item with its plugin.

        `arguments` maps the hook's arguments to functions that make their values; only the
        arguments that an implementation names are made. An argument without a function is None. A
        failing implementation yields nothing, not even its items before the failure.
        """
        caller = getattr(self._manager.hook, hook, None)
        if caller is None:
            return
        plugins = tuple(self.plugins)
        if only:
            plugins = (only,)
        for plugin in plugins:
            for implementation in caller.get_hookimpls():
                if implementation.plugin is not plugin.code:
                    continue
                results: list[Any] = []
                try:
                    with (
                        prints_aside(),
                        running(f"the hook {hook}", plugin.distribution),
                    ):
                        values = [
                            arguments[name](plugin) if name in arguments else None
                            for name in implementation.argnames
                        ]
                        results = _results(hook, require_sync(implementation.function(*values)))
                except BaseException as error:  # noqa: BLE001 - a plugin may raise anything
                    self.reject(plugin, hook, error)
                yield from ((plugin, result) for result in results)

    def specification_of(self, hook: str) -> Any:
        """Return the specification of a hook, or None if no plugin declares it."""
        caller = getattr(self._manager.hook, hook, None)
        return caller.spec if caller else None

    def require_hook(self, hook: str) -> None:
        """Check that no implementation of `hook` has failed.

        Raises:
            NotReady: one has.
        """
        for failure in self.failures:
            if failure.stage == hook:
                offer = _OFFERS.get(hook, hook.removeprefix(PREFIX).replace("_", " "))
                raise failure.stops_run(offer)

    def knows_hook(self, hook: str) -> bool:
        """Whether the host or a plugin has declared `hook`."""
        caller = getattr(self._manager.hook, hook, None)
        return caller is not None and caller.spec is not None

    def hooks_of(self, plugin: Plugin) -> list[str]:
        """Return the names of the hooks that `plugin` implements, sorted."""
        callers = self._manager.get_hookcallers(plugin.code) or ()
        return sorted(caller.name for caller in callers)

    def reject(
        self,
        plugin: Plugin | PluginSource,
        stage: str,
        error: str | BaseException,
        claimants: Sequence[str] = (),
    ) -> PluginFailure:
        """Report that `plugin`, or something that it offers, cannot be used.

        With `claimants`, `error` is what these distributions claim.

        Raises:
            Interrupted, KeyboardInterrupt: it is the error.
        """
        if isinstance(error, Interrupted | KeyboardInterrupt):
            raise error
        if isinstance(error, str):
            text = error
        else:
            text = describe(error, longest=_LONGEST_ERROR, with_hint=True)
        if claimants:
            text += f" is claimed by {' and '.join(claimants)}"
        failure = PluginFailure(
            plugin.name,
            plugin.distribution,
            plugin.version,
            stage=stage,
            error=text,
            guards_paths=plugin.guards_paths,
            claimants=tuple(claimants),
        )
        if failure not in self.failures:
            self.failures.append(failure)
            if isinstance(error, BaseException):
                self.traces.append(traceback_of(error))
            if self.on_failure:
                self.on_failure(failure)
        return failure

    def _load_all(self, sources: Sequence[PluginSource]) -> None:
        claimants: dict[str, set[str]] = {}
        for source in sources:
            claimants.setdefault(source.name, set()).add(source.distribution)
        with stdout_aside():
            for source in sources:
                owners = sorted(claimants[source.name])
                if len(owners) > 1 and not first_party.keeps_its_names(source.distribution):
                    self.reject(source, "name", f"the plugin name {source.name!r}", owners)
                else:
                    self._load(source)

    def _load(self, source: PluginSource) -> None:
        STOP.check()
        if source.newer_host:
            self._reject_newer(source)
            return
        with STOP.saying(interrupted_while_loading(source)):
            try:
                with running(f"the import of the plugin {source.name}", source.distribution):
                    code: object = import_object(source.value)
            except KeyboardInterrupt:
                raise interrupted_while_loading(source) from None
            except BaseException as error:  # noqa: BLE001 - a plugin may raise anything
                STOP.check()
                self.reject(source, "import", error)
                return
            STOP.check()
        for index, plugin in enumerate(self.plugins):
            if plugin.code is code:
                if source.guards_paths:  # one module in both groups: the stricter one counts
                    self.plugins[index] = replace(plugin, guards_paths=True)
                return
        self.plugins.append(
            Plugin(
                source.name,
                source.distribution,
                source.version,
                guards_paths=source.guards_paths,
                code=code,
            )
        )

    def _reject_newer(self, source: PluginSource) -> None:
        from packaging.requirements import InvalidRequirement, Requirement

        from code_commit.plugins.distributions import fault_of_version

        try:
            fault = fault_of_version(Requirement(source.newer_host))
        except InvalidRequirement:
            fault = f"its requirement {source.newer_host!r} is malformed"
        self.reject(source, "version", fault)

    def _declare(self, plugin: Plugin) -> None:
        try:
            if self._manager.parse_hookimpl_opts(plugin.code, ADDHOOKS) is not None:
                with prints_aside():
                    getattr(plugin.code, ADDHOOKS)(self._manager)
        except BaseException as error:  # noqa: BLE001 - a plugin may raise anything
            self.reject(plugin, ADDHOOKS, error)

    def _register(self, plugin: Plugin) -> bool:
        try:
            self._manager.register(plugin.code)
        except pluggy.PluginValidationError as error:  # its text names the hook
            hooks = (name for name in dir(plugin.code) if f"hook '{name}'" in str(error))
            stage = next(hooks, "import")
            spec = getattr(getattr(self._manager.hook, stage, None), "spec", None)
            text = describe(error, longest=_LONGEST_ERROR)
            if spec:
                text += f"; possible arguments: {', '.join(spec.argnames) or 'nothing'}"
            self.reject(plugin, stage, text)
            return False
        except BaseException as error:  # noqa: BLE001 - a plugin may raise anything
            self.reject(plugin, "import", error)
            return False
        if not plugin.guards_paths and PATH_RULES in self.hooks_of(plugin):
            # The other group leaves out a plugin that cannot be imported, together with its rules.
            error_text = (
                f"a path rule must be registered in the entry point group {PATH_RULES_GROUP}"
            )
            self.reject(replace(plugin, guards_paths=True), PATH_RULES, error_text)
        return True

    def _report_unknown_hooks(self) -> None:
        hooks = [name for name in vars(self._manager.hook) if self.knows_hook(name)]
        for plugin in self.plugins:
            prefixed = [name for name in dir(plugin.code) if name.startswith(PREFIX)]
            for name in [*self.hooks_of(plugin), *prefixed]:
                if not callable(getattr(plugin.code, name, None)):
                    continue
                marks = self._manager.parse_hookimpl_opts(plugin.code, name)
                is_optional = marks is not None and marks["optionalhook"]
                if name not in hooks and not is_optional:
                    error = f"there is no such hook{did_you_mean(name, hooks)}; {_OPTIONAL}"
                    self.reject(plugin, name, error)
                elif marks is None:
                    error = "it is not marked with @hookimpl, so it is never called"
                    self.reject(plugin, name, error)


def interrupted_while_loading(source: PluginSource) -> Interrupted:
    """Return the error for an interrupted import."""
    return Interrupted(
        f"interrupted while the plugin {source.name} of {source.distribution} was imported",
        hint=f"if it hangs, disable it with --disable-plugin {source.name}",
    )


def _results(hook: str, result: Any) -> list[Any]:
    """Return the items of a hook's result.

    Generators run here, where errors are caught; a text is one item.

    Raises:
        TypeError: it is nothing that a hook returns.
    """
    if result is None or result == "":
        return []
    if isinstance(result, str):
        return [result]
    if not isinstance(result, Iterable):
        kind = "a string" if hook in _TEXT_HOOKS else "a list"
        raise TypeError(f"it must return {kind} or None, not {type(result).__name__}")
    return list(result)


def _require_known(disabled: frozenset[str], sources: Sequence[PluginSource]) -> None:
    names = sorted({name for source in sources for name in (source.name, source.distribution)})
    for name in sorted(disabled.difference(names)):
        raise UsageError(
            f"there is no plugin {name!r} to disable" + did_you_mean(name, names),
            hint="`code-commit plugins` lists them",
        )
