"""What a task cannot work with ends the run and is named."""

from __future__ import annotations

import pytest

from code_commit.plugin_api import NotReady
from code_commit_tasks.runtime import process


def test_a_build_that_is_no_file_ends_the_run(work) -> None:
    (work.project.root / "build.sh").unlink()
    (work.project.root / "build.sh").mkdir()
    work.server.script(work.returns("x"))
    finished = work()
    assert finished.exit_code == 3
    assert "build.sh is not a readable regular file" in finished.stderr


def test_a_build_that_cannot_run_ends_before_a_call(work) -> None:
    work.project.write({"build.sh": "#!/bin/bash -e\r\nfalse\r\n"})
    work.server.script(work.returns("x"))
    finished = work()
    assert (finished.exit_code, work.server.requests) == (3, [])
    assert "line 1 of build.sh has a carriage return" in finished.stderr
    assert work("--no-build").exit_code == 0


def test_a_task_that_cannot_be_saved_ends_the_run(work) -> None:
    state = work.project.root / "agent-config/.code-commit/state"

    def lose_state(_request) -> str:
        state.rename(state.with_name("gone"))
        return work.returns("x")

    work.server.script(lose_state)
    finished = work()
    assert finished.exit_code == 3
    assert f"cannot write {state}" in finished.stderr


def test_a_deno_that_cannot_start_is_not_ready(script, monkeypatch) -> None:
    monkeypatch.setattr(process, "deno_command", lambda *_, **__: ["/nowhere/deno"])
    with pytest.raises(NotReady, match=r"cannot start Deno: .*No such file") as caught:
        script.run("return 1;")
    assert caught.value.hint == "reinstall it: pip install --force-reinstall deno"
