"""Split a report into sections without losing any character, however its headings are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from code_commit_consistency.headings import SECTIONS, STYLES, Heading, headings


@dataclass(frozen=True, slots=True)
class Section:
    """A section: its heading as written and the text after it, both with line endings.

    `name` is one of `SECTIONS`, or the title of an extra section.
    """

    name: str
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class SectionedReport:
    """A report: the preamble, and the headings and texts of the sections. Nothing is left out."""

    preamble: str
    sections: tuple[Section, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """Return the missing ones of `SECTIONS`."""
        present = {section.name for section in self.sections}
        return tuple(name for name in SECTIONS if name not in present)

    @property
    def extra(self) -> tuple[str, ...]:
        """Return the sections that are not in `SECTIONS`, or repeat an earlier one, in order."""
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
    candidates = list(headings(report, fences=True))
    if not _has_requested(candidates):
        # Some models wrap the whole report in code fences.
        unfenced = list(headings(report, fences=False))
        if _has_requested(unfenced):
            candidates = unfenced
    begins = _without_mentions(_section_headings(candidates), report)
    starts = [*(heading.start for heading in begins), len(report)]
    sections = []
    for heading, end in zip(begins, starts[1:], strict=True):
        written = report[heading.start : heading.after]
        text = report[heading.after : end]
        sections.append(Section(heading.title, written, text))
    return SectionedReport(report[: starts[0]], tuple(sections))


def _has_requested(candidates: Iterable[Heading]) -> bool:
    return any(heading.is_requested for heading in candidates)


def _section_headings(candidates: Sequence[Heading]) -> list[Heading]:
    """Choose the headings in the style of the sections."""
    style, names = _usual_style(candidates)
    chosen = []
    inside = not names
    for heading in candidates:
        in_style = heading.style == style
        if heading.is_requested:
            inside = True
            if in_style or heading.title not in names:
                chosen.append(heading)
        # A higher heading ends a section too; before the first one, it is the title of the report.
        elif in_style or (inside and _is_higher(heading.style, style)):
            chosen.append(heading)
    return chosen


def _is_higher(style: str, than: str) -> bool:
    """Return whether both are Markdown levels, and the first one is the higher one."""
    return "#" in style and "#" in than and style < than


def _usual_style(candidates: Sequence[Heading]) -> tuple[str, set[str]]:
    """Return the style of most requested names, and these names.

    If there are none, it is the highest Markdown level in use.
    """
    names: dict[str, set[str]] = {}
    for heading in candidates:
        if heading.is_requested:
            names.setdefault(heading.style, set()).add(heading.title)
    if not names:
        levels = [heading.style for heading in candidates if "#" in heading.style]
        return min(levels, default=""), set()
    style = max(names, key=lambda style: (len(names[style]), -STYLES.index(style)))
    return style, names[style]


def _without_mentions(chosen: Sequence[Heading], report: str) -> list[Heading]:
    """Leave out a table of contents and the report's title: headings with nothing below them.

    An empty section stays, unless it occurs again.
    """
    first = next((heading.start for heading in chosen if heading.is_requested), 0)
    begins: list[Heading] = []
    later: set[str] = set()
    end = len(report)
    for heading in reversed(chosen):
        is_empty = not report[heading.after : end].strip()
        end = heading.start
        if not is_empty or (heading.start >= first and heading.title not in later):
            begins.append(heading)
            later.add(heading.title)
    return begins[::-1]
