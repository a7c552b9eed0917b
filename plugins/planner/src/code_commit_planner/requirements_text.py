"""The text of `new_requirements.md`: its tags, and whether a model has answered in it."""

from __future__ import annotations

from code_commit_planner.prompts import CURRENT_REQUIREMENTS, ORIGINAL_REQUIREMENTS

_BOM = "\ufeff"
_AROUND = "#*_`: \t\r"


def with_tag(text: str) -> str:
    """Return `text` marked as the person's own words, unless one of the tags is in it already."""
    if ORIGINAL_REQUIREMENTS in text or CURRENT_REQUIREMENTS in text:
        return text
    end = "\r\n" if "\r\n" in text else "\n"
    mark = _BOM if text.startswith(_BOM) else ""
    return f"{mark}{ORIGINAL_REQUIREMENTS}{end}{end}{text.removeprefix(_BOM)}"


def without_tags(text: str) -> str:
    """Return `text` without the lines that are tags."""
    return "\n".join(
        line for line in text.split("\n") if _bare(line) not in {ORIGINAL_REQUIREMENTS, CURRENT_REQUIREMENTS}
    )


def is_answered(before: str, after: str) -> bool:
    """Whether the model has changed the text, and a heading of current requirements is in it."""
    return after != before and has_heading(after)


def has_heading(text: str) -> bool:
    """Whether a line is the heading `{{CURRENT REQUIREMENTS}}`, however it is marked as one."""
    return any(_bare(line) == CURRENT_REQUIREMENTS for line in text.split("\n"))


def _bare(line: str) -> str:
    return line.removeprefix(_BOM).strip(_AROUND)
