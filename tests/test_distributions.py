"""The contents and metadata of each built distribution, and the installation of its extras."""

from __future__ import annotations

import ast
import email.message
import email.parser
import importlib.metadata
import re
import shutil
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

from code_commit import __version__

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
def tables(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))


@cache
def project(folder: Path) -> dict[str, Any]:
    """Return the table `project`, with what hatch_pins.py fills in, but for the version."""
    hooks = tables(folder)["tool"]["hatch"].get("metadata", {}).get("hooks", {})
    pins = {key: value for key, value in hooks.get("custom", {}).items() if key != "path"}
    return tables(folder)["project"] | pins


def requirement(text: str) -> Requirement:
    return Requirement(text.replace("{version}", __version__))


def names(requirements: Iterable[str]) -> set[str]:
    return {canonicalize_name(requirement(text).name) for text in requirements}


def build_all(folders: Iterable[Path], target: Path, *, checkout: Path = ROOT) -> list[str]:
    """Build the sdists of folders, and of each its wheel; return the names of the wheels."""
    command = [sys.executable, checkout / "release/build.py", target, *folders]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout.split()


@pytest.fixture(scope="session")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wheelhouse")


@pytest.fixture(scope="session")
def build(wheelhouse: Path):
    """Return a function that gives the wheel of a folder."""
    wheels = dict(zip(DISTRIBUTIONS, build_all(DISTRIBUTIONS, wheelhouse), strict=True))
    # The sdist of the root would be the whole checkout.
    code = f"from hatchling.build import build_wheel; print(build_wheel({str(wheelhouse)!r}))"
    root = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True)
    wheels[ROOT] = root.strip()
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
    assert fields["License-File"] == "LICENSE"
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
        if "{version}" in text:
            continue
        name = requirement(text).name
        assert not name.startswith("code-commit"), text
        operators = {clause.operator for clause in requirement(text).specifier}
        assert operators == ({">=", "<"} if name in BOUNDED else {">="}), text


# --- versions -------------------------------------------------------------------------------------


@each_distribution
def test_distributions_of_one_version_alone_fit_together(build, folder: Path) -> None:
    fields = metadata(build(folder))
    assert fields["Version"] == __version__
    own = [Requirement(text) for text in fields.get_all("Requires-Dist", [])]
    own = [requirement for requirement in own if requirement.name.startswith("code-commit")]
    assert {str(requirement.specifier) for requirement in own} <= {f"=={__version__}"}
    assert own or folder.name == "workspace"


def test_one_place_names_the_version() -> None:
    """What names a version is the host's `__version__`, or belongs to others: requirements of
    libraries, templates of plugins.
    """
    files = [ROOT / "pyproject.toml"]
    for folder in DISTRIBUTIONS:
        files += [folder / "pyproject.toml", *folder.glob("src/**/*.py")]
    naming = re.compile(r"^(__)?version(__)? *=|code-commit[\w-]* *[=<>~!]+ *\d", re.MULTILINE)
    places = [file for file in files if naming.search(file.read_text("utf-8"))]
    assert places == [ROOT / "core/src/code_commit/__init__.py"]


@pytest.mark.slow  # two sets of distributions, and pip
def test_pip_refuses_two_versions_in_one_environment(tmp_path: Path, environment: Path) -> None:
    folders = ["workspace", "core", "plugins/commit", "plugins/history"]
    for version in ("7.0.0", "7.0.1"):
        checkout = tmp_path / version
        for folder in folders:
            shutil.copytree(ROOT / folder, checkout / folder)
        for file in ("LICENSE", "hatch_pins.py", "sdist.toml"):
            shutil.copyfile(ROOT / file, checkout / file)
        place = checkout / "core/src/code_commit/__init__.py"
        place.write_text(place.read_text("utf-8").replace(__version__, version), "utf-8")
        build_all([checkout / folder for folder in folders], tmp_path)

    def install(*requirements: str) -> str:
        command = [*pip_install(environment), "--dry-run", "--find-links", tmp_path, *requirements]
        completed = subprocess.run(command, capture_output=True, text=True, check=False)
        return completed.stderr + completed.stdout

    mixed = install("code-commit==7.0.0", "code-commit-commit==7.0.1")
    assert "conflicting dependencies" in mixed
    assert "code-commit-commit 7.0.1 depends on code-commit" in mixed, mixed
    older = install("code-commit[commit]==7.0.0")
    assert "Would install" in older
    assert "7.0.1" not in older


@each_plugin
def test_a_plugin_is_named_after_its_folder_and_depends_on_the_host(folder: Path) -> None:
    assert project(folder)["name"] == f"code-commit-{folder.name}"
    assert "code-commit" in names(project(folder)["dependencies"])


@each_plugin
def test_a_plugin_is_found_by_its_entry_point(build, folder: Path) -> None:
    groups = project(folder).get("entry-points", {})
    assert groups
    assert set(groups) <= GROUPS
    modules = set(build(folder).namelist())
    for target in (target for points in groups.values() for target in points.values()):
        path = target.partition(":")[0].replace(".", "/")
        assert {f"{path}.py", f"{path}/__init__.py"} & modules, target


# --- builds ---------------------------------------------------------------------------------------


@pytest.mark.slow  # builds everything twice, in two clones
def test_two_builds_of_a_commit_are_the_same_bytes(tmp_path: Path) -> None:
    archives = []
    for name, mask in (("one", 0o022), ("two", 0o077)):
        clone = tmp_path / name / "clone"
        subprocess.run(["git", "clone", "-q", ROOT, clone], umask=mask, check=True)
        build_all([], tmp_path / name / "dist", checkout=clone)
        built = tmp_path.joinpath(name, "dist").iterdir()
        archives.append({archive.name: archive.read_bytes() for archive in built})
    assert archives[0] == archives[1]
    assert len(archives[0]) == 2 * len(DISTRIBUTIONS)


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
        needed_one = Requirement(text)
        urls.setdefault(extra[1] if extra else "", {})[needed_one.name] = needed_one.url or ""
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


def pip_install(environment: Path) -> list[str | Path]:
    flags = ["--isolated", "--disable-pip-version-check"]
    python = environment / "bin/python"
    return [python, "-m", "pip", *flags, "install", "--no-compile", "--no-index"]


@pytest.mark.slow  # pip alone takes seconds
def test_wheels_install_from_a_folder(build, wheelhouse, environment) -> None:
    """With pip.

    The environments of tox install every set of distributions, by name as well, with uv.
    """
    command = [*pip_install(environment), "--quiet", "--find-links", wheelhouse]
    completed = subprocess.run(
        [*command, "code-commit[gemini]"], capture_output=True, text=True, check=False
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
    tools = tables(ROOT)["tool"]
    contracts = {contract["id"]: contract for contract in tools["importlinter"]["contracts"]}
    rings = re.findall(r"\w+", " ".join(contracts["rings"]["layers"]))
    for folder in PLUGINS:
        assert import_name(folder) in tools["importlinter"]["root_packages"]
        assert import_name(folder) in rings
        assert f"plugins/{folder.name}/src" in tools["mypy"]["mypy_path"]
