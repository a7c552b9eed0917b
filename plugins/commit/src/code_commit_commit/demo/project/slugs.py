"""Titles as the last part of a web address."""

import re


def slugify(title: str) -> str:
    """Return `title` in lower case, its words joined by hyphens."""
    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))
