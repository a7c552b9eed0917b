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
    current = _without_original(text)
    if without_tags(current).strip():
        return current
    return text


def original_of(text: str) -> str:
    """Return the lines of the sections of original requirements, without their tags."""
    lines = []
    is_original = False
    for line in text.split("\n"):
        tag = _bare(line)
        if tag in {ORIGINAL_REQUIREMENTS, CURRENT_REQUIREMENTS}:
            is_original = tag == ORIGINAL_REQUIREMENTS
        elif is_original:
            lines.append(line)
    return "\n".join(lines)


def with_original(text: str, original: str) -> str:
    """Return `text` with the section `original`, unless its own has all these lines in order.

    Otherwise, its own section is replaced: it belongs to the person.
    """
    present = iter(_lines(original_of(text)))
    if all(line in present for line in _lines(original)):
        return text
    current = _without_original(text).rstrip()
    return f"{current}\n\n{ORIGINAL_REQUIREMENTS}\n{original.rstrip()}\n".lstrip("\n")


def without_tags(text: str) -> str:
    """Return `text` without tag lines."""
    tags = {ORIGINAL_REQUIREMENTS, CURRENT_REQUIREMENTS}
    return "\n".join(line for line in text.split("\n") if _bare(line) not in tags)


def has_heading(text: str) -> bool:
    """Return whether a line is the heading `{{CURRENT REQUIREMENTS}}`, in any Markdown style."""
    return any(_bare(line) == CURRENT_REQUIREMENTS for line in text.split("\n"))


def _without_original(text: str) -> str:
    lines = []
    is_original = False
    for line in text.split("\n"):
        tag = _bare(line)
        if tag in {ORIGINAL_REQUIREMENTS, CURRENT_REQUIREMENTS}:
            is_original = tag == ORIGINAL_REQUIREMENTS
        if not is_original:
            lines.append(line)
    return "\n".join(lines)


def _lines(text: str) -> list[str]:
    """Return the lines of `text` without blanks at their ends, and without empty ones."""
    lines = [line.rstrip() for line in text.split("\n")]
    return [line for line in lines if line]


def _bare(line: str) -> str:
    return line.removeprefix(_BOM).strip(_AROUND)
