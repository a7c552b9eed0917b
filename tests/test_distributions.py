"""What each distribution holds once it is built, and what it says of itself."""

from __future__ import annotations

import email.message
import email.parser
import re
import subprocess
import sys
import tomllib
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

pytest.importorskip(
    "hatchling", reason="hatchling builds the distributions; the environments `all` and `lowest` have it"
)

ROOT = Path(__file__).parents[1]
PLUGINS = sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))
DISTRIBUTIONS = [ROOT / "core", *PLUGINS]
GROUPS = {"code_commit", "code_commit.path_rules"}

each_distribution = pytest.mark.parametrize("folder", DISTRIBUTIONS, ids=lambda folder: folder.name)
each_plugin = pytest.mark.parametrize("folder", PLUGINS, ids=lambda folder: folder.name)


@cache
def project(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory):
    """Give a function that builds a folder's wheel, once, with the hatchling that is installed."""

    @cache
    def built(folder: Path) -> zipfile.ZipFile:
        target = tmp_path_factory.mktemp("wheel")
        command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(target)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        [wheel] = target.glob("*.whl")
        return zipfile.ZipFile(wheel)

    return built


def metadata(wheel: zipfile.ZipFile) -> email.message.Message:
    [name] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return email.parser.Parser().parsestr(wheel.read(name).decode())


def import_name(folder: Path) -> str:
    return project(folder)["name"].replace("-", "_")


@each_distribution
def test_the_wheel_holds_every_file_of_the_package_and_no_other(build, folder: Path) -> None:
    source = folder / "src"
    files = {
        str(path.relative_to(source))
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    held = {name for name in build(folder).namelist() if ".dist-info/" not in name}
    assert held == files
    assert f"{import_name(folder)}/py.typed" in held
    assert {name.split("/")[0] for name in held} == {import_name(folder)}


@each_distribution
def test_the_metadata_is_fit_for_a_reader(build, folder: Path) -> None:
    fields = metadata(build(folder))
    assert fields["Name"] == project(folder)["name"]
    assert fields["License-Expression"] == "MIT"
    assert fields["Requires-Python"] == ">=3.11"
    assert "Typing :: Typed" in fields.get_all("Classifier", [])
    assert fields["Summary"]
    assert len(str(fields.get_payload())) > 200, "the README says too little"


@each_distribution
def test_every_dependency_has_a_lower_bound_and_no_upper_one(folder: Path) -> None:
    extras = project(folder).get("optional-dependencies", {}).values()
    for text in [*project(folder).get("dependencies", []), *(line for lines in extras for line in lines)]:
        operators = {clause.operator for clause in Requirement(text).specifier}
        assert operators == {">="}, text


@each_plugin
def test_a_plugin_is_named_after_its_folder_and_stands_on_the_host(folder: Path) -> None:
    assert project(folder)["name"] == f"code-commit-{folder.name}"
    assert "code-commit" in {Requirement(text).name for text in project(folder)["dependencies"]}


@each_plugin
def test_a_plugin_is_found_by_its_entry_point(build, folder: Path) -> None:
    groups = project(folder).get("entry-points", {})
    assert groups
    assert set(groups) <= GROUPS
    modules = set(build(folder).namelist())
    for target in (target for points in groups.values() for target in points.values()):
        path = target.partition(":")[0].replace(".", "/")
        assert {f"{path}.py", f"{path}/__init__.py"} & modules, target


def test_the_root_offers_each_plugin_as_an_extra_and_all_of_them(build) -> None:
    fields = metadata(build(ROOT))
    names = {folder.name for folder in PLUGINS}
    assert set(fields.get_all("Provides-Extra", [])) == names | {"all"}

    wanted: dict[str, set[str]] = {}
    for text in fields.get_all("Requires-Dist", []):
        extra = re.search(r"extra == ['\"]([^'\"]+)['\"]", text)
        wanted.setdefault(extra[1] if extra else "", set()).add(Requirement(text).name)
    assert wanted == {
        "": {"code-commit"},
        "all": {f"code-commit-{name}" for name in names},
        **{name: {f"code-commit-{name}"} for name in names},
    }


def test_the_root_is_never_published_and_holds_no_code(build) -> None:
    assert "Private :: Do Not Upload" in metadata(build(ROOT)).get_all("Classifier", [])
    assert all(".dist-info/" in name for name in build(ROOT).namelist())


def test_every_list_of_plugins_is_complete() -> None:
    """The matrix, the layers and the types are lists that a new plugin must be added to."""
    matrix = (ROOT / "tox.ini").read_text("utf-8")
    layers = (ROOT / ".importlinter").read_text("utf-8")
    types = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]["mypy_path"]
    [environments] = re.findall(r"^    py3\{[\d, ]+\}-\{([^}]+)\}", matrix, re.MULTILINE)
    for folder in PLUGINS:
        assert folder.name in environments.split(", ")
        assert matrix.count(f" ./plugins/{folder.name}\n") >= 3  # alone, with the others, editable
        assert layers.count(f" {import_name(folder)}\n") >= 4
        assert f"    {import_name(folder)}.** -> code_commit.plugin_api\n" in layers
        assert f"plugins/{folder.name}/src" in types
