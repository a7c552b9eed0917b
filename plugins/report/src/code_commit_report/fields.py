"""Read the fields of records. A value of another type is ignored: a log may contain anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Data = Mapping[str, Any]

_HIGHEST = 1e12  # seconds or USD


def text_of(data: Data, name: str) -> str:
    """Return a field that is a text; "" if it is none."""
    value = data.get(name)
    return value if isinstance(value, str) else ""


def texts_of(data: Data, name: str) -> tuple[str, ...]:
    """Return a field that is a list of texts; () if it is none."""
    return tuple(str(value) for value in _list_of(data, name))


def objects_of(data: Data, name: str) -> list[Data]:
    """Return the objects of a field that is a list; [] if it is none."""
    return [value for value in _list_of(data, name) if isinstance(value, dict)]


def object_of(data: Data, name: str) -> Data:
    """Return a field that is an object; {} if it is none."""
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def _list_of(data: Data, name: str) -> Sequence[Any]:
    value = data.get(name)
    return value if isinstance(value, list | tuple) else ()


def integer_of(data: Data, name: str) -> int | None:
    """Return a field that is an integer; None if it is none."""
    value = data.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number_of(data: Data, name: str) -> float | None:
    """Return a field that is a number of a usual size; None if it is none."""
    value = data.get(name)
    if not isinstance(value, int | float) or not abs(value) < _HIGHEST:
        return None
    return float(value)
