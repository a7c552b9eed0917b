"""Print the section of the change log for a tag, such as v0.2.0.

    python release/notes.py TAG

It fails if the tag is not that of this checkout's version, or if the change log has no such
section: `make changelog` writes it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def version() -> str:
    """Return the version of this checkout."""
    text = (ROOT / "core/src/code_commit/__init__.py").read_text("utf-8")
    [found] = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    return str(found)


def notes(number: str) -> str:
    """Return the section of the change log for a version, without its title."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    sections = re.split(r"^## ", text, flags=re.MULTILINE)
    for section in sections[1:]:
        title, _, body = section.partition("\n")
        if title.split()[0] == number:
            return body.strip()
    raise SystemExit(f"CHANGELOG.md has no section {number}: run `make changelog`")


def main() -> None:
    [tag] = sys.argv[1:]
    if tag != f"v{version()}":
        raise SystemExit(f"the tag is {tag}, and the version of this checkout is {version()}")
    print(notes(version()))


if __name__ == "__main__":
    main()
