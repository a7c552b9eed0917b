"""Links of the pages work, examples are valid, fragments of the change log have valid names."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("core/*.md"),
        *ROOT.glob("testing/*.md"),
        *ROOT.glob("workspace/*.md"),
        *ROOT.glob("plugins/*/*.md"),
        *ROOT.glob("examples/*.md"),
    ],
)
FENCE = re.compile(
    r"^(?P<fence>`{3,})(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL
)
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
CHECKS: dict[str, Callable[[str], object]] = {
    "toml": tomllib.loads,
    "json": json.loads,
    "python": lambda text: compile(text, "a page", "exec"),
}

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, in GitHub's format; those of a Python file are its
    functions.
    """
    if page.suffix == ".py":
        return set(re.findall(r"^ *(?:async )?def (\w+)", page.read_text("utf-8"), re.MULTILINE))
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_page
def test_every_link_within_the_repository_has_a_target(page: Path) -> None:
    for match in LINK.finditer(FENCE.sub("", page.read_text("utf-8"))):
        name, _, anchor = match["target"].partition("#")
        if re.match(r"[a-z]+:", name):
            continue
        target = (page.parent / name) if name else page
        assert target.exists(), match[0]
        assert ROOT in target.resolve().parents, match[0]
        assert not anchor or anchor in anchors(target), match[0]


@each_page
def test_every_example_is_valid_in_its_language(page: Path) -> None:
    for match in FENCE.finditer(page.read_text("utf-8")):
        check = CHECKS.get(match["language"])
        if check is not None:
            check(match["text"])


def test_fragments_of_the_change_log_have_valid_names() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["towncrier"]
    kinds = "|".join(kind["directory"] for kind in settings["type"])
    names = [path.name for path in (ROOT / "news").iterdir() if path.name != ".gitignore"]
    assert not [name for name in names if not re.fullmatch(rf"\+[\w-]+\.({kinds})\.md", name)]
