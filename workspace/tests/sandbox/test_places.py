"""What a process in the sandbox sees and can change, place by place, through bubblewrap."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import pytest

from code_commit_workspace.errors import NotReady
from code_commit_workspace.keys.redaction import Redactor
from code_commit_workspace.process.runner import ProcessRunner
from code_commit_workspace.records import ProcessResult, SandboxSettings

CANARY = "canary-5f3a9c1e7b"  # in `sandbox_project` too
MINUTE = 60.0
pytestmark = pytest.mark.usefixtures("bubblewrap")

Run = Callable[..., ProcessResult]


def below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


STORES = (
    *(
        ".ssh/id_ed25519",
        ".aws/credentials",
        ".gnupg/private-keys-v1.d/a.key",
        ".netrc",
        ".git-credentials",
    ),
    *(
        ".docker/config.json",
        ".kube/config",
        ".config/gcloud/credentials.db",
        ".config/gh/hosts.yml",
        ".azure/tokens",
    ),
    *(
        ".config/code-commit/config.toml",
        ".cargo/credentials.toml",
        ".bash_history",
        ".local/share/keyrings/a",
    ),
)


def test_no_credential_is_seen(run: Run, home: Path) -> None:
    for name in STORES:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(CANARY)

    result = run(f"grep -rs {CANARY} ~ .; cat ~/.netrc && test -f ~/.netrc; echo x > ~/.netrc")

    assert CANARY.encode() not in result.output
    assert b".netrc: Read-only file system" in result.output
    assert {name for name in STORES if (home / name).read_text() != CANARY} == set()


@pytest.mark.parametrize("exists", [True, False])
def test_no_process_makes_or_moves_a_configuration(run: Run, home: Path, exists: bool) -> None:
    folder = home / ".config/code-commit"
    folder.parent.mkdir()
    if exists:
        folder.mkdir()
        (folder / "config.toml").write_text("model = 'x'\n")
    before = below(home)
    script = """
        mv ~/.config/code-commit ~/.config/old; mv ~/.config ~/.old; mkdir -p ~/.config/code-commit ~/.ssh
        echo x > ~/.config/code-commit/config.toml; echo x > ~/.netrc; echo x > ~/.gitconfig; rm -rf ~/.config; true
    """

    assert run(script, hidden=(folder,)).passed
    assert {
        path for path in below(home) ^ before if not path.startswith(".cache/code-commit")
    } == set()


def test_the_cache_is_private_and_kept_for_the_project(run: Run, home: Path) -> None:
    (home / ".cache/pip").mkdir()
    (home / ".cache/pip/wheel").write_text("the user's")

    assert (
        run("ls ~/.cache/pip; mkdir ~/.cache/made && touch ~/.cache/made/here /tmp/gone").exit_code
        == 0
    )
    result = run("ls ~/.cache/made; test ! -e /tmp/gone && echo $XDG_CACHE_HOME")

    assert result.output == f"here\n{home}/.cache\n".encode()
    assert (home / ".cache/pip/wheel").read_text() == "the user's"
    assert not (home / ".cache/made").exists()
    assert not list(home.glob(".cache/code-commit/sandbox/*/run-*"))


@pytest.mark.parametrize(
    "closed", ["chmod 000 ~/.cache", "mkdir -p ~/.cache/puppeteer/x; chmod 000 ~/.cache/puppeteer"]
)
def test_no_build_closes_the_cache_for_the_next_one(
    run: Run, home: Path, closed: str, no_privileges: None
) -> None:
    assert run(closed).passed
    (home / ".cache/puppeteer").mkdir()
    (home / ".cache/puppeteer/browser").touch()

    assert run("touch ~/.cache/made && ls ~/.cache/puppeteer").output == b"browser\n"


@pytest.mark.parametrize("kind", ["missing", "a link", "a link to nothing"])
def test_without_a_plain_cache_a_variable_names_the_private_one(
    run: Run, home: Path, tmp_path: Path, kind: str
) -> None:
    (home / ".cache").rmdir()
    if kind != "missing":
        (home / ".cache").symlink_to(tmp_path / "cache")
    if kind == "a link":
        (tmp_path / "cache").mkdir()
    before = below(tmp_path / "cache") if kind == "a link" else set()

    result = run(
        "touch $XDG_CACHE_HOME/made && cat $XDG_CACHE_HOME/made && touch $GRADLE_USER_HOME.x && echo ok"
    )

    assert result.output == b"ok\n"
    if kind == "a link":
        made = {
            path
            for path in below(tmp_path / "cache") - before
            if not path.startswith("code-commit")
        }
        assert made == set()


def test_what_was_downloaded_on_purpose_is_seen_and_read_only(run: Run, home: Path) -> None:
    (home / ".cache/ms-playwright").mkdir()
    (home / ".cache/ms-playwright/browser").write_text("there")
    # What an earlier process left in its place leads nowhere.
    run("ln -s /oldroot/etc ~/.cache/huggingface; touch ~/.cache/puppeteer")
    for name in ("huggingface", "puppeteer"):
        (home / ".cache" / name).mkdir()

    result = run(
        "cat ~/.cache/ms-playwright/browser; touch ~/.cache/{ms-playwright,huggingface,puppeteer}/x"
    )

    assert result.output.startswith(b"there")
    assert result.output.count(b"Read-only file system") == 3


def test_nested_repositories_and_rules_cannot_be_changed(run: Run, project: Path) -> None:
    for folder in ("a/b/sub", "a/other", "with\nnewline"):
        (project / folder / ".git/hooks").mkdir(parents=True)
        (project / folder / ".git/config").write_text("[core]\n")
        (project / folder / ".gitignore").write_text("*.o\n")
        (project / folder / "code").write_text("old")
    before = below(project)
    script = """
        for d in a/b/sub a/other $'with\\nnewline'; do
            cd "$d"; echo x > .git/config; rm -rf .git; mv .git x; echo x > .gitignore; mv "$PWD" "${PWD}x"; echo new > code; cd -
        done
        mv a x; mv a/b a/x; rm -rf a; true
    """

    result = run(script)

    assert (result.exit_code, result.tampered) == (0, ())
    assert below(project) == before - {"a/b/sub/code", "a/other/code"}
    assert (project / "with\nnewline/code").read_text() == "new\n"


def test_many_rules_are_read_only_or_compared(run: Run, project: Path) -> None:
    for number in range(40):
        (project / f"package{number:02}").mkdir()
        (project / f"package{number:02}/.gitignore").write_text("*.o\n")

    result = run("for each in package*/.gitignore; do echo x > $each; done; true")

    changed = {
        str(path.relative_to(project))
        for path in project.glob("*/.gitignore")
        if path.read_text() != "*.o\n"
    }
    assert 0 < len(changed) < 10
    assert set(result.tampered) == changed


@pytest.mark.parametrize(
    ("mode", "count"), [("require", 100), ("auto", 33), ("auto", 100), ("require", 32)]
)
def test_more_nested_repositories_than_can_be_protected(
    run: Run, project: Path, mode: str, count: int
) -> None:
    for number in range(count):
        (project / f"sub{number:03}/.git").mkdir(parents=True)
    runner = ProcessRunner(project, SandboxSettings(mode), redactor=Redactor())  # type: ignore[arg-type]
    try:
        if count > 32 and mode == "require":
            with pytest.raises(
                NotReady, match=f"only 32 of {count} nested git repositories are protected"
            ) as told:
                runner.look_ahead()
            assert told.value.hint == "pass --sandbox auto or off"
        else:
            assert runner.sandbox_in_use == "bubblewrap"
            assert (f"only 32 of {count}" in runner.sandbox_warning()) == (count > 32)
            assert runner.sandbox_warning() == ""
    finally:
        runner.remove_private_folders()


def test_nested_repositories_of_many_owners_are_protected(run: Run, project: Path) -> None:
    """As in a folder of dependencies by service, owner and name, a usual place for them."""
    for number in range(32):
        (project / f"vendor/example.org/owner{number:02}/name/.git").mkdir(parents=True)

    result = run(
        "for each in vendor/*/*/*/.git; do touch $each/config; done; mv vendor/example.org/owner31 x; true"
    )

    assert result.output.count(b"Read-only file system") == 32
    assert b"Device or resource busy" in result.output


def test_the_code_of_this_program_cannot_be_changed(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / ".venv/lib/site-packages/pluggy").mkdir(parents=True)
    (project / "src/ours").mkdir(parents=True)
    monkeypatch.setattr(sys, "prefix", str(project / ".venv"))
    monkeypatch.syspath_prepend(str(project / "src/ours"))
    for name in ("code_commit_x", "code_commit_x.part", "other"):
        (project / "lib" / name).mkdir(parents=True)
        module = ModuleType(name)
        module.__file__ = str(project / "lib" / name / "__init__.py")
        monkeypatch.setitem(sys.modules, name, module)

    result = run(
        "touch .venv/lib/site-packages/pluggy/x src/ours/x; for each in lib/*; do touch $each/x; done; mv .venv v; mv src s; touch src/x"
    )

    assert [path.parent.name for path in sorted(project.glob("lib/*/x"))] == [
        "code_commit_x.part",
        "other",
    ]
    assert result.output.count(b"Read-only file system") == 3
    assert result.output.count(b"Device or resource busy") == 2
    assert (project / "src/x").exists()


def test_a_file_with_another_name_outside_is_replaced_by_a_copy(
    run: Run, project: Path, home: Path
) -> None:
    (home / ".cache/uv").mkdir()
    (home / ".cache/uv/module.py").write_text("theirs\n")
    (home / ".cache/uv/module.py").chmod(0o750)
    (project / ".venv").mkdir()
    for name in ("a.py", "b.py"):
        os.link(home / ".cache/uv/module.py", project / ".venv" / name)
    (project / "x").write_text("ours")
    os.link(project / "x", project / "y")

    assert run(
        "echo planted >> .venv/a.py; ls -i .venv | cut -d' ' -f1 | sort -u | wc -l; stat -c %a .venv/b.py"
    ).passed

    assert (home / ".cache/uv/module.py").read_text() == "theirs\n"
    assert (project / ".venv/b.py").read_text() == "theirs\nplanted\n"
    assert (project / ".venv/b.py").stat().st_mode & 0o777 == 0o750
    assert (project / "x").stat().st_ino == (project / "y").stat().st_ino


def test_what_the_user_opens_is_open_and_nothing_more(run: Run, home: Path) -> None:
    for name in ("tool/deep", ".aws", "other"):
        (home / name).mkdir(parents=True)
    (home / ".aws/credentials").write_text("shown")
    (home / ".netrc").write_text(CANARY)
    (home / ".composer").mkdir()
    (home / ".composer/auth.json").write_text(CANARY)

    result = run(
        "touch ~/tool/deep/x ~/.composer/x ~/other/x ~/.aws/x; cat ~/.aws/credentials ~/.netrc ~/.composer/*; mv ~/tool ~/moved",
        writable=(home / "tool", home / ".composer"),
        readable=(home / ".aws",),
    )

    assert b"shown" in result.output
    assert CANARY.encode() not in result.output
    assert (home / "tool/deep/x").exists()
    assert (home / ".composer/x").exists()
    assert result.output.count(b"Read-only file system") == 3


def test_no_program_can_be_put_on_the_path(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "tool/bin").mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{home}/tool/bin{os.pathsep}{os.environ['PATH']}")

    result = run(
        "touch ~/tool/x ~/tool/bin/git; mv ~/tool/bin ~/tool/old", writable=(home / "tool",)
    )

    assert result.output.count(b"Read-only file system") == 1
    assert result.output.count(b"Device or resource busy") == 1
    for opened in ("tool/bin", "tool/bin/below"):
        with pytest.raises(NotReady, match="is on PATH"):
            run("true", writable=(home / opened,))


def test_of_a_folder_on_the_path_below_tmp_nothing_beside_it_is_shown(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not tmp_path.is_relative_to("/tmp"):
        pytest.skip("the temporary folders are elsewhere")
    for path in ("tools/own/run", "tools/private", "kit/bin/run", "kit/lib/part"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    monkeypatch.setenv(
        "PATH",
        f"{tmp_path}/tools/own{os.pathsep}{tmp_path}/kit/bin{os.pathsep}{os.environ['PATH']}",
    )

    assert run(f"cd '{tmp_path}'; echo tools/* kit/*").output == b"tools/own kit/bin kit/lib\n"


def test_bash_is_not_the_projects(
    run: Run, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "bin").mkdir()
    (project / "bin/bash").write_text("#!/bin/sh\ntouch planted\n")
    (project / "bin/bash").chmod(0o755)
    monkeypatch.setenv("PATH", f"{project}/bin{os.pathsep}{os.environ['PATH']}")

    off = ProcessRunner(project, SandboxSettings("off"), redactor=Redactor())

    assert run("echo own").output == b"own\n"
    assert (
        off.run(["bash", "-c", "echo own"], log=tmp_path / "log", timeout=MINUTE).output == b"own\n"
    )
    assert not (project / "planted").exists()


@pytest.mark.parametrize("opened", ["", ".config", "..", ".cache", ".cache/code-commit/sandbox/x"])
def test_a_folder_that_holds_what_is_hidden_cannot_be_opened(
    run: Run, home: Path, opened: str
) -> None:
    with pytest.raises(NotReady, match=r"sandbox\.writable: .* which no process can"):
        run("true", writable=(home / opened,), hidden=(home / ".config/code-commit",))


@pytest.mark.parametrize("setting", ["writable", "readable"])
def test_what_is_always_hidden_cannot_be_opened(run: Run, project: Path, setting: str) -> None:
    with pytest.raises(NotReady, match="is in a folder that processes must not see"):
        run("true", **{setting: (project.parent, project / "agent-config/key.txt")})


@pytest.mark.parametrize("mode", ["auto", "require"])
@pytest.mark.parametrize("folder", ["/", "~", "~/.."])
def test_a_project_that_holds_the_home_folder_is_refused(
    home: Path, mode: str, folder: str
) -> None:
    runner = ProcessRunner(Path(folder).expanduser(), SandboxSettings(mode), redactor=Redactor())  # type: ignore[arg-type]

    with pytest.raises(NotReady, match="the sandbox cannot protect it") as told:
        runner.look_ahead()
    what = (
        "is the root of the file system" if folder == "/" else f"is or holds the home folder {home}"
    )
    assert told.value.message.startswith(f"the project {os.path.realpath(runner._root)} {what}: ")
    assert told.value.hint == "work in a subfolder, or pass --sandbox off"


@pytest.mark.parametrize("mode", ["auto", "require"])
@pytest.mark.parametrize(
    ("home_folder", "message", "hint"),
    [
        (
            "/proc/self",
            "private temporary folders cannot be created in",
            "set XDG_CACHE_HOME to a writable folder",
        ),
        ("/nobody", "there is no home folder /nobody", "set HOME to one"),
    ],
)
def test_without_a_home_folder_no_process_starts(
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    home_folder: str,
    message: str,
    hint: str,
) -> None:
    monkeypatch.setenv("HOME", home_folder)
    runner = ProcessRunner(project, SandboxSettings(mode), redactor=Redactor())  # type: ignore[arg-type]

    with pytest.raises(NotReady, match=f"no sandbox for {project}: {message}") as told:
        runner.look_ahead()
    assert told.value.hint.startswith(hint)
    assert told.value.hint.endswith(", or pass --sandbox off")
    assert not Path("/nobody").exists()


def test_the_kernel_is_out_of_reach(run: Run) -> None:
    result = run(
        "echo x > /proc/sys/kernel/core_pattern; echo b > /proc/sysrq-trigger; mknod disk b 254 0;"
        "mount -t tmpfs none /mnt; grep CapEff /proc/self/status; ls -d /proc/[0-9]* | wc -l"
    )

    seen = (
        run("awk '$2 ~ /^.proc./ {print $2, substr($4, 1, 2)}' /proc/mounts")
        .output.decode()
        .splitlines()
    )
    names = ["sys", "pressure"]
    if os.geteuid() == 0:
        names += ["acpi", "bus", "dynamic_debug", "fs", "irq", "mtrr", "scsi", "sysrq-trigger"]
    closed = {f"/proc/{name}" for name in names if Path("/proc", name).exists()}
    closed |= {path for path in ("/proc/keys", "/proc/key-users") if Path(path).exists()}
    assert set(seen) == {f"{path} ro" for path in closed}
    assert b"CapEff:\t0000000000000000\n" in result.output
    assert int(result.output.split()[-1]) < 10


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_root_works_in_the_project_of_another_user(run: Run, project: Path) -> None:
    (project / "closed").mkdir(mode=0o700)
    for path in (project, project / "build.sh", project / "closed"):
        os.chown(path, 65534, 65534)

    result = run(
        "touch closed/made && chown 65534 closed/made && chmod 600 build.sh; grep CapEff /proc/self/status"
    )

    assert (project / "closed/made").stat().st_uid == 65534
    assert b"CapEff:\t000000000000000b\n" in result.output


ACCOUNT = """
import sys
from pathlib import Path
from code_commit_workspace.process.runner import ProcessRunner
from code_commit_workspace.records import SandboxSettings
from code_commit_workspace.keys.redaction import Redactor

root = Path(sys.argv[1])
runner = ProcessRunner(root, SandboxSettings("require"), redactor=Redactor())
result = runner.run(["bash", "-c", sys.argv[2]], log=root.parent / "log", timeout=60.0)
print(result.exit_code, result.tampered, result.output)
runner.remove_private_folders()
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that another account may enter.

    Whenever pytest starts, it closes the one above every `tmp_path`.
    """
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests show it")
def test_an_account_without_privileges_has_the_same_sandbox(open_folder: Path) -> None:
    source = Path(__file__).parents[2] / "src"
    home = open_folder / "account"
    (home / "project/agent-config").mkdir(parents=True)
    (home / "project/build.sh").write_text("true\n")
    (home / "project/agent-config/key").write_text(CANARY)
    (home / ".netrc").write_text(CANARY)
    for path in (home, *home.rglob("*")):
        os.chown(path, 65534, 65534)
    python = "/usr/bin/python3"
    account = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", python, "-c", ACCOUNT]
    script = "touch made ~/x build.sh; cat agent-config/key ~/.netrc; id -u; grep CapEff /proc/self/status"
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(home), "PYTHONPATH": str(source)}

    probe = subprocess.run(
        [*account[:4], python, "-c", f"open({str(source / 'code_commit_workspace/errors.py')!r})"],
        check=False,
    )
    if probe.returncode:
        pytest.skip("another account cannot read this checkout")
    done = subprocess.run(
        [*account, str(home / "project"), script],
        env=environ,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("0 ()"), done.stdout
    assert "65534\\nCapEff:\\t0000000000000000" in done.stdout
    assert done.stdout.count("Read-only file system") == 2
    assert CANARY not in done.stdout
    assert (home / "project/made").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="about root")
def test_root_that_may_not_mount_works_as_another_user_would(project: Path) -> None:
    (project / "script").write_text("touch made ~/x build.sh; ls agent-config; id -u\n")
    command = [
        "setpriv",
        "--bounding-set=-sys_admin",
        sys.executable,
        "-c",
        ACCOUNT,
        str(project),
        "source ./script",
    ]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.stdout.startswith("0 () "), done.stdout + done.stderr
    assert r"\n0\n" in done.stdout
    assert done.stdout.count("Read-only file system") == 2
    assert (project / "made").exists()
