"""The site contains all pages, has no broken links, and loads nothing from other hosts."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from code_commit import plugin_api

pytest.importorskip("sphinx", reason="Sphinx builds the site; the environment `site` has it")

ROOT = Path(__file__).parents[2]
SOURCES = (
    "*.md",
    "docs/**/*.md",
    "core/*.md",
    "testing/*.md",
    "workspace/*.md",
    "plugins/*/*.md",
    "examples/*.md",
)
PAGES = sorted(path.relative_to(ROOT) for pattern in SOURCES for path in ROOT.glob(pattern))
INDEX = "docs/index.html"
# Attributes that a browser fetches without a click.
FETCHED = {
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("link", "href"),
    ("source", "src"),
    ("video", "src"),
}


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site that the environment `site` built, or build it here."""
    if "SITE" in os.environ:
        return Path(os.environ["SITE"])
    target = tmp_path_factory.mktemp("site")
    options = [
        "-W",
        "--keep-going",
        "-n",
        "-q",
        "-b",
        "html",
        "-c",
        "docs/site",
        "-d",
        str(target / ".doctrees"),
    ]
    command = [sys.executable, "-m", "sphinx", *options, ".", str(target)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return target


@dataclass
class Read(HTMLParser):
    """The anchors of a page, the links that a reader follows, and the addresses that a browser
    fetches.
    """

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif (tag, name) in FETCHED and value:
                self.fetched.append(value)
            elif (tag, name) == ("a", "href") and value:
                self.links.append(value)


@cache
def read(page: Path) -> Read:
    reader = Read()
    reader.feed(page.read_text("utf-8"))
    return reader


def pages_of(site: Path) -> Iterator[Path]:
    files = sorted(site.rglob("*.html"))
    assert len(files) > len(PAGES)
    yield from files


def test_every_page_of_the_checkout_is_a_page_of_the_site(site: Path) -> None:
    assert [page for page in PAGES if not (site / page.with_suffix(".html")).is_file()] == []


def test_the_navigation_contains_each_page_once(site: Path) -> None:
    """The navigation comes from docs/index.md, which contains each other page once."""
    text = (ROOT / "docs/index.md").read_text("utf-8")
    assert len(text.split("\n## ")) > 5
    sidebar = (
        (site / INDEX)
        .read_text("utf-8")
        .partition('<div class="sidebar-tree">')[2]
        .partition("</aside>")[0]
    )
    reader = Read()
    reader.feed(sidebar)
    targets = Counter(os.path.normpath(f"docs/{link}") for link in reader.links)
    assert targets == {
        str(page.with_suffix(".html")): 1 for page in PAGES if str(page) != "docs/index.md"
    }


def test_the_first_page_redirects_to_the_index(site: Path) -> None:
    assert f'content="0; url={INDEX}"' in (site / "index.html").read_text("utf-8")


def test_every_link_of_the_site_has_a_target(site: Path) -> None:
    followed, broken = 0, []
    for page in pages_of(site):
        for link in read(page).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            followed += 1
            if not target.is_file() or (
                parts.fragment and parts.fragment not in read(target).anchors | {"top"}
            ):
                broken.append(f"{page.relative_to(site)}: {link}")
    assert not broken
    assert followed > 1000


def test_nothing_is_fetched_from_another_host(site: Path) -> None:
    fetched = [(page, address) for page in pages_of(site) for address in read(page).fetched]
    assert len(fetched) > len(PAGES)
    assert [
        (page, address)
        for page, address in fetched
        if urlsplit(address).scheme or urlsplit(address).netloc
    ] == []
    for sheet in site.rglob("*.css"):
        text = sheet.read_text("utf-8")
        assert "@import" not in text, sheet
        assert "url(http" not in text.replace('"', "").replace("'", ""), sheet


def test_the_site_shows_the_file_names_of_tutorials(site: Path) -> None:
    page = (site / "docs/plugins/provider.html").read_text("utf-8")
    assert '<span class="pre">src/code_commit_parrot/__init__.py</span>' in page


@pytest.mark.parametrize(
    ("page", "module", "members"),
    [
        (
            "reference",
            "code_commit.plugin_api",
            {"Run.model", "Run.options", "Usage.input", "hookspecs.code_commit_providers"},
        ),
        ("workspace-reference", "code_commit_workspace", {"Workspace.open", "ProjectTree.read"}),
    ],
)
def test_the_generated_reference_has_every_public_name(
    site: Path, page: str, module: str, members: set[str]
) -> None:
    names = {*import_module(module).__all__, *members} - {"__version__"}
    # Those are on the other page.
    names -= {*dir(plugin_api)} if module == "code_commit_workspace" else set()
    anchors = read(site / f"docs/plugins/{page}.html").anchors
    assert {name for name in names if f"{module}.{name}" not in anchors} == set()


def test_the_reference_shows_types(site: Path) -> None:
    text = re.sub(r"<[^>]+>", "", (site / "docs/plugins/reference.html").read_text("utf-8"))
    for signature in (
        "complete(request: Request, *, label: str, watch: ",
        "options: Any",
        "input: int | None",
    ):
        assert signature in text
    assert "str(object=" not in text  # of an alias or constant without a text of its own
    assert "int([x])" not in text
    assert "bytes; larger diffs are left out of run folders" in text


def in_browser(address: str, folder: Path, *more: str) -> str:
    """Return a page as a browser shows it at last."""
    program = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if program is None:
        pytest.skip("chromium is not installed: the site is not tested in a browser")
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-dev-shm-usage",
    ]
    flags += [
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={folder}",
        "--virtual-time-budget=20000",
    ]
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    completed = subprocess.run(
        [program, *flags, *more, "--dump-dom", address],
        env=environ,
        capture_output=True,
        check=True,
        timeout=120,
    )
    return completed.stdout.decode("utf-8", "replace")


def test_the_search_shows_excerpts_without_a_server(site: Path, tmp_path: Path) -> None:
    page = in_browser(f"{(site / 'search.html').as_uri()}?q=bubblewrap", tmp_path)
    results = page.partition('id="search-results"')[2].partition("</ul>")[0]
    text = re.sub(r"<[^>]+>", "", results)
    # Of docs/security.md, which its title does not have.
    assert "Builds run in bubblewrap if it works" in text


def test_tables_fit_a_narrow_screen(site: Path, tmp_path: Path) -> None:
    page = site / "docs/configuration.html"
    text = page.read_text("utf-8")
    assert '<td data-title="default"' in text
    beyond = "[...document.querySelectorAll('table')].map((each) => each.scrollWidth - each.parentElement.clientWidth)"
    narrowest = "Math.min(...[...document.querySelectorAll('td')].map((each) => each.clientWidth))"
    script = f"<script>onload = () => {{ document.title = JSON.stringify([innerWidth, {narrowest}, ...{beyond}]) }}</script>"
    copy = tmp_path / "copy.html"
    copy.write_text(
        text.replace("<head>", f'<head><base href="{page.as_uri()}">').replace(
            "</body>", f"{script}</body>"
        )
    )
    shown = in_browser(copy.as_uri(), tmp_path, "--window-size=500,900")
    [measured] = re.findall(r"<title>(\[.*?\])</title>", shown)
    window, cell, *tables = json.loads(measured)
    assert len(tables) > 5
    assert max(tables) <= 0, "wider than its place"
    assert cell > 0.8 * window
