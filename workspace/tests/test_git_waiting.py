"""git never waits for a pipe or a device, and ends with the signal that ends us."""

from __future__ import annotations

import os
import select
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from code_commit_workspace import Git, NotReady
from code_commit_workspace.git import process
from code_commit_workspace.git.control_files import ControlFiles

WITHIN = 1.0  # seconds for git to end after a signal
LIST = ["ls-files", "-z", "--others", "--exclude-standard"]


@pytest.fixture
def root(tmp_path, home, git_init):
    root = git_init(tmp_path / "project")
    (root / "sub").mkdir()
    (root / "sub/a.txt").write_text("a")
    return root


def replace_by_pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)


@pytest.mark.parametrize(
    "name",
    [
        *(
            ".gitignore",
            ".gitattributes",
            ".gitmodules",
            ".mailmap",
            "sub/.gitignore",
            "sub/deep/.gitignore",
        ),
        *(
            ".git",
            ".git/HEAD",
            ".git/index",
            ".git/packed-refs",
            ".git/info/exclude",
            ".git/commondir",
        ),
        "nested/.git/HEAD",
    ],
)
def test_a_pipe_in_place_of_a_control_file_is_named(root, name):
    if name == "nested/.git/HEAD":
        for folder in ("objects", "refs"):
            (root / "nested/.git" / folder).mkdir(parents=True)
    if name == ".git":
        (root / ".git").rename(root / "elsewhere")
    replace_by_pipe(root / name)
    begin = time.monotonic()
    with pytest.raises(NotReady) as caught:
        Git(root).run(LIST)
    assert time.monotonic() - begin < 5
    assert (
        caught.value.message
        == f"{root / name} is a named pipe, not a file: git would wait for it forever"
    )
    assert caught.value.hint == "delete it, then run again"


@pytest.mark.parametrize("name", [".gitattributes", "sub/.gitattributes"])
def test_attributes_are_looked_at_when_files_are_added(root, name):
    replace_by_pipe(root / name)
    with pytest.raises(NotReady, match=r"\.gitattributes is a named pipe"):
        Git(root).run(["add", "sub/a.txt"])


def test_a_link_to_a_device_is_named(root):
    (root / ".gitattributes").symlink_to("/dev/zero")
    with pytest.raises(NotReady, match=r"\.gitattributes is a device"):
        Git(root).run(LIST)


@pytest.mark.parametrize("name", [".gitignore", ".gitattributes", ".git/info/exclude"])
def test_rules_of_a_terabyte_are_named(root, name):
    (root / name).touch()
    os.truncate(root / name, 1 << 40)
    with pytest.raises(NotReady, match=f"{name} has 1,099,511,627,776 bytes: git cannot read it"):
        Git(root).run(LIST)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_is_named(root):
    try:
        os.mknod(root / "sub/.gitattributes", stat.S_IFCHR | 0o644, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("no devices here")
    with pytest.raises(NotReady, match=r"sub/\.gitattributes is a device"):
        Git(root).run(["add", "sub/a.txt"])


@pytest.mark.parametrize(
    "setting", ["core.excludesFile", "core.attributesFile", "", "XDG_CONFIG_HOME"]
)
def test_the_users_own_files_are_looked_at(root, home, tmp_path, monkeypatch, setting):
    pipe = {"": home / ".config/git/ignore", "XDG_CONFIG_HOME": tmp_path / "xdg/git/attributes"}
    replace_by_pipe(pipe.get(setting, home / "rules"))
    if "." in setting:
        section, key = setting.split(".")
        (home / ".gitconfig").write_text(f"[{section}]\n\t{key} = ~/rules\n")
    elif setting:
        monkeypatch.setenv(setting, str(tmp_path / "xdg"))
    with pytest.raises(NotReady, match="is a named pipe, not a file"):
        Git(root).run(LIST)


def test_the_users_configuration_is_looked_at(root, home, tmp_path, monkeypatch):
    os.mkfifo(home / ".gitconfig")
    with pytest.raises(NotReady, match=r"\.gitconfig is a named pipe"):
        Git(root).run(LIST)
    os.mkfifo(tmp_path / "other")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "other"))
    with pytest.raises(NotReady, match="other is a named pipe"):
        Git(root).run(LIST)


def test_the_null_device_and_links_to_files_are_fine(root, home):
    (home / ".gitconfig").write_text(
        "[core]\n\texcludesFile = /dev/null\n\tattributesFile = /dev/null\n"
    )
    (root / ".mailmap").symlink_to("/dev/null")
    assert Git(root).run(LIST) == b".mailmap\0sub/a.txt\0"


@pytest.mark.parametrize("name", ["sub/.gitmodules", "sub/.git"])
def test_a_pipe_that_git_does_not_read_costs_nothing(root, name):
    replace_by_pipe(root / name)
    assert Git(root).run(LIST) == b"sub/a.txt\0"


# --- signals ----------------------------------------------------------------------------------------------------------

WAITING = """
import os, sys, threading
from contextlib import suppress
from pathlib import Path
from code_commit_workspace import STOP, Git, Interrupted
STOP.listen(os._exit)
STOP.begin_work()
place, command = sys.argv[2], sys.argv[3:]
def ask():
    Git(Path(sys.argv[1])).run(command, hooks=True)
def ask_aside():
    with suppress(Exception):  # git has ended
        ask()
try:
    if place == "thread":
        thread = threading.Thread(target=ask_aside, daemon=True)
        thread.start()
        STOP.join(thread)
    elif place == "held":
        with STOP.hold():
            ask()
        STOP.check()
    else:
        ask()
except Interrupted:
    sys.exit(130)
"""


@pytest.fixture
def waiting_filter(root: Path, home: Path, tmp_path: Path) -> Path:
    """A filter of the user that tells its number to a pipe, and then waits for ever."""
    started = tmp_path / "started"
    os.mkfifo(started)
    script = tmp_path / "filter"
    script.write_text(f"#!/bin/sh\ntrap '' TERM\necho $$ > {started}\nwhile :; do sleep 60; done\n")
    script.chmod(0o755)
    (home / ".gitconfig").write_text(f'[filter "slow"]\n\tclean = {script}\n\trequired = true\n')
    (root / ".gitattributes").write_text("*.txt filter=slow\n")
    return started


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("place", ["main", "held", "thread"])
def test_git_and_its_children_end_within_a_second_of_a_signal(root, waiting_filter, place, number):
    command = [sys.executable, "-c", WAITING, str(root), place, "add", "sub/a.txt"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        filter_process = int(waiting_filter.read_text())  # waits until it has begun
        filter_end = os.pidfd_open(filter_process)
        begin = time.monotonic()
        process.send_signal(number)
        try:
            _, stderr = process.communicate(timeout=30)
        finally:
            process.kill()
        assert time.monotonic() - begin < WITHIN + 0.5  # and Python's own end
    assert (process.returncode, stderr) == (130, b"")
    ended, _, _ = select.select([filter_end], [], [], WITHIN)
    os.close(filter_end)
    assert ended
    assert not (root / ".git/index.lock").exists()


def test_git_at_work_may_finish_where_signals_are_held_back(root, home, tmp_path):
    """A signal does not cut short what brings files back, unless git waits for something."""
    for number in range(300):
        (root / f"f{number}.txt").write_bytes(os.urandom(100_000))
    script = WAITING.replace(
        "STOP.hold():\n            ask()", "STOP.hold():\n            told(); ask()"
    )
    script = script.replace("def ask():", "def told():\n    print(flush=True)\ndef ask():")
    command = [sys.executable, "-c", script, str(root), "held", "add", "."]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert Git(root).run(["ls-files", "--others"]) == b""


def test_a_link_that_git_does_not_follow_is_in_nobodys_way(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "d").mkdir()
    for name in (".gitignore", ".gitattributes"):
        (tmp_path / "d" / name).symlink_to("../pipe")
    ControlFiles(tmp_path, ()).search(stop=lambda: False)


SLOW_RULE = "**/a/" * 14 + "b"


@pytest.mark.parametrize(
    ("name", "ask"),
    [
        ("sub/.gitignore", lambda git: git.list_files()),
        (".git/info/exclude", lambda git: git.ignored(["sub/" + "a/" * 40 + "f"])),
    ],
)
def test_a_rule_that_takes_git_too_long_is_named(root, monkeypatch, name, ask):
    monkeypatch.setattr(process, "_LONGEST_MATCHING", 1)
    (root / "sub" / "/".join("a" * 40)).mkdir(parents=True)
    (root / "sub" / "/".join("a" * 40) / "f").touch()
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).write_text(f"*.o\n{SLOW_RULE}\n")
    for decoy in (".gitignore", ".gitattributes"):
        (root / decoy).write_text("#" + "*" * 80 + "\n*.a\n")
    with pytest.raises(NotReady) as caught:
        ask(Git(root))
    assert caught.value.message == f"git takes too long to match files with {root / name}, line 2"
    assert caught.value.hint == "simplify that line, then run again"


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of other systems")
def test_a_git_that_is_at_work_ends_when_we_are_killed(root):
    (root / "/".join("a" * 40)).mkdir(parents=True)
    (root / "/".join("a" * 40) / "f").touch()
    (root / ".gitignore").write_text(SLOW_RULE)
    program = "import pathlib, sys; from code_commit_workspace import Git; Git(pathlib.Path(sys.argv[1])).list_files()"
    with subprocess.Popen([sys.executable, "-c", program, root]) as ours:
        children = Path(f"/proc/{ours.pid}/task/{ours.pid}/children")
        git = ""
        while _ticks(git) < 5:  # it has begun to match
            git = children.read_text().strip()
        ours.kill()
    deadline = time.monotonic() + 10
    while _ticks(git) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _ticks(git)


def _ticks(process: str) -> int:
    """Return how long a process has computed; 0 if it has ended."""
    try:
        status = Path("/proc", process or "none", "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if status[0] == "Z" else int(status[11])
