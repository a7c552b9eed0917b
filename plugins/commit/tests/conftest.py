"""Projects, a model with scripted answers, and the build of a project."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

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

    def __call__(
        self, answers: Sequence[str], *arguments: str, settings: str = "", **environ: str
    ) -> Finished:
        self.script(answers, settings)
        environ |= NO_SANDBOX
        return self.project.command(*arguments, plugins=[self.plugins], environ=environ)

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


CHOOSER = """
import json
from code_commit.plugin_api import hookimpl
from code_commit_commit.hooks import Context, Selection


def choose(request):
    told = json.loads((request.project.root / "agent-config/choice.json").read_text())
    if told.get("raises"):
        raise ValueError(told["raises"])
    if told.get("returns"):
        return told["returns"]
    if told.get("records"):
        told["reason"] = json.dumps([request.query, list(request.paths), request.tokens, list(request.named)])
    return Selection(paths=told.get("paths", []), map=told.get("map", {}), reason=told.get("reason", ""))


def related(request, failure, changed):
    told = json.loads((request.project.root / "agent-config/choice.json").read_text())
    if told.get("related") is None:
        raise ValueError("no relations")
    return told["related"]


@hookimpl(optionalhook=True)
def code_commit_contexts(settings):
    return [Context("{name}", "chooses what a file says", choose, related)]
"""


@dataclass(frozen=True)
class Chooser:
    """Runs the workflow with a context that chooses what a test says."""

    change: Change
    folder: Path
    plugins: list[Path]
    files: Mapping[str, str]

    def __call__(
        self, answers: Sequence[str], *arguments: str, settings: str = "", **choice: Any
    ) -> Finished:
        project = self.change.project
        project.write({"agent-config/choice.json": json.dumps({"related": [], **choice})})
        self.change.script(answers, settings)
        environ = {"CODE_COMMIT_SANDBOX": "off"}
        return self.command(*arguments, environ=environ)

    def add(self, name: str) -> None:
        """Install another such context."""
        self.plugins.append(install_plugin(self.folder / name, name, self.code(name)))

    def code(self, name: str) -> str:
        """Return the code of the plugin."""
        return CHOOSER.replace("{name}", name)

    def command(self, *arguments: str, **options: Any) -> Finished:
        """Run the command without the contexts of code-commit-context."""
        if find_spec("code_commit_context"):
            arguments = (*arguments, "--disable-plugin=context")
        return self.change.project.command(*arguments, plugins=self.plugins, **options)

    def prompt(self, number: int = 1) -> str:
        """Return a prompt of the latest run."""
        return self.change.prompts()[number - 1]

    def shown(self, number: int = 1) -> list[str]:
        """Return the files whose text a prompt of the latest run has."""
        codebase = self.prompt(number).partition("[codebase]\n")[2].partition("[file replace")[0]
        return [
            line[4:-4]
            for line in codebase.splitlines()
            if line.startswith("--- ") and line.endswith(" ---")
        ]

    def others(self, number: int = 1) -> str:
        """Return the section of a prompt about files that it does not show."""
        return self.prompt(number).partition("[other files]\n")[2].partition("[query]\n")[0]

    @staticmethod
    def events(finished: Finished, kind: str) -> list[dict[str, Any]]:
        """Return the data of the events of a kind."""
        return [event["data"] for event in finished.events if event["kind"] == kind]


@pytest.fixture
def choose(change: Change, tmp_path: Path) -> Chooser:
    files = {f"src/{name}.py": f"def {name}():\n    return {name!r}\n" for name in "bcdefg"}
    change.project.write(files)
    (change.project.root / "agent-config/codeRollup.txt").unlink()
    chooser = Chooser(change, tmp_path, [change.plugins], files)
    code = chooser.code("chosen")
    chooser.plugins.append(install_plugin(tmp_path / "chooser", "chooser", code))
    return chooser
