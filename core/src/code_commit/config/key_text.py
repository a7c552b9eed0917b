"""What a text must be to be a key."""

from __future__ import annotations

import re

from code_commit.plugin_api.errors import NotReady

# A line of a shell script or of an `.env` file.
_NAMED = re.compile(r"(?:export +\w+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+) *= *(|[^=].*)")
SHORTEST_KEY = 8  # characters, as for the `Redactor`


def parse_key(text: str, where: str) -> str:
    """Return `text` as a key, without one final newline. `where` names its source.

    Raises:
        NotReady: it is not a key. The error shows no part of it.
    """
    key = text
    if text.endswith("\n"):
        key = text.removesuffix("\n").removesuffix("\r")
    hint = f"a key is one line of printable ASCII, at least {SHORTEST_KEY} characters"
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
    if len(key) < SHORTEST_KEY:
        raise NotReady(f"the key in {where} is too short", hint=hint)
    return key


def bare_key(text: str) -> str:
    """Return the key in a line such as `export NAME="KEY"`. No service has keys of this form."""
    if named := _NAMED.fullmatch(text):
        text = named[1]
    if text[:1] in {'"', "'"} and text[-1] == text[0]:
        return text[1:-1]
    return text


def require_bare(key: str, where: str) -> None:
    """Check that a key has no quotes around it, and no name before it.

    Raises:
        NotReady: it has. The error shows no part of the key.
    """
    if bare_key(key) == key:
        return
    surplus = "the name of a variable before it" if _NAMED.fullmatch(key) else "quotes around it"
    raise NotReady(f"the key in {where} has {surplus}", hint="write the key alone")
