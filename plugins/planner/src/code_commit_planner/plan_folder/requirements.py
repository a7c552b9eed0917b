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
    """Return `text` without sections of original requirements; if nothing remains, return all of
    it.
    """
    kept, original = [], False
    for line in text.split("\n"):
        bare = _bare(line)
        original = bare == ORIGINAL_REQUIREMENTS or (original and bare != CURRENT_REQUIREMENTS)
        if not original:
            kept.append(line)
    return "\n".join(kept) if without_tags("\n".join(kept)).strip() else text


def without_tags(text: str) -> str:
    """Return `text` without tag lines."""
    return "\n".join(
        line
        for line in text.split("\n")
        if _bare(line) not in {ORIGINAL_REQUIREMENTS, CURRENT_REQUIREMENTS}
    )


def has_heading(text: str) -> bool:
    """Return whether a line is the heading `{{CURRENT REQUIREMENTS}}`, in any Markdown style."""
    return any(_bare(line) == CURRENT_REQUIREMENTS for line in text.split("\n"))


def _bare(line: str) -> str:
    return line.removeprefix(_BOM).strip(_AROUND)
