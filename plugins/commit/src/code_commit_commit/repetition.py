"""Notice a model that gives the same response again.

Another one would cost the same and say the same.
"""

from __future__ import annotations

_NEIGHBOURS = "the last two responses are the same"
_EARLIER = "the last response is the same as an earlier one"


class Repetition:
    """Compares each response without effect with the earlier ones since the last change.

    The reasons are compared as well.

    `noticed` is how the latest response repeats another one; an empty text if it does not.
    """

    def __init__(self) -> None:
        self.noticed = ""
        # Responses that changed nothing, each with the reason.
        self._useless: list[tuple[str, str]] = []

    def notice(self, response: str, reason: str, *, applied: bool) -> bool:
        """Return whether neither this response nor the same one before it changed a file.

        `reason` is why the response cannot be applied; it is empty if the response changes nothing.
        """
        self.noticed = ""
        if applied:
            self._useless.clear()
            return False
        useless = (response.strip(), reason)
        if useless in self._useless:
            self.noticed = _NEIGHBOURS if useless == self._useless[-1] else _EARLIER
        self._useless.append(useless)
        return bool(self.noticed)
