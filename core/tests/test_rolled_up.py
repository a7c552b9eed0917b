"""Which files changed since a rollup was made."""

from __future__ import annotations

import json
import os
import zlib

import pytest

from code_commit.plugin_api.rolled_up import RolledUp
from code_commit_workspace import ProjectTree, Workspace

TEXT = "old a|old b"
FILES = {"a": [0, 5], "b": [6, 11]}  # where each file is in TEXT


@pytest.fixture
def root(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"old {name}")
    (tmp_path / "image").write_bytes(b"\x00")
    return tmp_path


@pytest.fixture
def tree(root):
    with Workspace.open(
        root, writes=False, private_folder="agent-config", repository="private"
    ) as workspace:
        yield workspace.tree


def write_manifest(root, rollup=TEXT, **more):
    folder = root / "agent-config/.code-commit"
    folder.mkdir(parents=True, exist_ok=True)
    checksum = zlib.crc32(rollup.encode())
    manifest = {"version": 3, "rollup": checksum, "files": FILES, "others": ["image"], **more}
    (folder / "rollup.json").write_text(json.dumps(manifest))


def test_changed_and_removed_files_are_named(root, tree):
    write_manifest(root)
    rolled_up = RolledUp.of(tree, TEXT)
    assert rolled_up.changed() == []

    (root / "a").write_text("new a")
    (root / "b").unlink()

    assert rolled_up.changed() == ["a", "b"]


def test_other_files_are_those_of_the_manifest(root, tree):
    write_manifest(root)
    rolled_up = RolledUp.of(tree, TEXT)
    assert (set(rolled_up.digests), rolled_up.others) == ({"a", "b"}, frozenset({"image"}))


@pytest.mark.parametrize(
    ("more", "patterns"), [({}, None), ({"include": ["*.py"], "exclude": []}, (("*.py",), ()))]
)
def test_patterns_are_those_of_the_manifest(root, tree, more, patterns):
    write_manifest(root, **more)
    assert RolledUp.of(tree, TEXT).patterns == patterns


def test_a_manifest_of_another_rollup_is_not_used(root, tree):
    write_manifest(root, rollup="another", include=[], exclude=[])
    (root / "a").write_text("new a")

    rolled_up = RolledUp.of(tree, TEXT)

    assert (rolled_up.changed(), rolled_up.patterns, rolled_up.others) == ([], None, None)


@pytest.mark.parametrize("manifest", [None, "", "{", "[]", "[" * 100_000, '{"version": 1}'])
def test_without_a_usable_manifest_no_file_counts_as_changed(root, tree, manifest):
    if manifest is not None:
        write_manifest(root)
        (root / "agent-config/.code-commit/rollup.json").write_text(manifest)
    (root / "a").write_text("new a")

    assert RolledUp.of(tree, TEXT).changed() == []


def test_a_sparse_file_of_a_terabyte_has_changed(tmp_path):
    (tmp_path / "a").write_text("old")
    with ProjectTree(tmp_path) as tree:
        rolled_up = RolledUp.of_files(tree, b"old", {"a": (0, 3)}, [])
        assert rolled_up.changed() == []
        os.truncate(tmp_path / "a", 1024**4)
        assert rolled_up.changed() == ["a"]
