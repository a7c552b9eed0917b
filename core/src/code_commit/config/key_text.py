"""What a text must be to be a key."""

from __future__ import annotations

from code_commit.plugin_api.errors import NotReady

_SHORTEST_KEY = 8  # characters, as for the `Redactor`


def parse_key(text: str, where: str) -> str:
    """Return `text` as a key, without one final newline. `where` names its source.

    Raises:
        NotReady: it is not a key. The error shows no part of it.
    """
    key = text
    if text.endswith("\n"):
        key = text.removesuffix("\n").removesuffix("\r")
    hint = f"a key is one line of printable ASCII, at least {_SHORTEST_KEY} characters"
    if not key.strip():
        raise NotReady(f"the key in {where} is empty", hint=hint)
    if "\n" in key or "\r" in key:
        raise NotReady(f"the key in {where} has more than one line", hint=hint)
    for position, letter in enumerate(key, start=1):
        if not " " <= letter <= "~":
            raise NotReady(
                f"the key in {where} has a character that is not printable ASCII at {position}",
                hint=hint,
            )
    if key != key.strip(" "):
        raise NotReady(f"the key in {where} begins or ends with a space", hint=hint)
    if len(key) < _SHORTEST_KEY:
        raise NotReady(f"the key in {where} is too short", hint=hint)
    return key
