"""What a forge and pre-commit read of this repository: its workflow and the hooks for its
contributors.
"""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

yaml = pytest.importorskip(
    "yaml", reason="workflows are YAML; the environment `automation` has PyYAML"
)
pytest.importorskip(
    "pre_commit", reason="pre-commit runs the hooks; the environment `automation` has it"
)

ROOT = Path(__file__).parents[2]
CI = (ROOT / ".github/workflows/ci.yml").read_text("utf-8")


def test_the_workflow_has_every_python_of_the_matrix() -> None:
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini", "utf-8")
    pythons = {
        f"3.{minor}"
        for group in re.findall(r"py3\{([\d, ]+)\}", tox["tox"]["env_list"])
        for minor in group.split(", ")
    }
    steps = yaml.safe_load(CI)["jobs"]["matrix"]["steps"]
    (listed,) = (
        step["with"]["python-version"] for step in steps if "python-version" in step.get("with", {})
    )
    assert set(listed.split()) == pythons


def test_the_workflow_installs_the_programs_of_the_tests() -> None:
    needed = set(re.findall(r"(\w+):\w+", (ROOT / ".ci/run").read_text("utf-8")))
    preinstalled = {"openssl", "chromium"}
    packages = {"bwrap": "bubblewrap"}
    assert [name for name in needed - preinstalled if packages.get(name, name) not in CI] == []


@pytest.mark.parametrize(
    ("message", "exit_code"),
    [
        (
            "s" * 72
            + "\n\n"
            + "A line of the body may be as long as it wants, because nobody cuts it off anywhere.",
            0,
        ),
        ("s" * 73 + "\n", 1),
    ],
    ids=["72 characters", "73 characters"],
)
def test_a_hook_refuses_a_long_subject(message: str, exit_code: int, tmp_path: Path) -> None:
    shutil.copy(ROOT / ".pre-commit-config.yaml", tmp_path)
    (tmp_path / "message").write_text(message, "utf-8")
    environ = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "cache")}
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", ".pre-commit-config.yaml"], cwd=tmp_path, check=True)
    command = ["run", "--hook-stage", "commit-msg", "--commit-msg-filename", "message", "subject"]
    completed = subprocess.run(
        [sys.executable, "-m", "pre_commit", *command],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == exit_code, completed.stdout + completed.stderr
