"""Places that the user opens for processes, and those that stay closed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from code_commit_workspace.errors import NotReady
from code_commit_workspace.records import ProcessResult

CANARY = "canary-5f3a9c1e7b"  # in `sandbox_project` too
pytestmark = pytest.mark.usefixtures("bubblewrap")

Run = Callable[..., ProcessResult]


def test_what_the_user_opens_is_open_and_nothing_more(run: Run, home: Path) -> None:
    for name in ("tool/deep", ".aws", "other"):
        (home / name).mkdir(parents=True)
    (home / ".aws/credentials").write_text("shown")
    (home / ".netrc").write_text(CANARY)
    (home / ".composer").mkdir()
    (home / ".composer/auth.json").write_text(CANARY)

    result = run(
        "touch ~/tool/deep/x ~/.composer/x ~/other/x ~/.aws/x; cat ~/.aws/credentials ~/.netrc ~/.composer/*; mv ~/tool ~/moved",
        writable=(home / "tool", home / ".composer"),
        readable=(home / ".aws",),
    )

    assert b"shown" in result.output
    assert CANARY.encode() not in result.output
    assert (home / "tool/deep/x").exists()
    assert (home / ".composer/x").exists()
    assert result.output.count(b"Read-only file system") == 3


def test_no_program_can_be_put_on_the_path(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "tool/bin").mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{home}/tool/bin{os.pathsep}{os.environ['PATH']}")

    result = run(
        "touch ~/tool/x ~/tool/bin/git; mv ~/tool/bin ~/tool/old", writable=(home / "tool",)
    )

    assert result.output.count(b"Read-only file system") == 1
    assert result.output.count(b"Device or resource busy") == 1
    for opened in ("tool/bin", "tool/bin/below"):
        with pytest.raises(NotReady, match="is on PATH"):
            run("true", writable=(home / opened,))


@pytest.mark.parametrize("opened", ["", ".config", "..", ".cache", ".cache/code-commit/sandbox/x"])
def test_a_folder_that_holds_what_is_hidden_cannot_be_opened(
    run: Run, home: Path, opened: str
) -> None:
    with pytest.raises(NotReady, match=r"sandbox\.writable: .* which no process can"):
        run("true", writable=(home / opened,), hidden=(home / ".config/code-commit",))


@pytest.mark.parametrize("setting", ["writable", "readable"])
def test_what_is_always_hidden_cannot_be_opened(run: Run, project: Path, setting: str) -> None:
    with pytest.raises(NotReady, match="is in a folder that processes must not see"):
        run("true", **{setting: (project.parent, project / "agent-config/key.txt")})
