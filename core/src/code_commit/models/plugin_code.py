"""Call providers and layers of plugins: check their results, and name them in errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from code_commit.models.limits import HINTS
from code_commit.models.resolution import AT_FAULT, Service
from code_commit.plugin_api.conversation import (
    Completion,
    Finish,
    Message,
    ProviderError,
    Text,
    Usage,
)
from code_commit.plugin_api.errors import CodeCommitError, Interrupted, ProviderFailed
from code_commit.plugin_api.provider import ModelCall, ModelLayer, NextLayer, StopReading
from code_commit.plugin_api.running_code import host_works, running
from code_commit.plugins.code import checked_result
from code_commit.run_folder.json_text import join_surrogates
from code_commit_workspace.words import describe

_TOO_MUCH = 1e12  # dollars or tokens of a call


def _checked(value: Any) -> Completion:
    completion = checked_result(
        value,
        Completion,
        message=Message,
        finish=Finish,
        usage=Usage,
        model=str,
        cost=int | float | None,
    )
    checked_result(completion.message, Message, parts=tuple)
    parts = list(completion.message.parts)
    for index, part in enumerate(parts):
        if isinstance(part, Text):
            parts[index] = replace(part, text=join_surrogates(part.text))
    _require_amounts("cost", "be a number of dollars", [completion.cost])
    usage = completion.usage
    counts = [usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning]
    _require_amounts("usage", "have numbers of tokens", counts)
    return replace(completion, message=replace(completion.message, parts=tuple(parts)))


def _require_amounts(name: str, kind: str, amounts: Sequence[Any]) -> None:
    for amount in amounts:
        is_number = isinstance(amount, int | float) and not isinstance(amount, bool)
        if amount is not None and not (is_number and 0 <= amount < _TOO_MUCH):
            raise TypeError(f"it gave a Completion whose `{name}` must {kind}, not {amount!r:.50}")


def ask_provider(call: ModelCall, *, service: Service) -> Completion:
    """Call the provider once, and return its completion.

    Errors have a known kind, and name the distribution.
    """
    try:
        return _checked(service.provider.complete(call))
    except StopReading as stopped:
        return stopped.completion(call, stopped.usage)
    except ProviderError as error:
        call.wait(0)  # raise if the call was ended, which may have cost as much as a lost try
        if error.kind in HINTS:
            raise
        message = f"{error} (of the kind {error.kind!r}, which {service.distribution} invented)"
        raise ProviderError(message, kind="rejected") from error
    except (CodeCommitError, KeyboardInterrupt):
        raise
    except BaseException as error:
        owner = f"the provider {call.provider} of {service.distribution}"
        raise ProviderFailed(f"{owner} failed: {describe(error)}", hint=AT_FAULT) from error


def count_tokens(call: ModelCall, *, service: Service) -> int | None:
    """Return how many tokens the request has as the service counts them, or None if it does not."""
    provider: Any = service.provider
    try:
        return max(0, int(provider.count(call)))
    except Exception:  # noqa: BLE001 - an estimate takes its place
        return None


def run_layer(
    call: ModelCall,
    *,
    next: NextLayer,  # noqa: A002
    layer: ModelLayer,
    distribution: str,
) -> Completion:
    """Run one layer. Its errors end the call and name its distribution."""
    from_next: list[BaseException] = []

    def rest_of_chain(value: ModelCall) -> Completion:
        if value is not call:
            raise ProviderFailed(
                "it passed on a different call than it received", hint="this is a bug in its plugin"
            )
        try:
            with host_works():
                return next(call)
        except BaseException as error:
            from_next.append(error)
            raise

    name = getattr(layer, "__name__", type(layer).__name__)
    try:
        with running(f"the model layer {name}", distribution):
            return _checked(layer(call, rest_of_chain))
    except (Interrupted, KeyboardInterrupt):
        raise
    except BaseException as error:
        if any(error is raised for raised in from_next):
            raise  # the layer only passed it on
        if isinstance(error, CodeCommitError):
            error.message = f"a model layer of {distribution}: {error.message}"
            raise
        raise ProviderFailed(
            f"a model layer of {distribution} failed: {describe(error)}", hint=AT_FAULT
        ) from error
