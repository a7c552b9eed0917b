"""What a process in the sandbox sees and can change, place by place, through bubblewrap."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from code_commit_workspace.keys.redaction import Redactor
from code_commit_workspace.process.runner import ProcessRunner
from code_commit_workspace.records import ProcessResult, SandboxSettings

CANARY = "canary-5f3a9c1e7b"  # in `sandbox_project` too
pytestmark = pytest.mark.usefixtures("bubblewrap")

Run = Callable[..., ProcessResult]

MINUTE = 60.0
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


def below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


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

    off = ProcessRunner(
        project,
        SandboxSettings("off"),
        state_folder="agent-config/.code-commit",
        redactor=Redactor(),
    )

    assert run("echo own").output == b"own\n"
    assert (
        off.run(["bash", "-c", "echo own"], log=tmp_path / "log", timeout=MINUTE).output == b"own\n"
    )
    assert not (project / "planted").exists()


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
