"""A record as one line of JSON, and back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from code_commit.records.event import Record


def as_line(fields: Mapping[str, Any]) -> str:
    """Render the fields of a record without a newline.

    ASCII alone: a line can neither be cut at U+2028 by a careless reader nor steer the terminal it is shown on.

    Raises:
        ValueError: a value has no place in JSON, such as NaN.
    """
    return json.dumps(fields, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def record_fields(record: Record) -> dict[str, Any]:
    """Return the fields of `record` in the order they have in a line."""
    return {
        "seq": record.seq,
        "time": record.time,
        "run": record.run,
        "span": record.span,
        "parent": record.parent,
        "kind": record.kind,
        "data": record.data,
        "version": record.version,
    }


def read_records(events: Path) -> Iterator[Record]:
    """Read the records of `events.jsonl` in order.

    A line that is no record is passed over: the last one of a killed run is often torn, and so is one that met a
    full disk.

    Raises:
        OSError: the file cannot be read.
    """
    with events.open("rb") as lines:
        for line in lines:
            record = _record(line)
            if record is not None:
                yield record


def _record(line: bytes) -> Record | None:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None
    match fields:
        case {
            "seq": int(seq),
            "time": int() | float() as time,
            "run": str(run),
            "span": int(span),
            "parent": int() | None as parent,
            "kind": str(kind),
            "data": dict(data),
            "version": int(version),
        }:
            return Record(seq, float(time), run, span, parent, kind, data, version)
    return None
