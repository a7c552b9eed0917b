"""Read the fields of records. A value of another type is ignored: a log may contain anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Data = Mapping[str, Any]


def text_of(data: Data, name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


def texts_of(data: Data, name: str) -> tuple[str, ...]:
    value = data.get(name)
    return tuple(str(each) for each in value) if isinstance(value, list | tuple) else ()


def integer_of(data: Data, name: str) -> int | None:
    value = data.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number_of(data: Data, name: str) -> float:
    value = data.get(name)
    return float(value) if isinstance(value, int | float) else 0.0
