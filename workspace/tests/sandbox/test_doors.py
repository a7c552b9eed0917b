"""No link, file or folder of a project shows what the sandbox hides, or switches the sandbox
off.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from code_commit_workspace.errors import NotReady
from code_commit_workspace.keys.redaction import Redactor
from code_commit_workspace.process.runner import ProcessRunner
from code_commit_workspace.records import ProcessResult, SandboxSettings

CANARY = "canary-5f3a9c1e7b"  # in `sandbox_project` too
pytestmark = pytest.mark.usefixtures("bubblewrap")

Run = Callable[..., ProcessResult]
NAMES = (".git", ".gitignore", ".gitattributes", "build.sh", "logs", "CACHEDIR.TAG")
READ_ALL = (
    f"for each in $(find . -name '*' -not -type d); do cat $each; done; grep -rs {CANARY} . ~; true"
)


@pytest.fixture
def secrets(home: Path, project: Path, tmp_path: Path) -> list[Path]:
    """Files that no build may read: a key, credentials, and what others keep in places that the
    sandbox replaces.
    """
    files = [home / ".ssh/id_rsa", home / ".cache/other/token", project / "agent-config/key.txt"]
    if tmp_path.is_relative_to("/tmp"):  # which is private in the sandbox
        files.append(tmp_path / "neighbor.txt")
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(CANARY)
    return files


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("above", [False, True], ids=["the file", "the folder above"])
def test_a_link_shows_nothing(
    run: Run, project: Path, secrets: list[Path], name: str, above: bool
) -> None:
    for number, secret in enumerate(secrets):
        target = secret.parent if above else secret
        folder = project / f"s{number}"
        folder.mkdir()
        (folder / name).symlink_to(target)
        (project / f"r{number}").mkdir()
        (project / f"r{number}" / name).symlink_to(os.path.relpath(target, project / f"r{number}"))

    result = run(
        READ_ALL, read_only=("logs", *(f"s{number}/{name}" for number in range(len(secrets))))
    )

    assert CANARY.encode() not in result.output


def test_a_folder_behind_a_link_is_not_entered(
    run: Run, project: Path, home: Path, secrets: list[Path]
) -> None:
    (home / ".ssh/.gitignore").write_text(CANARY)
    (home / ".ssh/.git").mkdir()
    (home / ".ssh/.git/config").write_text(CANARY)
    (project / "deep").symlink_to(home / ".ssh")

    result = run(
        f"{READ_ALL}; cat deep/.gitignore deep/.git/config", read_only=("deep/id_rsa", "deep/.git")
    )

    assert CANARY.encode() not in result.output


def test_a_link_to_a_socket_opens_none(
    run: Run, project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / "run"
    folder.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(folder)  # the path of a socket is short
        server.bind("docker.sock")
        server.listen()
        for number, name in enumerate((".gitignore", ".git")):
            (project / f"s{number}").mkdir()
            (project / f"s{number}" / name).symlink_to(folder / "docker.sock")
        connect = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
        result = run(
            f'for each in s0/.gitignore s1/.git; do python3 -c "{connect}" $each && echo open; done; true'
        )

    assert b"open" not in result.output
    assert result.passed


@pytest.mark.parametrize("place", ["PATH", "sys.path"])
def test_a_link_on_a_search_path_shows_nothing(
    run: Run, project: Path, secrets: list[Path], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, secret in enumerate(secrets):
        link = project / f"bin{number}"
        link.symlink_to(secret.parent)
        if place == "PATH":
            monkeypatch.setenv("PATH", f"{link}{os.pathsep}{os.environ['PATH']}")
        else:
            monkeypatch.syspath_prepend(str(link))

    result = run(f"cat {' '.join(map(str, secrets))}; true")

    assert CANARY.encode() not in result.output


def test_a_link_that_a_build_plants_is_named(run: Run, project: Path, home: Path) -> None:
    result = run("mkdir new; ln -s ~/.ssh/id_rsa new/.gitignore; ln -s ../agent-config new/.git")

    assert result.tampered == ("new/.git", "new/.gitignore")


def test_what_is_hidden_in_a_shared_cache_is_hidden_there(run: Run, home: Path) -> None:
    for folder in (home / ".cache/huggingface", home / "disk/models"):
        folder.mkdir(parents=True)
        (folder / "token").write_text(CANARY)
        (folder / "model").write_text("seen")
    assert run("cat ~/.cache/huggingface/*; true").output == b"seen"

    (home / ".cache/huggingface/token").unlink()
    (home / ".cache/huggingface/model").unlink()
    (home / ".cache/huggingface").rmdir()
    (home / ".cache/huggingface").symlink_to(home / "disk/models")
    assert run("cat ~/.cache/huggingface/* ~/disk/models/*; true").output == b"seenseen"


def test_a_shared_cache_that_leads_to_what_is_hidden_is_refused(run: Run, home: Path) -> None:
    (home / ".ssh").mkdir()
    (home / ".cache/huggingface").symlink_to(home / ".ssh")

    with pytest.raises(
        NotReady, match=r"/\.cache/huggingface would show .*/\.ssh, which is hidden"
    ):
        run("true", mode="auto")


def loop_of_rules(project: Path) -> None:
    (project / "sub").mkdir()
    (project / "sub/.gitignore").symlink_to(".gitignore")


def loop_of_repositories(project: Path) -> None:
    (project / "w").mkdir()
    (project / "w/.git").symlink_to(".git")


def circle_of_links(project: Path) -> None:
    for name, target in (("a", "b"), ("b", "a")):
        (project / name).mkdir()
        (project / name / ".gitignore").symlink_to(f"../{target}/.gitignore")
        (project / name / ".git").symlink_to(f"../{target}/.git")


def loop_through_folders(project: Path) -> None:
    (project / "one").symlink_to("two")
    (project / "two").symlink_to("one")
    (project / "self").symlink_to(".")


def rules_below_deep_folders(project: Path) -> None:
    for top in range(40):
        folder = project / f"t{top}" / "/".join("d" * 120)
        folder.mkdir(parents=True)
        (folder / ".gitignore").write_text("*.o\n")


def repositories_below_deep_folders(project: Path) -> None:
    for top in range(5):
        (project / f"t{top}" / "/".join("d" * 100) / ".git").mkdir(parents=True)


def long_names(project: Path) -> None:
    folder = project / ("n" * 250) / ("m" * 250)
    folder.mkdir(parents=True)
    (folder / ".gitignore").write_text("*.o\n")


def special_files(project: Path) -> None:
    for name in (".git", ".gitattributes"):
        (project / f"of{name}").mkdir()
        os.mkfifo(project / f"of{name}" / name)


@pytest.mark.parametrize(
    "tree",
    [
        loop_of_rules,
        loop_of_repositories,
        circle_of_links,
        loop_through_folders,
        rules_below_deep_folders,
        repositories_below_deep_folders,
        long_names,
        special_files,
    ],
    ids=lambda tree: tree.__name__,
)
def test_no_tree_switches_the_sandbox_off(
    run: Run, project: Path, tree: Callable[[Path], None]
) -> None:
    tree(project)

    result = run("cat agent-config/key.txt; touch made ~/x", mode="auto")

    assert b"agent-config/key.txt: No such file" in result.output
    assert b"Read-only file system" in result.output
    assert (project / "made").exists()


def test_deep_repositories_are_named_as_unprotected(project: Path) -> None:
    repositories_below_deep_folders(project)
    for mode in ("auto", "require"):
        runner = ProcessRunner(
            project,
            SandboxSettings(mode),  # type: ignore[arg-type]
            state_folder="agent-config/.code-commit",
            redactor=Redactor(),
        )
        try:
            if mode == "require":
                with pytest.raises(
                    NotReady, match="only 2 of 5 nested git repositories are protected"
                ):
                    runner.look_ahead()
            else:
                assert (
                    runner.sandbox_warning() == "only 2 of 5 nested git repositories are protected"
                )
        finally:
            runner.remove_private_folders()


@pytest.mark.skipif(os.geteuid() != 0, reason="another account is refused before bubblewrap starts")
@pytest.mark.parametrize("mode", ["auto", "require"])
def test_a_project_that_bubblewrap_cannot_hold_is_refused(
    run: Run, project: Path, mode: str
) -> None:
    """The sandbox works on this machine, so that a failure is the project's."""
    project.chmod(0o000)  # root passes, but not in the sandbox, where it has no capability
    try:
        with pytest.raises(NotReady, match=f"no sandbox for {project}: .*") as caught:
            run("touch ~/ran", mode=mode)
    finally:
        project.chmod(0o755)
    assert caught.value.hint == "remove what is in the way, or pass --sandbox off"


@pytest.mark.parametrize("kind", ["closed", "file", "loop", "long"])
def test_nothing_on_the_path_switches_the_sandbox_off(
    run: Run, home: Path, kind: str, monkeypatch: pytest.MonkeyPatch, no_privileges: None
) -> None:
    place = home / "place"
    if kind == "closed":
        (place / "bin").mkdir(parents=True)
        place.chmod(0o000)
    elif kind == "file":
        place.write_text("")
    elif kind == "loop":
        place.symlink_to(place)
    named = "n" * 5000 if kind == "long" else "place"
    for variable in ("XDG_DATA_HOME", "PNPM_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(variable, f"{home}/{named}/x")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{home}/{named}/x")
    monkeypatch.setenv("PATH", f"{home}/{named}/bin:{home}/{named}:{os.environ['PATH']}")
    try:
        assert run("cat agent-config/key.txt && exit 1; true", mode="auto").passed
    finally:
        if kind == "closed":
            place.chmod(0o700)


@pytest.mark.parametrize("name", [".aws", ".cargo", ".config", ".ssh"])
def test_a_closed_folder_of_credentials_stays_closed(
    run: Run, home: Path, name: str, no_privileges: None
) -> None:
    (home / name).mkdir()
    (home / name / "credentials").write_text(CANARY)
    (home / name).chmod(0o000)
    try:
        result = run(f"chmod 700 ~/{name}; cat ~/{name}/*; true", mode="auto")
    finally:
        (home / name).chmod(0o700)
    assert CANARY.encode() not in result.output


def test_a_key_in_a_closed_folder_of_the_project_is_hidden(
    run: Run, project: Path, no_privileges: None
) -> None:
    (project / "keys").mkdir()
    (project / "keys/key.txt").write_text(CANARY)
    (project / "keys").chmod(0o000)
    try:
        result = run("chmod 700 keys; cat keys/key.txt; true", hidden=(project / "keys/key.txt",))
    finally:
        (project / "keys").chmod(0o700)
    assert CANARY.encode() not in result.output


@pytest.mark.parametrize(("mode", "tampered"), [(0o400, ()), (0o000, ("q/.git",))])
def test_a_repository_in_a_closed_folder_is_protected_or_named(
    run: Run, project: Path, mode: int, tampered: tuple[str, ...], no_privileges: None
) -> None:
    """What is in a folder that nobody may list is only seen when a build has opened the folder."""
    (project / "q/.git").mkdir(parents=True)
    (project / "q").chmod(mode)
    try:
        result = run("chmod 700 q && echo x > q/.git/config")
    finally:
        (project / "q").chmod(0o700)
    assert result.tampered == tampered
    assert (project / "q/.git/config").exists() == bool(tampered)


IN_A_NAMESPACE = """
import subprocess, sys
from pathlib import Path
from code_commit_workspace.process.runner import ProcessRunner
from code_commit_workspace.records import SandboxSettings
from code_commit_workspace.keys.redaction import Redactor

subprocess.run(["sh", "-ec", sys.argv[2]], check=True)
runner = ProcessRunner(Path(sys.argv[1]), SandboxSettings("require"), state_folder="agent-config/.code-commit", redactor=Redactor())
result = runner.run(["bash", "-c", sys.argv[3]], log=Path(sys.argv[4]), timeout=60.0)
print(result.exit_code, result.output.decode())
runner.remove_private_folders()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
@pytest.mark.parametrize(
    ("mount", "shown"),
    [
        ("mount --bind ~ ~/second", "second/.ssh/id_rsa second/src/project/agent-config/key.txt"),
        ("mount --bind ~/.ssh '{outside}/a b'", "'{outside}/a b/id_rsa'"),
        (
            "mount --bind ~/.ssh/id_rsa ~/second/file; mount --bind ~/second {outside}",
            "second/file",
        ),
        ("mount --rbind / {outside}; mount --bind ~/.ssh ~/second", "'{outside}'$HOME/.ssh/id_rsa"),
        ("mount -t proc proc ~/second", "second/self/environ second/1/cmdline second/mounts"),
    ],
)
def test_a_second_place_of_what_is_hidden_is_hidden(
    home: Path, project: Path, mount: str, shown: str
) -> None:
    """As in containers that show the disk of the machine, and beside a chroot with a procfs of its
    own.
    """
    (home / ".ssh").mkdir()
    (home / ".ssh/id_rsa").write_text(CANARY)
    (home / "second").mkdir()
    (home / "second/file").touch()
    outside = home / "outside"
    (outside / "a b").mkdir(parents=True)
    script = f"cd ~; cat {shown} | grep -q . && exit 1; true"
    arguments = [str(project), mount, script, str(home / "log")]
    command = ["unshare", "-m", sys.executable, "-c", IN_A_NAMESPACE, *arguments]

    completed = subprocess.run(
        [
            argument.format(outside=outside) if argument in {mount, script} else argument
            for argument in command
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert completed.stdout.startswith("0 "), completed.stdout + completed.stderr
    assert CANARY not in completed.stdout
