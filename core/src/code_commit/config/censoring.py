"""What of a configuration must not be shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from code_commit.config.sources import Name

_SECRET_WORDS = frozenset({"key", "keys", "apikey", "token", "secret", "password", "authorization", "headers"})
_SHORTEST = 8


def without_keys(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of `tables` in which each provider config's `api_key` is its censored form."""
    copy: dict[str, Any] = _copied(tables)
    for configs in copy.get("providers", {}).values():
        for table in configs.values() if isinstance(configs, dict) else ():
            if isinstance(table, dict) and "api_key" in table:
                table["api_key"] = censored(table["api_key"])
    return copy


def censored(value: object) -> str:
    """Return `***` and the last two characters of a text that could be a key."""
    text = value.strip() if isinstance(value, str) else ""
    return f"***{text[-2:]}" if len(text) >= _SHORTEST else "***"


def shown(name: Name, value: Any) -> Any:
    """Return `value` as it may be shown: what is secret by its name is censored, and so are credentials in a URL."""
    words = set(re.split(r"[^a-z0-9]+", ".".join(name[2:]).lower()))  # the first two say whose value it is
    if words & _SECRET_WORDS and not words & {"file", "path"}:
        already = isinstance(value, str) and value.startswith("***") and len(value) <= len("***") + 2
        return value if already or isinstance(value, bool) else censored(value)
    if isinstance(value, str):
        return re.sub(r"(?<=//)[^/\s]*@", "***@", value)
    if isinstance(value, Mapping):
        return {part: shown((*name, part), one) for part, one in value.items()}
    if isinstance(value, list):
        return [shown(name, one) for one in value]
    return value


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _copied(one) for name, one in value.items()}
    return [_copied(one) for one in value] if isinstance(value, list) else value
