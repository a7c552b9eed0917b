"""Which plugins are found: entry points of installed distributions, as importlib reads them."""

from __future__ import annotations

import importlib.metadata
import sys
from functools import partial

import pytest

from code_commit.plugins import distributions
from code_commit.plugins.discovery import (
    GROUP,
    PATH_RULES_GROUP,
    PluginSource,
    discover,
)
from code_commit.plugins.distributions import unusable_dependents
from code_commit_testing import install_plugin


def test_discovery_finds_what_importlib_finds_and_sorts_it(tmp_path):
    install_plugin(tmp_path / "b", "second", "", distribution="dist-b")
    install_plugin(tmp_path / "a", "first", "", distribution="dist-a")
    install_plugin(tmp_path / "c", "guard", "", distribution="dist-c", group=PATH_RULES_GROUP)
    install_plugin(tmp_path / "d", "shadowed", "", distribution="dist-b", version="2.0")
    path = [str(tmp_path / name) for name in "bacd"]
    assert [(plugin.name, plugin.distribution, plugin.version) for plugin in discover(path)] == [
        ("first", "dist-a", "1.0"),
        ("guard", "dist-c", "1.0"),
        ("second", "dist-b", "1.0"),
    ]
    discovered = {(plugin.name, plugin.value, plugin.group) for plugin in discover(sys.path)}
    expected = {
        (entry.name, entry.value, entry.group)
        for group in (GROUP, PATH_RULES_GROUP)
        for entry in importlib.metadata.entry_points(group=group)
    }
    assert discovered == expected


def test_comments_and_other_groups_are_no_plugins(tmp_path):
    install_plugin(tmp_path, "one", "")
    text = "[other]\nx = y\n[code_commit]\n# a = b\n; c = d\n one = pkg.mod:obj [extra]\n[console_scripts]\nz = z\n"
    (tmp_path / "code_commit_one-1.0.dist-info" / "entry_points.txt").write_text(text)
    assert discover([str(tmp_path)]) == (
        PluginSource("one", "code-commit-one", "1.0", "code_commit", "pkg.mod:obj"),
    )


def test_an_egg_info_folder_gives_name_and_version(tmp_path):
    """As setuptools leaves it for an editable installation."""
    install_plugin(tmp_path, "one", "")
    folder = (tmp_path / "code_commit_one-1.0.dist-info").rename(
        tmp_path / "code_commit_one.egg-info"
    )
    (folder / "METADATA").rename(folder / "PKG-INFO")
    [plugin] = discover([str(tmp_path)])
    assert (plugin.distribution, plugin.version) == ("code-commit-one", "1.0")
    (folder / "PKG-INFO").unlink()
    [plugin] = discover([str(tmp_path)])
    assert (plugin.distribution, plugin.version) == ("code_commit_one", "")


@pytest.mark.parametrize(
    ("folder", "metadata", "found"),
    [
        ("a_b-1.0.dist-info", "Name: a.b\nVersion: 2\n", ("a.b", "2")),
        (
            "a_b-1.0.dist-info",
            "Name:\t a-b \t\nVersion: 2\n\nName: described\nVersion: 3\n",
            ("a-b", "2"),
        ),
        ("a_b-1.0.dist-info", "Version: 2\n", ("a_b", "2")),
        ("a_b-1.0.dist-info", "Name: a-b\n", ("a-b", "1.0")),
        ("a_b-1.0.dist-info", None, ("a_b", "1.0")),
        ("a_b.egg-info", None, ("a_b", "")),
    ],
)
def test_name_and_version_are_those_of_the_metadata_or_of_the_folder(
    tmp_path, folder, metadata, found
):
    info_folder = tmp_path / folder
    info_folder.mkdir()
    (info_folder / "entry_points.txt").write_text("[ code_commit ]\none = one_plugin\n")
    if metadata is not None:
        (info_folder / "METADATA").write_bytes(metadata.encode() + b"Summary: \xff\n")
    [source] = discover([str(tmp_path)])
    assert (source.distribution, source.version) == found


def test_of_a_distribution_that_is_there_twice_the_first_counts_however_it_is_spelled(tmp_path):
    for number, name in enumerate(("Dist-A.b", "dist_a__B", "dist.a-b")):
        install_plugin(tmp_path / str(number), f"plugin{number}", "", distribution=name)
    assert [plugin.name for plugin in discover([str(tmp_path / name) for name in "012"])] == [
        "plugin0"
    ]
    assert [plugin.name for plugin in discover([str(tmp_path / name) for name in "210"])] == [
        "plugin2"
    ]


def test_the_path_may_name_the_working_directory_files_and_what_is_missing(tmp_path, monkeypatch):
    install_plugin(tmp_path, "one", "")
    (tmp_path / "file").write_text("")
    (tmp_path / "more-1.0.dist-info").mkdir()  # without entry points
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["missing", "file", ""])
    assert [plugin.name for plugin in discover()] == ["one"]


VERSION = "1.2.dev3"
FAULTS = [
    ("Requires-Dist: code-commit >=1.1", "[code_commit]\none = m", []),
    (f"Requires-Dist: Code.Commit >={VERSION}", "[code_commit]\none = m", []),
    ("Requires-Dist: code-commit >=9", "[code_commit]\none = m", [("one", "version", "it needs code-commit >=9, and ", False)]),
    ("Requires-Dist: code-commit >=9 ; python_version < '3'", "[code_commit]\none = m", []),
    ("Requires-Dist: code-commit >=9 ; extra == 'more'", "[code_commit]\none = m", []),
    ("Requires-Dist: code-commit >=9 ; python_version > '3'", "", [("dependent", "version", "it needs code-commit >=9, and ", False)]),
    (
        "Requires-Dist: Code_Commit (=>0.1)\nRequires-Dist: code-commit[x >=1\nRequires-Dist: code-commit-x (=>0.1)",
        "[code_commit]\none = m",
        [
            ("one", "version", "its requirement 'Code_Commit (=>0.1)' is malformed", False),
            ("one", "version", "its requirement 'code-commit[x >=1' is malformed", False),
        ],
    ),
    ("Requires-Dist: other >=9\nRequires-Dist: no requirement", "[code_commit]\none = m", []),
    (
        "Requires-Dist: code-commit >=9",
        "[code_commit]\none = m\n[code_commit.path_rules]\ntwo = m",
        [("one", "version", "it needs code-commit >=9, and ", True)],
    ),
    (
        "",
        "[code_commits]\none = m\n[code-commit.path-rule]\ntwo = m\n[code_commit.providers]\nz = m\n[console_scripts]\nx = m",
        [
            ("dependent", "entry points", "there is no group code-commit.path-rule; did you mean code_commit.path_rules?", False),
            ("dependent", "entry points", "there is no group code_commit.providers; did you mean code_commit?", False),
            ("dependent", "entry points", "there is no group code_commits; did you mean code_commit?", False),
        ],
    ),
    ("", "[console_scripts]\ncode-commit-x = m\n[my.code_commit]\nx = m", []),
]  # fmt: skip


@pytest.mark.parametrize(("requires", "entry_points", "faults"), FAULTS)
def test_a_dependent_that_cannot_work_is_named(
    tmp_path, monkeypatch, requires, entry_points, faults
):
    install_plugin(tmp_path, "dependent", "")
    [info_folder] = tmp_path.glob("*.dist-info")
    with (info_folder / "METADATA").open("a") as metadata:
        metadata.write(f"{requires}\n")
    (info_folder / "entry_points.txt").write_text(f"{entry_points}\n")
    install_plugin(tmp_path / "other", "other", "", distribution="other")
    installed = partial(
        importlib.metadata.distributions, path=[str(tmp_path), str(tmp_path / "other")]
    )
    monkeypatch.setattr(importlib.metadata, "distributions", installed)
    monkeypatch.setattr(distributions, "__version__", VERSION)
    failures = list(unusable_dependents())
    assert [
        (failure.plugin, failure.stage, failure.error, failure.guards_paths) for failure in failures
    ] == [
        (
            plugin,
            stage,
            f"{error}{VERSION} is installed" if error.endswith("and ") else error,
            guards,
        )
        for plugin, stage, error, guards in faults
    ]
    assert {(failure.distribution, failure.version) for failure in failures} <= {
        ("code-commit-dependent", "1.0")
    }
    assert list(unusable_dependents({"code-commit-dependent"})) == []
    assert list(unusable_dependents({failure.plugin for failure in failures})) == []
