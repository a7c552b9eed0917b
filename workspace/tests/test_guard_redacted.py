"""A key in a file survives a model that writes back the mark which it was shown in the key's
place.
"""

from __future__ import annotations

import json

import pytest

from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.git import Git
from code_commit_workspace.guard.guard import Guard
from code_commit_workspace.keys.redaction import Redactor
from code_commit_workspace.records import Change

KEY = "sk-canary-0123456789-'key7Q"
LINES = f"name = 1\nkey = {KEY!r}\n# ***7Q is how it looks\n"


@pytest.fixture
def judged(tmp_path, git_init):
    git_init(tmp_path)
    (tmp_path / "config.py").write_text(LINES)
    (tmp_path / "plain.py").write_text("nothing\n")
    (tmp_path / "as.json").write_text(json.dumps({"key": KEY}))
    redactor = Redactor([KEY])

    def judged(changes: dict[str, str | None]) -> dict[str, str]:
        with ProjectTree(tmp_path) as tree:
            guard = Guard(tree, Git(tmp_path), (), redactor=redactor)
            judged_changes = [
                Change(path, None if text is None else text.encode())
                for path, text in changes.items()
            ]
            return {refusal.path: refusal.then for refusal in guard.check(judged_changes)}

    return judged


SHOWN = Redactor([KEY]).text(LINES)


@pytest.mark.parametrize(
    "changes",
    [
        {"config.py": SHOWN},
        {"config.py": SHOWN.replace("name = 1", "name = 2")},
        {"./config.py": SHOWN},
        {"as.json": json.dumps({"key": "***7Q", "more": 1})},
    ],
)
def test_the_mark_in_place_of_the_key_is_sent_back(judged, changes):
    assert judged({**changes, "plain.py": "fine\n"}) == dict.fromkeys(changes, "repair")


def test_a_file_that_moves_keeps_its_key_too(judged):
    assert judged({"config.py": None, "settings/config.py": SHOWN}) == {
        "settings/config.py": "repair"
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"config.py": None},
        {"config.py": "key = read()\n"},
        {"config.py": "key = read()\n# ***7Q is how it looks\n"},
        {"new.py": SHOWN},
        {"plain.py": "'***7Q'\n"},
        {"config.py": None, "config.py/x": "***\n"},
    ],
)
def test_where_no_key_is_lost_the_mark_is_text_like_any_other(judged, changes):
    assert judged(changes) == {}
