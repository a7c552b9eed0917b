"""Repositories and ignore rules in a project: no sandboxed process changes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from code_commit_workspace.errors import NotReady
from code_commit_workspace.keys.redaction import Redactor
from code_commit_workspace.process.runner import ProcessRunner
from code_commit_workspace.records import ProcessResult, SandboxSettings

pytestmark = pytest.mark.usefixtures("bubblewrap")

Run = Callable[..., ProcessResult]


def below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_nested_repositories_and_rules_cannot_be_changed(run: Run, project: Path) -> None:
    for folder in ("a/b/sub", "a/other", "with\nnewline"):
        (project / folder / ".git/hooks").mkdir(parents=True)
        (project / folder / ".git/config").write_text("[core]\n")
        (project / folder / ".gitignore").write_text("*.o\n")
        (project / folder / "code").write_text("old")
    before = below(project)
    script = """
        for d in a/b/sub a/other $'with\\nnewline'; do
            cd "$d"; echo x > .git/config; rm -rf .git; mv .git x; echo x > .gitignore; mv "$PWD" "${PWD}x"; echo new > code; cd -
        done
        mv a x; mv a/b a/x; rm -rf a; true
    """

    result = run(script)

    assert (result.exit_code, result.tampered) == (0, ())
    assert below(project) == before - {"a/b/sub/code", "a/other/code"}
    assert (project / "with\nnewline/code").read_text() == "new\n"


def test_many_rules_are_read_only_or_compared(run: Run, project: Path) -> None:
    for number in range(40):
        (project / f"package{number:02}").mkdir()
        (project / f"package{number:02}/.gitignore").write_text("*.o\n")

    result = run("for each in package*/.gitignore; do echo x > $each; done; true")

    changed = {
        str(path.relative_to(project))
        for path in project.glob("*/.gitignore")
        if path.read_text() != "*.o\n"
    }
    assert 0 < len(changed) < 10
    assert set(result.tampered) == changed


@pytest.mark.parametrize(
    ("mode", "count"), [("require", 100), ("auto", 33), ("auto", 100), ("require", 32)]
)
def test_more_nested_repositories_than_can_be_protected(
    run: Run, project: Path, mode: str, count: int
) -> None:
    for number in range(count):
        (project / f"sub{number:03}/.git").mkdir(parents=True)
    runner = ProcessRunner(
        project,
        SandboxSettings(mode),  # type: ignore[arg-type]
        state_folder="agent-config/.code-commit",
        redactor=Redactor(),
    )
    try:
        if count > 32 and mode == "require":
            with pytest.raises(
                NotReady, match=f"only 32 of {count} nested git repositories are protected"
            ) as caught:
                runner.look_ahead()
            assert caught.value.hint == "pass --sandbox auto or off"
        else:
            assert runner.sandbox_in_use == "bubblewrap"
            assert (f"only 32 of {count}" in runner.sandbox_warning()) == (count > 32)
            assert runner.sandbox_warning() == ""
    finally:
        runner.remove_private_folders()


def test_nested_repositories_of_many_owners_are_protected(run: Run, project: Path) -> None:
    """As in a folder of dependencies by service, owner and name, a usual place for them."""
    for number in range(32):
        (project / f"vendor/example.org/owner{number:02}/name/.git").mkdir(parents=True)

    result = run(
        "for each in vendor/*/*/*/.git; do touch $each/config; done; mv vendor/example.org/owner31 x; true"
    )

    assert result.output.count(b"Read-only file system") == 32
    assert b"Device or resource busy" in result.output
