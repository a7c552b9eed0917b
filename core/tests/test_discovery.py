"""Which plugins are found: entry points of installed distributions, as importlib reads them."""

from __future__ import annotations

import importlib.metadata
import sys

from code_commit.plugins.discovery import GROUP, PATH_RULES_GROUP, PluginSource, discover
from code_commit_testing import install_plugin


def test_discovery_finds_what_importlib_finds_and_sorts_it(tmp_path):
    install_plugin(tmp_path / "b", "second", "", distribution="dist-b")
    install_plugin(tmp_path / "a", "first", "", distribution="dist-a")
    install_plugin(tmp_path / "c", "guard", "", distribution="dist-c", group=PATH_RULES_GROUP)
    install_plugin(tmp_path / "d", "shadowed", "", distribution="dist-b", version="2.0")
    path = [str(tmp_path / name) for name in "bacd"]
    assert [(each.name, each.distribution, each.version) for each in discover(path)] == [
        ("first", "dist-a", "1.0"),
        ("guard", "dist-c", "1.0"),
        ("second", "dist-b", "1.0"),
    ]
    found = {(each.name, each.value, each.group) for each in discover(sys.path)}
    expected = {
        (entry.name, entry.value, entry.group)
        for group in (GROUP, PATH_RULES_GROUP)
        for entry in importlib.metadata.entry_points(group=group)
    }
    assert found == expected


def test_comments_and_other_groups_are_no_plugins(tmp_path):
    install_plugin(tmp_path, "one", "")
    text = "[other]\nx = y\n[code_commit]\n# a = b\n; c = d\n one = pkg.mod:obj [extra]\n[console_scripts]\nz = z\n"
    (tmp_path / "code_commit_one-1.0.dist-info" / "entry_points.txt").write_text(text)
    assert discover([str(tmp_path)]) == (PluginSource("one", "code-commit-one", "1.0", "code_commit", "pkg.mod:obj"),)


def test_an_egg_info_folder_gives_name_and_version(tmp_path):
    """As setuptools leaves it for an editable installation."""
    install_plugin(tmp_path, "one", "")
    folder = (tmp_path / "code_commit_one-1.0.dist-info").rename(tmp_path / "code_commit_one.egg-info")
    (folder / "METADATA").rename(folder / "PKG-INFO")
    [found] = discover([str(tmp_path)])
    assert (found.distribution, found.version) == ("code-commit-one", "1.0")
    (folder / "PKG-INFO").unlink()
    [found] = discover([str(tmp_path)])
    assert (found.distribution, found.version) == ("code_commit_one", "")
