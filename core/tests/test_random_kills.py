"""Kill the real command at random moments of a run; at the next start, the tree is completely old
or completely new.

`CODE_COMMIT_RUN_KILLS` is the number of kills, `CODE_COMMIT_RUN_KILLS_SEED` changes the moments.
"""

from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from code_commit_testing import Project, ScriptedServer

# Read at import: tests run without these variables.
KILLS = int(os.environ.get("CODE_COMMIT_RUN_KILLS", "2"))
SEED = int(os.environ.get("CODE_COMMIT_RUN_KILLS_SEED", "1"))
KEY = "sk-canary-0123456789-key7Q"
RUN = ("--model", "gpt-5", "--json", "--quiet")
# A stage of the journal to wait for, and its approximate duration in seconds.
STAGES = (("active", 0.01), None, ("staging", 0.05), None)

OLD = {
    **{f"kept/{number}.txt": f"kept {number}\n" for number in range(5)},
    **{f"src/{number % 7}/{number}.txt": f"old {number}\n" * 50 for number in range(60)},
    **{f"gone/{number}.txt": f"old {number}\n" for number in range(8)},
    "file-to-folder": "a file\n",
    "folder-to-file/below/it.txt": "in a folder\n",
}
NEW = {
    **{f"kept/{number}.txt": f"kept {number}\n" for number in range(5)},
    **{f"src/{number % 7}/{number}.txt": f"new {number}\n" * 60 for number in range(60)},
    **{f"fresh/{number}/x.txt": f"new {number}\n" for number in range(8)},
    "file-to-folder/below/it.txt": "in a folder\n",
    "folder-to-file": "a file\n",
}


def change(before: dict[str, str], after: dict[str, str]) -> str:
    """Return a response that changes the tree `before` into the tree `after`."""
    gone = [f"^^^{path}\n^^^delete\n" for path in before.keys() - after.keys()]
    return "".join(
        gone
        + [f"^^^{path}\n{after[path]}^^^end\n" for path in after if before.get(path) != after[path]]
    )


def picture(project: Project) -> dict[str, tuple[str, int, bytes]]:
    """Return all files and folders of the project except `.git`, `agent-config` and `logs`."""
    seen = {}
    for path in sorted(project.root.rglob("*")):
        name = path.relative_to(project.root).as_posix()
        if name.split("/")[0] not in {".git", "agent-config", "logs"}:
            status = path.lstat()
            content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
            seen[name] = (stat.filemode(status.st_mode), stat.S_IMODE(status.st_mode), content)
    return seen


class Campaign:
    """A project whose runs alternate between two trees."""

    def __init__(self, project: Project, server: ScriptedServer) -> None:
        self.project = project
        self.server = server
        self.pictures: dict[str, dict] = {"old": picture(project)}
        self.responses = {"old": change(OLD, NEW), "new": change(NEW, OLD)}
        self.found: list[str] = []

    def state(self) -> str:
        now = picture(self.project)
        return next((name for name, picture in self.pictures.items() if picture == now), "torn")

    def has_reached(self, stage: str) -> bool:
        return (self.project.root / "agent-config/.code-commit/journal" / stage).exists()

    def answer(self, _request: object) -> str:
        """Record the state of the tree, which the host has already recovered, then return the next
        change.
        """
        self.found.append(self.state())
        return self.responses.get(self.found[-1], "")

    def environ(self) -> dict[str, str]:
        self.server.script(self.answer)
        # The rollup is of the first run.
        settings = {"CODE_COMMIT_PLUGINS__COMMIT__UNSEEN_FILE": "allow"}
        return {"OPENAI_API_KEY": KEY, **settings, **self.server.environment()}

    def start(self) -> subprocess.Popen[bytes]:
        """Start a run in a session of its own, to be killed with everything that it started."""
        return subprocess.Popen(
            [sys.executable, "-m", "code_commit", *RUN],
            cwd=self.project.root,
            env=self.project.environment(self.environ()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def finish(self, *arguments: str) -> list[dict]:
        finished = self.project.command(*RUN, *arguments, environ=self.environ())
        assert finished.exit_code == 0, finished.stderr
        return finished.events


@pytest.fixture
def campaign(tmp_path):
    project = Project.create(tmp_path, files=OLD, build="true\n")
    with ScriptedServer() as server:
        yield Campaign(project, server)


@pytest.mark.slow
def test_after_a_kill_the_tree_is_completely_old_or_new(campaign):
    moments = random.Random(SEED)  # noqa: S311 - no secret
    began = time.monotonic()
    campaign.finish()
    whole = 1 + time.monotonic() - began  # with the start of the interpreter
    campaign.pictures["new"] = picture(campaign.project)
    recovered = 0
    for kill in range(KILLS):
        with campaign.start() as process:
            # A change takes a small part of a run: half of the kills target it.
            stage, within = STAGES[kill % 4] or ("", whole)
            while stage and not campaign.has_reached(stage) and process.poll() is None:
                pass
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=moments.uniform(0, within))
            with suppress(ProcessLookupError):
                (os.kill if kill % 8 < 4 else os.killpg)(process.pid, signal.SIGKILL)
        events = campaign.finish("--dry-run")
        recovered += any("interrupted" in event["data"].get("text", "") for event in events)
        assert campaign.found[-1] in campaign.pictures, f"torn by kill {kill}"
        assert campaign.state() == campaign.found[-1]
    print(
        f"{KILLS} kills, of which {recovered} left a change half made; {campaign.found.count('torn')} torn trees"
    )
    before = campaign.state()
    campaign.finish()
    assert campaign.state() != before
    assert campaign.project.command("undo").exit_code == 0
    assert campaign.state() == before
    assert campaign.project.git("fsck", "--strict") == ""
    assert campaign.project.git("stash", "list") == ""
