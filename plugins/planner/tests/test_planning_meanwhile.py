"""Another program changes the plan folder while planning works: the run ends and says what is
missing or in the way.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from code_commit.plugin_api import NotReady
from code_commit_planner.plan_folder.folder import PlanFolder
from code_commit_workspace import ProjectTree

NEW, CURRENT = "g3-plan/new_requirements.md", "g3-plan/current_requirements.md"


def lose_new(root) -> None:
    (root / NEW).unlink()


def lose_current(root) -> None:
    (root / CURRENT).unlink()


def add_current(root) -> None:
    (root / CURRENT).write_text("other words\n")


def put_folder(root) -> None:
    lose_new(root)
    (root / NEW).mkdir()


def grow(root) -> None:
    (root / NEW).write_bytes(b"x" * (10 * 1024 * 1024 + 1))


def lose_completed(root) -> None:
    for path in (root / "g3-plan").glob("completed_requirements*"):
        path.unlink()


@pytest.mark.parametrize(
    ("during", "harm", "told"),
    [
        ("approval", lose_new, f"there is no {NEW} any more"),
        ("approval", add_current, f"{CURRENT} already exists"),
        pytest.param("approval", put_folder, f"{NEW} cannot be read: ", marks=pytest.mark.slow),
        pytest.param(
            "approval", grow, f"{NEW} is larger than 10485760 bytes", marks=pytest.mark.slow
        ),
        ("summary", lose_current, f"there is no {CURRENT} any more"),
        ("coach", lose_current, f"there is no {CURRENT} any more"),
        ("review", lose_completed, "there is no completed_requirements_"),
    ],
)
def test_what_is_missing_or_in_the_way_is_named(codebase, during, harm, told):
    root = codebase.project.root
    codebase.write(NEW, "old words\n")
    person = codebase.plan()
    person.answers("")
    if during in {"summary", "coach"}:
        codebase.cast.before[during] = lambda: harm(root)
    elif during == "review":
        person.answers("yes", "back")
    person.question()
    if during in {"approval", "review"}:
        harm(root)
    person.says("Do more." if during == "review" else "yes")
    finished = person.ends()
    assert finished["exit_code"] == 3
    assert told in finished["summary"]


def test_what_cannot_be_read_is_named(tmp_path):
    with ProjectTree(tmp_path) as tree:
        folder = PlanFolder(SimpleNamespace(root=tmp_path, tree=tree))
        with pytest.raises(NotReady, match=r"^g3-plan cannot be read: No such file"):
            folder.unrecorded()
        (tmp_path / NEW).mkdir(parents=True)
        with pytest.raises(NotReady, match=rf"^{NEW} cannot be read: "):
            folder.read(NEW)
        (tmp_path / NEW).rmdir()
        (tmp_path / NEW).write_bytes(b"x" * (10 * 1024 * 1024 + 1))
        with pytest.raises(NotReady, match=rf"^{NEW} is larger than 10485760 bytes"):
            folder.read(NEW)
