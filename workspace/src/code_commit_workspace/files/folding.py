"""Compare names as lenient file systems do."""

from __future__ import annotations

import re
import unicodedata

# Unicode's Default_Ignorable_Code_Point; HFS+ ignores some of them in names.
_IGNORABLE = re.compile(
    "[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def folded(text: str) -> str:
    """Return `text` as the most lenient file system compares it.

    It is normalized (NFKC, UAX #15), in one case (default case folding), and without ignorable
    characters (Default_Ignorable_Code_Point, UAX #44).
    """
    if text.isascii():
        return text.lower()
    once = unicodedata.normalize("NFKC", _IGNORABLE.sub("", text)).casefold()
    return _IGNORABLE.sub("", unicodedata.normalize("NFKC", once))
