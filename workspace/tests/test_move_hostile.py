"""Interference: an edited journal, links swapped in a loop, a mount in the project, read-only
folders.
"""

import ctypes
import dataclasses
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.move.apply import replace
from code_commit_workspace.move.plan import FileStep, Plan
from code_commit_workspace.move.recover import recover
from code_commit_workspace.move.survey import Write

# A server thread of another test may still exist; the child does not use it.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")

SECONDS = float(os.environ.get("CODE_COMMIT_RACE_SECONDS", "0.5"))
PATIENCE = 60  # seconds until both outcomes of a race have been seen


def home(root: Path) -> Path:
    return root / "agent-config" / ".code-commit"


def make(root: Path) -> None:
    (root / "agent-config").mkdir(parents=True)
    (root / "agent-config/openai-key.txt").write_bytes(b"key")
    (root / ".git/hooks").mkdir(parents=True)
    (root / ".git/config").write_bytes(b"config")
    (root / "d").mkdir()
    (root / "a.txt").write_bytes(b"a")
    (root / "d/b.txt").write_bytes(b"b")


def outside_of(root: Path) -> dict[str, object]:
    """Return everything near the project that no journal may reach, with its permission bits."""
    seen: dict[str, object] = {}
    for path in root.parent.rglob("*"):
        short = path.relative_to(root.parent).as_posix()
        inside = short.removeprefix(f"{root.name}/")
        if inside != short and not inside.startswith((".git", "agent-config")):
            continue
        if "/.code-commit" not in short and not short.endswith("agent-config") and path != root:
            seen[short] = (path.lstat().st_mode, path.read_bytes() if path.is_file() else None)
    return seen


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "here" / "project"
    make(root)
    (root.parent / "victim").write_bytes(b"canary")
    (root.parent / "folder").mkdir(mode=0o700)
    return root


PLAN = Plan(
    token="0123456789abcdef",
    files=(FileStep("a.txt", "linked", None), FileStep("d/new.txt", "absent", None)),
    gone=(),
    made=(),
)


def left_behind(root: Path, plan: bytes, old: Callable[[Path], object]) -> None:
    """Leave an active journal behind, like a killed run."""
    folder = home(root) / "journal" / "active"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "plan").write_bytes(plan)
    old(folder / "old-0")


def try_to_recover(root: Path) -> None:
    with ProjectTree(root) as tree:
        try:
            recover(tree, home(root))
        except NotReady as error:
            assert error.hint  # noqa: PT017 - both ends are good, a third is not


BAD_PATHS = [
    "../victim",
    "../new",
    "/tmp/code-commit-new",
    ".git/config",
    ".git/hooks/pre-commit",
    "d/.git/config",
    ".GIT/config",
    ".git./config",
    "agent-config/openai-key.txt",
    "agent-config/new",
    "Agent-Config/new",
    "agent\u200b-config/new",
    "d/../../victim",
    "./a.txt",
    "",
    "nul\0",
    "\ud800",
]


@pytest.mark.parametrize("path", BAD_PATHS)
@pytest.mark.parametrize("field", ["linked", "copied", "absent", "gone", "made"])
def test_a_journal_cannot_lead_out_of_the_project(root, path, field):
    if field in {"gone", "made"}:
        plan = dataclasses.replace(
            PLAN, **{field: ((path, 0o777),) if field == "gone" else (path,)}
        )
    else:
        plan = dataclasses.replace(
            PLAN, files=(dataclasses.replace(PLAN.files[0], path=path, old=field), PLAN.files[1])
        )
    left_behind(root, plan.encode(), lambda old: old.write_bytes(b"evil"))
    before = outside_of(root)
    with ProjectTree(root) as tree, pytest.raises(NotReady, match="cannot be used: "):
        recover(tree, home(root))
    assert outside_of(root) == before
    assert (root / "a.txt").read_bytes() == b"a"


def test_a_journal_with_old_content_that_is_a_link_out_of_the_project(root):
    """It may put a link into the project, as a build can, but writes nothing through it."""
    before = outside_of(root)
    left_behind(root, PLAN.encode(), lambda old: old.symlink_to(root.parent / "victim"))
    try_to_recover(root)
    copied = dataclasses.replace(
        PLAN,
        files=(dataclasses.replace(PLAN.files[0], old="copied", old_mode=0o777), PLAN.files[1]),
    )
    left_behind(root, copied.encode(), lambda old: os.link(root.parent / "victim", old))
    try_to_recover(root)
    assert outside_of(root) == before


@pytest.mark.parametrize(
    "harm",
    ["text", "checksum", "empty", "gone", "pipe", "link", "old", "folder", "stage", "journal"],
)
def test_a_damaged_journal_is_reported_and_changes_nothing(root, harm):
    left_behind(root, PLAN.encode(), lambda old: old.write_bytes(b"old"))
    folder = home(root) / "journal" / "active"
    plan = folder / "plan"
    if harm == "text":
        plan.write_bytes(plan.read_bytes().replace(b"a.txt", b"b.txt"))
    elif harm == "checksum":
        plan.write_bytes(plan.read_bytes().partition(b"\n")[0])
    elif harm == "empty":
        plan.write_bytes(b"")
    elif harm in {"gone", "pipe", "link"}:
        content = plan.read_bytes()
        plan.unlink()
        if harm == "pipe":
            os.mkfifo(plan)
        elif harm == "link":
            (root / "plan").write_bytes(content)
            plan.symlink_to(root / "plan")
    elif harm in {"old", "folder"}:
        (folder / "old-0").unlink()
        if harm == "folder":
            (folder / "old-0").mkdir()
    else:
        linked = folder if harm == "stage" else folder.parent
        linked.rename(root / "elsewhere")
        linked.symlink_to(root / "elsewhere")
    with ProjectTree(root) as tree:
        for work in (
            lambda: recover(tree, home(root)),
            lambda: replace(tree, home(root), [Write("a.txt", b"new")]),
        ):
            with pytest.raises(NotReady, match="cannot be used: ") as error:
                work()
            assert error.value.hint
    assert (root / "a.txt").read_bytes() == b"a"


_bad_paths, _bad_modes = st.sampled_from(BAD_PATHS), st.sampled_from([0o4777, 0o2777, 0o1777])
_digests = st.sampled_from(
    [None, *(f"file {hashlib.sha256(content).hexdigest()}" for content in (b"a", b"canary"))]
)


@st.composite
def _plans(draw: st.DrawFn) -> Plan:
    """Return a plan of the right form with one thing wrong, so that one guard alone stands between
    it and the disk.
    """
    wrong = draw(
        st.sampled_from(["path", "path", "gone", "made", "token", "old mode", "gone mode"])
    )
    old = "copied" if wrong == "old mode" else draw(st.sampled_from(["absent", "linked", "copied"]))
    step = FileStep(
        draw(_bad_paths) if wrong == "path" else "a.txt",
        old,  # type: ignore[arg-type]
        draw(_digests),
        draw(_bad_modes) if wrong == "old mode" else 0o644,
        0,
        f"file {hashlib.sha256(b'evil').hexdigest()}",
    )
    gone = {"gone": [(draw(_bad_paths), 0o700)], "gone mode": [("d", draw(_bad_modes))]}.get(
        wrong, []
    )
    folders = [draw(_bad_paths)] if wrong == "made" else []
    return Plan(
        "/../../victim" if wrong == "token" else PLAN.token, (step,), tuple(gone), tuple(folders)
    )


_values = st.recursive(
    st.sampled_from([*BAD_PATHS, 7, -1, None]) | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner),
)


@settings(max_examples=int(os.environ.get("CODE_COMMIT_JOURNAL_EXAMPLES", "40")))
@given(_plans(), st.data())
def test_no_journal_reaches_anything_outside(tmp_path_factory, plan, data):
    root = tmp_path_factory.mktemp("hostile") / "project"
    make(root)
    (root / ".code-commit-").mkdir()  # a token with slashes leads through it
    for name in ("victim", "victim-0"):
        (root.parent / name).write_bytes(b"canary")
    document = json.loads(plan.encode().partition(b"\n")[0])
    if data.draw(st.sampled_from([False] * 3 + [True])):
        place = data.draw(st.sampled_from([document, *document["files"]]))
        place[data.draw(st.sampled_from(sorted(place)))] = data.draw(_values)
    text = json.dumps(document).encode()
    left_behind(
        root,
        text + b"\n" + hashlib.sha256(text).hexdigest().encode() + b"\n",
        lambda old: old.write_bytes(b"evil"),
    )
    before = outside_of(root)
    try_to_recover(root)
    assert outside_of(root) == before
    assert not [path for path in root.rglob("*") if path.lstat().st_mode & 0o7000]


@contextmanager
def somebody(work: Callable[[], object], rests: tuple[float, ...]) -> Iterator[None]:
    """Do `work` over and over in another process, each time followed by one of `rests`, in
    seconds.
    """
    child = os.fork()
    if not child:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        work()
        while signal.sigtimedwait({signal.SIGTERM}, random.choice(rests)) is None:  # noqa: S311 - a pace
            work()
        os._exit(0)
    try:
        yield
    finally:
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)


def test_links_swapped_in_all_the_time(root):
    victims = root.parent / "victims"
    (victims / "e").mkdir(parents=True)
    for name in ("b.txt", "new.txt", "e/c.txt"):
        (victims / name).write_bytes(b"canary")
    (root / "d/e").mkdir()
    files = ["a.txt", "d/b.txt", "d/e/c.txt", "d/n/m.txt", "z.txt"]
    (root / "d/n").mkdir()
    for path in files:
        (root / path).write_bytes(b"0")
    before = outside_of(root)

    (root / "other").symlink_to(victims)
    here, there = os.fsencode(root / "d"), os.fsencode(root / "other")
    exchange = getattr(ctypes.CDLL(None), "renameat2", None)
    if (
        exchange is None
        or exchange(-100, here, -100, there, 2)
        or exchange(-100, here, -100, there, 2)
    ):
        pytest.skip("this system cannot exchange two names in one step")

    version = number = refused = 0
    # The long rest lets a change through; a swap at the end of a rest may happen in the middle of
    # one.
    with (
        ProjectTree(root) as tree,
        somebody(lambda: exchange(-100, here, -100, there, 2), rests=(0, 0.001, 0.05)),
    ):
        began = time.monotonic()
        while (passed := time.monotonic() - began) < SECONDS or (
            passed < PATIENCE and not (version and refused)
        ):
            number += 1
            try:
                replace(tree, home(root), [Write(path, b"%d" % number) for path in files])
                version = number
            except NotReady:
                refused += 1
    assert version
    assert refused
    if (root / "d").is_symlink():
        exchange(-100, here, -100, there, 2)
    with ProjectTree(root) as tree:
        recover(tree, home(root))
    assert {path.name for path in (root / "d").rglob("*")} <= {"b.txt", "e", "c.txt", "n", "m.txt"}
    assert {(root / path).read_bytes() for path in files} == {b"%d" % version}
    assert outside_of(root) == before
    assert not list(root.rglob(".code-commit-*"))


INSIDE = """
import os, pathlib, signal, sys
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.move.survey import Write
from code_commit_workspace.move.recover import recover
from code_commit_workspace.move.apply import replace
CHANGES = {"a.txt": b"new", "d/b.txt": b"new", "d/gone.txt": None, "d/x/y.txt": b"new"}

def change(root, at):
    count = 0
    def step(what):
        nonlocal count
        count += 1
        if count == at:
            os.kill(os.getpid(), signal.SIGKILL)
    with ProjectTree(root) as tree:
        home = root / "agent-config" / ".code-commit"
        replace(tree, home, [Write(path, content) for path, content in CHANGES.items()], step=step)

for root in map(pathlib.Path, sys.argv[1:]):
    child = os.fork()
    if not child:
        change(root, int(root.parent.name))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    with ProjectTree(root) as tree:
        recover(tree, root / "agent-config" / ".code-commit")
"""


def test_a_bind_mount_inside_the_project(tmp_path):
    bwrap = shutil.which("bwrap")
    if (
        not bwrap
        or subprocess.run(
            [bwrap, "--dev-bind", "/", "/", "true"], check=False, capture_output=True
        ).returncode
    ):
        pytest.skip("bubblewrap does not work here: no mount can be made")
    roots, binds = [], []
    for at in (0, 1, *range(2, 40, 5)):
        root, mounted = tmp_path / str(at) / "project", tmp_path / str(at) / "mounted"
        make(root)
        mounted.mkdir()
        (mounted / "b.txt").write_bytes(b"old")
        (mounted / "b.txt").chmod(0o640)
        (mounted / "gone.txt").write_bytes(b"old")
        roots.append(root)
        binds += ["--bind", str(mounted), str(root / "d")]
    inside = [bwrap, "--dev-bind", "/", "/", *binds, sys.executable, "-c", INSIDE, *map(str, roots)]
    codes = [
        int(code) for code in subprocess.run(inside, check=True, capture_output=True).stdout.split()
    ]
    assert set(codes) == {0, -signal.SIGKILL}
    ends = []
    for root in roots:
        mounted = root.parent / "mounted"
        seen = {
            str(path.relative_to(mounted)): path.is_file() and path.read_bytes()
            for path in mounted.rglob("*")
        }
        seen["a.txt"] = (root / "a.txt").read_bytes()
        new = seen["a.txt"] == b"new"
        if new:
            wholly = {"a.txt": b"new", "b.txt": b"new", "x": False, "x/y.txt": b"new"}
        else:
            wholly = {"a.txt": b"a", "b.txt": b"old", "gone.txt": b"old"}
        assert seen == wholly, root
        assert (mounted / "b.txt").stat().st_mode & 0o777 == 0o640
        ends.append(new)
    assert ends[0] is True
    assert ends[1] is False
    assert ends[-1] is True


def as_nobody(work: Callable[[], None]) -> int:
    """Do `work` without privileges; return 0 on success."""
    child = os.fork()
    if not child:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            work()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - the parent looks at the exit code
            traceback.print_exc()
            os._exit(1)
    return os.waitpid(child, 0)[1]


def test_a_folder_that_may_not_be_written_to(root):
    if os.geteuid() == 0:
        for path in [root, *root.rglob("*")]:
            os.chown(path, 65534, 65534)
        for path in root.parents:
            if not path.stat().st_mode & 0o001:  # a folder of pytest
                path.chmod(path.stat().st_mode | 0o711)
    (root / "d").chmod(0o555)

    def work() -> None:
        with ProjectTree(root) as tree:
            with pytest.raises(NotReady, match=r"d/b\.txt could not be written: Permission denied"):
                replace(tree, home(root), [Write("a.txt", b"new"), Write("d/b.txt", b"new")])
            with pytest.raises(NotReady, match=r"d/b\.txt could not be removed: Permission denied"):
                replace(tree, home(root), [Write("a.txt", b"new"), Write("d/b.txt", None)])

    try:
        assert as_nobody(work) == 0
    finally:
        (root / "d").chmod(0o755)
    assert (root / "a.txt").read_bytes() == b"a"
    assert (root / "d/b.txt").read_bytes() == b"b"
    assert not list((home(root) / "journal").iterdir())
