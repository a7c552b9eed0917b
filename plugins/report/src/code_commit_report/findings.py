"""The findings of a run, which a workflow can have in the data of its result."""

from __future__ import annotations

from dataclasses import dataclass

from code_commit_report.fields import Data, integer_of, objects_of, text_of, texts_of


@dataclass(frozen=True, slots=True)
class FindingView:
    """A finding. `places` are files, or lines of them; `reports` is how many reports have it."""

    section: str
    text: str
    places: tuple[str, ...]
    specification: str
    reports: int


def findings_in(data: Data) -> list[FindingView]:
    """Return the findings in the data of a result."""
    return [
        FindingView(
            section=text_of(finding, "section"),
            text=text_of(finding, "text"),
            places=_places(finding),
            specification=text_of(finding, "specification"),
            reports=len(texts_of(finding, "samples")),
        )
        for finding in objects_of(data, "findings")
    ]


def _places(finding: Data) -> tuple[str, ...]:
    """Return the lines that the finding quotes, then the other files that it names."""
    places: dict[str, str] = {}
    for place in objects_of(finding, "places"):
        line = integer_of(place, "line")
        path = text_of(place, "path")
        places[f"{path}:{line}"] = path
    others = [path for path in texts_of(finding, "paths") if path not in places.values()]
    return (*places, *others)
