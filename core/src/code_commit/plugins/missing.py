"""Explain why a name is not available: its plugin is missing or failed, or it is misspelled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from code_commit.plugin_api.errors import UsageError
from code_commit.plugin_api.host import PluginFailure
from code_commit.plugin_api.how_to_install import installation
from code_commit.plugins import first_party
from code_commit.plugins.host import PluginHost
from code_commit.plugins.registry import Kind, Registry
from code_commit.plugins.words_of_others import COMMANDS, FLAGS
from code_commit_workspace.words import closest, did_you_mean

_HINTS: Mapping[Kind, str] = {
    "command": "`code-commit --help` lists the commands; describe a change with --query",
    "flag": "`code-commit --help` lists the flags",
}
_MEANT: Mapping[Kind, Mapping[str, str]] = {"command": COMMANDS, "flag": FLAGS}


def explain_missing(
    registry: Registry,
    kind: Kind,
    name: str,
    names: Iterable[str] = (),
) -> UsageError:
    """Return the error for an unknown name. `names` are the flags, for a flag."""
    if kind == "model":
        return _broken_model(registry, name) or _unknown_model(registry, name)
    if error := _broken(registry, kind, name):
        return error
    owner = first_party.owner(kind, name)
    if owner and not _loads(registry, owner):
        subject = name if kind == "flag" else f"the {kind} {name}"
        return needs_plugin(registry, owner, subject)
    quoted = name
    if kind == "workflow":
        names = registry.workflows
        quoted = repr(name)
    elif kind != "flag":
        names = registry.commands
    if hint := _MEANT.get(kind, {}).get(name, ""):
        hint = registry.hint_for(hint)
        return UsageError(f"there is no {kind} {name}{_possible_causes(registry)}", hint=hint)
    hint = _HINTS.get(kind, "")
    if kind == "command" and (close := closest(name, names)):
        hint = f"`code-commit {close} --help`"
    cause = did_you_mean(name, names) + _possible_causes(registry)
    return UsageError(f"there is no {kind} {quoted}{cause}", hint=hint)


def needs_plugin(registry: Registry, distribution: str, subject: str) -> UsageError:
    """Return the error for something that needs a plugin that is not loaded."""
    hint = installation(distribution)
    for failure in registry.plugin_host.failures:
        if failure.distribution == distribution:
            return UsageError(f"{subject} is not available: {_description(failure)}", hint=hint)
    return UsageError(f"{subject} needs the plugin {distribution}", hint=hint)


def failed_plugins(plugin_host: PluginHost) -> str:
    """Return a line that names the failed plugins, or an empty text."""
    failed = sorted({failure.plugin for failure in plugin_host.failures})
    if not failed:
        return ""
    return f"plugins that failed: {', '.join(failed)}; `code-commit plugins` shows why"


def _broken(registry: Registry, kind: Kind, name: str) -> UsageError | None:
    """Return the error that names the failed plugin of `name`, if it is known."""
    if denied := registry.denied.get((kind, name)):
        return _denied(kind, name, denied)
    plugin_host = registry.plugin_host
    owner = first_party.owner(kind, name)
    for failure in plugin_host.failures:
        if failure.distribution == owner or (kind == "provider" and failure.plugin == name):
            return _denied(kind, name, failure)
    if not owner:
        return None
    names = {owner, *first_party.offers()[owner].get("plugin", ())}
    disabled = plugin_host.disabled & names
    if not disabled:
        return None
    return UsageError(
        f"the {kind} {name} is part of {owner}, which --disable-plugin {min(disabled)} disables"
    )


def _denied(kind: Kind, name: str, failure: PluginFailure) -> UsageError:
    hint = "fix or uninstall the plugin; `code-commit plugins` lists what failed"
    if failure.claimants:
        offers = first_party.offers()
        left_out = min(failure.claimants, key=lambda claimant: (claimant in offers, claimant))
        flag = f"--disable-plugin {left_out}"
        if kind == "command":
            flag = f"`code-commit {flag} {name}`"
        hint = f"uninstall one of them, or disable one with {flag}"
    return UsageError(f"the {kind} {name} is not available: {_description(failure)}", hint=hint)


def _description(failure: PluginFailure) -> str:
    where = f"{failure.plugin} of {failure.distribution} {failure.version}"
    return f"the plugin {where} failed ({failure.stage}): {failure.error}"


def _broken_model(registry: Registry, model: str) -> UsageError | None:
    """Return the error that names the failed plugin of a model, or of its provider."""
    providers = {model.partition("/")[0], model.partition(".")[0]} - registry.providers.keys()
    errors = (_broken(registry, "provider", name) for name in sorted(providers))
    return _broken(registry, "model", model) or next(filter(None, errors), None)


def _unknown_model(registry: Registry, name: str) -> UsageError:
    prefix, dot, _ = name.partition(".")
    if dot and prefix in registry.providers:
        return UsageError(
            f"there is no model {name!r} and no config [providers.{name}]",
            hint="`code-commit models` lists the models, `code-commit config` lists the configs",
        )
    if " " in name:  # -m is the message in git and in other tools
        hint = "describe the change with --query; -m is short for --model"
        return UsageError(f"there is no model {name!r}", hint=hint)
    hints = [f"installed providers: {', '.join(sorted(registry.providers)) or 'none'}"]
    owner = first_party.owner("model", name)
    if owner and not _loads(registry, owner):
        hints.append(f"for this one: {installation(owner)}")
    elif all(definition.free for _, definition in registry.providers.values()):
        hints.append(f"for a model: {installation('code-commit-gemini')}")
    if "/" in name:  # the hint has no part of the name, which may be a key
        hints.append(
            "for Ollama and other servers with OpenAI's protocol: set base_url and model "
            "in [providers.openai.ollama], then `--model openai.ollama`"
        )
    hints.append("`code-commit models` lists their models; for any other model, write provider/id")
    close = did_you_mean(name, registry.models)
    return UsageError(
        f"there is no model {name!r}{close}{_possible_causes(registry)}", hint="; ".join(hints)
    )


def _loads(registry: Registry, distribution: str) -> bool:
    return any(plugin.distribution == distribution for plugin in registry.plugin_host.plugins)


def _possible_causes(registry: Registry) -> str:
    """Return the failures of third-party plugins, which may offer the missing name, as text."""
    offers = first_party.offers()
    failures = registry.plugin_host.failures
    third_party = [failure for failure in failures if failure.distribution not in offers]
    return "".join(f"; {_description(failure)}" for failure in third_party)
