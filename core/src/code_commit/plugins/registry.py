"""The offers of the loaded plugins by name, and why a name is not available."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from code_commit.plugin_api.command import CommandDefinition
from code_commit.plugin_api.errors import UsageError, did_you_mean
from code_commit.plugin_api.provider import ProviderDefinition
from code_commit.plugin_api.workflow import WorkflowDefinition
from code_commit.plugins import first_party
from code_commit.plugins.definitions import fault_of
from code_commit.plugins.host import PREFIX, Plugin, PluginFailure, PluginHost

DEFAULT_WORKFLOW = "committing-code"
Kind = Literal["provider", "model", "workflow", "flag", "command"]
_RECORDS: dict[Kind, type[Any]] = {
    "provider": ProviderDefinition,
    "workflow": WorkflowDefinition,
    "command": CommandDefinition,
}
_OFFERED_IN: dict[Kind, Kind] = {"model": "provider", "flag": "workflow"}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_Offer = tuple[Plugin, Any]


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """The model that a name stands for. If `model` is None, `config` names the config that sets it."""

    provider: ProviderDefinition
    plugin: Plugin
    model: str | None
    config: str = "default"


class Registry:
    """Providers, workflows and commands of the loaded plugins.

    A name that two distributions claim belongs to neither, unless one of them keeps its names
    (`first_party.keeps_its_names`). `reserved_flags` are the host's own.
    """

    def __init__(self, host: PluginHost, *, reserved_flags: Iterable[str] = ()) -> None:
        self._host = host
        self._denied: dict[tuple[Kind, str], UsageError] = {}
        self.providers: Mapping[str, tuple[Plugin, ProviderDefinition]] = self._collect("provider")
        self._models: Mapping[str, tuple[Plugin, ProviderDefinition]] = self._assign_names(
            "model", self.providers.values(), lambda each: [name for kind, name in _names(each) if kind == "model"]
        )
        self.workflows: Mapping[str, tuple[Plugin, WorkflowDefinition]] = self._collect("workflow")
        self._drop_flag_clashes(frozenset(reserved_flags))
        self.commands: Mapping[str, tuple[Plugin, CommandDefinition]] = self._collect("command")

    def workflow(self, name: str) -> tuple[Plugin, WorkflowDefinition]:
        """Return the workflow called `name`.

        Raises:
            UsageError: no plugin offers it, or more than one does.
        """
        if name not in self.workflows:
            raise self.missing("workflow", name, self.workflows)
        return self.workflows[name]

    def command(self, name: str) -> tuple[Plugin, CommandDefinition]:
        """Return the command called `name`.

        Raises:
            UsageError: no plugin offers it, or more than one does.
        """
        if name not in self.commands:
            hint = "`code-commit --help` lists the commands; what is to be changed goes into --query"
            raise self.missing("command", name, self.commands, hint=hint)
        return self.commands[name]

    def model(self, name: str, has_config: Callable[[str, str], bool]) -> ResolvedModel:
        """Return what `name` stands for: a model id or alias, `provider/any-id`, or a named config `provider.name`.

        `has_config` says whether the settings hold a named config of a provider.

        Raises:
            UsageError: the name is unknown. The error names similar models, installed providers, and what to install.
        """
        if name in self._models:
            plugin, definition = self._models[name]
            ids = (model for model, aliases in definition.models.items() if name == model or name in aliases)
            return ResolvedModel(definition, plugin, next(ids))
        if clash := self._denied.get(("model", name)):
            raise clash
        provider, slash, model = name.partition("/")
        if slash and model and provider in self.providers:
            plugin, definition = self.providers[provider]
            return ResolvedModel(definition, plugin, model)
        prefix, dot, config = name.partition(".")
        if dot and prefix in self.providers and (config == "default" or has_config(prefix, config)):
            plugin, definition = self.providers[prefix]
            return ResolvedModel(definition, plugin, None, config)
        for each in {provider: (), prefix: ()}:
            if each not in self.providers and (error := self.broken("provider", each)):
                raise error
        if dot and prefix in self.providers:
            raise UsageError(
                f"there is no model {name!r}, nor a config [providers.{name}]",
                hint="`code-commit models` lists the models, `code-commit config` what is configured",
            )
        raise self.broken("model", name) or self._unknown_model(name)

    @cached_property
    def secrets(self) -> Mapping[str, frozenset[str]]:
        """The environment variables that plugins declare as secrets, by the plugin's name."""
        declared: dict[str, set[str]] = {}
        for plugin, name in self._host.collect("code_commit_secrets"):
            if isinstance(name, str) and _VARIABLE.fullmatch(name):
                declared.setdefault(plugin.name, set()).add(name)
            else:
                self._host.reject(
                    plugin, "code_commit_secrets", f"a secret is the name of an environment variable, not {name!r:.100}"
                )
        return {plugin: frozenset(names) for plugin, names in declared.items()}

    def flags_of(self, name: str) -> tuple[str, ...]:
        """Return the names of all flags of the workflow `name`."""
        return tuple(each for flag in self.workflows[name][1].flags for each in flag.names)

    def secret_variables(self) -> frozenset[str]:
        """Return the environment variables that hold secrets: keys of providers, installed or not, and of plugins."""
        keys = {definition.key_variable for _, definition in self.providers.values() if definition.key_variable}
        return first_party.names("key_variable").union(keys, *self.secrets.values())

    def missing(self, kind: Kind, name: str, known: Iterable[str], *, hint: str = "") -> UsageError:
        """Return the error for an unknown name: its cause, what to install, or similar names."""
        if error := self.broken(kind, name):
            return error
        if (owner := first_party.owner(kind, name)) and not self._loads(owner):
            what = name if kind == "flag" else f"the {kind} {name}"
            return UsageError(f"{what} needs the plugin {owner}", hint=first_party.installation(owner))
        quoted = repr(name) if kind == "workflow" else name
        return UsageError(
            f"there is no {kind} {quoted}{did_you_mean(name, known)}{self._possible_causes(kind)}", hint=hint
        )

    def broken(self, kind: Kind, name: str) -> UsageError | None:
        """Return the error that names the failed plugin of `name`, if it is known."""
        if (kind, name) in self._denied:
            return self._denied[kind, name]
        owner = first_party.owner(kind, name)
        for failure in self._failures(kind):
            if failure.distribution == owner or (kind == "provider" and failure.plugin == name):
                claimants = {each.distribution for each in self._host.failures if each.plugin == failure.plugin}
                return _denial(kind, name, failure, claimants if failure.stage == "name" else ())
        if owner and (left_out := self._host.disabled & {owner, *first_party.offers()[owner].get("plugin", ())}):
            return UsageError(f"the {kind} {name} is of {owner}, which --disable-plugin {min(left_out)} leaves out")
        return None

    def failed_plugins(self) -> str:
        """Return a line that names the failed plugins, or an empty text."""
        failed = sorted({each.plugin for each in self._host.failures})
        return f"plugins that failed: {', '.join(failed)}; `code-commit plugins` says why" if failed else ""

    def known_providers(self) -> frozenset[str] | None:
        """Return the installed and first-party providers, or None if a third-party plugin is left out.

        The offers of such a plugin are unknown, so an unknown name may be correct.
        """
        facts = first_party.offers()
        first = {name for each, offered in facts.items() for name in (each, *offered.get("plugin", ()))}
        if self._host.disabled - first or any(each.distribution not in facts for each in self._host.failures):
            return None
        return first_party.names("provider").union(self.providers)

    def known_roles(self) -> frozenset[str]:
        """Return the roles of installed and first-party workflows."""
        return first_party.names("role").union(*(workflow.roles or () for _, workflow in self.workflows.values()))

    def _loads(self, distribution: str) -> bool:
        return any(plugin.distribution == distribution for plugin in self._host.plugins)

    def _failures(self, kind: Kind) -> Iterator[PluginFailure]:
        """Yield the failures that may be the cause of a missing name of this kind, also misspelled hooks."""
        record = _OFFERED_IN.get(kind, kind)
        stages = {"import", "name", record, f"{PREFIX}{record}s"}
        for failure in self._host.failures:
            misspelled = failure.stage.startswith(PREFIX) and not self._host.knows_hook(failure.stage)
            if failure.stage in stages or misspelled:
                yield failure

    def _possible_causes(self, kind: Kind) -> str:
        """Return the failures of third-party plugins as text: a failed plugin may offer the missing name."""
        failures = [each for each in self._failures(kind) if each.distribution not in first_party.offers()]
        return "".join(f"; {_words(each)}" for each in failures)

    def _unknown_model(self, name: str) -> UsageError:
        hints = [f"installed providers: {', '.join(sorted(self.providers)) or 'none'}"]
        owner = first_party.owner("model", name)
        if owner and not self._loads(owner):
            hints.append(f"for this one: {first_party.installation(owner)}")
        elif all(definition.free for _, definition in self.providers.values()):
            hints.append(f"for a model: {first_party.installation('code-commit-gemini')}")
        hints.append("`code-commit models` lists them; any other id is written as provider/id")
        close = did_you_mean(name, self._models)
        return UsageError(f"there is no model {name!r}{close}{self._possible_causes('model')}", hint="; ".join(hints))

    def _collect(self, kind: Kind) -> dict[str, _Offer]:
        """Return the definitions of one kind, without malformed and clashing ones."""
        record, offers = _RECORDS[kind], []
        for plugin, item in self._host.collect(f"code_commit_{kind}s"):
            if not isinstance(item, record):
                self._host.reject(plugin, kind, f"a {kind} must be a {record.__name__}, not a {type(item).__name__}")
            elif fault := fault_of(item):
                self._leave_out(kind, (plugin, item), fault, _names(item))
            else:
                offers.append((plugin, item))
        return self._assign_names(kind, offers, lambda each: [each.name])

    def _assign_names(
        self, kind: Kind, offers: Iterable[_Offer], names_of: Callable[[Any], Iterable[str]]
    ) -> dict[str, _Offer]:
        """Assign each name to its only owner. Report the other claimants; the error for the name lists all of them."""
        claims: dict[str, list[_Offer]] = {}
        for plugin, item in offers:
            for name in dict.fromkeys(names_of(item)):
                claims.setdefault(name, []).append((plugin, item))
        assigned = {}
        for name, claimed in sorted(claims.items()):
            claimants = sorted({plugin.distribution for plugin, _ in claimed})
            owned = [offer for offer in claimed if offer[0].distribution == _owner(claimants)]
            if len(owned) == 1:
                assigned[name] = owned[0]
            for offer in claimed:
                if offer is not assigned.get(name):
                    names = [(kind, name)] if kind == "model" else _names(offer[1])
                    self._leave_out(kind, offer, f"the {kind} name {name!r}", names, claimants)
        return assigned

    def _drop_flag_clashes(self, reserved: frozenset[str]) -> None:
        """Leave out workflows with a flag of the host or of another distribution."""
        owners: dict[str, set[str]] = {}  # workflows of one distribution may share a flag
        for name, offer in self.workflows.items():
            for flag in self.flags_of(name):
                owners.setdefault(flag, set()).add(offer[0].distribution)
        kept = {}
        for name, offer in self.workflows.items():
            flags = self.flags_of(name)
            names = _names(offer[1])
            taken = [flag for flag in flags if flag in reserved]
            shared = [flag for flag in flags if _owner(owners[flag]) != offer[0].distribution]
            if taken:
                self._leave_out("workflow", offer, f"the flag {taken[0]} of {name!r} is the host's own", names)
            elif shared:
                self._leave_out("workflow", offer, f"the flag {shared[0]}", names, sorted(owners[shared[0]]))
            else:
                kept[name] = offer
        self.workflows = kept

    def _leave_out(
        self, kind: Kind, offer: _Offer, reason: str, names: Iterable[tuple[Kind, str]], claimants: Sequence[str] = ()
    ) -> None:
        """Leave an offer out: report the reason, and record the error for requests of `names`.

        With `claimants`, `reason` is what these distributions claim.
        """
        claimed = f" is claimed by {' and '.join(claimants)}" if claimants else ""
        failure = self._host.reject(offer[0], kind, reason + claimed)
        for kind_of_name, name in names:
            self._denied.setdefault((kind_of_name, name), _denial(kind_of_name, name, failure, claimants))


def _names(definition: Any) -> list[tuple[Kind, str]]:
    """Return the names that a definition claims; of a malformed one, those that can be read."""
    found: list[tuple[Kind, Any]] = []
    try:
        match definition:
            case ProviderDefinition():
                found.append(("provider", definition.name))
                found += [("model", name) for model, aliases in definition.models.items() for name in (model, *aliases)]
            case WorkflowDefinition():
                found.append(("workflow", definition.name))
                found += [("flag", name) for flag in definition.flags for name in flag.names]
            case CommandDefinition():
                found.append(("command", definition.name))
    except (AttributeError, TypeError):
        pass  # a field has the wrong type
    return [(kind, name) for kind, name in found if isinstance(name, str)]


def _owner(distributions: Collection[str]) -> str | None:
    """Return the owner of a name: the only claimant, or the only one that keeps its names."""
    keepers = [each for each in distributions if len(distributions) == 1 or first_party.keeps_its_names(each)]
    return keepers[0] if len(keepers) == 1 else None


def _words(failure: PluginFailure) -> str:
    where = f"{failure.plugin} of {failure.distribution} {failure.version}"
    return f"the plugin {where} failed ({failure.stage}): {failure.error}"


def _denial(kind: Kind, name: str, failure: PluginFailure, claimants: Collection[str]) -> UsageError:
    """Return the error for a request of `name`, which `failure` makes unavailable."""
    hint = "repair or uninstall the plugin; `code-commit plugins doctor` examines it"
    if claimants:
        left_out = min(claimants, key=lambda each: (each in first_party.offers(), each))
        hint = f"uninstall one of them, or leave one out with --disable-plugin {left_out}"
    return UsageError(f"the {kind} {name} is not available: {_words(failure)}", hint=hint)
