"""What publishes a release and packs the command into a container."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")


@pytest.mark.parametrize(
    ("linter", "files"),
    [
        ("actionlint", [*ROOT.glob(".github/workflows/*.yml")]),
        ("actionlint", [*ROOT.glob("examples/github-action/*.yml")]),
        ("hadolint", [ROOT / "Dockerfile"]),
    ],
)
def test_a_linter_finds_nothing(linter: str, files: list[Path]) -> None:
    if not shutil.which(linter):
        pytest.skip(f"{linter} is not installed; the environment `automation` has it")
    completed = subprocess.run([linter, *files], capture_output=True, text=True, check=False)
    assert (completed.returncode, completed.stdout) == (0, "")


# --- notes ----------------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a checkout with version 1.2.0 and notes of it."""
    for file, text in {
        "core/src/code_commit/__init__.py": '__version__ = "1.2.0"\n',
        "CHANGELOG.md": "# Changes\n\n## 1.2.0 (2026-01-02)\n\n### New\n- A.\n\n## 1.1.0\n- B.\n",
        "release/notes.py": (ROOT / "release/notes.py").read_text("utf-8"),
    }.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text, "utf-8")
    return tmp_path


def notes(checkout: Path, tag: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, checkout / "release/notes.py", tag]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_notes_of_a_release_are_its_section_of_the_change_log(checkout: Path) -> None:
    completed = notes(checkout, "v1.2.0")
    assert (completed.returncode, completed.stdout) == (0, "### New\n- A.\n")


def test_a_tag_of_another_version_or_without_notes_is_no_release(checkout: Path) -> None:
    wrong = notes(checkout, "v1.1.0")
    assert wrong.returncode == 1
    assert "the tag is v1.1.0, and the version of this checkout is 1.2.0" in wrong.stderr
    (checkout / "CHANGELOG.md").write_text("# Changes\n\n## 1.2.0rc1\n- A.\n", "utf-8")
    assert "no section 1.2.0: run `make changelog`" in notes(checkout, "v1.2.0").stderr


# --- the container --------------------------------------------------------------------------------

# A Python like the image's, with the libraries of this environment instead of an index.
PYTHON = """\
#!/bin/sh
set -e
{python!r} "$@"
for folder in "$3"/lib/python*/site-packages; do echo {packages!r} > "$folder/here.pth"; done
"""
RECORDED = '#!/bin/sh\necho "$(basename "$0") $*" >>{log}\n'


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile, each with its arguments."""
    joined = re.sub(r"\\\n", " ", re.sub(r"^ *#.*\n", "", DOCKERFILE, flags=re.MULTILINE))
    lines = (line.partition(" ") for line in joined.splitlines() if line)
    return [(name, arguments.strip()) for name, _, arguments in lines]


def copied() -> list[str]:
    """Return what .dockerignore lets in."""
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    return [line[1:] for line in lines if line.startswith("!")]


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    path.chmod(0o755)


def test_the_steps_of_the_container_install_the_command(tmp_path: Path) -> None:
    """Each step runs in a plain folder that stands for `/`; what changes a system is recorded."""
    log = tmp_path / "log"
    packages = sysconfig.get_path("purelib")
    program(tmp_path / "bin/python", PYTHON.format(python=sys.executable, packages=packages))
    for name in ("apt-get", "useradd"):
        program(tmp_path / "bin" / name, RECORDED.format(log=log))
    environ = {
        "PATH": f"{tmp_path}/bin:/usr/bin:/bin",
        "HOME": str(tmp_path / "home"),
        "EXTRAS": "commit",
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # which means none
    }

    def placed(text: str) -> str:
        """Return a text with its absolute paths below the folder."""
        return re.sub(r"(?<![\w.*])/(?=\w)", f"{tmp_path}/", text)

    cwd = tmp_path
    entrypoint = []
    for name, arguments in instructions():
        match name:
            case "WORKDIR":
                cwd = Path(placed(arguments))
                cwd.mkdir(parents=True, exist_ok=True)
            case "COPY" if arguments == ". .":
                for path in copied():
                    copy = shutil.copytree if (ROOT / path).is_dir() else shutil.copy
                    copy(ROOT / path, cwd / path)
            case "RUN":
                shell = ["/bin/sh", "-ec", placed(arguments)]
                completed = subprocess.run(
                    shell, cwd=cwd, env=environ, capture_output=True, text=True, check=False
                )
                assert completed.returncode == 0, completed.stderr
            case "ENV":
                for setting in arguments.split():
                    key, _, value = setting.partition("=")
                    environ[key] = placed(value).replace("$PATH", environ["PATH"])
            case "ENTRYPOINT":
                entrypoint = json.loads(arguments)
            case _:
                assert (name, arguments) in {
                    ("FROM", "python:3.13-slim AS build"),
                    ("FROM", "python:3.13-slim"),
                    ("ARG", "EXTRAS=gemini,openai,anthropic,report"),
                    ("COPY", "--from=build /opt/code-commit /opt/code-commit"),
                    ("USER", "1000"),
                }
    assert cwd == tmp_path / "project"
    assert entrypoint == ["code-commit"]
    # An installation of its own: not that of this environment.
    shutil.rmtree(tmp_path / "source")
    [installed] = (tmp_path / "opt/code-commit").glob("lib/python*/site-packages/code_commit")
    printed = subprocess.check_output(
        ["code-commit", "plugins", "--json"], cwd=cwd, env=environ, text=True
    )
    versions = json.loads(printed)["plugins"]
    assert {"commit", "history"} <= {plugin["name"] for plugin in versions}
    assert installed.stat().st_mode & 0o004
    assert (tmp_path / "home/code-commit").stat().st_mode & 0o7777 == 0o1777
    recorded = log.read_text("utf-8")
    assert re.search(r"^apt-get install .* bash bubblewrap git$", recorded, re.MULTILINE)
    assert "useradd --uid 1000" in recorded
