"""The build script runs as its first line says, as the kernel would run it, and a script that
cannot is named.
"""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from code_commit_workspace import NotReady, SandboxSettings, Workspace

SHOW = """\
#!/bin/sh
printf '<%s>' "$@"
"""


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", folder], check=True)
    (folder / ".gitignore").write_text("/agent-config\n")
    return folder


@pytest.fixture
def command(root):
    def command(script):
        (root / "build.sh").write_bytes(script if isinstance(script, bytes) else script.encode())
        with Workspace.open(root, writes=False, private_folder="agent-config") as workspace:
            return workspace.build_command()

    return command


def run(root, tmp_path, mode="off"):
    with Workspace.open(
        root, writes=True, private_folder="agent-config", sandbox=SandboxSettings(mode)
    ) as workspace:
        return workspace.run_build(log=tmp_path / "log", timeout=60)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("false\n", ("bash",)),
        ("", ("bash",)),
        (" #!/bin/sh -e\nfalse\n", ("bash",)),
        ("#!\nfalse\n", ("bash",)),
        ("#! \t\nfalse\n", ("bash",)),
        ("# a comment\n#!/bin/sh\n", ("bash",)),
        ("#!/bin/bash", ("/bin/bash",)),
        ("#!/bin/bash -e\nfalse\n", ("/bin/bash", "-e")),
        ("#! /bin/sh  -e -u \t\n", ("/bin/sh", "-e -u")),
        ("#!\t/bin/sh\t-e\n", ("/bin/sh", "-e")),
        ("#!/usr/bin/env bash\n", ("/usr/bin/env", "bash")),
        ("#!/usr/bin/env -S bash -euo pipefail\n", ("/usr/bin/env", "-S bash -euo pipefail")),
        ("#!/usr/bin/env -S A=1 bash -e\n", ("/usr/bin/env", "-S A=1 bash -e")),
        ("#!/usr/bin/env -S ${MY_SHELL} -e\n", ("/usr/bin/env", "-S ${MY_SHELL} -e")),
        ("#!/usr/bin/env -i\n", ("/usr/bin/env", "-i")),
        ("#!/bin/sh " + "x" * 245 + "\n", ("/bin/sh", "x" * 245)),
    ],
)
def test_the_first_line_names_the_interpreter(command, script, expected):
    assert command(script) == (*expected, "build.sh")


def test_an_interpreter_of_the_project(root, tmp_path, command):
    (root / "show").write_text(SHOW)
    (root / "show").chmod(0o755)
    assert command("#!show a b\n") == ("./show", "a b", "build.sh")
    assert run(root, tmp_path).output == b"<a b><build.sh>"


@pytest.mark.parametrize(
    "line",
    ["#!SHOW", "#!SHOW  one two ", "#! SHOW\tone", "#!SHOW -", "#!/usr/bin/env -S SHOW a  b"],
)
def test_the_kernel_would_do_the_same(root, tmp_path, line):
    show = tmp_path / "show"
    show.write_text(SHOW)
    show.chmod(0o755)
    script = root / "build.sh"
    script.write_text(line.replace("SHOW", str(show)) + "\n")
    output = run(root, tmp_path).output
    script.chmod(0o755)
    kernel = subprocess.run(["./build.sh"], cwd=root, capture_output=True, check=True).stdout
    assert output == kernel.replace(b"./build.sh", b"build.sh")


@pytest.mark.parametrize("mode", ["off", "require"])
@pytest.mark.parametrize(
    ("script", "ending"),
    [
        ("#!/bin/bash -e\nfalse\necho done\n", "ended with exit code 1"),
        ("#!/bin/sh -e\nfalse\necho done\n", "ended with exit code 1"),
        ("#!/usr/bin/env -S bash -euo pipefail\nfalse | true\n", "ended with exit code 1"),
        ("#!/usr/bin/env python3\nimport sys\nsys.exit(7)\n", "ended with exit code 7"),
        ("false\ntrue\n", "ended with exit code 0"),
    ],
)
def test_builds_for_real(request, root, tmp_path, mode, script, ending):
    if mode == "require":
        request.getfixturevalue("bubblewrap")
    (root / "build.sh").write_text(script)
    assert run(root, tmp_path, mode).ending == ending


def refusal(command, script):
    with pytest.raises(NotReady) as caught:
        command(script)
    assert caught.value.hint
    return caught.value.message


@pytest.mark.parametrize(
    ("script", "line"),
    [
        ("#!/bin/bash\r\nset -e\r\n", 1),
        ("#!/bin/bash\nset -e\r\nfalse\r\n", 2),
        ("true\nfalse\r\r\n", 2),
        ("true\nfalse\r", 2),
        ("#!/bin/bash\rset -e\rfalse\r", 1),
    ],
)
def test_carriage_returns(command, script, line):
    assert f"line {line} of build.sh has a carriage return" in refusal(command, script)


def test_a_carriage_return_inside_a_line_is_the_scripts_own(command):
    assert command("#!/bin/sh\nprintf 'a\rb'\n") == ("/bin/sh", "build.sh")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (b"\x7fELF\x02\x01\x01\x00\x00", "build.sh is a binary file, not a script"),
        ("#!/bin/sh -e\n".encode("utf-16"), "build.sh is a binary file, not a script"),
        (b"\xef\xbb\xbf#!/bin/bash -e\n", "build.sh begins with a byte order mark"),
        (
            "#!/bin/sh " + "x" * 246 + "\n",
            "the first line of build.sh has 256 bytes; Linux cuts it after 255",
        ),
        (
            "#!/no/such/shell -e\n",
            "the interpreter /no/such/shell, which the first line of build.sh names, does not exist",
        ),
        (
            "#!/etc/passwd\n",
            "the interpreter /etc/passwd, which the first line of build.sh names, is not an executable",
        ),
        (
            "#!/usr/bin\n",
            "the interpreter /usr/bin, which the first line of build.sh names, is not an executable file",
        ),
        (
            "#!python3\n",
            "the interpreter ./python3, which the first line of build.sh names, does not exist in ",
        ),
        (
            "#!/usr/bin/env no-such-program\n",
            "no-such-program, which the first line of build.sh names, was not found",
        ),
        (
            "#!/usr/bin/env bash -e\n",
            "bash -e, which the first line of build.sh names, was not found on PATH",
        ),
        (
            "#!/usr/bin/env -S no-such-program -e\n",
            "no-such-program, which the first line of build.sh names, was not",
        ),
    ],
)
def test_what_cannot_run(command, script, reason):
    assert refusal(command, script).startswith(reason)


def test_a_build_script_that_is_no_file(root, tmp_path):
    with Workspace.open(root, writes=False, private_folder="agent-config") as workspace:
        with pytest.raises(NotReady, match=r"there is no build\.sh here"):
            workspace.build_command()
        (tmp_path / "real").write_text("true\n")
        (root / "build.sh").symlink_to(tmp_path / "real")
        with pytest.raises(NotReady, match=r"build\.sh is a link"):
            workspace.build_command()
        (root / "build.sh").unlink()
        os.mkfifo(root / "build.sh")
        with pytest.raises(NotReady, match=r"build\.sh is not a readable regular file"):
            workspace.build_command()


def test_a_missing_bash(root, command, tmp_path, monkeypatch):
    assert command("true\n") == ("bash", "build.sh")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").symlink_to(shutil.which("git"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert refusal(command, "true\n") == "bash was not found on PATH"
    assert command("#!/bin/sh\n") == ("/bin/sh", "build.sh")


def test_another_name(root):
    (root / "make.sh").write_text("#!/bin/sh -e\n")
    with Workspace.open(
        root, writes=False, private_folder="agent-config", build_script="make.sh"
    ) as workspace:
        assert workspace.build_command() == ("/bin/sh", "-e", "make.sh")


def tool(root, content):
    (root / "i").write_text(content)
    (root / "i").chmod(0o755)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            "#!/no/such\n",
            "the interpreter /no/such, which the first line of ./i names, does not exist",
        ),
        ("#!./i\n", "Linux does not start ./i: too many scripts"),
        (
            "exit 0\n",
            "the interpreter ./i, which the first line of build.sh names, is a text without a first line",
        ),
        (
            "",
            "the interpreter ./i, which the first line of build.sh names, is a text without a first line",
        ),
        (
            "#!/usr/bin/env no-such-program\n",
            "no-such-program, which the first line of ./i names, was not found",
        ),
    ],
)
def test_an_interpreter_that_cannot_start(root, command, content, reason):
    tool(root, content)
    assert refusal(command, "#!./i\n").startswith(reason)


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        ("-i bash", "env takes `-i bash` in the first line of build.sh as one option"),
        ("-- no-such", "env takes `-- no-such` in the first line of build.sh as one option"),
        (
            "-S -u X no-such",
            "no-such, which the first line of build.sh names, was not found on PATH",
        ),
        ("-S -i -- no-such", "no-such, which"),
        ("-iS no-such", "no-such, which"),
        ("./no-such", "./no-such, which"),
    ],
)
def test_env_cannot_start(command, argument, reason):
    assert refusal(command, f"#!/usr/bin/env {argument}\n").startswith(reason)


@pytest.mark.parametrize(
    "argument", ["-S -u X sh", "-S -i sh", "-iS sh", "-S -i PATH=/x no-such", "-S -C / x", "./i"]
)
def test_env_can_start_or_that_is_not_plain(root, command, argument):
    tool(root, "#!/bin/sh\n")
    assert command(f"#!/usr/bin/env {argument}\n") == ("/usr/bin/env", argument, "build.sh")


def test_a_link_whose_target_is_missing(root, command):
    (root / "i").symlink_to("/no/such/target")
    assert refusal(command, "#!./i\n").endswith(
        "names, is a link to /no/such/target, which is missing"
    )


@pytest.mark.parametrize("place", ["tools", "home/.cache", "project/agent-config", "home/bin"])
@pytest.mark.parametrize("line", ["#!TOOL", "#!/usr/bin/env TOOL", "#!LINK"])
def test_an_interpreter_that_the_sandbox_hides(
    bubblewrap, sandbox_home, root, tmp_path, place, line
):
    shown = tmp_path / "shown"
    shown.mkdir()
    (tmp_path / place).mkdir(parents=True, exist_ok=True)
    tool(tmp_path / place, SHOW)
    (root / "link").symlink_to(tmp_path / place / "i")
    named = line.replace("TOOL", str(tmp_path / place / "i")).replace("LINK", "./link")
    (root / "build.sh").write_text(f"{named}\n")

    def build(mode):
        settings = SandboxSettings(mode, hidden=(root / "agent-config",))
        with Workspace.open(
            root, writes=True, private_folder="agent-config", sandbox=settings
        ) as workspace:
            return workspace.run_build(log=tmp_path / "log", timeout=60).output

    assert build("off") == b"<build.sh>"
    if place == "home/bin":
        assert build("require") == b"<build.sh>"
        return
    with pytest.raises(NotReady, match=r"which builds in the sandbox do not see") as caught:
        build("require")
    assert caught.value.hint == "use one in another folder, or pass --sandbox off"
