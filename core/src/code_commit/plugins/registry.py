"""The offers of the loaded plugins by name. Malformed ones are left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

from code_commit.plugin_api.definitions import (
    CommandDefinition,
    Flag,
    ProviderDefinition,
    WorkflowDefinition,
)
from code_commit.plugin_api.errors import UsageError
from code_commit.plugin_api.host import Plugin, PluginFailure
from code_commit.plugins import first_party
from code_commit.plugins.definition_fields import fault_of
from code_commit.plugins.host import PluginHost

DEFAULT_WORKFLOW = "committing-code"
Kind = Literal["provider", "model", "workflow", "flag", "command"]
_RECORDS: dict[Kind, type[Any]] = {
    "provider": ProviderDefinition,
    "workflow": WorkflowDefinition,
    "command": CommandDefinition,
}
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
OF_EVERY_PROCESS = ("HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "USER")
_Offer = tuple[Plugin, Any]


class Registry:
    """Providers, workflows and commands of the loaded plugins.

    A name that two distributions claim belongs to neither, unless one of them keeps its names
    (`first_party.keeps_its_names`). `denied` holds such names and those of malformed definitions.
    `reserved_flags` are the host's own.
    """

    def __init__(self, plugin_host: PluginHost, *, reserved_flags: Iterable[str] = ()) -> None:
        self.plugin_host = plugin_host
        self.denied: dict[tuple[Kind, str], PluginFailure] = {}
        self.providers: Mapping[str, tuple[Plugin, ProviderDefinition]] = self._collect("provider")
        self.models: Mapping[str, tuple[Plugin, ProviderDefinition]] = self._assign_names(
            "model",
            self.providers.values(),
            _model_names,
        )
        self.workflows: Mapping[str, tuple[Plugin, WorkflowDefinition]] = self._collect("workflow")
        self._reserved_flags = frozenset(reserved_flags)
        self._drop_flag_clashes()
        self.commands: Mapping[str, tuple[Plugin, CommandDefinition]] = self._collect("command")

    def workflow(self, name: str) -> tuple[Plugin, WorkflowDefinition]:
        """Return the workflow called `name`.

        Raises:
            UsageError: no plugin offers it, or more than one does.
        """
        if name not in self.workflows:
            raise self.missing("workflow", name)
        return self.workflows[name]

    def command(self, name: str) -> tuple[Plugin, CommandDefinition]:
        """Return the command called `name`.

        Raises:
            UsageError: no plugin offers it, or more than one does.
        """
        if name not in self.commands:
            raise self.missing("command", name)
        return self.commands[name]

    @cached_property
    def secrets(self) -> Mapping[str, frozenset[str]]:
        """The environment variables that plugins declare as secrets, by the plugin's name."""
        declared: dict[str, set[str]] = {}
        for plugin, name in self.plugin_host.collect("code_commit_secrets"):
            if name in OF_EVERY_PROCESS:
                fault = f"{name} cannot be a secret: every process needs it"
                self.plugin_host.reject(plugin, "code_commit_secrets", fault)
            elif isinstance(name, str) and VARIABLE_NAME.fullmatch(name):
                declared.setdefault(plugin.name, set()).add(name)
            else:
                fault = f"a secret is the name of an environment variable, not {name!r:.100}"
                self.plugin_host.reject(plugin, "code_commit_secrets", fault)
        return {plugin: frozenset(names) for plugin, names in declared.items()}

    def flags_of(self, name: str) -> tuple[str, ...]:
        """Return the names of all flags of the workflow `name`."""
        _, workflow = self.workflows[name]
        return tuple(spelling for flag in workflow.flags for spelling in flag.names)

    def names_in_use(self) -> frozenset[str]:
        """Return the names of plugins and of what they offer; those of flags without hyphens.

        The host's own count, and those of first-party plugins that are not installed.
        """
        flags = self._reserved_flags.union(*map(self.flags_of, self.workflows))
        plugins = (plugin.name for plugin in self.plugin_host.plugins)
        kinds = ("plugin", "provider", "model", "workflow", "command")
        return frozenset(flag.lstrip("-") for flag in flags).union(
            plugins,
            self.providers,
            self.models,
            self.workflows,
            self.commands,
            *map(first_party.names, kinds),
        )

    def secret_variables(self) -> frozenset[str]:
        """Return the environment variables that hold secrets of plugins or keys of providers.

        Those of first-party providers that are not installed count, too.
        """
        keys = {
            definition.key_variable
            for _, definition in self.providers.values()
            if definition.key_variable
        }
        return first_party.names("key_variable").union(keys, *self.secrets.values())

    def known_providers(self) -> frozenset[str] | None:
        """Return the installed and first-party providers, or None if there may be others.

        The offers of a third-party plugin that failed or is disabled are unknown.
        """
        offers = first_party.offers()
        names = {*offers.keys(), *first_party.names("plugin")}
        failed = {failure.distribution for failure in self.plugin_host.failures}
        if self.plugin_host.disabled - names or failed - offers.keys():
            return None
        return first_party.names("provider").union(self.providers)

    def known_roles(self) -> frozenset[str]:
        """Return the roles of installed and first-party workflows."""
        roles = [
            (*(workflow.roles or ()), *workflow.optional_roles)
            for _, workflow in self.workflows.values()
        ]
        return first_party.names("role").union(*roles)

    def require_loaded(self, distribution: str, subject: str) -> None:
        """Check that a plugin of `distribution` is loaded, which `subject` needs.

        Raises:
            UsageError: it is not.
        """
        from code_commit.plugins.missing import needs_plugin

        if all(plugin.distribution != distribution for plugin in self.plugin_host.plugins):
            raise needs_plugin(self, distribution, subject)

    def missing(self, kind: Kind, name: str, flags: Iterable[str] = ()) -> UsageError:
        """Return the error for a name that is not available; for a flag, `flags` are the others."""
        from code_commit.plugins.missing import explain_missing

        return explain_missing(self, kind, name, flags)

    def hint_for(self, text: str) -> str:
        """Return a hint that names only what is installed, or says how to install it."""
        if "`code-commit " not in text and "--" not in text:
            return text
        from code_commit.plugins.hints import hint_for

        return hint_for(self, text)

    def _collect(self, kind: Kind) -> dict[str, _Offer]:
        """Return the definitions of one kind, without malformed and clashing ones."""
        record = _RECORDS[kind]
        offers: list[_Offer] = []
        for plugin, definition in self.plugin_host.collect(f"code_commit_{kind}s"):
            if not isinstance(definition, record):
                fault = f"a {kind} must be a {record.__name__}, not a {type(definition).__name__}"
                self.plugin_host.reject(plugin, kind, fault)
            elif fault := fault_of(record, definition):
                offer = (plugin, definition)
                self._leave_out(kind, offer, fault, names=_names(definition))
            else:
                offers.append((plugin, definition))
        return self._assign_names(kind, offers, lambda definition: [definition.name])

    def _assign_names(
        self,
        kind: Kind,
        offers: Iterable[_Offer],
        names_of: Callable[[Any], Iterable[str]],
    ) -> dict[str, _Offer]:
        """Assign each name to its only owner.

        Report the other claimants; the error for the name lists all of them.
        """
        claims: dict[str, list[_Offer]] = {}
        for plugin, definition in offers:
            for name in dict.fromkeys(names_of(definition)):
                claims.setdefault(name, []).append((plugin, definition))
        assigned = {}
        for name, competing_offers in sorted(claims.items()):
            claimants = sorted({plugin.distribution for plugin, _ in competing_offers})
            owner = _owner(claimants, kind)
            owned = [offer for offer in competing_offers if offer[0].distribution == owner]
            if len(owned) == 1:
                assigned[name] = owned[0]
            for offer in competing_offers:
                if offer is assigned.get(name):
                    continue
                if kind == "model" and name in assigned:
                    continue  # it is still `provider/name`
                names = _names(offer[1])
                if kind == "model":
                    names = [(kind, name)]
                reason = f"the {kind} name {name!r}"
                self._leave_out(kind, offer, reason, names=names, claimants=claimants)
        return assigned

    def _drop_flag_clashes(self) -> None:
        """Leave out workflows with a flag of the host, or another flag of the same name.

        Workflows of one distribution may share a flag; those of several may share equal ones, such
        as `QUERY_FLAGS`. A flag that selects a workflow is never shared.
        """
        owners: dict[str, set[str]] = {}
        definitions: dict[str, set[tuple[Flag, str]]] = {}
        for plugin, workflow in self.workflows.values():
            for flag in workflow.flags:
                for name in flag.names:
                    owners.setdefault(name, set()).add(plugin.distribution)
                    selected = plugin.distribution if flag.selects else ""
                    definitions.setdefault(name, set()).add((flag, selected))
        workflows = {}
        for name, offer in self.workflows.items():
            plugin, workflow = offer
            flags = self.flags_of(name)
            of_host = [flag for flag in flags if flag in self._reserved_flags]
            shared = [
                flag
                for flag in flags
                if len(definitions[flag]) > 1
                and not self._shares_with_owner(offer, flag, _owner(owners[flag]))
            ]
            if of_host:
                reason = f"the flag {of_host[0]} of {name!r} is a flag of the host"
                self._leave_out("workflow", offer, reason, names=_names(workflow))
            elif shared:
                reason = f"the flag {shared[0]}"
                claimants = sorted(owners[shared[0]])
                names = _names(workflow)
                self._leave_out("workflow", offer, reason, names=names, claimants=claimants)
            else:
                workflows[name] = offer
        self.workflows = workflows

    def _shares_with_owner(self, offer: _Offer, flag: str, owner: str | None) -> bool:
        """Return whether `owner` offers the workflow, or defines its flag in the same way."""
        plugin, workflow = offer
        if plugin.distribution == owner:
            return True
        of_owner = {
            definition
            for other, other_workflow in self.workflows.values()
            if other.distribution == owner
            for definition in other_workflow.flags
            if not definition.selects
        }
        own = {definition for definition in workflow.flags if flag in definition.names}
        return own <= of_owner

    def _leave_out(
        self,
        kind: Kind,
        offer: _Offer,
        reason: str,
        *,
        names: Iterable[tuple[Kind, str]],
        claimants: Sequence[str] = (),
    ) -> None:
        """Leave an offer out: report the reason, as `PluginHost.reject`, and deny its `names`."""
        failure = self.plugin_host.reject(offer[0], kind, reason, claimants)
        for name in names:
            self.denied.setdefault(name, failure)


def _names(definition: Any) -> list[tuple[Kind, str]]:
    """Return the names that a definition claims; of a malformed one, those that can be read."""
    names: list[tuple[Kind, Any]] = []
    try:
        match definition:
            case ProviderDefinition():
                names.append(("provider", definition.name))
                for model, aliases in definition.models.items():
                    names += [("model", name) for name in (model, *aliases)]
            case WorkflowDefinition():
                names.append(("workflow", definition.name))
                names += [("flag", name) for flag in definition.flags for name in flag.names]
            case CommandDefinition():
                names.append(("command", definition.name))
    except (AttributeError, TypeError):
        pass  # a field has the wrong type
    return [(kind, name) for kind, name in names if isinstance(name, str)]


def _model_names(definition: ProviderDefinition) -> list[str]:
    return [name for kind, name in _names(definition) if kind == "model"]


def _owner(distributions: Collection[str], kind: str = "") -> str | None:
    """Return the owner of a name: the only claimant, or the only one that keeps its names."""
    owners = list(distributions)
    if len(owners) > 1:
        owners = [name for name in owners if first_party.keeps_its_names(name, kind)]
    if len(owners) != 1:
        return None
    return owners[0]
