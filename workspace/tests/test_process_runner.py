"""Builds and commands, run for real: exit codes, output, logs, environment, and what cannot be
started.
"""

from __future__ import annotations

import os
import resource
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from code_commit_workspace.errors import Interrupted, NotReady
from code_commit_workspace.keys.redaction import Redactor
from code_commit_workspace.process.runner import ProcessRunner
from code_commit_workspace.process.sandbox.sandbox import Sandbox
from code_commit_workspace.records import SandboxSettings
from code_commit_workspace.stop import STOP

KEY = "sk-canary-0123456789"
MINUTE = 60.0
HANDLES = Path("/proc/self/fd")


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    return root


@pytest.fixture
def scope():
    with STOP.child() as scope:
        yield scope


@pytest.fixture(params=["bubblewrap", "off"])
def runner(request, project, scope):
    if request.param == "bubblewrap":
        request.getfixturevalue("bubblewrap")
    mode = "require" if request.param == "bubblewrap" else "off"
    return ProcessRunner(
        project,
        SandboxSettings(
            mode, secret_variables=frozenset({"GEMINI_API_KEY"}), secret_prefixes=("CODE_COMMIT_",)
        ),
        scope=scope,
        state_folder="agent-config/.code-commit",
        redactor=Redactor([KEY]),
    )


@pytest.fixture
def run(runner, tmp_path):
    def run(script, **more):
        return runner.run(["bash", "-c", script], log=tmp_path / "log.txt", timeout=MINUTE, **more)

    return run


def test_a_build_that_passes(run, project):
    result = run("pwd; echo careful >&2; echo made > made.txt")

    assert result.passed
    assert (result.exit_code, result.timed_out, result.tampered) == (0, False, ())
    assert result.output == f"{project}\ncareful\n".encode()
    assert (project / "made.txt").read_text() == "made\n"
    assert result.log.read_text().endswith(
        f"\n--- output ---\n{project}\ncareful\n\n--- end ---\nended with exit code 0\n"
    )


def test_a_build_that_fails(run):
    result = run("echo out; exit 42")

    assert result.exit_code == 42
    assert not result.passed
    assert result.log.read_text().endswith("\nout\n\n--- end ---\nended with exit code 42\n")


def test_the_log_names_command_and_isolation(runner, run):
    assert (
        run("true")
        .log.read_text()
        .startswith(f"command: bash -c true\nsandbox: {runner.sandbox_in_use}\n")
    )


def test_nothing_waits_on_stdin(run):
    assert run("cat; echo done").output == b"done\n"


def test_stdin_is_what_was_given_also_when_no_one_reads_it(run):
    assert run("cat", stdin=b"a\0b" * 100_000).output.startswith(b"a\0b")
    assert run("exit 0", stdin=b"x" * 1_000_000).passed


def test_output_is_kept_as_bytes(run):
    assert (
        run(r"printf '\xff\xfe\0\r\n'; printf 'no newline' >&2").output
        == b"\xff\xfe\0\r\nno newline"
    )


def test_much_output_needs_little_memory(project, tmp_path):
    runner = ProcessRunner(
        project,
        SandboxSettings("off", log_limit=6_000_000),
        state_folder="agent-config/.code-commit",
        redactor=Redactor([KEY]),
    )
    script = "yes $(printf %099d 0 | tr 0 .) | head -c 14000000; head -c 1000000 /dev/zero >&2"
    tracemalloc.start()
    try:
        result = runner.run(["bash", "-c", script], log=tmp_path / "log.txt", timeout=MINUTE)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert result.passed
    assert b"\n[... 14737856 bytes left out ...]\n" in result.output
    assert len(result.output) < 300_000
    assert peak < 8_000_000
    assert 6_000_000 < result.log.stat().st_size < 6_010_000


def test_a_key_in_the_output_is_seen_by_no_one(run, project):
    (project / "pieces").write_text("\n".join(KEY))
    result = run(
        "while IFS= read -rn1 c; do printf %s $c; done < pieces; echo; tr -d '\\n' < pieces >&2"
    )

    assert result.output == b"***89\n***89"
    assert KEY not in result.log.read_text()


def test_a_key_in_the_command_is_not_logged(runner, tmp_path):
    assert (
        KEY not in runner.run(["echo", KEY], log=tmp_path / "log", timeout=MINUTE).log.read_text()
    )


def test_the_environment_holds_no_keys(run, monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", "another-key-of-a-provider")
    monkeypatch.setenv("SOME_URL", f"https://user:{KEY}@host/")
    monkeypatch.setenv("CODE_COMMIT_PROVIDERS__OPENAI__X__API_KEY", "third-key")
    monkeypatch.setenv("HARMLESS", "stays")

    environment = dict(line.partition("=")[::2] for line in run("env").output.decode().splitlines())

    assert environment["HARMLESS"] == "stays"
    assert environment["PATH"] == os.environ["PATH"]
    assert (
        not {"GEMINI_API_KEY", "SOME_URL", "CODE_COMMIT_PROVIDERS__OPENAI__X__API_KEY"}
        & environment.keys()
    )


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["no-such-command-anywhere"], 127),
        (["./no-such-file"], 127),
        (["./plain-file"], 126),
        (["./folder"], 126),
        (["./bad-interpreter"], 127),
        (["echo", "nul\0byte"], 126),
        (["bash", "-c", "x" * 4_000_000], 126),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_cannot_be_started_gives_the_shells_exit_code(runner, project, tmp_path, argv, code):
    (project / "plain-file").write_text("text")
    (project / "folder").mkdir()
    (project / "bad-interpreter").write_text("#!/no/such/interpreter\n")
    (project / "bad-interpreter").chmod(0o755)

    result = runner.run(argv, log=tmp_path / "log.txt", timeout=MINUTE)

    assert result.exit_code == code
    assert not result.passed
    assert f"exit code {code}" in result.log.read_text()


def test_a_death_by_signal_is_no_success(runner, run):
    result = run("kill -SEGV $$")

    assert result.exit_code == (None if runner.sandbox_in_use == "off" else 139)
    assert not result.passed


def test_the_exit_code_of_a_shell_that_lost_its_command_is_kept(run):
    assert run("bash -c 'kill -9 $$'; exit $?").exit_code == 137


def test_a_script_may_kill_its_own_group(run):
    assert run("trap : TERM; sleep 1000 & kill -TERM 0; wait; exit 5").exit_code == 5


def test_signals_have_their_usual_meaning_inside(run):
    assert run("yes | head -1; echo ${PIPESTATUS[0]}").output == b"y\n141\n"


def test_a_folder_that_is_gone_is_named(runner, project, tmp_path):
    project.rmdir()

    with pytest.raises(NotReady, match=r"project.* is gone"):
        runner.run(["true"], log=tmp_path / "log", timeout=MINUTE)


def test_a_missing_bash_is_named(runner, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    runner._settings = SandboxSettings("off")  # bubblewrap is not on this PATH either

    with pytest.raises(NotReady, match="bash"):
        runner.run(["bash", "build.sh"], log=tmp_path / "log", timeout=MINUTE)


def test_a_project_reached_through_a_link(project, tmp_path, runner):
    link = tmp_path / "link"
    link.symlink_to(project)
    (project / "build.sh").write_text("pwd -P; echo x > new")
    linked = ProcessRunner(
        link, runner._settings, state_folder="agent-config/.code-commit", redactor=Redactor()
    )

    result = linked.run(["bash", "build.sh"], log=tmp_path / "log", timeout=MINUTE)

    assert result.output == f"{project}\n".encode()
    assert result.passed


def test_a_name_that_is_not_utf8(tmp_path, runner):
    root = tmp_path / os.fsdecode(b"pro\xffject")
    root.mkdir()
    odd = ProcessRunner(
        root, runner._settings, state_folder="agent-config/.code-commit", redactor=Redactor()
    )

    result = odd.run(["bash", "-c", "pwd", "\udcff"], log=tmp_path / "log", timeout=MINUTE)

    assert result.output == os.fsencode(root) + b"\n"


def test_an_output_limit_is_a_setting(project, tmp_path):
    small = ProcessRunner(
        project,
        SandboxSettings("off", output_limit=10),
        state_folder="agent-config/.code-commit",
        redactor=Redactor(),
    )

    result = small.run(
        ["bash", "-c", "printf 0123456789abcdef"], log=tmp_path / "log", timeout=MINUTE
    )

    assert result.output == b"01234\n[... 6 bytes left out ...]\nbcdef"
    assert "0123456789abcdef" in result.log.read_text()


def test_a_log_that_cannot_be_written_leaves_nothing_running(runner, project):
    with pytest.raises(FileNotFoundError):
        runner.run(["bash", "-c", "touch ran"], log=project / "missing" / "log", timeout=MINUTE)

    assert not (project / "ran").exists()


def test_a_process_that_is_stopped_by_another_thread_is_interrupted(
    runner, scope, project, tmp_path
):
    os.mkfifo(project / "up")
    with ThreadPoolExecutor() as pool:
        script = ["bash", "-c", "echo > up; sleep 1000"]
        result = pool.submit(runner.run, script, log=tmp_path / "log", timeout=MINUTE)
        (project / "up").read_bytes()
        scope.end()
        with pytest.raises(Interrupted, match=r"^the process was stopped$"):
            result.result()


def test_a_text_is_no_command(runner, tmp_path):
    with pytest.raises(
        TypeError, match=r"a command is a list of words, such as .*, not 'make test'"
    ):
        runner.run("make test", log=tmp_path / "log", timeout=MINUTE)


@pytest.mark.skipif(not HANDLES.is_dir(), reason="looks for open handles in /proc")
def test_an_interruption_stays_one_if_the_log_cannot_be_written(runner, scope, project, tmp_path):
    os.mkfifo(project / "up")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with ThreadPoolExecutor() as pool:
        script = ["bash", "-c", "echo > up; sleep 1000"]
        result = pool.submit(runner.run, script, log=tmp_path / "log.txt", timeout=MINUTE)
        (project / "up").read_bytes()
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, before[1]))  # stands in for a full disk
        try:
            scope.end()
            with pytest.raises(Interrupted):
                result.result()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_no_handles_are_left_open(run, runner, tmp_path):
    run("true")
    before = len(list(HANDLES.iterdir()))
    run("echo x", stdin=b"x")
    assert runner.run(["echo", "nul\0byte"], log=tmp_path / "log", timeout=MINUTE).exit_code == 126
    with pytest.raises(NotReady):
        runner.start(["bash", "nul\0byte"], env={})

    assert len(list(HANDLES.iterdir())) <= before  # those of an earlier test may go at any time


@pytest.mark.parametrize(
    ("mode", "network", "answer"),
    [
        ("auto", True, "off"),
        ("off", True, "off"),
        ("off", False, "off"),
        ("require", True, "no sandbox: "),
        ("require", False, "no sandbox: "),
        ("auto", False, "builds cannot run without a network: "),
    ],
)
def test_where_bubblewrap_is_missing(project, monkeypatch, mode, network, answer):
    monkeypatch.setenv("PATH", str(project.parent))
    runner = ProcessRunner(
        project,
        SandboxSettings(mode, network=network),
        state_folder="agent-config/.code-commit",
        redactor=Redactor(),
    )
    if answer == "off":
        runner.look_ahead()
        assert runner.sandbox_in_use == "off"
    else:
        with pytest.raises(NotReady, match=answer):
            runner.look_ahead()
        with pytest.raises(NotReady, match=answer):
            _ = runner.sandbox_in_use


def test_commands_of_a_models_choosing_need_the_sandbox(project, monkeypatch, tmp_path):
    monkeypatch.setattr(Sandbox, "why_not", lambda _: "not here")
    runner = ProcessRunner(
        project,
        SandboxSettings("auto"),
        state_folder="agent-config/.code-commit",
        redactor=Redactor(),
    )
    with pytest.raises(
        NotReady, match="commands that a model chooses only run in the sandbox: not here"
    ):
        runner.run(["true"], log=tmp_path / "log", timeout=MINUTE, isolation_required=True)
    assert not (tmp_path / "log").exists()


@pytest.mark.skipif(
    not Path("/proc/self/fd").is_dir(), reason="only Linux lists the descriptors of a process"
)
def test_a_build_has_the_standard_streams_and_no_other(run):
    result = run("ls /proc/$$/fd; true")

    # Bash's own, for the terminal.
    assert result.output.split() in ([b"0", b"1", b"2"], [b"0", b"1", b"2", b"255"])
