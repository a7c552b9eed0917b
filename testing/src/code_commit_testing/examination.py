"""Examine loaded plugins as `plugins doctor` does: their settings, their definitions, and what
their hooks give.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MethodType
from typing import Any

import pluggy
from pydantic import ValidationError

from code_commit.cli.arguments import field_of, is_selector
from code_commit.cli.host import command_parser
from code_commit.config.keys import address_of
from code_commit.config.loading import Settings
from code_commit.models.listed_models import usable_models
from code_commit.plugin_api import (
    Change,
    CheckDefinition,
    CodeCommitError,
    CommandDefinition,
    Event,
    Interrupted,
    ProviderDefinition,
    UsageError,
    WorkflowDefinition,
)
from code_commit.plugin_api.host import HOST, Plugin
from code_commit.plugins.code import CODE, collect_objects, fault_of_code, import_code, is_async
from code_commit.plugins.host import ADDHOOKS, CHECKS, PATH_RULES, PREFIX, PluginHost
from code_commit.plugins.registry import DEFAULT_WORKFLOW, VARIABLE_NAME, Registry
from code_commit.run.assembly import plugin_secret, plugin_section, settings_model
from code_commit_testing.wire_examination import GENERATOR, faults_of_provider
from code_commit_workspace import describe, require_sync
from code_commit_workspace.guard.guard import WrongAnswer, checked_refusals

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # a token of HTTP
_Findings = Iterator[tuple[str, str]]  # stage and error


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that does not work, or not as its author intends."""

    plugin: str
    distribution: str
    stage: str
    error: str


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
            _offers(registry, plugin, settings),
            _hooks(plugin_host, plugin, arguments),
            _checks(plugin_host, plugin),
            _own_hooks(plugin_host, plugin),
            _events(plugin),
        ):
            found += _run_check(plugin, check)
    failures = [
        Problem(each.plugin, each.distribution, each.stage, each.error)
        for each in plugin_host.failures
    ]
    return list(dict.fromkeys([*failures, *found]))


def _run_check(plugin: Plugin, check: _Findings) -> Iterator[Problem]:
    try:
        with contextlib.redirect_stdout(sys.stderr):
            rows = list(check)
    except (Interrupted, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - a plugin may raise anything
        rows = [("examination", describe(error))]
    for stage, error_text in rows:
        yield Problem(plugin.name, plugin.distribution, stage, error_text)


def _settings(plugin_host: PluginHost, plugin: Plugin, settings: Settings) -> _Findings:
    """Check that the plugin's settings model exists, is a pydantic model, and accepts the section."""
    try:
        settings.plugin(plugin.name, settings_model(plugin_host, plugin))
    except CodeCommitError as error:
        yield "code_commit_settings", error.message


def _section_model(plugin_host: PluginHost, plugin: Plugin) -> Any:
    with contextlib.suppress(CodeCommitError):  # `_settings` reports it
        return settings_model(plugin_host, plugin)


# --- definitions ------------------------------------------------------------------------------------------------------


def _offers(registry: Registry, plugin: Plugin, settings: Settings) -> _Findings:
    examine: Any = {
        "provider": partial(_provider, settings),
        "workflow": partial(_workflow, _section_model(registry.plugin_host, plugin)),
        "command": partial(_command, plugin),
    }
    for kind in examine:
        for owner, definition in getattr(registry, f"{kind}s").values():
            if owner is plugin:
                yield from (
                    (f"{kind} {definition.name}", error) for error in examine[kind](definition)
                )


def _import_all(definition: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the code that a definition names by field, and what is wrong with the rest."""
    code, faults = {}, []
    for field in CODE[type(definition)]:
        try:
            code[field] = import_code(definition, field)
            if inspect.isgeneratorfunction(code[field]) and not isinstance(
                definition, CheckDefinition
            ):
                faults.append(f"{field} {getattr(definition, field)!r} {GENERATOR}")
        except UsageError as error:
            faults.append(error.message)
    return code, faults


def _provider(settings: Settings, definition: ProviderDefinition) -> Iterator[str]:
    code, faults = _import_all(definition)
    yield from faults
    try:
        if definition.base_url:
            address_of(definition, "default", {}, {})
    except CodeCommitError as error:
        yield f"base_url {definition.base_url!r}: {error.message}"
    if "{key}" not in definition.key_header[-1]:
        yield f"the template of key_header holds no {{key}}: {definition.key_header!r}"
    for field in ("base_url_variable", "key_variable"):
        variable = getattr(definition, field)
        if variable and not VARIABLE_NAME.fullmatch(variable):
            yield f"{field} must be the name of an environment variable, not {variable!r}"
    for model, window in definition.windows.items():
        if usable_models({model: window}) != {model: window}:
            yield f"windows must map model ids to numbers of tokens, not {model!r} to {window!r}"
    if "config" in code and "model" not in code["config"].model_fields:
        yield f"{definition.config} has no field `model`"
    if not faults:
        yield from _faults_of_factory(settings, definition, code["config"], code["factory"])


def _faults_of_factory(
    settings: Settings, definition: ProviderDefinition, config: Any, factory: Any
) -> Iterator[str]:
    """Check what the factory makes, with the default config.

    Without one that is valid, check a class by itself.
    """
    made: Any = factory if inspect.isclass(factory) else None
    try:
        table = dict(settings.connection(definition.name, "default"))
        section = {name: value for name, value in table.items() if name in config.model_fields}
        section.setdefault("model", next(iter(definition.models), "model"))
        given = {"root": Path.cwd()} if "root" in inspect.signature(factory).parameters else {}
        made = require_sync(factory(config.model_validate(section), **given))
    except (
        ValidationError,
        CodeCommitError,
    ):  # the config needs more, or the provider cannot start
        pass
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything
        yield f"factory {definition.factory!r} failed: {describe(error)}"
        return
    if made is None:
        return
    name = made.__name__ if inspect.isclass(made) else type(made).__name__
    is_wire = callable(getattr(made, "encode", None))
    if not is_wire and not callable(getattr(made, "complete", None)):
        yield f"factory {definition.factory!r} makes {name}, which has neither `encode` nor `complete`"
        return
    yield from faults_of_provider(made)
    if is_wire and not _HEADER.fullmatch(definition.key_header[0]):
        yield f"key_header names no valid header: {definition.key_header[0]!r}"
    if not is_wire and definition.base_url:
        yield f"{name} is a Provider, which makes its own connections, so `base_url` must be empty"


def _workflow(section: Any, definition: WorkflowDefinition) -> Iterator[str]:
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
    settable = {field_of(flag.names[0]) for flag in definition.flags} | getattr(
        section, "model_fields", {}
    ).keys()
    for name, field in dict(fields).items():
        if field.is_required() and name not in settable:
            yield f"the field {name!r} of {definition.options} is required, but no flag sets it"
    yield from _misfits(section, code.get("options"))


def _misfits(section: Any, options: Any) -> Iterator[str]:
    """Find settings whose default is no value of the option of the same name: no run starts without
    the flag.
    """
    fields = {
        name: each
        for name, each in getattr(section, "model_fields", {}).items()
        if not each.is_required()
    }
    shared = [name for name in getattr(options, "model_fields", ()) if name in fields]
    defaults = {name: fields[name].get_default(call_default_factory=True) for name in shared}
    if not defaults:
        return
    try:
        options.model_validate(defaults)
    except ValidationError as error:
        for name, wrong in (
            (str(each["loc"][0]), each["msg"]) for each in error.errors() if each["loc"]
        ):
            if name in defaults:
                yield f"the default {defaults[name]!r:.100} of the setting {name!r} does not fit its flag: {wrong}"


def _command(plugin: Plugin, definition: CommandDefinition) -> Iterator[str]:
    _, faults = _import_all(definition)
    yield from faults
    if not faults:
        command_parser(plugin, definition)


# --- hooks and events -------------------------------------------------------------------------------------------------


def _hooks(plugin_host: PluginHost, plugin: Plugin, arguments: Any) -> _Findings:
    """Check that the plugin implements hooks by plain functions.

    The host reports what is wrong with their items.
    """
    hooks = plugin_host.hooks_of(plugin)
    for hook in [each for each in hooks if each in CODE]:
        given = list(collect_objects(plugin_host, hook, arguments, only=plugin))
        yield from (
            (hook, fault) for fault in _faults_of_methods(hook, [each for _, each in given], plugin)
        )
        if hook == PATH_RULES and not any(
            each.plugin == plugin.name for each in plugin_host.failures
        ):
            for _, rule in given:
                yield from ((hook, fault) for fault in _faults_of_judging(rule))
    failed = [each.stage for each in plugin_host.failures if each.plugin == plugin.name]
    if not hooks and not failed:
        yield "import", "it implements no hook: check what its entry point names"
    for hook in hooks:
        if hook not in failed and is_async(getattr(plugin.code, hook, None)):
            yield hook, "it is async; use a plain function"


def _checks(plugin_host: PluginHost, plugin: Plugin) -> _Findings:
    """Check that the checks of `code-commit doctor` can be imported. They are not run."""
    for _, item in plugin_host.collect(CHECKS, only=plugin):
        if not isinstance(item, CheckDefinition):
            yield CHECKS, f"a check must be a CheckDefinition, not {item!r:.100}"
            continue
        yield from ((f"check {item.name}", fault) for fault in _import_all(item)[1])


def _faults_of_methods(hook: str, given: Sequence[Any], plugin: Plugin) -> Iterator[str]:
    """Find methods that do nothing when called.

    If the hook gave no objects, such as no sink without a file, look at the plugin's classes that
    have its methods.
    """
    if "__call__" in CODE[hook]:
        functions = [each if inspect.isfunction(each) else type(each).__call__ for each in given]
        yield from (
            f"{each.__qualname__} {GENERATOR}"
            for each in functions
            if inspect.isgeneratorfunction(each)
        )
        return
    methods = {name: int(count or 0) for name, count in CODE[hook].items()}
    unmade = _classes_of(plugin) if methods and not given else []
    classes = [each for each in unmade if methods.keys() <= vars(each).keys()]
    for each in classes:
        for name, count in methods.items():
            if fault := fault_of_code(MethodType(vars(each)[name], each), count):
                yield f"{each.__name__}.{name} {fault}"
    for each in classes or map(type, given):
        for name in methods.keys() - {"judge"}:  # which may yield refusals
            if inspect.isgeneratorfunction(getattr(each, name, None)):
                yield f"{each.__name__}.{name} {GENERATOR}"


def _classes_of(plugin: Plugin) -> list[type]:
    """Return the classes in the plugin's package, of those modules that are imported by now."""
    package = _package_of(plugin)
    modules = [
        each for name, each in sorted(sys.modules.items()) if name.partition(".")[0] == package
    ]
    found = [each for module in modules for each in vars(module).values() if inspect.isclass(each)]
    return [each for each in dict.fromkeys(found) if each.__module__.partition(".")[0] == package]


_TREE = {"plugins-doctor-old.txt": b"an old file\n"}
_NEW = Change("plugins-doctor.txt", b"a new file\n")
_DELETED = Change("plugins-doctor-old.txt", None)
_CHANGES = {
    "a new file": (_NEW,),
    "a deleted file": (_DELETED,),
    "two files at once": (_NEW, _DELETED),
}


class _SmallTree:
    """The tree of a project with one file."""

    def read(self, path: str, limit: int | None = None, *, start: int = 0) -> bytes | None:
        return _TREE[path][start:][:limit] if path in _TREE else None

    def size(self, path: str) -> int:
        return len(_TREE.get(path, b""))

    def mode(self, path: str) -> int | None:
        return 0o644 if path in _TREE else None

    def contents(self, paths: Any, limit: int) -> Iterator[tuple[str, bytes | None]]:
        return ((path, self.read(path, limit)) for path in paths)

    def list(self, patterns: Any = (), *, recursive: bool = True) -> tuple[str, ...]:  # noqa: ARG002 - a `Tree`
        return tuple(_TREE)


def _faults_of_judging(rule: Any) -> Iterator[str]:
    """Let a rule judge a new file, a deleted one, and both.

    The host refuses everything if the answer is malformed.
    """
    name = f"{type(rule).__name__}.judge"
    if rule.name == "":
        yield f"the `name` of {type(rule).__name__} is empty"
    for what, changes in _CHANGES.items():
        try:
            list(
                checked_refusals(
                    rule.judge(changes, _SmallTree()), {each.path for each in changes}, ""
                )
            )
        except WrongAnswer as error:
            yield f"{name} must return Refusals of changed paths, but it {error}"
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin may raise anything
            yield f"{name} failed for {what}: {describe(error)}"
        else:
            continue
        return


def _own_hooks(plugin_host: PluginHost, plugin: Plugin) -> _Findings:
    """Check the hooks that the plugin specifies: their names and arguments."""
    if ADDHOOKS not in plugin_host.hooks_of(plugin) or any(
        each.stage == ADDHOOKS for each in plugin_host.failures
    ):
        return
    manager = pluggy.PluginManager("code_commit")
    getattr(plugin.code, ADDHOOKS)(manager)
    for name, caller in vars(manager.hook).items():
        if caller.spec is None:
            continue
        if not name.startswith(PREFIX):
            yield ADDHOOKS, f"the name of the hook {name} must begin with {PREFIX}"
        if wrong := [each for each in caller.spec.argnames if each != "settings"]:
            yield (
                ADDHOOKS,
                f"the hook {name} gets no {' and no '.join(wrong)}: its only argument is `settings`",
            )


def _events(plugin: Plugin) -> _Findings:
    """Check the events in the plugin's package, of those modules that are imported by now."""
    package = _package_of(plugin)
    own = [each for each in _subclasses(Event) if each.__module__.partition(".")[0] == package]
    for name in sorted(
        {each.__qualname__ for each in own if "__dataclass_params__" not in vars(each)}
    ):
        yield f"event {name}", "it must be a frozen dataclass: the fields are its data"
    for name, kind in sorted(
        {(each.__qualname__, each.kind) for each in own if not each.__subclasses__()}
    ):
        if not kind.startswith(f"{plugin.name}."):
            yield f"event {name}", f"its kind must be `{plugin.name}.<what>`, not {kind!r}"


def _package_of(plugin: Plugin) -> str:
    code = plugin.code
    return str(getattr(code, "__module__", None) or getattr(code, "__name__", "")).partition(".")[0]


def _subclasses(parent: type[Event]) -> Iterator[type[Event]]:
    for each in parent.__subclasses__():
        yield each
        yield from _subclasses(each)
