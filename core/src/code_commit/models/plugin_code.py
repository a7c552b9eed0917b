"""Call providers and layers of plugins. Check their results; name their distribution in errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from textwrap import shorten
from typing import Any, TypeGuard

from code_commit.models.retry import HINTS
from code_commit.plugin_api.conversation import Completion, Finish, Message, ProviderError, Text, Usage
from code_commit.plugin_api.errors import CodeCommitError, NotReady, ProviderFailed, describe
from code_commit.plugin_api.provider import ModelCall, ModelLayer, NextLayer, Provider
from code_commit.plugins.host import Plugin, PluginHost

AT_FAULT = "its plugin is at fault; --debug shows where"


def ask_provider(call: ModelCall, *, provider: Provider, distribution: str) -> Completion:
    """Call `provider` once; return a completion, or raise an error of a known kind that names `distribution`."""
    try:
        value: Any = provider.complete(call)
    except ProviderError as error:
        if error.kind in HINTS:
            raise
        raise ProviderError(
            f"{error} (of the kind {error.kind!r}, which {distribution} made up)", kind="rejected"
        ) from error
    except (CodeCommitError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise ProviderFailed(
            f"the provider {call.provider} of {distribution} failed: {describe(error)}", hint=AT_FAULT
        ) from error
    if is_completion(value):
        return value
    raise ProviderFailed(
        f"the provider {call.provider} of {distribution} gave {shorten(repr(value), 200)} for a completion",
        hint=AT_FAULT,
    )


def is_completion(value: Any) -> TypeGuard[Completion]:
    """Return whether `value` is a `Completion` whose fields have their annotated types."""
    match value:
        case Completion(message=Message(parts=tuple(parts)), finish=Finish(), usage=Usage(), model=str()):
            cost: Any = value.cost
            texts = all(isinstance(part.text, str) for part in parts if isinstance(part, Text))
            return texts and (cost is None or (isinstance(cost, int | float) and 0 <= cost < math.inf))
    return False


HOOK = "code_commit_model_layers"
Layer = Callable[..., Completion]
"""Takes a call and `next`; `functools.partial` composes layers without extra frames."""


def collect_layers(
    host: PluginHost, settings_of: Callable[[Plugin], Any], secret_of: Callable[[Plugin], Any]
) -> tuple[Layer, ...]:
    """Return the layers of all plugins, sorted by the name of the plugin, the outermost first.

    Raises:
        NotReady: a plugin that offers layers is broken. A layer may be a policy, so no call skips it.
    """
    found = list(host.collect(HOOK, {"settings": settings_of, "secret": secret_of}))
    for plugin, layer in found:
        if not callable(layer):
            host.reject(plugin, HOOK, f"a layer must be callable, not {layer!r:.100}")
    if broken := next((each for each in host.failures if each.stage == HOOK), None):
        raise NotReady(
            f"the plugin {broken.plugin} of {broken.distribution} offers layers around model calls and is broken: "
            f"{broken.error}",
            hint=f"fix it or its settings, or run with --disable-plugin {broken.plugin}",
        )
    found.sort(key=lambda each: each[0].name)
    return tuple(partial(_run_layer, layer=layer, distribution=plugin.distribution) for plugin, layer in found)


def _run_layer(call: ModelCall, *, next: NextLayer, layer: ModelLayer, distribution: str) -> Completion:  # noqa: A002
    """Run one layer. Its errors end the call and name its distribution."""
    from_next: list[BaseException] = []

    def rest_of_chain(value: ModelCall) -> Completion:
        if value is not call:
            raise ProviderFailed(
                f"a model layer of {distribution} passed on another call than it got",
                hint="its plugin is at fault: only the host changes a call",
            )
        try:
            return next(call)
        except BaseException as error:
            from_next.append(error)
            raise

    try:
        value: Any = layer(call, rest_of_chain)
    except (CodeCommitError, KeyboardInterrupt):
        raise
    except BaseException as error:
        if any(error is each for each in from_next):
            raise  # the layer only passed it on
        raise ProviderFailed(f"a model layer of {distribution} failed: {describe(error)}", hint=AT_FAULT) from error
    if is_completion(value):
        return value
    raise ProviderFailed(
        f"a model layer of {distribution} gave {shorten(repr(value), 200)} for a completion", hint=AT_FAULT
    )
