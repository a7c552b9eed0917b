"""The sandbox through the command: what a build cannot do to the next run, and what is refused
before a call.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import code_commit_workspace
from code_commit_testing import Finished, Project, Reply, ScriptedServer

KEY = "sk-canary-0123456789-key7Q"
CHANGE = "^^^a.txt\ngood\n^^^end\n"


def run(
    project: Project, *flags: str, environ: dict[str, str] | None = None
) -> tuple[Finished, int]:
    """Run a change; return how it ended and the number of calls."""
    with ScriptedServer([Reply(CHANGE), Reply(CHANGE)]) as server:
        variables = {"OPENAI_API_KEY": KEY, **server.environment(), **(environ or {})}
        finished = project.command("--model", "gpt-5", "--repairs", "0", *flags, environ=variables)
        return finished, len(server.requests)


@pytest.mark.usefixtures("bubblewrap")
def test_a_build_changes_nothing_that_another_run_or_program_reads(tmp_path: Path) -> None:
    build = """
        mv ~/.config/code-commit ~/.config/old; mkdir -p ~/.config/code-commit
        printf '[providers.openai.default]\\nbase_url = "http://127.0.0.1:1"\\n' > ~/.config/code-commit/config.toml
        git config --global filter.x.clean 'touch /tmp/filtered'; echo 'x' >> ~/.bashrc; mkdir ~/.ssh
        echo x > /proc/sys/kernel/core_pattern; for p in $OWN; do echo 'raise SystemExit' >> $p; done
        true
    """
    project = Project.create(tmp_path, build=build)
    (project.home / ".config").mkdir(exist_ok=True)
    before = {path for path in project.home.rglob("*") if project.root not in path.parents}
    own = [Path(module.__file__) for module in (shutil, pytest, code_commit_workspace)]
    contents = [path.read_bytes() for path in own]

    finished, calls = run(project, "--sandbox", "require", environ={"OWN": " ".join(map(str, own))})

    assert (finished.exit_code, calls) == (0, 1), finished.stderr
    after = {path for path in project.home.rglob("*") if project.root not in path.parents}
    assert {path for path in after - before if ".cache" not in path.parts} == set()
    assert [path.read_bytes() for path in own] == contents


@pytest.mark.parametrize(
    ("flags", "config", "words"),
    [
        (["--sandbox", "require"], "", "no sandbox: bubblewrap (bwrap) is not installed"),
        ([], "sandbox.network = false\n", "builds cannot run without a network: bubblewrap"),
        (
            ["--sandbox", "require"],
            "sandbox.network = false\n",
            "no sandbox: bubblewrap (bwrap) is not installed",
        ),
    ],
)
def test_without_bubblewrap_nothing_is_paid_for(
    tmp_path: Path, flags: list[str], config: str, words: str
) -> None:
    project = Project.create(tmp_path, build="true\n")
    project.write({"agent-config/config.toml": config})

    finished, calls = run(project, *flags, environ={"PATH": path_without_bubblewrap(tmp_path)})

    assert (finished.exit_code, calls, project.read("a.txt")) == (3, 0, "old\n")
    assert f"error: {words}" in finished.stderr


def test_without_bubblewrap_auto_says_once_what_is_open(tmp_path: Path) -> None:
    project = Project.create(tmp_path, build="true\n")

    finished, calls = run(project, environ={"PATH": path_without_bubblewrap(tmp_path)})

    assert (finished.exit_code, calls) == (0, 1)
    assert (
        finished.stderr.count(
            "no sandbox: bubblewrap (bwrap) is not installed; builds and commands can read and change"
        )
        == 1
    )


def path_without_bubblewrap(folder: Path) -> str:
    tools = folder / "tools"
    tools.mkdir()
    for name in ("git", "bash", "sh", "true"):
        program = shutil.which(name)
        assert program
        (tools / name).symlink_to(program)
    return str(tools)


@pytest.mark.usefixtures("bubblewrap")
@pytest.mark.parametrize("mode", ["auto", "require"])
@pytest.mark.parametrize("home", ["/nonexistent", "/proc/self"])
def test_without_a_home_folder_to_write_to_nothing_is_paid_for(
    tmp_path: Path, home: str, mode: str
) -> None:
    project = Project.create(tmp_path, build="true\n")

    finished, calls = run(project, "--sandbox", mode, environ={"HOME": home})

    assert (finished.exit_code, calls, project.read("a.txt")) == (3, 0, "old\n")
    assert "error: no sandbox for " in finished.stderr


@pytest.mark.parametrize("mode", ["auto", "require"])
def test_a_project_that_is_the_home_folder_is_refused(tmp_path: Path, mode: str) -> None:
    project = Project.create(tmp_path, build="true\n")

    finished, calls = run(project, "--sandbox", mode, environ={"HOME": str(project.root)})

    assert (finished.exit_code, calls, project.read("a.txt")) == (3, 0, "old\n")
    assert "is or holds the home folder" in finished.stderr


@pytest.mark.usefixtures("bubblewrap")
@pytest.mark.skipif(os.geteuid() != 0, reason="takes root to limit namespaces for one process")
def test_where_user_namespaces_are_forbidden_nothing_is_paid_for(tmp_path: Path) -> None:
    """Root without the capability to mount, in a namespace that allows no further ones."""
    project = Project.create(tmp_path, build="true\n")
    with ScriptedServer([Reply(CHANGE)]) as server:
        variables = project.environment({"OPENAI_API_KEY": KEY, **server.environment()})
        inside = 'echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --bounding-set=-sys_admin "$@"'
        command = ["unshare", "-Ur", "bash", "-c", inside, "-", sys.executable, "-m", "code_commit"]
        completed = subprocess.run(
            [*command, "--model", "gpt-5", "--sandbox", "require"],
            cwd=project.root, env=variables, capture_output=True, text=True, check=False,
        )  # fmt: skip
        calls = len(server.requests)

    assert (completed.returncode, calls, project.read("a.txt")) == (3, 0, "old\n"), completed.stderr
    assert "error: no sandbox: bubblewrap does not work" in completed.stderr


@pytest.mark.usefixtures("bubblewrap")
def test_a_failed_build_says_what_to_open(tmp_path: Path) -> None:
    project = Project.create(tmp_path, build="touch ~/.tool\n")

    finished, _ = run(project, "--sandbox", "require")

    assert finished.exit_code == 1
    assert 'sandbox.writable = ["~/.tool"]' in finished.stderr


@pytest.mark.usefixtures("bubblewrap")
@pytest.mark.skipif(
    not (shutil.which("ccache") and shutil.which("gcc")), reason="needs gcc and ccache"
)
def test_the_second_run_builds_with_the_caches_of_the_first(tmp_path: Path) -> None:
    build = """
        echo 'int main(void) { return 0; }' > main.c
        ccache -z > /dev/null && ccache gcc -c main.c -o main.o && ccache --print-stats > stats
    """
    project = Project.create(tmp_path, build=build)
    misses = []
    for _ in range(2):
        project.write({"a.txt": "old\n"})
        finished, _ = run(project, "--sandbox", "require")
        assert finished.exit_code == 0, finished.stderr
        misses.append("cache_miss\t1\n" in project.read("stats"))

    assert misses == [True, False]
    assert not (project.home / ".cache/ccache").exists()


@pytest.mark.parametrize("way", ["a missing folder", "a linked folder", "a linked program"])
def test_no_build_can_plant_a_program_that_the_next_run_takes(tmp_path: Path, way: str) -> None:
    project = Project.create(tmp_path, build="true\n")
    tool, links = project.home / "tool", project.home / "links"
    for folder in (tool / "version1", links):
        folder.mkdir(parents=True)
    real = Path(shutil.which("git") or "")
    if way == "a linked folder":
        (tool / "current").symlink_to("version1")
    elif way == "a linked program":
        (tool / "version1/git").symlink_to(real)
        (links / "git").symlink_to(tool / "version1/git")
    folder = {"a missing folder": tool / "bin", "a linked folder": tool / "current"}.get(way, links)
    config = (
        Path(project.environment({}).get("XDG_CONFIG_HOME") or project.home / ".config")
        / "code-commit"
    )
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[sandbox]\nwritable = ["~/tool"]\n')

    finished, calls = run(project, environ={"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"})

    assert (finished.exit_code, calls, project.read("a.txt")) == (3, 0, "old\n")
    assert f"error: sandbox.writable: {tool} holds what {folder}" in finished.stderr


@pytest.mark.usefixtures("bubblewrap")
def test_no_build_leads_a_folder_of_the_path_to_its_programs(tmp_path: Path) -> None:
    """As where a shell puts `node_modules/.bin` on the path: a build can link it to the private
    cache.
    """
    project = Project.create(
        tmp_path, build="mkdir ~/.cache/planted\n", gitignore="/agent-config\n/logs\n/tools\n"
    )
    (project.home / ".cache").mkdir()
    environ = {"PATH": f"{project.root}/tools{os.pathsep}{os.environ['PATH']}"}
    assert run(project, environ=environ)[0].exit_code == 0
    planted = next((project.home / ".cache/code-commit/sandbox").glob("*/cache/planted"))
    for name in ("git", "bash", "bwrap"):
        (planted / name).write_text(
            f'#!/bin/sh\ntouch "{project.home}/ran"\nexec {shutil.which(name)} "$@"\n'
        )
        (planted / name).chmod(0o755)
    (project.root / "tools").symlink_to(planted)
    project.write({"a.txt": "old\n", "build.sh": "true\n"})

    finished, calls = run(project, environ=environ)

    assert (finished.exit_code, calls) == (0, 1), finished.stderr
    assert not (project.home / "ran").exists()


@pytest.mark.usefixtures("bubblewrap")
def test_links_of_a_clone_show_nothing_and_do_not_open_the_sandbox(tmp_path: Path) -> None:
    project = Project.create(tmp_path, build="cat s*/.gitignore w/.git; touch ~/escaped; true\n")
    (project.home / ".ssh").mkdir()
    (project.home / ".ssh/id_rsa").write_text("canary-5f3a9c1e7b")
    project.write({"agent-config/other-key.txt": "canary-5f3a9c1e7b"})
    targets = (
        "../agent-config/other-key.txt",
        str(project.home / ".ssh/id_rsa"),
        ".gitignore",
        "../s4/.gitignore",
    )
    for number, target in enumerate(targets):
        (project.root / f"s{number}").mkdir()
        (project.root / f"s{number}/.gitignore").symlink_to(target)
    (project.root / "w").mkdir()
    (project.root / "w/.git").symlink_to(".git")
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "Add links")

    finished, calls = run(project)

    assert (finished.exit_code, calls) == (0, 1), finished.stderr
    output = (project.run_folder / "1-build.txt").read_text()
    assert "sandbox: bubblewrap\n" in output
    assert "canary" not in output
    assert output.count("No such file or directory") + output.count("Permission denied") >= 2
    assert not (project.home / "escaped").exists()


@pytest.mark.usefixtures("bubblewrap")
def test_doctor_names_what_keeps_the_sandbox_from_working(tmp_path: Path) -> None:
    project = Project.create(tmp_path, build="true\n")

    finished = project.command("doctor", environ={"HOME": "/nonexistent"})

    assert finished.exit_code == 3, finished.stdout
    assert f"no sandbox for {project.root}: there is no home folder /nonexistent" in finished.stdout
