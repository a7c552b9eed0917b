"""The one way into a project folder, as another program uses it."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from code_commit_workspace import (
    Change,
    ChangeSetRefused,
    Interrupted,
    NotReady,
    Protected,
    Redactor,
    Refusal,
    SandboxSettings,
    Workspace,
)

KEY = "sk-canary-0123456789"
OFF = SandboxSettings(mode="off")
EXAMPLE = Path(__file__).parents[2] / "examples/workspace/apply_changes.py"
# Applies a change to `a` and `b` in the project at argv[1], and is killed when `a` is new and `b`
# still old.
KILLED = """
import os, sys
from pathlib import Path
from code_commit_workspace import Change, Workspace
from code_commit_workspace.transaction.apply import apply

def step(name):
    if name == "rename b":
        os.kill(os.getpid(), 9)

with Workspace.open(Path(sys.argv[1]), writes=True) as workspace:
    apply(workspace.project, workspace.state_folder, [Change("a", b"new"), Change("b", b"new")], step=step)
"""


@pytest.fixture
def root(tmp_path, copied):
    return copied(tmp_path / "project", started)


def started(root):
    root.mkdir()
    for name, text in {
        "a": "old",
        "b": "old",
        "build.sh": "grep -q new a\n",
        ".gitignore": "/agent-config\n",
    }.items():
        (root / name).write_text(text)
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "start")


def git(root, *arguments):
    subprocess.run(["git", *arguments], cwd=root, check=True)


def kill_while_applying(root):
    done = subprocess.run([sys.executable, "-c", KILLED, str(root)], check=False)
    assert done.returncode == -9
    assert ((root / "a").read_text(), (root / "b").read_text()) == ("new", "old")


def held_by_another(root):
    """A process that holds the lock until its stdin is closed."""
    code = (
        "import sys; from pathlib import Path; from code_commit_workspace import Workspace\n"
        "with Workspace.open(Path(sys.argv[1]), writes=True) as workspace:\n"
        "    workspace.name_run('the-other'); print('held', flush=True); sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "held\n"
    return process


def test_a_change_is_checked_applied_built_and_taken_back(root, tmp_path):
    with Workspace.open(root, writes=True, sandbox=OFF) as workspace:
        changes = [Change("./a", b"new"), Change("b", None)]
        assert workspace.check(changes) == ()
        assert "-old" in workspace.diff(changes)
        before = workspace.checkpoints.take("run", "start")
        workspace.apply(changes)
        assert (workspace.tree.read("a"), workspace.tree.read("b")) == (b"new", None)
        assert workspace.run_build(log=tmp_path / "log", timeout=60).passed
        assert workspace.files() == (".gitignore", "a", "build.sh")
        assert workspace.checkpoints.restore(before) == ("a", "b")
        assert workspace.tree.read("b") == b"old"


def test_a_change_that_is_refused_changes_nothing(root):
    class NoB:
        name = "no-b"

        def judge(self, changes, tree):
            return [
                Refusal(each.path, self.name, "b is mine") for each in changes if each.path == "b"
            ]

    with Workspace.open(root, writes=True, protected=[Protected("build.sh")]) as workspace:
        for path in (".git/config", "build.sh", "../a", "agent-config/x"):
            with pytest.raises(ChangeSetRefused, match="refused"):
                workspace.apply([Change("a", b"new"), Change(path, b"")])
        assert workspace.rule_traces == []
        with pytest.raises(ChangeSetRefused, match="b is mine"):
            workspace.apply([Change("a", b"new"), Change("b", b"")], [("some-plugin", NoB())])
    assert (root / "a").read_text() == "old"


@pytest.mark.parametrize("writes", [True, False])
def test_whoever_opens_it_finds_the_project_whole(root, writes):
    kill_while_applying(root)
    with Workspace.open(root, writes=writes) as workspace:
        assert "interrupted" in workspace.recovered
        assert (workspace.tree.read("a"), workspace.tree.read("b")) == (b"old", b"old")
    with Workspace.open(root, writes=writes) as workspace:
        assert workspace.recovered is None


def test_nobody_reads_half_a_change_of_a_run_that_goes_on(root):
    with held_by_another(root) as other:
        with Workspace.open(root, writes=False) as workspace:
            assert workspace.tree.read("a") == b"old"
        journal = root / "agent-config/.code-commit/journal/active"
        journal.mkdir(parents=True)
        with pytest.raises(NotReady, match=f"process {other.pid}, run the-other"):
            Workspace.open(root, writes=False)
        journal.rmdir()
        other.stdin.close()


def test_a_reader_holds_no_lock_and_changes_nothing(root):
    with Workspace.open(root, writes=False) as reader, Workspace.open(root, writes=True):
        with pytest.raises(NotReady, match="reading only"):
            reader.apply([Change("a", b"new")])
        with pytest.raises(NotReady, match="reading only"):
            _ = reader.checkpoints
    assert (root / "a").read_text() == "old"


def test_two_writers_are_one_too_many(root):
    with (
        Workspace.open(root, writes=True),
        pytest.raises(NotReady, match="another run holds the lock"),
    ):
        Workspace.open(root, writes=True)
    with Workspace.open(root, writes=True):
        pass  # closed, it gives the lock back


def test_without_a_repository(tmp_path):
    (tmp_path / ".gitignore").write_text("*.log\n")
    for repository in ("required", "existing"):
        with pytest.raises(NotReady, match="not in a git repository"):
            Workspace.open(tmp_path, writes=True, repository=repository)
    assert not (tmp_path / "agent-config").exists()
    with Workspace.open(tmp_path, writes=False, repository="optional") as workspace:
        assert workspace.tree.read(".gitignore") == b"*.log\n"
    for repository in ("private", "existing"):
        with Workspace.open(tmp_path, writes=True, repository=repository) as workspace:
            before = workspace.checkpoints.take("run", "start")
            workspace.apply([Change("a.txt", b"new")])
            assert workspace.check([Change("a.log", b"")])[0].rule == "ignored"
            workspace.checkpoints.restore(before)
    assert not (tmp_path / "a.txt").exists()


def test_a_program_may_have_its_own_names(root, tmp_path):
    (root / ".gitignore").write_text("/.tool\n")
    (root / "make.sh").write_text("test ! -e .tool/key && echo made >> make.sh\n")
    own = {"private_folder": ".tool", "state_folder": ".tool/state", "build_script": "make.sh"}
    with Workspace.open(root, writes=True, sandbox=OFF, **own) as workspace:
        assert workspace.state("x") == root / ".tool/state/state/x"
        assert workspace.check([Change("agent-config", b"")]) == ()
        assert workspace.run_build(log=tmp_path / "log", timeout=60).tampered == ("make.sh",)
        commit = workspace.checkpoints.take("run", "end")
        assert not [
            path for path in workspace.checkpoints.listing(commit) if path.startswith(".tool")
        ]


def test_in_the_sandbox_its_own_names_count_too(bubblewrap, root, tmp_path):
    (root / ".gitignore").write_text("/.tool\n")
    (root / ".tool").mkdir()
    (root / ".tool/key").write_text("hidden")
    (root / "make.sh").write_text("cat .tool/key; echo x > make.sh; echo $PWD\n")
    own = {"private_folder": ".tool", "state_folder": ".tool/state", "build_script": "make.sh"}
    with Workspace.open(root, writes=True, **own) as workspace:
        workspace.look_ahead()
        assert (workspace.sandbox_warning(), workspace.sandbox_in_use) == ("", "bubblewrap")
        result = workspace.run_build(log=tmp_path / "log", timeout=60)
        assert result.output.endswith(f"\n{root}\n".encode())
        assert (b"hidden" in result.output, result.tampered) == (False, ())
        folders = workspace._runner._sandbox._folders.temporary
        assert Path(folders).is_dir()
    assert not Path(folders).parent.exists()


def test_where_no_sandbox_works_it_is_told_once(root, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    for name in ("git", "bash", "grep"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with Workspace.open(root, writes=False) as workspace:
        workspace.look_ahead()
        assert workspace.sandbox_warning().startswith(
            "no sandbox: bubblewrap (bwrap) is not installed; builds and"
        )
        assert (workspace.sandbox_warning(), workspace.sandbox_in_use) == ("", "off")
        assert workspace.run_build(log=tmp_path / "log", timeout=60).exit_code == 1
        assert workspace.run_command(
            ["grep", "x"], log=tmp_path / "log", timeout=60, stdin=b"x"
        ).passed
        for run in (
            workspace.start_process,
            partial(workspace.run_command, log=tmp_path / "no", timeout=60),
        ):
            with pytest.raises(
                NotReady, match="commands that a model chooses only run in the sandbox: "
            ) as told:
                run(["true"], isolation_required=True)
            assert (
                told.value.hint
                == "install bubblewrap, or pass --sandbox off to run them with your rights"
            )
        assert not (tmp_path / "no").exists()
    with Workspace.open(root, writes=False, sandbox=SandboxSettings(mode="require")) as workspace:
        with pytest.raises(NotReady, match="not installed") as told:
            workspace.look_ahead()
        assert told.value.hint == "install bubblewrap, or pass --sandbox auto or off"
        assert workspace.sandbox_warning() == ""


def test_what_checks_a_project_in_a_larger_repository_lies_above_it(root, tmp_path):
    (root / "sub/deep").mkdir(parents=True)
    (root / "sub/deep/build.sh").write_text(
        "for each in ../../.gitignore ../.gitignore ../../.git/config ../a; do echo >> $each; done\n"
    )
    for name in ("sub/.gitignore", "sub/a"):
        (root / name).touch()
    with Workspace.open(root / "sub/deep", writes=True, sandbox=OFF) as workspace:
        tampered = workspace.run_build(log=tmp_path / "log", timeout=60).tampered
    assert tampered == tuple(
        str(root / name) for name in (".git/config", ".gitignore", "sub/.gitignore")
    )


def test_a_build_needs_no_repository(tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p/build.sh").write_text("echo made\n")
    with Workspace.open(
        tmp_path / "p", writes=False, repository="optional", sandbox=OFF
    ) as workspace:
        assert workspace.run_build(log=tmp_path / "log", timeout=60).output == b"made\n"
        with pytest.raises(NotReady, match="is not in a git repository") as told:
            workspace.files()
    assert told.value.hint == "run `git init` there"


def test_state_that_cannot_be_kept_is_named(root):
    with Workspace.open(root, writes=True) as workspace:
        assert workspace.state("x").stat().st_mode & 0o777 == 0o700
        assert workspace.state("x").is_dir()
        (workspace.state_folder / "state/file").touch()
        with pytest.raises(NotReady, match=r"cannot make .*/state/file: Not a directory"):
            workspace.state("file")


def test_state_is_not_written_through_a_link(root, tmp_path):
    with Workspace.open(root, writes=True) as workspace:
        workspace.state_folder.mkdir(exist_ok=True)
        (workspace.state_folder / "state").symlink_to(tmp_path)
        with pytest.raises(NotReady, match=r"cannot make .*/state/x: Not a directory"):
            workspace.state("x")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("private", "state"),
    [
        *(
            (".tool", state)
            for state in (
                "elsewhere",
                ".tool",
                ".tool/",
                ".tool/a/b",
                ".tool/..",
                ".tool/.",
                "other/a",
            )
        ),
        *(("a/b", "a/b/c"), (".", "./a"), ("..", "../a")),
    ],
)
def test_the_state_folder_lies_directly_in_the_private_one(root, private, state):
    with pytest.raises(ValueError, match="is not a folder directly in"):
        Workspace.open(root, writes=True, private_folder=private, state_folder=state)
    assert sorted(os.listdir(root)) == [".git", ".gitignore", "a", "b", "build.sh"]  # noqa: PTH208 - names


@pytest.mark.parametrize(
    ("limit", "enough"), [(63, False), (64, True), (resource.RLIM_INFINITY, True)]
)
def test_a_run_needs_enough_open_files(root, monkeypatch, limit, enough):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    if enough:
        Workspace.open(root, writes=True).close()
    else:
        with pytest.raises(
            NotReady, match="a process may open only 63 files here, too few to run"
        ) as told:
            Workspace.open(root, writes=True)
        assert told.value.hint == "raise it: ulimit -n 256"


def test_a_folder_that_is_missing_cannot_be_opened(tmp_path):
    with pytest.raises(NotReady, match="missing cannot be opened: No such file or directory"):
        Workspace.open(tmp_path / "missing", writes=True)
    (tmp_path / "file").touch()
    with pytest.raises(NotReady, match="file cannot be opened: Not a directory"):
        Workspace.open(tmp_path / "file", writes=True)


def test_what_is_left_out_of_the_files_has_a_reason(root):
    (root / "link").symlink_to("a")
    with Workspace.open(root, writes=False) as workspace:
        files, refused = workspace.select(["!b", "a", "link", "build.sh"], among=workspace.listed())
    assert (files, list(refused)) == (("a", "build.sh"), ["link"])
    assert str(refused["link"]) == "link: It is a symbolic link; only regular files can be read."


@pytest.fixture(params=["auto", "off"])
def talking(request, root):
    settings = SandboxSettings(mode=request.param, secret_variables=frozenset({"HIDDEN"}))
    with Workspace.open(root, writes=True, sandbox=settings, redactor=Redactor([KEY])) as workspace:
        yield workspace


def test_a_process_to_talk_to(talking, monkeypatch):
    monkeypatch.setenv("HIDDEN", "x")
    monkeypatch.setenv("SOME_URL", f"https://{KEY}@example.org")
    code = 'read line; echo "$line $MORE $HIDDEN $SOME_URL $PWD"; echo careful >&2; exit 3'
    with talking.start_process(["bash", "-c", code], env={"MORE": "more"}) as process:
        process.stdin.write(b"hello\n")
        assert process.stdout.readline() == f"hello more   {talking.root}\n".encode()
        assert process.stderr.readline() == b"careful\n"
        assert process.wait(60) == 3
    assert process.tampered == ()


def test_a_process_to_talk_to_ends_in_time(talking):
    process = talking.start_process(["bash", "-c", "sleep 1000 & echo $!; wait"])
    process.stdout.readline()
    with pytest.raises(TimeoutError):
        process.wait(0.1)
    talking.close()
    assert process.wait() is None
    assert process.stdin.closed
    with pytest.raises(Interrupted):
        talking.start_process(["true"])


def test_any_thread_ends_the_processes_and_no_more_start(talking):
    processes = [talking.start_process(["sleep", "1000"]) for _ in range(2)]
    talking.end_processes()
    assert [process.wait(60) for process in processes] == [None, None]
    assert talking.wait_until_over(60)
    assert all(process.stdin.closed for process in processes)


def test_a_process_that_alters_what_checks_it_is_told(talking):
    with talking.start_process(["bash", "-c", "echo >> build.sh || echo no"]) as process:
        process.stdout.read()
    assert process.tampered == (() if talking.sandbox_in_use == "bubblewrap" else ("build.sh",))


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("no-such-command", "not found"),
        ("./missing", "not found"),
        ("./a", "not an executable file"),
        ("./.git", "not an executable file"),
    ],
)
def test_a_process_that_cannot_be_started(talking, command, reason):
    with pytest.raises(NotReady, match=f"{command} cannot be started: .*{reason}"):
        talking.start_process([command])


def test_a_log_in_the_state_folder_is_not_the_work_of_the_process(root):
    with Workspace.open(root, writes=True, sandbox=OFF) as workspace:
        log = workspace.state("example") / "build.txt"
        other = workspace.state("example") / "other.txt"

        assert workspace.run_command(["true"], log=log, timeout=60).tampered == ()
        tampered = workspace.run_command(["touch", str(other)], log=log, timeout=60).tampered

    assert tampered == (other.relative_to(root).as_posix(),)


@pytest.mark.parametrize(
    ("content", "code", "left"), [(b"new\n", 0, "new\n"), (b"other\n", 1, "old")]
)
def test_the_example(root, content, code, left):
    """As in an environment that has this distribution alone."""
    probe = "import sys; sys.modules['code_commit'] = None; sys.argv = sys.argv[1:]; exec(open(sys.argv[0]).read())"
    done = subprocess.run(
        [sys.executable, "-c", probe, str(EXAMPLE), str(root), "a"],
        input=content,
        capture_output=True,
        check=False,
        env={**os.environ, "GIT_CONFIG_NOSYSTEM": "1"},
    )
    assert done.returncode == code, done.stderr.decode()
    assert (root / "a").read_text() == left
    assert (b"the build failed" in done.stderr) == bool(code)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux names the files behind handles")
@pytest.mark.parametrize("writes", [True, False])
def test_a_closed_workspace_leaves_no_handle_open(root, writes):
    with Workspace.open(root, writes=writes) as workspace:
        workspace.tree.read("a")
        workspace.check([Change("a", b"new")])
        before = handles_below(root)
        assert before
        if writes:
            with pytest.raises(NotReady):
                Workspace.open(root, writes=True)
        assert handles_below(root) == before

    assert handles_below(root) == []


def handles_below(root):
    found = []
    for each in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the handle on this folder itself
            found.append(str(each.readlink()))
    return [target for target in found if target.startswith(str(root))]


def test_a_change_of_text_names_the_mistake():
    with pytest.raises(TypeError, match="the content of a Change is bytes or None, not str"):
        Change("a.txt", "text")


@pytest.mark.parametrize("mode", [0o4755, 0o100644, -1])
def test_a_change_sets_permission_bits_only(mode):
    with pytest.raises(ValueError, match="permission bits only"):
        Change("a.txt", b"", mode=mode)


def test_a_change_may_set_the_mode_of_a_file(root):
    with Workspace.open(root, writes=True, sandbox=OFF) as workspace:
        changes = [Change("new", b"new\n", mode=0o750), Change("a", b"old", mode=0o700)]
        assert "new file mode 100755" in workspace.diff(changes)
        workspace.apply(changes)
        assert [workspace.tree.mode(path) for path in ("new", "a", "b", "none")] == [
            0o750,
            0o700,
            0o644,
            None,
        ]
