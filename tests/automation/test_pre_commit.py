"""Run the hooks with pre-commit: installed from a copy of this checkout, in a real repository,
without a network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

from code_commit_testing import Project

yaml = pytest.importorskip("yaml", reason="hooks are YAML; the environment `automation` has PyYAML")
pytest.importorskip(
    "pre_commit", reason="pre-commit runs the hooks; the environment `automation` has it"
)

ROOT = Path(__file__).parents[2]
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
EXAMPLE = (ROOT / "examples/pre-commit/.pre-commit-config.yaml").read_text("utf-8")
KEY = "sk-canary-0123456789-key7Q"
# The files that an installation from a checkout needs.
PUBLISHED = (
    ".pre-commit-hooks.yaml",
    "README.md",
    "hatch_build.py",
    "hatch_pins.py",
    "pyproject.toml",
    "core",
    "workspace",
    "plugins",
)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a repository with the hooks, as if published."""
    published = Project.create(tmp_path_factory.mktemp("published"))
    for name in PUBLISHED:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name,
                published.root / name,
                ignore=shutil.ignore_patterns("__pycache__", "tests"),
            )
        else:
            shutil.copy(ROOT / name, published.root / name)
    published.git("add", "--all")
    published.git("commit", "-q", "-m", "published")
    return published


@dataclass(frozen=True)
class Hooked:
    """A project with the hooks installed. All tests share the environments of the hooks."""

    project: Project
    environ: dict[str, str]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.project.root,
            env=self.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def commit(self, files: dict[str, str], *flags: str) -> subprocess.CompletedProcess[str]:
        self.project.write(files)
        self.project.git("add", *flags, *files)
        return self.run("git", "commit", "-q", "-m", "a change")


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("environments")


@pytest.fixture(scope="module")
def installed(
    published: Project, environments: Path, tmp_path_factory: pytest.TempPathFactory
) -> Hooked:
    project = Project.create(tmp_path_factory.mktemp("hooked"))
    config = EXAMPLE.replace("https://example.org/OWNER/code-commit", str(published.root))
    config = config.replace("0" * 40, published.git("rev-parse", "HEAD").strip())
    project.write({".pre-commit-config.yaml": config, "agent-config/gemini-key.txt": KEY})
    project.git("add", ".pre-commit-config.yaml")
    environ = project.environment() | {
        "PATH": without_code_commit(os.environ["PATH"]),
        "PRE_COMMIT_HOME": str(environments),
        # The dependencies and the build backend are already installed: nothing is downloaded.
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        **{
            f"GIT_{who}_{field}": "a@example.org"
            for who in ("AUTHOR", "COMMITTER")
            for field in ("NAME", "EMAIL")
        },
    }
    hooked = Hooked(project, environ)
    finished = hooked.run(sys.executable, "-m", "pre_commit", "install", "--install-hooks")
    assert finished.returncode == 0, finished.stdout
    return hooked


@pytest.fixture
def hooked(installed: Hooked, tmp_path: Path) -> Hooked:
    """Return a copy of the project, for one test."""
    shutil.copytree(installed.project.root, tmp_path / "project")
    (tmp_path / "home").mkdir()
    project = Project(tmp_path / "project", tmp_path / "home")
    return Hooked(project, {**installed.environ, "HOME": str(project.home)})


def without_code_commit(path: str) -> str:
    """Remove folders with the command from `path`: the hooks must run their own."""
    folders = path.split(os.pathsep)
    return os.pathsep.join(
        folder for folder in folders if not (Path(folder) / "code-commit").exists()
    )


def test_the_hooks_have_their_own_environment(hooked: Hooked, environments: Path) -> None:
    assert len(list(environments.glob("repo*/py_env-*/bin/code-commit"))) == 1


def test_a_valid_change_passes_and_updates_the_rollup(hooked: Hooked) -> None:
    completed = hooked.commit({"a.txt": "one\n", "big.lock": "left out\n"})
    assert completed.returncode == 0, completed.stdout
    assert hooked.project.git("log", "--format=%s").splitlines() == ["a change", "start"]
    rollup = hooked.project.read("agent-config/codeRollup.txt")
    assert "--- a.txt ---\none\n" in rollup
    assert "big.lock" not in rollup


def test_a_key_is_not_committed(hooked: Hooked) -> None:
    completed = hooked.commit({"settings.py": f"KEY = {KEY!r}\n"})
    assert completed.returncode == 1
    assert "no API key is committed" in completed.stdout
    assert "settings.py: contains a configured API key" in completed.stdout
    assert KEY not in completed.stdout
    assert hooked.project.git("log", "--format=%s").splitlines() == ["start"]


@pytest.mark.parametrize("name", ["--help", "--version", "-C", "@file", "-h\nx"])
def test_a_file_with_the_name_of_a_flag_does_not_turn_the_check_off(
    hooked: Hooked, name: str
) -> None:
    hooked.project.write({name: "nothing\n", "settings.py": f"KEY = {KEY!r}\n"})
    hooked.project.git("add", "-A")
    finished = hooked.run("git", "commit", "-q", "-m", "a change")
    assert finished.returncode == 1, finished.stdout
    assert "settings.py: contains a configured API key" in finished.stdout


def test_a_file_of_agent_config_is_not_committed(hooked: Hooked) -> None:
    completed = hooked.commit({"agent-config/query.txt": "secret plans\n"}, "--force")
    assert completed.returncode == 1
    assert "agent-config stays out of git" in completed.stdout


def test_a_commit_that_stops_ignoring_agent_config_fails(hooked: Hooked) -> None:
    completed = hooked.commit({".gitignore": "*.o\n"})
    assert completed.returncode == 1
    assert "/agent-config" in completed.stdout


def test_the_example_has_every_hook() -> None:
    [repo] = yaml.safe_load(EXAMPLE)["repos"]
    assert {hook["id"] for hook in repo["hooks"]} == {hook["id"] for hook in HOOKS}


def test_pre_commit_accepts_the_files(tmp_path: Path) -> None:
    for command, path in (
        ("validate-manifest", ROOT / ".pre-commit-hooks.yaml"),
        ("validate-config", ROOT / "examples/pre-commit/.pre-commit-config.yaml"),
    ):
        completed = subprocess.run(
            [sys.executable, "-m", "pre_commit", command, path],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (completed.returncode, completed.stdout + completed.stderr) == (0, "")
