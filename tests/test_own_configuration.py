"""No run that writes begins where a build or a reply could change the user's own configuration of
the next run.
"""

from __future__ import annotations

import os
import pwd
import subprocess
from pathlib import Path

import pytest

from code_commit.plugin_api import python_command
from code_commit_testing import Finished, Project, Reply, ScriptedServer

KEY = "sk-canary-0123456789-key7Q"
CHANGE = "^^^a.txt\ngood\n^^^end\n"
MOVED = "error: your own configuration {path}{way} is in the project {root}: a build or a reply could change"


def run(
    project: Project, *flags: str, environ: dict[str, str] | None = None
) -> tuple[Finished, int]:
    """Run a change; return how it ended and the number of calls."""
    with ScriptedServer([Reply(CHANGE), Reply(CHANGE)]) as server:
        variables = {"OPENAI_API_KEY": KEY, **server.environment(), **(environ or {})}
        finished = project.command("--model", "gpt-5", *flags, environ=variables)
        return finished, len(server.requests)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project.create(
        tmp_path / "made", build="true\n", files={"a.txt": "old\n", "dots/note": "x\n"}
    )
    (project.home / "elsewhere").mkdir()
    return project


def own(project: Project, text: str) -> Path:
    path = project.home / ".config/code-commit/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# Where a link is, where it leads, and the place that is in the project, if it is not the file
# itself.
LINKS = {
    "the folder of all configurations": (".config", "{root}/dots", "{root}/dots"),
    "that of ours": (".config/code-commit", "{root}/dots", "{root}/dots"),
    "the file": (".config/code-commit/config.toml", "{root}/dots/own.toml", "{root}/dots"),
    "what does not exist": (".config", "{root}/none/deep", "{root}/none"),
    "through a link that leads out": (".config", "{root}/out", "{root}/out"),
    "through a folder": (".config/code-commit", "{root}/dots/../../home/elsewhere", "{root}/dots"),
}


@pytest.mark.parametrize(("link", "target", "place"), LINKS.values(), ids=LINKS)
def test_a_link_into_the_project_ends_the_run(
    project: Project, link: str, target: str, place: str
) -> None:
    (project.root / "out").symlink_to(project.home / "elsewhere")
    (project.home / link).parent.mkdir(parents=True, exist_ok=True)
    (project.home / link).symlink_to(target.format(root=project.root))

    finished, calls = run(project, "--sandbox", "off")

    assert (finished.exit_code, calls, project.read("a.txt")) == (3, 0, "old\n")
    way = f" leads through {place.format(root=project.root)}, which"
    path = project.home / ".config/code-commit/config.toml"
    assert MOVED.format(path=path, way=way, root=project.root) in finished.stderr
    assert "hint: move it out of the project, or set XDG_CONFIG_HOME to" in finished.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
@pytest.mark.parametrize(
    ("source", "target", "place"),
    [
        ("project/dots", "home/.config", "project/dots"),
        ("project/dots/note", "home/.config/code-commit/config.toml", "project/dots/note"),
        ("home/.config", "project/dots", "project/dots"),
        ("home/elsewhere", "project/dots", None),
        ("home", "home/elsewhere", None),
    ],
)
def test_a_mount_that_shows_the_configuration_in_the_project_ends_the_run(
    project: Project, source: str, target: str, place: str | None
) -> None:
    own(project, "")
    project.write({"dots/note": ""})
    folder = project.root.parent
    mount = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
    command = python_command("code_commit", "--model", "gpt-5", "--sandbox", "off")
    inside = [
        "unshare",
        "-m",
        "sh",
        "-c",
        mount,
        "sh",
        str(folder / source),
        str(folder / target),
        *command,
    ]

    with ScriptedServer([Reply(CHANGE)]) as server:
        environ = project.environment({"OPENAI_API_KEY": KEY, **server.environment()})
        completed = subprocess.run(
            inside, cwd=project.root, env=environ, capture_output=True, text=True, check=False
        )

    words = f"leads through {folder}/{place}, which is in the project" if place else ""
    assert (completed.returncode, words in completed.stderr) == (3 if place else 0, True), (
        completed.stderr
    )


@pytest.mark.parametrize("mode", ["off", "auto", "require"])
@pytest.mark.parametrize(
    "variables", [{"XDG_CONFIG_HOME": "{}/dots"}, {"HOME": "{}/dots", "XDG_CONFIG_HOME": ""}]
)
def test_a_configuration_in_the_project_ends_the_run(
    project: Project, mode: str, variables: dict[str, str]
) -> None:
    environ = {name: value.format(project.root) for name, value in variables.items()}

    finished, calls = run(project, "--sandbox", mode, environ=environ)

    assert (finished.exit_code, calls, project.read("a.txt")) == (3, 0, "old\n")
    assert f"error: your own configuration {project.root}/dots/" in finished.stderr
    assert not (project.root / "logs").exists()


@pytest.mark.parametrize("name", ["HOME", "XDG_CONFIG_HOME"])
def test_a_configuration_below_the_working_directory_is_never_read(
    project: Project, name: str
) -> None:
    """It ends the run or is ignored, as platformdirs does it."""
    project.write(
        {"dots/code-commit/config.toml": "[[", "dots/.config/code-commit/config.toml": "[["}
    )

    finished, calls = run(project, environ={"XDG_CONFIG_HOME": "", name: "dots"})

    assert (finished.exit_code, calls) in {(0, 1), (3, 0)}
    assert "config.toml, line 1" not in finished.stderr
    reasons = ("your own configuration would be dots/", "there is no home folder dots")
    assert any(reason in finished.stderr for reason in reasons) == (finished.exit_code == 3)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (
            '[providers.x.y]\napi_key_file = "{root}/dots/key"',
            "the api_key_file of your own configuration, {root}",
        ),
        (
            '[providers.x.y]\napi_key_file = "{root}/out/key"',
            "leads through {root}/out, which is in the project",
        ),
        (
            '[providers.x.y]\napi_key_file = "{home}/tool/key"\n[sandbox]\nwritable = ["~/tool"]',
            "is in {home}/tool",
        ),
        (
            '[sandbox]\nwritable = ["~/.config"]',
            "leads through {home}/.config/code-commit, which is in",
        ),
        (
            '[sandbox]\nwritable = ["{root}/out"]',
            "sandbox.writable of your own configuration, {root}/out is in",
        ),
        (
            '[sandbox]\nwritable = ["~/tool", "~/tool/link"]',
            "writable of your own configuration, {home}/tool/link is",
        ),
        (
            '[sandbox]\nreadable = ["~/tool/link"]\nwritable = ["~/tool"]',
            "readable of your own configuration, {home}",
        ),
    ],
)
def test_what_the_configuration_names_is_out_of_reach_too(
    project: Project, setting: str, words: str
) -> None:
    (project.root / "out").symlink_to(project.home / "elsewhere")
    (project.home / "tool").mkdir()
    (project.home / "tool/link").symlink_to(project.home / "elsewhere")
    own(project, setting.format(root=project.root, home=project.home))

    finished, calls = run(project)

    assert (finished.exit_code, calls, project.read("a.txt")) == (3, 0, "old\n")
    assert words.format(root=project.root, home=project.home) in finished.stderr
    hints = (
        "name another place in {home}/.config/code-commit/config.toml",
        "set XDG_CONFIG_HOME to another place",
    )
    assert any(f", or {hint.format(home=project.home)}" in finished.stderr for hint in hints)


def test_a_key_file_of_the_private_folder_may_be_named(project: Project) -> None:
    own(project, f'[providers.openai.default]\napi_key_file = "{project.root}/agent-config/k.txt"')
    project.write({"agent-config/k.txt": KEY})

    assert run(project)[0].exit_code == 0


@pytest.mark.parametrize(
    "flags", [["--dry-run"], ["--task", "do it"], ["--autonomous"], ["init"], ["doctor"]]
)
def test_every_workflow_that_writes_is_refused(project: Project, flags: list[str]) -> None:
    (project.home / ".config").symlink_to(project.root / "dots")
    command = flags if not flags[0].startswith("-") else ["--model", "gpt-5", *flags]

    with ScriptedServer([]) as server:
        finished = project.command(
            *command, environ={"OPENAI_API_KEY": KEY, **server.environment()}
        )

    assert (finished.exit_code, len(server.requests)) == (3, 0), finished.stderr
    assert "your own configuration" in finished.stdout + finished.stderr


def test_what_only_reads_and_undo_go_on(project: Project) -> None:
    assert run(project)[0].exit_code == 0
    (project.home / ".config").symlink_to(project.root / "dots")
    project.write({"UserSpecification.md": "Write good files.\n"})

    with ScriptedServer([Reply("# Specification Inconsistencies\n\nnone\n")] * 2) as server:
        environ = {"OPENAI_API_KEY": KEY, **server.environment()}
        assert project.command("rollup").exit_code == 0
        project.command("--consistency-check", "--model", "gpt-5", environ=environ)
        assert len(server.requests) == 1
    assert project.command("undo").exit_code == 0
    assert project.read("a.txt") == "old\n"


@pytest.mark.usefixtures("bubblewrap")
def test_what_a_link_in_its_place_leads_to_is_hidden_from_builds(project: Project) -> None:
    own(project, "").unlink()
    project.write({"build.sh": "cat ~/elsewhere/own.toml > seen.txt; true\n"})
    (project.home / "elsewhere/own.toml").write_text(
        '[providers.openai.default]\napi_key = "sk-canary-of-the-user"\n'
    )
    (project.home / ".config/code-commit/config.toml").symlink_to("../../elsewhere/own.toml")

    finished, _ = run(project, "--sandbox", "require")

    assert (finished.exit_code, project.read("seen.txt")) == (0, ""), finished.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root to become an unknown account")
def test_an_account_without_a_home_folder_sees_its_runs(project: Project) -> None:
    unknown = max(entry.pw_uid for entry in pwd.getpwall()) + 1
    environ = project.environment()
    without = {name: environ[name] for name in environ if name not in {"HOME", "XDG_CONFIG_HOME"}}

    finished = subprocess.run(
        ["setpriv", f"--ruid={unknown}", *python_command("code_commit", "runs", "list")],
        cwd=project.root,
        env=without,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout == "there are no runs yet\n"
