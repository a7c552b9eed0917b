"""Notice a model that gives the same response again: a third one would cost the same and say the same."""

from __future__ import annotations


class Repetition:
    """Compares each response with the one before. `noticed` is whether the last two are the same, without effect."""

    def __init__(self) -> None:
        self.noticed = False
        self._useless: str | None = None  # the latest response, if it changed nothing

    def notice(self, response: str, *, applied: bool) -> bool:
        """Return whether neither this response nor the same one before it changed a file."""
        self.noticed = not applied and response == self._useless
        self._useless = None if applied else response
        return self.noticed
