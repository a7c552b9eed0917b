"""After a kill, the next start restores each file that needs it, and touches no other."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from pathlib import Path

import pytest

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.move.apply import replace
from code_commit_workspace.move.journal import Journal
from code_commit_workspace.move.recover import recover
from code_commit_workspace.move.survey import Write

# A server thread of another test may still exist; the child does not use it.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")

CHANGES = [
    Write("a", b"new"),
    Write("d/b", b"new"),
    Write("gone", None),
    Write("made/c", b"new"),
]


def state(path: Path) -> tuple[bytes, int, int, int]:
    """Return what a restored file keeps, even its inode if it is not touched."""
    status = path.lstat()
    return path.read_bytes(), stat.S_IMODE(status.st_mode), status.st_mtime_ns, status.st_ino


@pytest.fixture(params=["linked", "copied"])
def root(request, tmp_path):
    """A project whose changes were cut short after `a` and before `d/b`; the journal has links or
    copies.
    """
    return cut_short(tmp_path / "project", copied=request.param == "copied")


def cut_short(root: Path, *, copied: bool = False) -> Path:
    for name in ("a", "d/b", "gone"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"old")
        (root / name).chmod(0o640)
        os.utime(root / name, ns=(10**18, 10**18))
    (root / "agent-config").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        if copied:
            patch.setattr(os, "link", no_link)
        child = os.fork()
        if not child:
            with ProjectTree(root) as tree:
                replace(
                    tree,
                    home(root),
                    CHANGES,
                    step=lambda what: os._exit(7) if what == "rename d/b" else None,
                )
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert (root / "a").read_bytes() == b"new"
    return root


def no_link(*_: object, **__: object) -> None:
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))


def home(root: Path) -> Path:
    return root / "agent-config/.code-commit"


def test_what_was_not_changed_yet_is_not_touched(root):
    before = state(root / "d/b")
    for path, mode in {"journal/active": 0o700, "journal/active/plan": 0o600}.items():
        assert stat.S_IMODE((home(root) / path).stat().st_mode) == mode
    with ProjectTree(root) as tree:
        handles = len(os.listdir("/dev/fd"))  # noqa: PTH208 - numbers
        assert recover(tree, home(root)) == (
            "an earlier run was interrupted while it changed 4 files: the project is restored"
        )
        assert len(os.listdir("/dev/fd")) <= handles  # noqa: PTH208 - numbers
        assert recover(tree, home(root)) is None
    assert state(root / "d/b") == before
    assert state(root / "a")[:3] == state(root / "gone")[:3] == before[:3]
    assert sorted(path.name for path in root.iterdir()) == ["a", "agent-config", "d", "gone"]
    assert list((home(root) / "journal").iterdir()) == []


@pytest.mark.parametrize(
    ("content", "mode", "kept"),
    [(b"old", 0o640, True), (b"old", 0o600, False), (b"new", 0o640, False)],
)
def test_a_file_that_was_written_again_is_compared(root, content, mode, kept):
    (root / "d/b").unlink()
    (root / "d/b").write_bytes(content)
    (root / "d/b").chmod(mode)
    before = state(root / "d/b")
    with ProjectTree(root) as tree:
        recover(tree, home(root))
    assert (state(root / "d/b") == before) == kept
    assert kept or state(root / "d/b")[:3] == (b"old", 0o640, 10**18)


@pytest.mark.parametrize("name", ["a", "d/b", "gone", "made/c"])
@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_what_another_program_wrote_stays_and_is_named(root, name, kind):
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).unlink(missing_ok=True)
    if kind == "file":
        (root / name).write_bytes(b"mine")
    elif kind == "folder":
        (root / name).mkdir()
    else:
        (root / name).symlink_to("nowhere")
    made_again = (name, kind) == ("made/c", "folder")  # which a file was about to replace
    with ProjectTree(root) as tree:
        sentence = recover(tree, home(root))
        assert recover(tree, home(root)) is None
    named = "" if made_again else f", but for what was changed since: {name}"
    assert sentence == (
        f"an earlier run was interrupted while it changed 4 files: the project is restored{named}"
    )
    unchanged = [path for path in ("a", "d/b", "gone") if path != name]
    assert {(root / path).read_bytes() for path in unchanged} == {b"old"}
    there = root / name
    assert (there.is_symlink(), there.is_dir()) == (kind == "link", kind == "folder")
    assert kind != "file" or there.read_bytes() == b"mine"
    assert list((home(root) / "journal").iterdir()) == []


@pytest.mark.parametrize("target", ["nowhere", "../../../../outside", "../../../file"])
@pytest.mark.parametrize("stage", ["staging", "done", "active"])
def test_a_link_or_file_in_place_of_a_stage_is_removed_or_named(tmp_path, stage, target):
    root = tmp_path / "project"
    journal = home(root) / "journal"
    journal.mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/kept").touch()
    (root / "file").touch()
    (journal / stage).symlink_to(target)
    steps: list[str] = []
    with ProjectTree(root) as tree:
        if stage == "active":
            with pytest.raises(
                NotReady, match="the journal of an interrupted run cannot be used: "
            ) as caught:
                recover(tree, home(root))
            assert caught.value.hint.endswith(f"then delete {journal}/active")
        else:
            assert recover(tree, home(root), step=steps.append) is None
            assert steps == [f"drop {stage}"]
    assert os.path.lexists(journal / stage) == (stage == "active")
    assert (tmp_path / "outside/kept").exists()
    assert (root / "file").exists()


def test_a_closed_journal_gives_way_to_a_rollback(root):
    for name in ("done", "staging"):
        (home(root) / "journal" / name).mkdir()
    with ProjectTree(root) as tree:
        assert "4 files" in str(recover(tree, home(root)))
    assert (root / "a").read_bytes() == b"old"
    assert list((home(root) / "journal").iterdir()) == []


def test_another_run_that_changes_files_is_waited_for(root):
    with ProjectTree(root) as tree, Journal(home(root)), pytest.raises(NotReady) as caught:
        recover(tree, home(root))
    assert caught.value.message == "another run is changing files of this project"
    assert caught.value.hint == "wait until it ends"
    with ProjectTree(root) as tree:
        recover(tree, home(root))
    assert (root / "a").read_bytes() == b"old"


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory):
    """A project like `root` and its plan. Tests share it: what they make of the plan is refused."""
    root = cut_short(tmp_path_factory.mktemp("unchanged"))
    return root, (home(root) / "journal/active/plan").read_bytes()


@pytest.mark.parametrize(
    "harm",
    [
        {"token": "x"},
        {"token": "0123456789abcdef0"},
        {"token": 1},
        {"files": {"a": 1}},
        {"files": [{}]},
        {"gone": [["d", "x"]]},
        {"gone": [["d"]]},
        {"made": [5]},
        {"made": None},
        *({"file": {field: value}} for field in ("path", "old_digest") for value in (5, None)),
        *(
            {"file": {field: value}}
            for field in ("old_mode", "old_time")
            for value in (1.5, "1", None, 1 << 62, -1 << 62)
        ),
        *({"file": {"old": value}} for value in ("moved", None)),
        {"file": {"new": 5}},
    ],
)
def test_a_plan_of_another_form_is_not_used(unchanged, harm):
    root, plan_file = unchanged
    plan = json.loads(plan_file.partition(b"\n")[0])
    plan["files"][0] |= harm.get("file", {})
    text = json.dumps(
        plan | {name: value for name, value in harm.items() if name != "file"}
    ).encode()
    (home(root) / "journal/active/plan").write_bytes(
        text + b"\n" + hashlib.sha256(text).hexdigest().encode()
    )
    with ProjectTree(root) as tree, pytest.raises(NotReady) as caught:
        recover(tree, home(root))
    assert (
        caught.value.message == "the journal of an interrupted run cannot be used: it is not a plan"
    )
    assert (root / "a").read_bytes() == b"new"
