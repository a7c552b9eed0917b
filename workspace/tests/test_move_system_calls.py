"""A kill or an error at each system call that changes the disk, one run per call.

A sample by default; `CODE_COMMIT_SYSTEM_CALLS=all` tries every call.
"""

import itertools
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.move.apply import replace
from code_commit_workspace.move.recover import recover
from code_commit_workspace.move.survey import Write

STRACE = shutil.which("strace")
EVERY = 1 if os.environ.get("CODE_COMMIT_SYSTEM_CALLS") == "all" else 23
CALLS = "openat write link linkat symlinkat unlinkat mkdirat rename renameat renameat2 fchmod fsync syncfs ftruncate utimensat"
MARK = "getpriority"
OLD = {
    "a.txt": b"old a",
    "file": b"becomes a folder",
    "folder/x.txt": b"becomes a file",
    "gone/z.txt": b"z",
}
CHANGES = {
    "a.txt": b"new a",
    "file": None,
    "file/in.txt": b"1",
    "folder/x.txt": None,
    "folder": b"2",
    "gone/z.txt": None,
    "made/deep/n.txt": b"3",
}
PROGRAM = f"""
import os, pathlib, sys
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.move.survey import Write
from code_commit_workspace.errors import NotReady
from code_commit_workspace.move.recover import recover
from code_commit_workspace.move.apply import replace
root, work = pathlib.Path(sys.argv[1]), sys.argv[2]
with ProjectTree(root) as tree:
    home = root / "agent-config" / ".code-commit"
    os.getpriority(os.PRIO_PROCESS, 0)
    try:
        if work == "recover":
            recover(tree, home)
        else:
            changes = [Write(path, content) for path, content in {CHANGES!r}.items()]
            replace(tree, home, changes)
    except NotReady:
        sys.exit(3)
"""

pytestmark = [
    pytest.mark.skipif(
        STRACE is None, reason="strace is not installed: no system call is made to fail"
    ),
    # A server thread of another test may still exist; the child does not use it.
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning"),
]


def made(root: Path) -> Path:
    shutil.rmtree(root, ignore_errors=True)
    (root / "agent-config" / ".code-commit" / "journal").mkdir(parents=True)
    for path, content in OLD.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


def picture(root: Path) -> dict[str, bytes | None]:
    paths = [path for path in root.rglob("*") if path.relative_to(root).parts[0] != "agent-config"]
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else None for path in paths
    }


def run(root: Path, work: str, *strace: str) -> int:
    """Do `work` on the project, under strace when it gets options; the exit code as a shell tells
    it.
    """
    tracer = [STRACE, "--seccomp-bpf", "-f", "-qq", *strace] if strace else []
    argv = [
        *tracer,
        sys.executable,
        *("-SI", "-X", f"pycache_prefix={root.parent.parent}"),
        "-c",
        f"import sys; sys.path[:] = {sys.path!r}\n{PROGRAM}",
        str(root),
        work,
    ]
    code = subprocess.run(
        argv, check=False, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ).returncode
    return 128 - code if code < 0 else code


def calls_of(root: Path, work: str, log: Path) -> Iterator[tuple[str, int]]:
    """Yield each call that changes the disk, by name and count of that name, as strace counts."""
    calls = ",".join(["?" + name for name in CALLS.split()])
    assert run(root, work, "-o", str(log), "-e", f"trace={calls},{MARK}") == 0
    counted: Counter[str] = Counter()
    begun = False
    for line in log.read_text().splitlines():
        name = re.sub(r"^\d+ +", "", line).partition("(")[0]
        counted[name] += 1
        begun = begun or name == MARK
        if begun and name != MARK and (name != "openat" or "O_CREAT" in line):
            yield name, counted[name]


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """The project before the change, and after it."""
    root = made(tmp_path_factory.mktemp("states") / "project")
    old = picture(root)
    with ProjectTree(root) as tree:
        replace(tree, home(root), [Write(path, content) for path, content in CHANGES.items()])
    new = picture(root)
    assert old != new
    return old, new


@pytest.fixture(scope="module", params=["apply", "recover"])
def work(request):
    return request.param


@pytest.fixture(scope="module")
def calls(tmp_path_factory, work):
    """What changes the disk while that work is done."""
    folder = tmp_path_factory.mktemp("calls")
    return list(calls_of(start(folder / "project", work), work, folder / "log"))


def start(root: Path, work: str) -> Path:
    return made(root) if work == "apply" else half_done(root)


def half_done(root: Path) -> Path:
    """Make the project as a run leaves it that is killed in the middle."""
    child = os.fork()
    if not child:
        with ProjectTree(made(root)) as tree:
            changes = [Write(path, content) for path, content in CHANGES.items()]
            replace(
                tree,
                home(root),
                changes,
                step=lambda what: os._exit(1) if what == "rename folder" else None,
            )
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    return root


def home(root: Path) -> Path:
    return root / "agent-config" / ".code-commit"


@pytest.mark.parametrize(
    "fault", ["signal=KILL", "error=ENOSPC", pytest.param("error=EACCES", marks=pytest.mark.slow)]
)
def test_every_call_may_fail(tmp_path, states, work, calls, fault):
    old, new = states
    root = tmp_path / "project"
    assert len(calls) > 15
    ends = Counter[int]()
    offset = len(fault) % EVERY
    for name, count in itertools.islice(calls, offset, None, EVERY):
        start(root, work)
        code = run(root, work, "-o", os.devnull, "-e", f"inject={name}:{fault}:when={count}")
        ends[code] += 1
        assert code in ({137} if fault == "signal=KILL" else {0, 3}), (name, count)
        if work == "apply" and code != 137:
            assert picture(root) == (old if code else new), (name, count)
        with ProjectTree(root) as tree:
            recover(tree, home(root))
        assert picture(root) in (old, new), (name, count)
        assert not list((home(root) / "journal").iterdir()), (name, count)
    assert ends[137] or ends[3]
