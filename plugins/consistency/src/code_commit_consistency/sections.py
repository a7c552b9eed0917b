"""Split a report into sections without losing any character, however its headings are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from code_commit_consistency.headings import SECTIONS, STYLES, Heading, headings


@dataclass(frozen=True, slots=True)
class Section:
    """`name` is one of `SECTIONS`, or the title of an extra section; `heading` is the heading as
    written and `text` everything after it, both with line endings.
    """

    name: str
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class SectionedReport:
    """A report: `preamble` and the headings and texts of `sections`, joined, are exactly the
    report.
    """

    preamble: str
    sections: tuple[Section, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """Return the missing ones of `SECTIONS`."""
        present = {section.name for section in self.sections}
        return tuple(name for name in SECTIONS if name not in present)

    @property
    def extra(self) -> tuple[str, ...]:
        """Return the sections that are not in `SECTIONS`, or that repeat an earlier one, in order."""
        expected = set(SECTIONS)
        extra = []
        for section in self.sections:
            if section.name not in expected:
                extra.append(section.name)
            expected.discard(section.name)
        return tuple(extra)


def sectioned(report: str) -> SectionedReport:
    """Find the sections of a report.

    The style of most of the requested names is the style of the report's sections: a name in
    another style is only a mention, and another title in that style is an extra section.
    """
    found = list(headings(report, fences=True))
    if not any(heading.known for heading in found):
        unfenced = list(headings(report, fences=False))
        # Some models wrap the whole report in code fences.
        found = unfenced if any(heading.known for heading in unfenced) else found
    begins = _without_mentions(_section_headings(found), report)
    starts = [*(heading.start for heading in begins), len(report)]
    sections = tuple(
        Section(heading.title, report[heading.start : heading.after], report[heading.after : end])
        for heading, end in zip(begins, starts[1:], strict=True)
    )
    return SectionedReport(report[: starts[0]], sections)


def _section_headings(found: Sequence[Heading]) -> list[Heading]:
    """Choose the headings in the style of the sections."""
    style, covered = _usual_style(found)
    chosen = []
    inside = not covered
    for heading in found:
        if heading.known:
            inside = True
            if heading.style == style or heading.title not in covered:
                chosen.append(heading)
        # A higher heading ends a section too; before the first one, it is the title of the report.
        elif heading.style == style or (
            inside and "#" in heading.style and "#" in style and heading.style < style
        ):
            chosen.append(heading)
    return chosen


def _usual_style(found: Iterable[Heading]) -> tuple[str, set[str]]:
    """Return the style of most names, and these names; without any, the highest Markdown level in
    use.
    """
    names: dict[str, set[str]] = {}
    for heading in found:
        if heading.known:
            names.setdefault(heading.style, set()).add(heading.title)
    if not names:
        return min((heading.style for heading in found if "#" in heading.style), default=""), set()
    style = max(names, key=lambda style: (len(names[style]), -STYLES.index(style)))
    return style, names[style]


def _without_mentions(chosen: Sequence[Heading], report: str) -> list[Heading]:
    """Leave out a table of contents and the report's title: headings with nothing below them.

    An empty section stays, unless it occurs again.
    """
    first = next((heading.start for heading in chosen if heading.known), 0)
    kept: list[Heading] = []
    later: set[str] = set()
    end = len(report)
    for heading in reversed(chosen):
        empty = not report[heading.after : end].strip()
        end = heading.start
        if not empty or (heading.start >= first and heading.title not in later):
            kept.append(heading)
            later.add(heading.title)
    return kept[::-1]
