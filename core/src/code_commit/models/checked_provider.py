"""The innermost layer: asks the provider, and checks what its plugin gives back."""

from __future__ import annotations

import math
from textwrap import shorten
from typing import Any, TypeGuard

from code_commit.models.retry import HINTS
from code_commit.plugin_api.conversation import Completion, Finish, Message, ProviderError, Text, Usage
from code_commit.plugin_api.errors import CodeCommitError, ProviderFailed, describe
from code_commit.plugin_api.model_call import ModelCall
from code_commit.plugin_api.provider import Provider

AT_FAULT = "its plugin is at fault; --debug shows where"


def ask_provider(call: ModelCall, *, provider: Provider, distribution: str) -> Completion:
    """Ask `provider`, of `distribution`, once; let nothing but a completion or an error of a known kind pass."""
    try:
        given: Any = provider.complete(call)
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
    if is_completion(given):
        return given
    raise ProviderFailed(
        f"the provider {call.provider} of {distribution} gave {shorten(repr(given), 200)} for a completion",
        hint=AT_FAULT,
    )


def is_completion(given: Any) -> TypeGuard[Completion]:
    """Whether a plugin gave what its types promise."""
    match given:
        case Completion(message=Message(parts=tuple(parts)), finish=Finish(), usage=Usage(), model=str()):
            cost: Any = given.cost
            texts = all(isinstance(part.text, str) for part in parts if isinstance(part, Text))
            return texts and (cost is None or (isinstance(cost, int | float) and 0 <= cost < math.inf))
    return False
