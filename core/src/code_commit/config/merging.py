"""Merge the tables of several sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def merged(tables: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return one table with the values of all `tables`, the strongest first.

    pydantic-settings merges them if a table in them is set more than once. Otherwise the strongest
    value counts, and the run does not wait for the import, which takes a tenth of a short run.
    """
    values: dict[str, list[Any]] = {}
    for table in tables:
        for name, value in table.items():
            values.setdefault(name, []).append(value)
    subtables = [sum(isinstance(value, Mapping) for value in each) for each in values.values()]
    if max(subtables, default=0) > 1:
        return _deeply_merged(tables)
    return {name: each[0] for name, each in values.items()}


def _deeply_merged(tables: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource

    class Merged(BaseSettings, extra="allow"):
        @classmethod
        def settings_customise_sources(  # type: ignore[override] # of its arguments, one is used
            cls, settings_cls: type[BaseSettings], **_: Any
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return tuple(InitSettingsSource(settings_cls, dict(table)) for table in tables)

    return Merged().model_extra or {}
