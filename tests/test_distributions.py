"""The contents and metadata of each built distribution, and the installation of its extras."""

from __future__ import annotations

import ast
import email.message
import email.parser
import importlib.metadata
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytest.importorskip(
    "hatchling",
    reason="hatchling builds the distributions; the environments `all` and `lowest` have it",
)

ROOT = Path(__file__).parents[1]
PLUGINS = sorted(path.parent for path in ROOT.glob("plugins/*/pyproject.toml"))
DISTRIBUTIONS = [ROOT / "workspace", ROOT / "core", ROOT / "testing", *PLUGINS]
BOUNDED = {"mcp", "mcp-types"}  # their next version may have another API
PROVIDERS = {"gemini", "openai", "anthropic"}
WRITERS = {"commit", "consistency", "planner", "tasks"}
GROUPS = {"code_commit", "code_commit.path_rules"}

each_distribution = pytest.mark.parametrize("folder", DISTRIBUTIONS, ids=lambda folder: folder.name)
each_plugin = pytest.mark.parametrize("folder", PLUGINS, ids=lambda folder: folder.name)


@cache
def project(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]


def names(requirements: Iterable[str]) -> set[str]:
    return {canonicalize_name(Requirement(text).name) for text in requirements}


# Builds the wheel of each folder: one process, because each start costs more than a build.
BUILD = """
import os, sys
from hatchling.build import build_wheel
for folder in sys.argv[1:]:
    os.chdir(folder)
    print(build_wheel(os.environ["WHEELHOUSE"]))
"""


@pytest.fixture(scope="session")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wheelhouse")


@pytest.fixture(scope="session")
def build(wheelhouse: Path):
    """Return a function that gives the wheel of a folder, made with the installed hatchling."""
    folders = [ROOT, *DISTRIBUTIONS]
    command = [sys.executable, "-c", BUILD, *map(str, folders)]
    environ = {**os.environ, "WHEELHOUSE": str(wheelhouse)}
    completed = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    wheels = dict(zip(folders, completed.stdout.split(), strict=True))
    return lambda folder: zipfile.ZipFile(wheelhouse / wheels[folder])


def metadata(wheel: zipfile.ZipFile) -> email.message.Message:
    [name] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return email.parser.Parser().parsestr(wheel.read(name).decode())


def import_name(folder: Path) -> str:
    return project(folder)["name"].replace("-", "_")


@each_distribution
def test_the_wheel_contains_exactly_the_files_of_the_package(build, folder: Path) -> None:
    source = folder / "src"
    files = {
        str(path.relative_to(source))
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packed = {
        name
        for name in build(folder).namelist()
        if ".dist-info/" not in name and ".data/" not in name
    }
    assert packed == files
    assert f"{import_name(folder)}/py.typed" in packed
    assert {name.split("/")[0] for name in packed} == {import_name(folder)}


def test_the_host_brings_its_man_page(build) -> None:
    wheel = build(ROOT / "core")
    [page] = [name for name in wheel.namelist() if ".data/" in name]
    assert page.endswith(".data/data/share/man/man1/code-commit.1")
    assert wheel.read(page) == (ROOT / "core/man/code-commit.1").read_bytes()
    assert not [
        name
        for folder in DISTRIBUTIONS[2:]
        for name in build(folder).namelist()
        if ".data/" in name
    ]


@each_distribution
def test_the_metadata_is_complete(build, folder: Path) -> None:
    fields = metadata(build(folder))
    assert fields["Name"] == project(folder)["name"]
    assert fields["License-Expression"] == "MIT"
    assert fields["Requires-Python"] == ">=3.11"
    assert "Typing :: Typed" in fields.get_all("Classifier", [])
    assert fields["Summary"]
    assert len(str(fields.get_payload())) > 200, "the README is too short"


@each_distribution
def test_every_dependency_has_a_lower_bound_and_no_upper_one(folder: Path) -> None:
    extras = project(folder).get("optional-dependencies", {}).values()
    for text in [
        *project(folder).get("dependencies", []),
        *(line for lines in extras for line in lines),
    ]:
        requirement = Requirement(text)
        operators = {clause.operator for clause in requirement.specifier}
        assert operators == ({">=", "<"} if requirement.name in BOUNDED else {">="}), text


@each_plugin
def test_a_plugin_is_named_after_its_folder_and_depends_on_the_host(folder: Path) -> None:
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


# --- extras ---------------------------------------------------------------------------------------


def extras() -> dict[str, set[str]]:
    return {
        extra: names(texts)
        for extra, texts in project(ROOT / "core")["optional-dependencies"].items()
    }


@each_plugin
def test_a_plugin_is_an_extra_of_the_host_and_part_of_all(folder: Path) -> None:
    assert f"code-commit-{folder.name}" in extras()[folder.name]
    assert f"code-commit-{folder.name}" in extras()["all"]


def test_every_extra_has_a_folder() -> None:
    assert extras().keys() == {"all", "testing", *(folder.name for folder in PLUGINS)}
    folders = {project(folder)["name"] for folder in PLUGINS}
    assert extras()["all"] == folders
    assert set().union(*extras().values()) == folders | {"code-commit-testing"}


def test_providers_include_the_default_workflow_and_writers_the_history() -> None:
    for name in {*PROVIDERS, "testing"}:
        assert {"code-commit-commit", "code-commit-history"} < extras()[name]
    for name in WRITERS:
        assert "code-commit-history" in extras()[name]


def test_the_root_has_the_extras_of_the_host_as_folders(build) -> None:
    fields = metadata(build(ROOT))
    assert set(fields.get_all("Provides-Extra", [])) == extras().keys()
    urls: dict[str, dict[str, str]] = {}
    for text in fields.get_all("Requires-Dist", []):
        extra = re.search(r"extra == ['\"]([^'\"]+)['\"]", text)
        requirement = Requirement(text)
        urls.setdefault(extra[1] if extra else "", {})[requirement.name] = requirement.url or ""
    folders = {project(folder)["name"]: folder for folder in DISTRIBUTIONS}

    def needed(required: set[str]) -> dict[str, str]:
        """Return these distributions and the ones of this checkout that they need."""
        more = set().union(
            *(names(project(folders[name])["dependencies"]) & folders.keys() for name in required)
        )
        if more - required:
            return needed(required | more)
        return {name: folders[name].as_uri() for name in required}

    assert urls == {
        "": needed({"code-commit"}),
        **{extra: needed(required) for extra, required in extras().items()},
    }


def test_the_root_has_the_command_and_its_own_name(build) -> None:
    """`uv tool install` links only the commands of the named package; pip and uv fail if a member
    has the same name.
    """
    [points] = [name for name in build(ROOT).namelist() if name.endswith("entry_points.txt")]
    assert "code-commit = code_commit.__main__:main" in build(ROOT).read(points).decode()
    assert project(ROOT)["name"] not in {project(folder)["name"] for folder in DISTRIBUTIONS}


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """Return an environment with pip and third-party packages, without this checkout."""
    third_party = tmp_path / "third_party"
    third_party.mkdir()
    for place in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for path in Path(place).iterdir():
            if not re.match(r"_*(editable_impl_)?code_commit|pip\b|__pycache__", path.name):
                (third_party / path.name).symlink_to(path)
    venv.create(tmp_path / "environment", with_pip=True, symlinks=True)
    [packages] = (tmp_path / "environment").glob("lib/python*/site-packages")
    (packages / "third_party.pth").write_text(str(third_party), "utf-8")
    return tmp_path / "environment"


@pytest.mark.slow  # pip alone takes seconds
def test_wheels_install_from_a_folder(build, wheelhouse, environment) -> None:
    """With pip.

    The environments of tox install every set of distributions, by name as well, with uv.
    """
    pip = [
        environment / "bin/python",
        "-m",
        "pip",
        "--isolated",
        "--disable-pip-version-check",
        "install",
        "--quiet",
        "--no-compile",
    ]
    completed = subprocess.run(
        [*pip, "--no-index", "--find-links", wheelhouse, "code-commit[gemini]"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    [packages] = environment.glob("lib/python*/site-packages")
    installed = {path.name.partition("-")[0] for path in packages.glob("code_commit*.dist-info")}
    expected = {"workspace", "commit", "history", "context", "acceptance", "gemini"}
    assert installed == {"code_commit", *(f"code_commit_{name}" for name in expected)}
    command = [environment / "bin/code-commit", "plugins", "--json"]
    listed = subprocess.run(command, cwd=environment, capture_output=True, text=True, check=False)
    assert (listed.returncode, listed.stderr) == (0, "")
    command = [environment / "bin/code-commit", "--planning"]
    missing = subprocess.run(command, cwd=environment, capture_output=True, text=True, check=False)
    assert missing.returncode == 2
    assert f'{environment / "bin/python"} -m pip install "code-commit[planner]"' in missing.stderr


# --- imports --------------------------------------------------------------------------------------

# A pinned distribution, and the one that pins it and is declared.
PINNED = {"pydantic-core": "pydantic"}
OWNERS = importlib.metadata.packages_distributions()


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield the top-level modules that the code imports at run time, without those for types."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                continue
            case ast.Import(names=aliases):
                yield from (alias.name.partition(".")[0] for alias in aliases)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]
        yield from imports(node)


def distributions(module: str) -> set[str]:
    """Return the distributions that contain a module."""
    names = {str(canonicalize_name(name)) for name in OWNERS.get(module, [module])}
    return {PINNED.get(name, name) for name in names}


@each_distribution
def test_a_distribution_declares_what_it_imports(folder: Path) -> None:
    """It also imports what it declares."""
    package = folder / "src" / import_name(folder)
    files = [
        path
        for path in package.rglob("*.py")
        if not {"project", "templates"} & {*path.relative_to(package).parts}
    ]
    modules = {name for file in files for name in imports(ast.parse(file.read_text("utf-8")))}
    beside = {file.stem for file in files}  # what a program that runs alone imports
    modules -= {*sys.stdlib_module_names, package.name}
    used = {module: distributions(module) for module in modules}
    extras = project(folder).get("optional-dependencies", {})
    requirements = list(project(folder).get("dependencies", []))
    if folder in PLUGINS:
        requirements += extras.get("mcp", [])
    if folder.name == "testing":
        requirements += extras.get("commit", [])
    declared = names(requirements)
    undeclared = {
        module: owners
        for module, owners in used.items()
        if not owners & declared and module not in beside
    }
    assert undeclared == {}
    assert declared - set().union(*used.values()) - {"code-commit"} == set()


# --- the root -------------------------------------------------------------------------------------


def test_the_root_is_private_and_contains_no_code(build) -> None:
    assert "Private :: Do Not Upload" in metadata(build(ROOT)).get_all("Classifier", [])
    assert all(".dist-info/" in name for name in build(ROOT).namelist())


def test_every_list_of_plugins_is_complete() -> None:
    """A new plugin must be added to the import contracts and the types; test_matrix.py looks at the
    environments of tox.
    """
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    contracts = {contract["id"]: contract for contract in tools["importlinter"]["contracts"]}
    rings = re.findall(r"\w+", " ".join(contracts["rings"]["layers"]))
    for folder in PLUGINS:
        assert import_name(folder) in tools["importlinter"]["root_packages"]
        assert import_name(folder) in rings
        assert f"plugins/{folder.name}/src" in tools["mypy"]["mypy_path"]
