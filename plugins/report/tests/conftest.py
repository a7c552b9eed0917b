"""A project with scripted replies, and a browser that reads pages."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from code_commit_testing import Finished, Project

_CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
_FLAGS = (
    *(
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--hide-scrollbars",
        "--disable-sync",
    ),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
)
CSP = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')


@dataclass(frozen=True)
class Answered:
    """A project with a provider that returns the replies of the test."""

    project: Project
    plugins: Path

    def __call__(
        self, *replies: str, settings: str = "", arguments: tuple[str, ...] = ()
    ) -> Finished:
        config = '[providers]\ndefault_provider = "scripted.default"\n[providers.scripted.default]\nmodel = "gpt-5"\n'
        self.project.write(
            {"agent-config/config.toml": f"{config}replies = {json.dumps(replies)}\n{settings}"}
        )
        return self.command(*arguments)

    def command(self, *arguments: str) -> Finished:
        # Other tests are about the sandbox; here it would only take time.
        return self.project.command(
            *arguments, plugins=[self.plugins], environ={"CODE_COMMIT_SANDBOX": "off"}
        )

    @property
    def page(self) -> str:
        """The whole page, as `runs open` makes it from the short one."""
        if "This is the short page" in self.short_page:
            opened = self.command("runs", "open", "--no-browser")
            assert opened.exit_code == 0, opened.stderr
        return self.short_page

    @property
    def short_page(self) -> str:
        return (self.project.run_folder / "report.html").read_text("utf-8")

    @property
    def index(self) -> str:
        """The list of all runs, as `runs open` makes it."""
        if '"list runs newer"' in self.appended_index:
            opened = self.command("runs", "open", "--all")
            assert opened.exit_code == 0, opened.stderr
        return self.appended_index

    @property
    def appended_index(self) -> str:
        return (self.project.root / "logs" / "index.html").read_text("utf-8")


@pytest.fixture
def answered(tmp_path: Path) -> Answered:
    return answered_in(tmp_path)


@pytest.fixture(scope="module")
def answered_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Answered]:
    """Return a function that makes a run in a project of its own.

    It is for tests that only read its page.
    """

    @cache
    def run(
        *replies: str, arguments: tuple[str, ...] = (), more: tuple[tuple[str, str], ...] = ()
    ) -> Answered:
        answered = answered_in(tmp_path_factory.mktemp("once"))
        answered.project.write(dict(more))
        assert answered(*replies, arguments=arguments).exit_code == 0
        return answered

    return run


def answered_in(folder: Path) -> Answered:
    dist_info = folder / "plugins" / "scripted-1.dist-info"
    dist_info.mkdir(parents=True)
    (dist_info / "METADATA").write_text("Metadata-Version: 2.1\nName: scripted\nVersion: 1\n")
    (dist_info / "entry_points.txt").write_text(
        "[code_commit]\nscripted = code_commit_testing.scripted_provider\n"
    )
    build = 'echo "checking <script>document.title = 1</script>"; echo "error: no good" >&2; grep -q good a.txt\n'
    return Answered(Project.create(folder, build=build), folder / "plugins")


@dataclass(frozen=True)
class Browser:
    """A real browser, without a window and without network: no page may need it."""

    folder: Path

    def dom(self, page: Path, *flags: str) -> str:
        """Return the page after loading."""
        return self._run("--dump-dom", *flags, page.as_uri())

    def screenshot(self, page: Path, width: int, height: int, *flags: str) -> bytes:
        """Return a picture of the page."""
        picture = self.folder / "picture.png"
        self._run(
            f"--screenshot={picture}", f"--window-size={width},{height}", *flags, page.as_uri()
        )
        return picture.read_bytes()

    def measured(
        self, page: Path, expressions: Mapping[str, str], width: int, *flags: str
    ) -> dict[str, Any]:
        """Evaluate expressions in a copy of the page without its policy, which allows no script."""
        values = ", ".join(
            f"{json.dumps(name)}: {expression}" for name, expression in expressions.items()
        )
        script = f"<script>document.body.dataset.measured = JSON.stringify({{{values}}})</script>"
        copy = page.with_name("measured.html")
        copy.write_text(
            CSP.sub("", page.read_text("utf-8")).replace("</body>", f"{script}</body>"), "utf-8"
        )
        match = re.search(
            r'data-measured="([^"]*)"', self.dom(copy, f"--window-size={width},900", *flags)
        )
        assert match, "the script did not run"
        return json.loads(html.unescape(match[1]))

    def _run(self, *arguments: str) -> str:
        profile = self.folder / "profile"
        shutil.rmtree(profile, ignore_errors=True)
        command = [
            _CHROMIUM,
            *_FLAGS,
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={profile}",
            *arguments,
        ]
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.folder)}
        completed = subprocess.run(
            command, env=environ, capture_output=True, check=True, timeout=120
        )
        return completed.stdout.decode("utf-8", "replace")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    if _CHROMIUM is None:
        pytest.skip("chromium is not installed: the pages are not tested in a browser")
    return Browser(tmp_path_factory.mktemp("browser"))
