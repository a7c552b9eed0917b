"""Examine loaded plugins as `plugins doctor` does: settings, definitions, and results of hooks."""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MethodType
from typing import Any

import pluggy
from pydantic import ValidationError

from code_commit.cli.arguments import field_of, is_selector
from code_commit.cli.first_use_examination import SampleModel, fault_of_layer, fault_of_sink
from code_commit.cli.host import command_parser
from code_commit.cli.item_examination import faults_of_item
from code_commit.cli.wire_examination import GENERATOR, class_name, faults_of_provider
from code_commit.config.addresses import address_of
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
    hookspecs,
)
from code_commit.plugin_api.host import HOST, Plugin
from code_commit.plugin_api.sync_result import require_sync
from code_commit.plugins.code import CODE, collect_objects, fault_of_code, import_code, is_async
from code_commit.plugins.host import ADDHOOKS, CHECKS, PATH_RULES, PREFIX, PluginHost
from code_commit.plugins.registry import DEFAULT_WORKFLOW, OF_EVERY_PROCESS, VARIABLE_NAME, Registry
from code_commit.run.plugin_settings import plugin_secret, plugin_section, settings_model
from code_commit_workspace.guard.guard import WrongAnswer, checked_refusals
from code_commit_workspace.words import describe

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # a token of HTTP
_PLUGIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_Findings = Iterator[tuple[str, str]]  # stage and error


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that does not work, or not as its author intends."""

    plugin: str
    distribution: str
    stage: str
    error: str


def examined_problems(registry: Registry, settings: Settings) -> list[Problem]:
    """Examine every loaded plugin; the failures of a start, such as clashing names, come first."""
    plugin_host = registry.plugin_host
    registry.secret_variables()  # reports invalid names of variables
    problems: list[Problem] = []
    section_of = partial(plugin_section, settings, plugin_host)
    secret_of = partial(plugin_secret, registry, lambda _name: None)  # as if no variable is set
    arguments = {
        "settings": section_of,
        "secret": secret_of,
        "models": lambda _plugin: SampleModel,
    }
    for plugin in plugin_host.plugins:
        if plugin.distribution == HOST:
            continue
        for check in (
            _name(plugin),
            _settings(plugin_host, plugin, settings),
            _offers(registry, plugin, settings),
            _hooks(plugin_host, plugin, arguments),
            _checks(plugin_host, plugin),
            _own_hooks(plugin_host, plugin),
            _events(plugin),
        ):
            problems += _run_check(plugin, check)
    failures = [
        Problem(failure.plugin, failure.distribution, failure.stage, failure.error)
        for failure in plugin_host.failures
    ]
    return list(dict.fromkeys([*failures, *problems]))


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


def _name(plugin: Plugin) -> _Findings:
    """Check the name of the entry point, which settings and events repeat."""
    if not _PLUGIN_NAME.fullmatch(plugin.name):
        rule = "the name of an entry point has letters, digits, `-`, `_` and `.` alone"
        yield "name", f"{rule}, unlike {plugin.name!r}"


def _settings(plugin_host: PluginHost, plugin: Plugin, settings: Settings) -> _Findings:
    """Check that the plugin's settings model is a pydantic model, and accepts the section."""
    try:
        settings.plugin(plugin.name, settings_model(plugin_host, plugin))
    except CodeCommitError as error:
        yield "code_commit_settings", error.message


def _section_model(plugin_host: PluginHost, plugin: Plugin) -> Any:
    with contextlib.suppress(CodeCommitError):  # `_settings` reports it
        return settings_model(plugin_host, plugin)


# --- definitions


def _offers(registry: Registry, plugin: Plugin, settings: Settings) -> _Findings:
    examine: Any = {
        "provider": partial(_provider, settings),
        "workflow": partial(_workflow, _section_model(registry.plugin_host, plugin)),
        "command": partial(_command, plugin),
    }
    for kind in examine:
        for owner, definition in getattr(registry, f"{kind}s").values():
            if owner is plugin:
                for error in examine[kind](definition):
                    yield f"{kind} {definition.name}", error


def _import_all(definition: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the code that a definition names by field, and what is wrong with the rest."""
    code = {}
    faults = []
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
    if any(definition.key_header) and "{key}" not in definition.key_header[-1]:
        yield f"the template of key_header holds no {{key}}: {definition.key_header!r}"
    for field in ("base_url_variable", "key_variable"):
        variable = getattr(definition, field)
        if variable and not VARIABLE_NAME.fullmatch(variable):
            yield f"{field} must be the name of an environment variable, not {variable!r}"
        elif variable in OF_EVERY_PROCESS:
            yield f"{field} is {variable}, which every process needs"
    for model, window in definition.windows.items():
        if usable_models({model: window}) != {model: window}:
            yield f"windows must map model ids to numbers of tokens, not {model!r} to {window!r}"
    if "config" in code and "model" not in code["config"].model_fields:
        yield f"{definition.config} has no field `model`"
    if not faults:
        yield from _faults_of_factory(settings, definition, code["config"], code["factory"])


def _faults_of_factory(
    settings: Settings,
    definition: ProviderDefinition,
    config: Any,
    factory: Any,
) -> Iterator[str]:
    """Check what the factory returns, with the default config.

    Without one that is valid, check a class by itself.
    """
    provider: Any = None
    if inspect.isclass(factory):
        provider = factory
    try:
        table = dict(settings.connection(definition.name, "default"))
        section = {name: value for name, value in table.items() if name in config.model_fields}
        section.setdefault("model", next(iter(definition.models), "model"))
        arguments = {}
        if "root" in inspect.signature(factory).parameters:
            arguments["root"] = Path.cwd()
        provider = require_sync(factory(config.model_validate(section), **arguments))
    except (ValidationError, CodeCommitError):
        pass  # the config needs more, or the provider cannot start
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything
        yield f"factory {definition.factory!r} failed: {describe(error)}"
        return
    else:
        if provider is None:
            yield f"factory {definition.factory!r} returns None"
    if provider is None:
        return
    name = class_name(provider)
    is_wire = callable(getattr(provider, "encode", None))
    if not is_wire and not callable(getattr(provider, "complete", None)):
        yield (
            f"factory {definition.factory!r} makes {name}, "
            "which has neither `encode` nor `complete`"
        )
        return
    yield from faults_of_provider(provider)
    sends_key = bool(definition.key_variable) or any(definition.key_header)
    if is_wire and sends_key and not _HEADER.fullmatch(definition.key_header[0]):
        yield f"key_header names no valid header: {definition.key_header[0]!r}"
    if not is_wire and definition.base_url:
        yield f"{name} is a Provider, which makes its own connections, so `base_url` must be empty"


def _workflow(section: Any, definition: WorkflowDefinition) -> Iterator[str]:
    code, faults = _import_all(definition)
    yield from faults
    if definition.name != DEFAULT_WORKFLOW and not any(flag.selects for flag in definition.flags):
        yield "no flag selects it, so it never runs"
    fields = getattr(code.get("options"), "model_fields", ())
    flags = definition.flags
    if "options" not in code:  # it cannot be imported
        flags = ()
    for flag in flags:
        name = field_of(flag.names[0])
        if name not in fields and not is_selector(flag):
            model = definition.options or "`options`, which the definition does not name"
            yield f"the flag {flag.names[0]} has no field {name!r} in {model}"
    settable = {field_of(flag.names[0]) for flag in definition.flags}
    settable |= getattr(section, "model_fields", {}).keys()
    for name, field in dict(fields).items():
        if field.is_required() and name not in settable:
            yield f"the field {name!r} of {definition.options} is required, but no flag sets it"
    yield from _misfits(section, code.get("options"))


def _misfits(section: Any, options: Any) -> Iterator[str]:
    """Find settings whose default is no value of the option of the same name.

    Without the flag of such an option, no run starts.
    """
    flags = getattr(options, "model_fields", ())
    defaults = {}
    for name, field in getattr(section, "model_fields", {}).items():
        if name in flags and not field.is_required():
            defaults[name] = field.get_default(call_default_factory=True)
    if not defaults:
        return
    try:
        options.model_validate(defaults)
    except ValidationError as error:
        for detail in error.errors():
            name = ".".join(map(str, detail["loc"][:1]))
            if name in defaults:
                yield (
                    f"the default {defaults[name]!r:.100} of the setting {name!r} "
                    f"does not fit its flag: {detail['msg']}"
                )


def _command(plugin: Plugin, definition: CommandDefinition) -> Iterator[str]:
    _, faults = _import_all(definition)
    yield from faults
    if not faults:
        command_parser(plugin, definition)


# --- hooks and events


def _hooks(plugin_host: PluginHost, plugin: Plugin, arguments: Any) -> _Findings:
    """Check that the plugin implements hooks by plain functions.

    The host reports what is wrong with their items.
    """
    hooks = plugin_host.hooks_of(plugin)
    for hook in hooks:
        if hook not in CODE:
            for fault in _faults_of_other_hook(plugin_host, plugin, hook, arguments):
                yield hook, fault
            continue
        collected = collect_objects(plugin_host, hook, arguments, only=plugin)
        objects = [hook_object for _, hook_object in collected]
        faults = list(_faults_of_methods(hook, objects, plugin))
        if not faults and hook not in _failed_stages(plugin_host, plugin):
            faults = list(_faults_of_first_use(hook, objects, plugin))
        for fault in faults:
            yield hook, fault
        if hook == PATH_RULES and not _failed_stages(plugin_host, plugin):
            for rule in objects:
                for fault in _faults_of_judging(rule):
                    yield hook, fault
    failed = _failed_stages(plugin_host, plugin)
    if not hooks and not failed:
        yield "import", "it implements no hook: check what its entry point names"
    for hook in hooks:
        if hook not in failed and is_async(getattr(plugin.code, hook, None)):
            yield hook, "it is async; use a plain function"


def _faults_of_other_hook(
    plugin_host: PluginHost,
    plugin: Plugin,
    hook: str,
    arguments: Any,
) -> Iterator[str]:
    """Find what is wrong with what the plugin gives for a hook that a plugin specifies."""
    specification = plugin_host.specification_of(hook)
    if specification is None or specification.namespace is hookspecs:
        return
    for _, item in plugin_host.collect(hook, arguments, only=plugin):
        yield from faults_of_item(specification, item)


def _failed_stages(plugin_host: PluginHost, plugin: Plugin) -> list[str]:
    return [failure.stage for failure in plugin_host.failures if failure.plugin == plugin.name]


def _checks(plugin_host: PluginHost, plugin: Plugin) -> _Findings:
    """Check that the checks of `code-commit doctor` can be imported. They are not run."""
    for _, definition in plugin_host.collect(CHECKS, only=plugin):
        if not isinstance(definition, CheckDefinition):
            yield CHECKS, f"a check must be a CheckDefinition, not {definition!r:.100}"
            continue
        _, faults = _import_all(definition)
        for fault in faults:
            yield f"check {definition.name}", fault


def _faults_of_methods(hook: str, objects: Sequence[Any], plugin: Plugin) -> Iterator[str]:
    """Find methods that do nothing when called.

    If the hook gave no objects, such as no sink without a file, look at the plugin's classes that
    have its methods.
    """
    if "__call__" in CODE[hook]:
        for layer in objects:
            function = layer
            if not inspect.isfunction(layer):
                function = type(layer).__call__
            if inspect.isgeneratorfunction(function):
                yield f"{function.__qualname__} {GENERATOR}"
        return
    methods = {name: int(count or 0) for name, count in CODE[hook].items()}
    unused_classes = []
    if methods and not objects:
        unused_classes = [cls for cls in _classes_of(plugin) if methods.keys() <= vars(cls).keys()]
    for cls in unused_classes:
        for name, count in methods.items():
            if fault := fault_of_code(MethodType(vars(cls)[name], cls), count):
                yield f"{cls.__name__}.{name} {fault}"
    for cls in unused_classes or map(type, objects):
        for name in methods.keys() - {"judge"}:  # which may yield refusals
            if inspect.isgeneratorfunction(getattr(cls, name, None)):
                yield f"{cls.__name__}.{name} {GENERATOR}"


def _faults_of_first_use(hook: str, objects: Sequence[Any], plugin: Plugin) -> Iterator[str]:
    use: Callable[[Any], str]
    match hook:
        case "code_commit_log_sinks":
            use = fault_of_sink
        case "code_commit_model_layers":
            use = partial(fault_of_layer, distribution=plugin.distribution)
        case _:
            return
    yield from filter(None, map(use, objects))


def _classes_of(plugin: Plugin) -> list[type]:
    """Return the classes in the plugin's package, of those modules that are imported by now."""
    package = _package_of(plugin)
    classes: dict[type, None] = {}  # each once, in order
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] == package:
            classes |= dict.fromkeys(filter(inspect.isclass, vars(module).values()))
    return [cls for cls in classes if cls.__module__.partition(".")[0] == package]


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
        if path not in _TREE:
            return None
        return _TREE[path][start:][:limit]

    def size(self, path: str) -> int:
        return len(_TREE.get(path, b""))

    def mode(self, path: str) -> int | None:
        if path not in _TREE:
            return None
        return 0o644

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
    for description, changes in _CHANGES.items():
        paths = {change.path for change in changes}
        try:
            list(checked_refusals(rule.judge(changes, _SmallTree()), paths, ""))
        except WrongAnswer as error:
            yield f"{name} must return Refusals of changed paths, but it {error}"
            return
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin may raise anything
            yield f"{name} failed for {description}: {describe(error)}"
            return


def _own_hooks(plugin_host: PluginHost, plugin: Plugin) -> _Findings:
    """Check the hooks that the plugin specifies: their names and arguments."""
    if ADDHOOKS not in plugin_host.hooks_of(plugin):
        return
    if any(failure.stage == ADDHOOKS for failure in plugin_host.failures):
        return
    manager = pluggy.PluginManager("code_commit")
    getattr(plugin.code, ADDHOOKS)(manager)
    for name, caller in vars(manager.hook).items():
        if caller.spec is None:
            continue
        if not name.startswith(PREFIX):
            yield ADDHOOKS, f"the name of the hook {name} must begin with {PREFIX}"
        wrong = [argument for argument in caller.spec.argnames if argument != "settings"]
        if wrong:
            arguments = " and no ".join(wrong)
            yield ADDHOOKS, f"the hook {name} gets no {arguments}: its only argument is `settings`"


def _events(plugin: Plugin) -> _Findings:
    """Check the events in the plugin's package, of those modules that are imported by now."""
    package = _package_of(plugin)
    events = [cls for cls in _subclasses(Event) if cls.__module__.partition(".")[0] == package]
    plain = {cls.__qualname__ for cls in events if "__dataclass_params__" not in vars(cls)}
    for name in sorted(plain):
        yield f"event {name}", "it must be a frozen dataclass: the fields are its data"
    kinds = {(cls.__qualname__, cls.kind) for cls in events if not cls.__subclasses__()}
    for name, kind in sorted(kinds):
        if not kind.startswith(f"{plugin.name}."):
            yield f"event {name}", f"its kind must be `{plugin.name}.<what>`, not {kind!r}"


def _package_of(plugin: Plugin) -> str:
    code = plugin.code
    return str(getattr(code, "__module__", None) or getattr(code, "__name__", "")).partition(".")[0]


def _subclasses(parent: type[Event]) -> Iterator[type[Event]]:
    for child in parent.__subclasses__():
        yield child
        yield from _subclasses(child)
