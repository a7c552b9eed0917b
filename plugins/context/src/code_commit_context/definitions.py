"""Find the names that a file defines, for its line in the map.

One pattern for all languages, and no parser: parsers are native code, which a hostile file could
crash. A name that is missed, or one too many, costs little.
"""

from __future__ import annotations

import re

_MOST = 10  # names

_MODIFIERS = (
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|sealed|async|"
    r"pub(?:\([\w:]{1,20}\))?|unsafe|extern|inline|open|data|override|virtual|partial|declare|"
    r"suspend|readonly)[ \t]{1,4}){0,5}"
)
_KEYWORDS = (
    r"(?:def|defp|defmodule|class|fn|func|function\*?|fun|struct|enum|union|interface|trait|type|"
    r"module|namespace|object|protocol|record|mod|sub|proc|contract|macro_rules!|const|let|"
    r"(?:create|CREATE)[ \t](?:table|TABLE|view|VIEW|function|FUNCTION)|\#[ \t]?define)"
)
_BEFORE_NAME = r"[ \t]{1,4}(?:\([^()\n]{0,80}\)[ \t]?|self\.)?"  # `func (r *Type) name`
_TYPED = (  # `int name(`, `public static List<T> name(`
    r"(?!(?:return|else|elif|new|throw|raise|case|await|yield|not|and|or|in|is|if|assert|use|from|"
    r"import|for|while|with|except|print)\b)"
    r"(?:[A-Za-z_][\w.:<>\[\],?*&]{0,60}[ \t*&]{1,4}){1,4}(?=\w{1,60}[ \t]?\([^;\n]{0,200}$)"
)
_IN_BLOCK = r"(?=[A-Z]\w{0,60}[ \t]{1,8}(?:struct|interface)\b)"  # `Name struct {` of Go
_DEFINITION = re.compile(
    r"^(?P<indent>[ \t]{0,8})"
    rf"(?:{_MODIFIERS}{_KEYWORDS}{_BEFORE_NAME}|{_TYPED}|{_IN_BLOCK})"
    r"(?P<name>[A-Za-z_$][\w$]{0,60})\b",
    re.MULTILINE,
)


def defined_names(text: str) -> list[str]:
    """Return up to ten names that code defines: the least indented ones, in their order."""
    depths: dict[str, int] = {}
    for match in _DEFINITION.finditer(text):
        depths.setdefault(match["name"], len(match["indent"]))
    names = sorted(depths, key=depths.__getitem__)[:_MOST]
    return [name for name in depths if name in names]
