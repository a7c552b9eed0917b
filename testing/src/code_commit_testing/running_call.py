"""A call of a provider in a thread of its own.

A call that does not end fails its own test, and no other.
"""

from __future__ import annotations

import queue
import threading

import pytest

from code_commit.plugin_api import Completion, ModelCall, Provider, ProviderError

AT_ONCE = 60.0  # seconds: for what takes no time, on a machine that may stand still for some


class RunningCall:
    """Starts `provider.complete(call)`."""

    def __init__(self, provider: Provider, call: ModelCall) -> None:
        self._ended: queue.SimpleQueue[Completion | BaseException] = queue.SimpleQueue()
        threading.Thread(target=self._run, args=(provider, call), daemon=True).start()

    def _run(self, provider: Provider, call: ModelCall) -> None:
        try:
            self._ended.put(provider.complete(call))
        except BaseException as error:  # noqa: BLE001 - the test judges it
            self._ended.put(error)

    @property
    def runs(self) -> bool:
        """Whether the call has not ended."""
        return self._ended.empty()

    def completion(self) -> Completion:
        """Return the completion, or raise the error of the call."""
        ended = self._end()
        if isinstance(ended, BaseException):
            raise ended
        return ended

    def error(self) -> ProviderError:
        """Return the error of the call."""
        with pytest.raises(ProviderError) as caught:
            self.completion()
        return caught.value

    def _end(self) -> Completion | BaseException:
        try:
            return self._ended.get(timeout=AT_ONCE)
        except queue.Empty:
            pytest.fail("`complete` does not end")
