"""`code-commit plugins doctor`: examine every plugin, and import everything that it names."""

from __future__ import annotations

import contextlib
import platform
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from code_commit import __version__
from code_commit.cli.arguments import field_of, is_selector
from code_commit.cli.host import CommandHost, command_parser
from code_commit.config.loading import Settings
from code_commit.imports import import_object
from code_commit.plugin_api.definitions import CommandDefinition, ProviderDefinition, WorkflowDefinition
from code_commit.plugin_api.errors import CodeCommitError, ExitCode, UsageError, describe, did_you_mean
from code_commit.plugins.discovery import GROUP, PATH_RULES_GROUP, PluginSource, discover
from code_commit.plugins.host import (
    CODE,
    HOST,
    Plugin,
    PluginHost,
    collect_objects,
    import_code,
    interrupted_while_loading,
    stdout_aside,
)
from code_commit.plugins.registry import DEFAULT_WORKFLOW, Registry
from code_commit.run.assembly import plugin_secret, plugin_section, settings_model
from code_commit_workspace import is_async

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
        Problem(each.plugin, each.distribution, each.stage, host.out.redacted(each.error))
        for each in [*problems(host.registry, host.configuration), *dependents(sources)]
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
        count = f"{len(rows)} plugin{'s' * (len(rows) != 1)}"
        host.out.line(f"code-commit {__version__}, Python {platform.python_version()}, {count}")
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


def problems(registry: Registry, settings: Settings) -> list[Problem]:
    """Examine every loaded plugin; the failures of a start, such as clashing names, come first."""
    plugin_host = registry.plugin_host
    registry.secret_variables()  # reports invalid names of variables
    found: list[Problem] = []
    section_of = partial(plugin_section, settings, plugin_host)
    secret_of = partial(plugin_secret, registry, lambda _name: None)  # as if no variable is set
    arguments = {"settings": section_of, "secret": secret_of}
    for plugin in [each for each in plugin_host.plugins if each.distribution != HOST]:
        for check in (
            _settings(plugin_host, plugin, settings),
            _offers(registry, plugin),
            _hooks(plugin_host, plugin, arguments),
        ):
            found += _run_check(plugin, check)
    failures = [Problem(each.plugin, each.distribution, each.stage, each.error) for each in plugin_host.failures]
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


def _settings(plugin_host: PluginHost, plugin: Plugin, settings: Settings) -> Iterator[tuple[str, str]]:
    """Check that the plugin's settings model exists, is a pydantic model, and accepts the section."""
    try:
        settings.plugin(plugin.name, settings_model(plugin_host, plugin))
    except CodeCommitError as error:
        yield "code_commit_settings", error.message


def _offers(registry: Registry, plugin: Plugin) -> Iterator[tuple[str, str]]:
    examine: Any = {"provider": _provider, "workflow": _workflow, "command": partial(_command, plugin)}
    for kind in examine:
        for owner, definition in getattr(registry, f"{kind}s").values():
            if owner is plugin:
                yield from ((f"{kind} {definition.name}", error) for error in examine[kind](definition))


def _import_all(definition: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the code that a definition names by field, and what is wrong with the rest."""
    code, faults = {}, []
    for field in CODE[type(definition)]:
        try:
            code[field] = import_code(definition, field)
        except UsageError as error:
            faults.append(error.message)
    return code, faults


def _provider(definition: ProviderDefinition) -> Iterator[str]:
    code, faults = _import_all(definition)
    yield from faults
    if definition.base_url and not definition.base_url.startswith("https://"):
        yield f"base_url {definition.base_url!r} is not an https address"
    if "{key}" not in definition.key_header[-1]:
        yield f"the template of key_header holds no {{key}}: {definition.key_header!r}"
    if "config" in code and "model" not in code["config"].model_fields:
        yield f"{definition.config} has no field `model`"


def _workflow(definition: WorkflowDefinition) -> Iterator[str]:
    code, faults = _import_all(definition)
    yield from faults
    if definition.name != DEFAULT_WORKFLOW and not any(flag.selects for flag in definition.flags):
        yield "no flag selects it, so it never runs"
    fields = getattr(code.get("options"), "model_fields", ())
    for flag in definition.flags if "options" in code else ():
        name = field_of(flag.names[0])
        if name not in fields and not is_selector(flag):
            where = definition.options or "`options`, which the definition does not name"
            yield f"the flag {flag.names[0]} has no field {name!r} in {where}"


def _command(plugin: Plugin, definition: CommandDefinition) -> Iterator[str]:
    _, faults = _import_all(definition)
    yield from faults
    if not faults:
        command_parser(plugin, definition)


def _hooks(plugin_host: PluginHost, plugin: Plugin, arguments: Any) -> Iterator[tuple[str, str]]:
    """Check that the plugin implements hooks by plain functions. The host reports what is wrong with their items."""
    hooks = plugin_host.hooks_of(plugin)
    for hook in [each for each in hooks if each in CODE]:
        list(collect_objects(plugin_host, hook, arguments, only=plugin))
    failed = [each.stage for each in plugin_host.failures if each.plugin == plugin.name]
    if not hooks and not failed:
        yield "import", "it implements no hook: check what its entry point names"
    for hook in hooks:
        if hook not in failed and is_async(getattr(plugin.code, hook)):
            yield hook, "it is async; use a plain function"
