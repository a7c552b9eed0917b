"""Projects, a model with scripted answers, and the build of a project."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from code_commit_testing import Finished, Project, install_plugin

# The sandbox is shown with the scripts of `init`, and by other distributions; here it would only
# take time.
NO_SANDBOX = {"CODE_COMMIT_SANDBOX": "off"}
SCRIPTED = "from code_commit_testing.scripted_provider import code_commit_providers\n"


@dataclass(frozen=True)
class Change:
    """Runs the commit workflow in `project` with scripted answers.

    The build passes if a.txt contains "good".
    """

    project: Project
    plugins: Path

    def __call__(self, answers: Sequence[str], *arguments: str, settings: str = "") -> Finished:
        self.script(answers, settings)
        return self.project.command(*arguments, plugins=[self.plugins], environ=NO_SANDBOX)

    def script(self, answers: Sequence[str], settings: str = "") -> None:
        model = '[providers]\ndefault_provider = "scripted.default"\n[providers.scripted.default]\n'
        config = f"{model}replies = {json.dumps(answers)}\n{settings}\n"
        self.project.write({"agent-config/config.toml": config})

    def show(self) -> None:
        """Write a rollup by hand that has every visible file as it is now."""
        listed = self.project.git("ls-files", "-co", "--exclude-standard", "-z").split("\0")
        files = [path for path in sorted(set(listed)) if (self.project.root / path).is_file()]
        text = "".join(f"--- {path} ---\n{self.project.read(path)}" for path in files)
        self.project.write({"agent-config/codeRollup.txt": text})

    def prompts(self) -> list[str]:
        """Return the prompts of the latest run."""
        files = self.project.run_folder.glob("[0-9]*-query.txt")
        return [
            path.read_text()
            for path in sorted(files, key=lambda path: int(path.name.split("-")[0]))
        ]

    def result(self) -> dict[str, object]:
        """Return the `data` of the latest run, without that of acceptance checks."""
        document = json.loads((self.project.run_folder / "run.json").read_bytes())
        return {name: value for name, value in document["data"].items() if name != "acceptance"}


@pytest.fixture
def change(tmp_path: Path) -> Change:
    build = 'echo "looking at a.txt"; echo "complaint about $(cat a.txt)" >&2; grep -q good a.txt\n'
    plugins = install_plugin(tmp_path / "plugins", "scripted", SCRIPTED)
    return Change(Project.create(tmp_path, build=build), plugins)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.create(
        tmp_path, files={"b.py": "print(2)\n", "a/x.txt": "no newline"}, rollup=None
    )


@pytest.fixture
def plugins(tmp_path: Path) -> list[Path]:
    return [install_plugin(tmp_path / "plugins", "scripted", SCRIPTED)]


@pytest.fixture
def answered(plugins: list[Path]) -> Callable[..., Finished]:
    """Return a function that runs the command in a project with replies of the model."""

    def run(
        project: Project, *replies: str, settings: str = "", arguments: Sequence[str] = ()
    ) -> Finished:
        model = '[providers]\ndefault_provider = "scripted.default"\n[providers.scripted.default]\n'
        config = f"{model}replies = {json.dumps(replies)}\n{settings}"
        project.write({"agent-config/config.toml": config})
        return project.command(*arguments, plugins=plugins, environ=NO_SANDBOX)

    return run


@pytest.fixture
def project_with() -> Callable[[Path, Mapping[str, str]], Project]:
    """Return a function that creates a project without a build.sh."""

    def create(folder: Path, files: Mapping[str, str]) -> Project:
        project = Project.create(folder, files=dict(files), query=None, rollup=None)
        project.git("rm", "--quiet", "build.sh")
        return project

    return create


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables: a cache folder for all tests, so that pytest is compiled once; and the toolchain
    of the real home.
    """
    rustup = os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup"))
    # The plugins of this environment's pytest would cost more than the tests of a project.
    own = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache")), "RUSTUP_HOME": rustup, **own}


@pytest.fixture
def build() -> Callable[..., Finished]:
    """Return a function that runs the build.sh of a project."""

    def run(
        project: Project, *, path: str | None = None, environ: Mapping[str, str] | None = None
    ) -> Finished:
        environ = project.environment({**(environ or {}), **({"PATH": path} if path else {})})
        done = subprocess.run(
            [shutil.which("bash") or "bash", "build.sh"],
            cwd=project.root,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    return run


RECORDED = '#!/bin/sh\necho "$(basename "$0") $*" >> {calls}\necho "{output}"\n'
USUAL = (
    "bash",
    "sh",
    "env",
    "dirname",
    "basename",
    "find",
    "grep",
    "awk",
    "rm",
    "pwd",
    "xargs",
    "cat",
    "head",
)


@dataclass(frozen=True)
class Stubs:
    """Programs that record how they are called, on a PATH with nothing else but shell tools."""

    folder: Path
    calls: Path

    @property
    def path(self) -> str:
        return str(self.folder)

    def add(self, *names: str, output: str = "") -> None:
        for name in names:
            program = self.folder / name
            program.write_text(RECORDED.format(calls=self.calls, output=output))
            program.chmod(0o755)

    def called(self) -> list[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []


@pytest.fixture
def stubs(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in USUAL:
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    return Stubs(folder, tmp_path / "calls")
