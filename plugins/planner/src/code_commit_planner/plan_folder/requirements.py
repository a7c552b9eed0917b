"""The text of `new_requirements.md`: its tags and sections."""

from __future__ import annotations

ORIGINAL_REQUIREMENTS = (
    "{{ORIGINAL USER REQUIREMENTS -- THIS SECTION WILL BE IGNORED BY THE IMPLEMENTATION}}"
)
CURRENT_REQUIREMENTS = "{{CURRENT REQUIREMENTS}}"
_BOM = "\ufeff"
_AROUND = "#*_`: \t\r"


def with_tag(text: str) -> str:
    """Return `text` with the tag of the person's requirements, unless it already has a tag."""
    if ORIGINAL_REQUIREMENTS in text or CURRENT_REQUIREMENTS in text:
        return text
    end = "\r\n" if "\r\n" in text else "\n"
    mark = _BOM if text.startswith(_BOM) else ""
    return f"{mark}{ORIGINAL_REQUIREMENTS}{end}{end}{text.removeprefix(_BOM)}"


def to_implement(text: str) -> str:
    """Return `text` without sections of original requirements, or all of it if nothing remains."""
    lines = []
    is_original = False
    for line in text.split("\n"):
        tag = _bare(line)
        if tag == ORIGINAL_REQUIREMENTS:
            is_original = True
        elif tag == CURRENT_REQUIREMENTS:
            is_original = False
        if not is_original:
            lines.append(line)
    current = "\n".join(lines)
    if without_tags(current).strip():
        return current
    return text


def without_tags(text: str) -> str:
    """Return `text` without tag lines."""
    tags = {ORIGINAL_REQUIREMENTS, CURRENT_REQUIREMENTS}
    return "\n".join(line for line in text.split("\n") if _bare(line) not in tags)


def has_heading(text: str) -> bool:
    """Return whether a line is the heading `{{CURRENT REQUIREMENTS}}`, in any Markdown style."""
    return any(_bare(line) == CURRENT_REQUIREMENTS for line in text.split("\n"))


def _bare(line: str) -> str:
    return line.removeprefix(_BOM).strip(_AROUND)
