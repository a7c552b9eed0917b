"""`code-commit plugins doctor`: examine every plugin, and import everything that it names."""

from __future__ import annotations

import contextlib
import platform
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from code_commit import __version__
from code_commit.cli.arguments import BUILTIN, RESERVED, field_of
from code_commit.cli.host import CommandHost
from code_commit.cli.output import redact_secrets_of, redacted
from code_commit.config.loading import Settings
from code_commit.imports import import_object
from code_commit.plugin_api.definitions import CommandDefinition, ProviderDefinition, WorkflowDefinition
from code_commit.plugin_api.errors import CodeCommitError, ExitCode, describe, did_you_mean
from code_commit.plugins.discovery import GROUP, PATH_RULES_GROUP, PluginSource, discover
from code_commit.plugins.host import HOST, Plugin, PluginHost, interrupted_while_loading, stdout_aside
from code_commit.plugins.registry import Registry
from code_commit.run.assembly import METHODS, faults_of, plugin_secret, plugin_section, settings_model

_SIMILAR_GROUP = re.compile(r"code[-_.]?commit", re.IGNORECASE)
_NOT_PLUGINS = frozenset({"code-commit-testing"})  # they depend on the host


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that does not work, or not as its author intends."""

    plugin: str
    distribution: str
    stage: str
    error: str


def doctor(host: CommandHost, *, as_json: bool) -> int:
    """Print versions, entry points, load times and problems; return 1 if there are problems.

    Raises:
        NotReady: the configuration here cannot be read.
    """
    sources = discover()
    seconds = load_times(sources)
    found = [
        Problem(each.plugin, each.distribution, each.stage, redacted(each.error))
        for each in [*problems(PluginHost(builtin=BUILTIN), host.configuration), *dependents(sources)]
    ]
    rows = [
        {
            "name": source.name,
            "distribution": source.distribution,
            "version": source.version,
            "group": source.group,
            "entry_point": source.value,
            "load_ms": round(seconds[source] * 1000, 1),
            "sound": not any((each.plugin, each.distribution) == (source.name, source.distribution) for each in found),
        }
        for source in sources
    ]
    if as_json:
        versions = {"code-commit": __version__, "python": platform.python_version()}
        host.out.document({"versions": versions, "plugins": rows, "problems": [asdict(each) for each in found]})
    else:
        host.out.line(f"code-commit {__version__}, Python {platform.python_version()}, {len(rows)} plugins")
        host.out.table([
            ("  ok" if row["sound"] else "  !!", f"{row['name']}", f"{row['distribution']} {row['version']}",
             f"{row['group']}: {row['entry_point']}", f"{row['load_ms']:.1f} ms")
            for row in rows
        ])  # fmt: skip
        for each in found:
            host.out.line(f"{each.plugin} of {each.distribution}, {each.stage}: {each.error}")
        host.out.line("nothing is wrong" if not found else f"{len(found)} problem{'s' * (len(found) > 1)}")
    return ExitCode.NOT_REACHED if found else ExitCode.REACHED


def load_times(sources: Sequence[PluginSource]) -> dict[PluginSource, float]:
    """Import each plugin in the order of a start; return seconds. A shared import counts for the first plugin."""
    import_object("code_commit.plugin_api")
    seconds = {}
    with stdout_aside():
        for source in sources:
            began = time.perf_counter()
            try:
                import_object(source.value)
            except KeyboardInterrupt:
                raise interrupted_while_loading(source) from None
            except BaseException:  # noqa: BLE001, S110 - the plugin host tries again and reports it
                pass
            seconds[source] = time.perf_counter() - began
    return seconds


def dependents(sources: Sequence[PluginSource]) -> Iterator[Problem]:
    """Examine the metadata of all distributions: required versions of the host, and entry point groups."""
    from importlib.metadata import distributions

    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    for each in distributions():
        name = each.name or ""
        plugins = [source.name for source in sources if source.distribution == name]
        plugin = plugins[0] if plugins else name.removeprefix(f"{HOST}-")
        needed = []
        for text in each.requires or ():
            with contextlib.suppress(InvalidRequirement):
                needed.append(Requirement(text))
        needed = [one for one in needed if canonicalize_name(one.name) == HOST]
        for one in needed:
            applies = one.marker is None or one.marker.evaluate({"extra": ""})
            if applies and not one.specifier.contains(__version__, prereleases=True):
                error = f"it needs code-commit {one.specifier}, and {__version__} is installed"
                yield Problem(plugin, name, "version", error)
        groups = {entry.group for entry in each.entry_points}
        wrong = sorted(group for group in groups - {GROUP, PATH_RULES_GROUP} if _SIMILAR_GROUP.match(group))
        for group in wrong:
            suggestion = did_you_mean(group, [GROUP, PATH_RULES_GROUP])
            yield Problem(plugin, name, "entry points", f"nobody reads the group {group}{suggestion}")
        if needed and not (plugins or wrong or "console_scripts" in groups or name in _NOT_PLUGINS):
            error = f"it depends on {HOST} and registers no plugin: its metadata has no entry point group {GROUP}"
            yield Problem(plugin, name, "entry points", error)


def problems(host: PluginHost, settings: Settings) -> list[Problem]:
    """Examine every loaded plugin; the failures of a start, such as clashing names, come first."""
    registry = redact_secrets_of(Registry(host, reserved_flags=RESERVED))
    registry.secret_variables()  # reports invalid names of variables
    found: list[Problem] = []
    section_of = partial(plugin_section, settings, host)
    secret_of = partial(plugin_secret, registry, lambda _name: None)  # as if no variable is set
    arguments = {"settings": section_of, "secret": secret_of}
    for plugin in [each for each in host.plugins if each.distribution != HOST]:
        checks = [_settings(host, plugin, settings), *(_offers(registry, plugin, kind) for kind in _EXAMINE)]
        for check in (*checks, *(_objects(host, plugin, hook, arguments) for hook in METHODS)):
            found += _run_check(plugin, check)
    failures = [Problem(each.plugin, each.distribution, each.stage, each.error) for each in host.failures]
    return list(dict.fromkeys([*failures, *found]))


def _run_check(plugin: Plugin, check: Iterator[tuple[str, str]]) -> Iterator[Problem]:
    try:
        with contextlib.redirect_stdout(sys.stderr):
            rows = list(check)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a plugin may raise anything
        rows = [("examination", describe(error))]
    for stage, error_text in rows:
        yield Problem(plugin.name, plugin.distribution, stage, error_text)


def _settings(host: PluginHost, plugin: Plugin, settings: Settings) -> Iterator[tuple[str, str]]:
    """Check that the plugin's settings model exists, is a pydantic model, and accepts the section."""
    stage = "code_commit_settings"
    try:
        model = settings_model(host, plugin)
    except CodeCommitError as error:
        yield stage, error.message
        return
    if model is not None and not hasattr(model, "model_validate"):
        yield stage, f"{model!r} is no pydantic model"
        return
    try:
        settings.plugin(plugin.name, model)
    except CodeCommitError as error:
        yield stage, error.message


def _offers(registry: Registry, plugin: Plugin, kind: str) -> Iterator[tuple[str, str]]:
    for owner, definition in getattr(registry, f"{kind}s").values():
        if owner is plugin:
            yield from ((f"{kind} {definition.name}", error) for error in _EXAMINE[kind](definition))


def _provider(definition: ProviderDefinition) -> Iterator[str]:
    yield from _code("config", definition.config, lambda code: hasattr(code, "model_validate"), "a pydantic model")
    yield from _code("factory", definition.factory, callable, "callable")
    if definition.base_url and not definition.base_url.startswith("https://"):
        yield f"base_url {definition.base_url!r} is not an https address"
    if "{key}" not in definition.key_header[-1]:
        yield f"the template of key_header holds no {{key}}: {definition.key_header!r}"
    try:
        fields = import_object(definition.config).model_fields
    except (ImportError, AttributeError):
        return  # reported above
    if "model" not in fields:
        yield f"{definition.config} has no field `model`"


def _workflow(definition: WorkflowDefinition) -> Iterator[str]:
    yield from _code("run", definition.run, callable, "callable")
    if definition.root:
        yield from _code("root", definition.root, callable, "callable")
    if not definition.options:
        return
    wrong = list(_code("options", definition.options, lambda code: hasattr(code, "model_validate"), "a pydantic model"))
    yield from wrong
    if wrong:
        return
    fields = import_object(definition.options).model_fields
    for flag in definition.flags:
        name = field_of(flag.names[0])
        if name not in fields and not (flag.selects and flag.metavar is None):
            yield f"the flag {flag.names[0]} has no field {name!r} in {definition.options}"


def _command(definition: CommandDefinition) -> Iterator[str]:
    for what in ("run", "arguments") if definition.arguments else ("run",):
        yield from _code(what, getattr(definition, what), callable, "callable")


_EXAMINE: Any = {"provider": _provider, "workflow": _workflow, "command": _command}


def _code(what: str, target: str, is_valid: Callable[[Any], bool], kind: str) -> Iterator[str]:
    try:
        code = import_object(target)
    except Exception as error:  # noqa: BLE001 - importing a plugin's code may raise anything
        yield f"{what} {target!r} cannot be imported: {type(error).__name__}: {error}"
        return
    if not is_valid(code):
        yield f"{what} {target!r} is not {kind}"


def _objects(host: PluginHost, plugin: Plugin, hook: str, arguments: Any) -> Iterator[tuple[str, str]]:
    """Check that the items of a hook have the methods that the host calls. The host reports what the hook raises."""
    for _, item in host.collect(hook, arguments, only=plugin):
        yield from ((hook, fault) for fault in faults_of(hook, item))
