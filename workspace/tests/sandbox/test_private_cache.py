"""The cache of a sandboxed process, and what it sees of the user's, through bubblewrap."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from code_commit_workspace.records import ProcessResult

pytestmark = pytest.mark.usefixtures("bubblewrap")

Run = Callable[..., ProcessResult]


def below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_the_cache_is_private_and_kept_for_the_project(run: Run, home: Path) -> None:
    (home / ".cache/pip").mkdir()
    (home / ".cache/pip/wheel").write_text("the user's")

    assert (
        run("ls ~/.cache/pip; mkdir ~/.cache/made && touch ~/.cache/made/here /tmp/gone").exit_code
        == 0
    )
    result = run("ls ~/.cache/made; test ! -e /tmp/gone && echo $XDG_CACHE_HOME")

    assert result.output == f"here\n{home}/.cache\n".encode()
    assert (home / ".cache/pip/wheel").read_text() == "the user's"
    assert not (home / ".cache/made").exists()
    assert not list(home.glob(".cache/code-commit/sandbox/*/run-*"))


@pytest.mark.parametrize(
    "closed", ["chmod 000 ~/.cache", "mkdir -p ~/.cache/puppeteer/x; chmod 000 ~/.cache/puppeteer"]
)
def test_no_build_closes_the_cache_for_the_next_one(
    run: Run, home: Path, closed: str, no_privileges: None
) -> None:
    assert run(closed).passed
    (home / ".cache/puppeteer").mkdir()
    (home / ".cache/puppeteer/browser").touch()

    assert run("touch ~/.cache/made && ls ~/.cache/puppeteer").output == b"browser\n"


@pytest.mark.parametrize("kind", ["missing", "a link", "a link to nothing"])
def test_without_a_plain_cache_a_variable_names_the_private_one(
    run: Run, home: Path, tmp_path: Path, kind: str
) -> None:
    (home / ".cache").rmdir()
    if kind != "missing":
        (home / ".cache").symlink_to(tmp_path / "cache")
    if kind == "a link":
        (tmp_path / "cache").mkdir()
    before = below(tmp_path / "cache") if kind == "a link" else set()

    result = run(
        "touch $XDG_CACHE_HOME/made && cat $XDG_CACHE_HOME/made && touch $GRADLE_USER_HOME.x && echo ok"
    )

    assert result.output == b"ok\n"
    if kind == "a link":
        created = {
            path
            for path in below(tmp_path / "cache") - before
            if not path.startswith("code-commit")
        }
        assert created == set()


def test_what_was_downloaded_on_purpose_is_seen_and_read_only(run: Run, home: Path) -> None:
    (home / ".cache/ms-playwright").mkdir()
    (home / ".cache/ms-playwright/browser").write_text("there")
    # What an earlier process left in its place leads nowhere.
    run("ln -s /oldroot/etc ~/.cache/huggingface; touch ~/.cache/puppeteer")
    for name in ("huggingface", "puppeteer"):
        (home / ".cache" / name).mkdir()

    result = run(
        "cat ~/.cache/ms-playwright/browser; touch ~/.cache/{ms-playwright,huggingface,puppeteer}/x"
    )

    assert result.output.startswith(b"there")
    assert result.output.count(b"Read-only file system") == 3
