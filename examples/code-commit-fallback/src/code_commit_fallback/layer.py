"""The layer: it passes a call on to the second model."""

from __future__ import annotations

from code_commit.plugin_api import Completion, Finish, ModelCall, NextLayer, OtherModel


class Fallback:
    """A `ModelLayer`."""

    def __init__(self, second: OtherModel) -> None:
        self._second = second

    def __call__(self, call: ModelCall, next: NextLayer) -> Completion:
        """Return the answer of the first model, or else that of the second one."""
        completion = next(call)
        if completion.finish not in {Finish.REFUSED, Finish.FILTERED}:
            return completion
        call.warn(f"{call.model} refused call {call.number}: asking {self._second.name}")
        return self._second.complete(call)
