"""The guard over whole responses, and over what is read."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from code_commit_workspace import Workspace
from code_commit_workspace.files.project_tree import ProjectTree, parts_of
from code_commit_workspace.git import Git
from code_commit_workspace.guard.guard import Guard
from code_commit_workspace.guard.names import quote
from code_commit_workspace.guard.places import PathLookup
from code_commit_workspace.records import Change, Protected


def put(root, *paths):
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x\n")


def write(*paths):
    return [Change(path, b"new\n") for path in paths]


def delete(*paths):
    return [Change(path, None) for path in paths]


def refused(refusals):
    return {refusal.path: refusal.rule for refusal in refusals}


# --- paths of one response ------------------------------------------------------------------------
def test_a_path_may_be_named_once(guard):
    refusals = guard.check([*write("a", "b"), *delete("a")])
    assert refused(refusals) == {"a": "one-tree"}
    assert {refusal.then for refusal in refusals} == {"repair"}
    assert refused(guard.check(write("a", "./a"))) == {"a": "one-tree", "./a": "one-tree"}


@pytest.mark.parametrize("make", [write, delete])
def test_a_change_set_has_at_most_so_many_files(guard, make):
    [refusal] = guard.check(make(*map(str, range(10_001))))
    assert (refusal.path, refusal.then) == ("", "repair")
    assert "changes 10,001 files; at most 10,000 are allowed" in refusal.reason
    assert guard.check(write(*map(str, range(10_000)))) == ()


def test_a_change_set_makes_at_most_so_many_folders(guard):
    [refusal] = guard.check(write(*(f"{number}/" + "x/" * 60 + "a" for number in range(200))))
    assert "in more than 10,000 folders" in refusal.reason


def test_a_file_cannot_be_a_folder_as_well(guard):
    refusals = guard.check(write("a-", "a/b/c", "x", "a", "a.b", "x/y"))
    assert refused(refusals) == {"a/b/c": "one-tree", "x/y": "one-tree"}
    assert "'a'" in refusals[0].reason


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a b", "'a b'"),
        ("a\nb\x1b", r"'a\nb\x1b'"),
        ("x" * 255, f"'{'x' * 255}'"),
        ("a" * 100 + "b" * 156, f"'{'a' * 60}…{'b' * 20}'"),
    ],
)
def test_a_name_is_quoted_so_that_it_is_read(text, shown):
    assert quote(text) == shown


@pytest.mark.parametrize(
    ("name", "refused_too", "allowed"),
    [
        ("exactly8.txt", "", "exactl~1.txt"),
        ("ninechars.txt", "ninech~1.txt", "ninech~5.txt"),
        ("short.jso", "", "short~1.jso"),
        ("short.json", "short~4.jso", "short~4.json"),
    ],
)
def test_the_short_names_of_windows_stand_for_the_long_ones(root, tree, name, refused_too, allowed):
    guard = Guard(tree, Git(root), [Protected(name)])
    paths = [path for path in (name, refused_too) if path]
    assert refused(
        guard.check(write(name, *([refused_too] if refused_too else []), allowed))
    ) == dict.fromkeys(paths, "protected")
    assert not guard.check(write(f"below/{name}"))


@pytest.mark.parametrize("anywhere", [True, False])
def test_a_protected_name_may_look_like_a_short_one(root, tree, anywhere):
    guard = Guard(
        tree, Git(root), [Protected("note~1", anywhere=anywhere), Protected("other-name.text")]
    )
    assert refused(
        guard.check(
            write(
                "note~1", "NOTE~1/x", "a/note~1", "other-~1.tex", "a/other-~1.tex", "other-~5.tex"
            )
        )
    ) == dict.fromkeys(
        ("note~1", "NOTE~1/x", "other-~1.tex", *(["a/note~1"] if anywhere else [])), "protected"
    )


@pytest.mark.parametrize("name", ["con", "CONOUT$", "conin$.txt", "lpt9", "com1.tar.gz", "aux .x"])
def test_a_name_of_a_device_is_refused(guard, name):
    assert refused(guard.check(write(f"a/{name}", "console", "com10", "lpt"))) == {
        f"a/{name}": "portable-name"
    }


def test_what_is_in_the_way_is_named(root, guard):
    put(root, "file")
    for name in ("link", "other"):
        (root / name).symlink_to("file")
    reasons = [
        refusal.reason for refusal in guard.check(write("file/below", "link/below", "other"))
    ]
    assert reasons == [
        "'file' in this path is a file, not a folder.",
        "'link' in this path is a symbolic link, not a folder.",
        "It is a symbolic link; only regular files can be changed.",
    ]


def test_names_that_differ_in_case_differ(guard):
    assert not guard.check(write("a.txt", "A.txt", "dir/é", "dir/É"))


def test_names_that_differ_in_case_are_one_file_where_the_file_system_says_so(root):
    put(root, "project/probe")
    # What such a file system looks like.
    (root / "project/PROBE").hardlink_to(root / "project/probe")
    with ProjectTree(root / "project") as tree:
        assert refused(Guard(tree, Git(root / "project"), ()).check(write("a.txt", "A.txt"))) == {
            "A.txt": "one-tree"
        }


def test_a_file_becomes_a_folder_if_it_is_deleted(guard, root):
    put(root, "a")
    assert refused(guard.check(write("a/b/c"))) == {"a/b/c": "place"}
    assert not guard.check([*write("a/b/c", "a/d"), *delete("a")])
    assert not guard.check([*delete("a/b", "a")])


def test_a_folder_becomes_a_file_if_all_in_it_is_deleted(guard, root):
    put(root, "a/b", "a/c/d")
    assert not guard.check([*write("a"), *delete("a/b", "a/c/d")])
    refusals = guard.check([*write("a"), *delete("a/b")])
    assert refused(refusals) == {"a": "place"}
    assert "'a/c/d' would remain" in refusals[0].reason
    (root / "a/link").symlink_to("c")
    assert "'a/link' would remain" in guard.check([*write("a"), *delete("a/b", "a/c/d")])[0].reason


def test_a_folder_is_not_deleted(guard, root):
    put(root, "a/b")
    assert refused(guard.check(delete("a"))) == {"a": "place"}


def test_deleting_what_is_absent_is_allowed(guard):
    assert not guard.check(delete("a", "b/c/d"))


def test_refusals_stand_in_the_order_of_the_changes(guard, root):
    put(root, "file")
    paths = ["ok", "logs/x", "file/x", "../x", "ok2", "build.sh"]
    assert [refusal.path for refusal in guard.check(write(*paths))] == [
        "logs/x",
        "file/x",
        "../x",
        "build.sh",
    ]


@pytest.mark.parametrize("path", ["./d/a", "././d/a", ".//d/a", "././/./d/a"])
def test_everything_that_takes_a_path_ignores_a_leading_dot_slash(root, path):
    put(root, "d/a")
    (root / "d/a").chmod(0o755)
    with Workspace.open(
        root, writes=True, private_folder="agent-config", repository="private"
    ) as workspace:
        assert (workspace.may_read(path), workspace.check(write(path))) == (None, ())
        assert (workspace.tree.read(path), workspace.tree.mode(path)) == (b"x\n", 0o755)
        assert list(workspace.tree.contents([path], 9)) == [(path, b"x\n")]
        assert workspace.diff(write(path)) == workspace.diff(write("d/a")) != ""
        workspace.apply(delete(path), run=workspace.begin("run"))
        assert not (root / "d").exists()


def test_a_refusal_names_the_path_as_given(guard):
    assert [str(refusal) for refusal in guard.check(write(".//build.sh"))] == [
        ".//build.sh: Responses cannot change it."
    ]


@pytest.mark.usefixtures("no_privileges")
def test_a_folder_that_cannot_be_entered_is_refused_in_words(guard, root):
    put(root, "folder/a", "folder/closed/b")
    (root / "folder/closed").chmod(0)
    assert [refusal.reason for refusal in guard.check(write("folder/closed/x"))] == [
        "'folder/closed/.git' cannot be read: Permission denied."
    ]
    refusals = guard.check([*write("folder"), *delete("folder/a", "folder/closed/b")])
    assert "It is a folder, and 'folder/closed' would remain in it." in {
        refusal.reason for refusal in refusals
    }
    assert (
        guard.may_read("folder/closed/b").reason
        == "'folder/closed/.git' cannot be read: Permission denied."
    )
    assert guard.files() == ("folder/a",)


def test_a_folder_that_cannot_be_looked_at_has_the_systems_reason(tree, root):
    reason = PathLookup(tree, Git(root)).to(f"{'n' * 300}/x").reason
    assert reason is not None
    assert "cannot be read: File name too long" in reason


def test_a_file_outside_a_sparse_checkout_is_not_overwritten(guard, root):
    put(root, "near/a", "far/b")
    for command in ("add .", "commit -qm both", "sparse-checkout set near"):
        subprocess.run(["git", *command.split()], cwd=root, check=True)
    assert not (root / "far").exists()
    assert refused(guard.check(write("near/a", "near/new", "far/b", "far/new", "new"))) == {
        "far/b": "place"
    }


def test_an_empty_submodule_is_another_repository(guard, root):
    put(root, "lib/other")
    oid = "1" * 40
    subprocess.run(
        ["git", "update-index", "--add", "--cacheinfo", f"160000,{oid},lib/mod"],
        cwd=root,
        check=True,
    )
    assert refused(guard.check(write("lib/mod/x", "lib/mod/y/z", "lib/other", "lib/new"))) == {
        "lib/mod/x": "place",
        "lib/mod/y/z": "place",
    }
    assert refused(guard.check(write("lib/mod"))) == {"lib/mod": "place"}


@pytest.mark.parametrize("way", ["a .git file", "a .git link"])
def test_the_folder_of_git_is_closed_under_any_name(tmp_path, way):
    root = tmp_path / "project"
    (root / "hidden").mkdir(parents=True)
    subprocess.run(
        ["git", "init", "-q", "--separate-git-dir", root / "hidden/data", root], check=True
    )
    if way == "a .git link":
        (root / ".git").unlink()
        (root / ".git").symlink_to("hidden/data")
    put(root, "hidden/other")
    paths = ["hidden/data/config", "hidden/data/hooks/pre-commit", "hidden/data/new/folder/x"]
    with ProjectTree(root) as tree:
        guard = Guard(tree, Git(root), ())
        assert refused(guard.check(write(*paths, "hidden/other", "hidden/new"))) == dict.fromkeys(
            paths, "place"
        )
        assert set(guard.unreadable([*paths, "hidden/other"])) == set(paths)


def test_without_a_repository_nothing_is_allowed(tmp_path):
    with ProjectTree(tmp_path) as tree:
        guard = Guard(tree, Git(tmp_path), ())
        assert "not a git repository" in guard.check(write("a"))[0].reason
        assert "not a git repository" in guard.may_read("a").reason


def test_protection_holds_in_a_project_below_the_top_of_its_repository(root, protected):
    (root / ".gitignore").write_text("*.o\n/project/hidden\n")
    project = root / "project"
    project.mkdir()
    with ProjectTree(project) as tree:
        guard = Guard(tree, Git(project), protected)
        paths = ["agent-config/x", "build.sh", "a.o", "hidden", "project/hidden", "src/a.c"]
        assert set(refused(guard.check(write(*paths)))) == {
            "agent-config/x",
            "build.sh",
            "a.o",
            "hidden",
        }


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.text(
            st.sampled_from("ab./\\~:\0\n .g\u200d\u202e\ud800\uff0fİ") | st.characters(codec=None),
            max_size=12,
        ),
        max_size=6,
    )
)
def test_any_text_gets_a_verdict_and_what_is_allowed_is_a_plain_path(guard, paths):
    changes = write(*paths)
    refusals = {refusal.path for refusal in guard.check(changes)}
    for change in changes:
        if change.given not in refusals:
            assert "/".join(parts_of(change.path)) == change.path
            assert change.path.encode().decode() == change.path


def test_a_workspace_protects_its_private_folder_and_what_git_reads(root):
    with Workspace.open(
        root, writes=False, private_folder="private", state_folder="private/state"
    ) as workspace:
        paths = ["private/key.txt", "private/state/journal", ".git/config", "lib/.gitignore"]
        assert refused(workspace.check(write(*paths, "agent-config/x"))) == dict.fromkeys(
            paths, "protected"
        )
        assert [workspace.may_read(path) is None for path in paths] == [False, False, False, True]


# --- reading --------------------------------------------------------------------------------------
READABLE = [
    "src/a.rs",
    "./src/a.rs",
    "src",
    "UserSpecification.md",
    "build.sh",
    ".gitignore",
    "Cargo.lock",
    "absent/x",
]
READABLE += ["src/aux.rs", "src/a:b", "src/agent-config/x", "src/logs"]
CLOSED = [
    "",
    "/etc/passwd",
    "../x",
    "src/../a",
    "src//a",
    "a\nb",
    "a\udcffb",
    ".git/config",
    "src/.git/config",
    ".GIT",
]
CLOSED += [
    "agent-config/openai-key.txt",
    "Agent-Config/openai-key.txt",
    "agent-config",
    "agent\u200b-config/x",
    "AGENT-~1/x",
]
CLOSED += [
    "logs/run/1-query.txt",
    "secret.env",
    "ignored/x",
    "link",
    "link-folder/a.rs",
    "fifo",
    "nested/x",
    "src/a.rs/x",
]


@pytest.fixture
def shown_project(root, git_init):
    put(
        root,
        "src/a.rs",
        "src/aux.rs",
        "src/a:b",
        "UserSpecification.md",
        "build.sh",
        "agent-config/openai-key.txt",
    )
    put(root, "secret.env", "nested/x")
    (root / ".gitignore").write_text("*.env\nignored/\n")
    (root / "link").symlink_to("src/a.rs")
    (root / "link-folder").symlink_to("src")
    os.mkfifo(root / "fifo")
    git_init(root / "nested")
    return root


@pytest.mark.parametrize("path", READABLE)
def test_a_model_may_read_the_visible_project(shown_project, guard, path):
    assert guard.may_read(path) is None


@pytest.mark.parametrize("path", CLOSED)
def test_a_model_may_not_read_the_rest(shown_project, guard, path):
    refusal = guard.may_read(path)
    assert refusal is not None
    assert (refusal.path, refusal.rule, refusal.then) == (path, "reading", "stop")
    assert refusal.reason.endswith(".")
    assert refusal.reason.isprintable()


def test_many_paths_are_judged_at_once_and_alike(shown_project, guard):
    assert set(guard.unreadable([*READABLE, *CLOSED])) == set(CLOSED)


def test_no_file_of_another_repository_is_taken_for_one_of_the_project(shown_project, guard):
    listed = ["nested/x", "link-folder/a.rs", "absent/x", "src/a.rs"]
    files, refused = guard.select(["*"], among=listed)
    assert (files, set(refused)) == (("src/a.rs",), set(listed) - {"src/a.rs"})


def test_reading_is_refused_where_git_fails(shown_project, guard):
    (shown_project / ".git/config").write_text("[core\n")
    refusal = guard.may_read("src/a.rs")
    assert (refusal.path, refusal.rule) == ("src/a.rs", "reading")
    assert refusal.reason.startswith("git cannot check this path: ")
    assert "bad config" in refusal.reason


def test_a_response_of_very_deep_paths_costs_no_more_than_its_length(guard):
    # Every prefix of such a path, kept or compared, would be gigabytes; the limit makes that an
    # error.
    import resource

    paths = [
        f"{number}/" + "abcdefghijklmnopqrstuvwxyz012345678/" * 99 + "x" for number in range(50)
    ]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert not guard.check(write(*paths))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    unit = 1 if sys.platform == "darwin" else 1024
    assert grown * unit < 40 * sum(map(len, paths))
