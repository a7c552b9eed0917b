"""The guard's verdict on ignored files against git's own, given for each path by itself.

`CODE_COMMIT_RULE_SETS` raises the number of generated rule sets.
"""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.git import Git, GitError
from code_commit_workspace.guard.guard import Guard
from code_commit_workspace.records import Change

# Read at import: the environment of a test has no variables with this prefix.
RULE_SETS = int(os.environ.get("CODE_COMMIT_RULE_SETS", "15"))

NAMES = [
    "a",
    "b",
    "ab",
    "a.o",
    "b.o",
    "keep",
    "x y",
    "[a]",
    "!a",
    "#b",
    "a\\b",
    "é",
    "-n",
    "a*",
    "a?b",
    "a1",
    "@",
]
FOLDERS = ["", "a", "b", "a/b", "a/keep", "x y"]

name = st.sampled_from([name for name in NAMES if "\\" not in name])
path = st.lists(name, min_size=1, max_size=4).map("/".join)
glob = st.sampled_from(
    [
        "*",
        "?",
        "**",
        "[ab]",
        "[!a]",
        "[^b]",
        "[[:alpha:]]",
        "[[:digit:]]",
        "[a-",
        "[]a]",
        "[a/b]",
        "[\\]]",
        "{a,b}",
    ]
)
piece = name | glob | st.sampled_from(["\\!a", "\\#b", "a\\*", "\\", "*.o", "a*", "x\\ y"])
odd = st.sampled_from(
    [
        b"",
        b"#comment",
        b"!",
        b"/",
        b"//",
        b"a ",
        b"a\\ ",
        b"\ta",
        b"\xff",
        b"\xc3",
        b"\xef\xbb\xbfa",
        b"a\0b",
        b"**",
        b"/**",
        b"**/",
        b"*/",
        b"a/**/b",
    ]
)


@st.composite
def lines(draw):
    if draw(st.integers(0, 9)) == 0:
        return draw(odd)
    body = "/".join(
        draw(st.lists(st.lists(piece, min_size=1, max_size=2).map("".join), min_size=1, max_size=3))
    )
    text = draw(st.sampled_from(["", "", "!"])) + draw(st.sampled_from(["", "", "/"])) + body
    return (text + draw(st.sampled_from(["", "", "/", "/*", "/**", " ", "\r"]))).encode()


rules = st.lists(lines(), max_size=8).map(b"\n".join)
rule_sets = st.fixed_dictionaries(
    {".gitignore": rules, ".git/info/exclude": rules},
    optional={f"{folder}/.gitignore": rules for folder in FOLDERS if folder},
)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ignored")
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


def lay_out(root, rule_set, existing):
    for entry in root.iterdir():
        if entry.is_dir() and entry.name != ".git":
            shutil.rmtree(entry)
        elif entry.name != ".git":
            entry.unlink()
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/exclude").unlink(missing_ok=True)
    for file, content in rule_set.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_bytes(content)
    for path in existing:
        try:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text("x")
        except OSError:
            continue  # a file is in the way of a folder, or the other way round


def git_ignores(root, path):
    """git's verdict on one path, asked in another way: as an argument, without a batch."""
    completed = subprocess.run(
        ["git", "check-ignore", "-q", "--no-index", f"./{path}"], cwd=root, check=False
    )
    assert completed.returncode in {0, 1}
    return completed.returncode == 0


@settings(max_examples=RULE_SETS)
@given(rule_sets, st.lists(path, min_size=1, max_size=10, unique=True), st.lists(path, max_size=3))
def test_verdicts_equal_those_of_git(root, rule_set, paths, existing):
    lay_out(root, rule_set, existing)
    with ProjectTree(root) as tree:
        guard = Guard(tree, Git(root), ())
        refused = {
            refusal.path: refusal.rule
            for refusal in guard.check([Change(path, None) for path in paths])
        }
        hidden = guard.unreadable(paths)
    for path in paths:
        # Else another rule spoke, and git was not asked.
        if refused.get(path, "ignored") == "ignored":
            ignored = git_ignores(root, path)
            assert (path in refused) == ignored, path
            assert path in hidden or not ignored, path


def test_the_reason_names_the_rule(root):
    lay_out(root, {".gitignore": b"# secrets\n*.key\n"}, [])
    with ProjectTree(root) as tree:
        (refusal,) = Guard(tree, Git(root), ()).check([Change("deep/my.key", b"")])
        assert refusal.reason == "git ignores it, by '*.key' in line 2 of .gitignore."
        visible = [Change(f"file{number}", b"") for number in range(100)]
        many = [*visible, *(Change(f"{number}.key", b"") for number in range(101))]
        reasons = [refusal.reason for refusal in Guard(tree, Git(root), ()).check(many)]
    assert [reason.partition(",")[2] != "" for reason in reasons] == [True] * 100 + [False], (
        "101 are not explained"
    )
    assert reasons[-1] == "git ignores it."


class StumblingGit(Git):
    """git as it would be if links appeared at some paths between two checks: it fails at these."""

    def __init__(self, root, bad):
        super().__init__(root)
        self.bad = bad
        self.questions = 0

    def ignored(self, paths):
        self.questions += 1
        if not self.bad.isdisjoint(paths):
            raise GitError("`git check-ignore` failed: beyond a symbolic link")
        return super().ignored(paths)


def test_a_path_that_git_fails_at_spoils_no_other(root):
    lay_out(root, {".gitignore": b"*.o\n"}, [])
    paths = [f"file{number}.{'o' if number % 2 else 'c'}" for number in range(1000)]
    bad = {"file0.c", "file501.o", "file998.c"}
    git = StumblingGit(root, bad)
    with ProjectTree(root) as tree:
        refusals = Guard(tree, git, ()).check([Change(path, b"") for path in paths])
    assert {refusal.path for refusal in refusals} == {
        path for path in paths if path.endswith("o")
    } | bad
    assert {refusal.path for refusal in refusals if "cannot check" in refusal.reason} == bad
    assert git.questions < 70


def test_where_git_fails_everywhere_everything_is_refused_soon(root):
    lay_out(root, {}, [])
    paths = [f"file{number}" for number in range(1000)]
    git = StumblingGit(root, set(paths))
    with ProjectTree(root) as tree:
        refusals = Guard(tree, git, ()).check([Change(path, b"") for path in paths])
    assert [refusal.path for refusal in refusals] == paths
    assert git.questions <= 200


def test_rules_that_cannot_be_read_refuse(root):
    lay_out(root, {"elsewhere": b"*.o\n"}, [])
    (root / ".gitignore").symlink_to("elsewhere")
    with ProjectTree(root) as tree:
        (refusal,) = Guard(tree, Git(root), ()).check([Change("a.c", b"")])
    assert "unable to access '.gitignore'" in refusal.reason
