"""The integrity check reports every change to files that check the project, and no ordinary change
of a build.
"""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import time
from pathlib import Path

import pytest

from code_commit_workspace.keys.redaction import Redactor
from code_commit_workspace.process import folders, integrity
from code_commit_workspace.process.integrity import IntegrityCheck
from code_commit_workspace.process.runner import ProcessRunner
from code_commit_workspace.records import SandboxSettings

STATE = "agent-config/.code-commit"

MINUTE = 60.0
CACHE = "mkdir -p {0}; echo '*' > {0}/.gitignore; echo Signature: 8a477f597d28d172789f06886806bc55 > {0}/CACHEDIR.TAG"


@pytest.fixture
def project(tmp_path):
    """A project with all files that are checked, and a folder `sub` with its own rules."""
    root = tmp_path / "project"
    for path, text in {
        "build.sh": "true\n",
        ".gitignore": "/agent-config\nnode_modules\n",
        "sub/.gitignore": "*.o\n",
        "sub/deep/code.c": "",
        "src/main.c": "",
        ".git/config": "[core]\n",
        ".git/HEAD": "ref: refs/heads/main\n",
        "inner/.git/config": "[core]\n",
        "inner/.git/info/exclude": "# none\n",
        ".git/hooks/pre-commit.sample": "exit 0\n",
        ".git/info/exclude": "# none\n",
        "agent-config/query.txt": "do it\n",
        f"{STATE}/state/plan": "1\n",
        "logs/old/run.json": "{}",
        "node_modules/left-pad/.gitignore": "*.log\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def _ignored(folders):
    return frozenset(folder for folder in folders if "node_modules" in Path(folder).parts)


@pytest.fixture
def tampered(project):
    check = IntegrityCheck(
        project, state_folder=STATE, ignored=_ignored, not_searched=["logs", "target"]
    )

    def tampered(script):
        before = check.seal()
        subprocess.run(["bash", "-e", "-c", script], cwd=project, check=True)
        return check.altered(before)

    return tampered


def test_a_build_that_changed_what_checks_it_did_not_pass(project, tmp_path):
    runner = ProcessRunner(
        project,
        SandboxSettings("off"),
        state_folder=STATE,
        redactor=Redactor(),
        ignored=_ignored,
        not_searched=["logs", "target"],
    )

    def run(script):
        return runner.run(["bash", "-e", "-c", script], log=tmp_path / "log", timeout=MINUTE)

    ordinary = run(
        f"mkdir -p logs; echo '*' > logs/.gitignore; {CACHE.format('node_modules/left-pad')}"
    )
    assert (ordinary.passed, ordinary.exit_code, ordinary.tampered) == (True, 0, ())
    altered = run("rm sub/.gitignore")
    assert (altered.passed, altered.exit_code, altered.tampered) == (False, 0, ("sub/.gitignore",))


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("echo exit 0 > build.sh", {"build.sh"}),
        ("rm build.sh", {"build.sh"}),
        ("rm build.sh; ln -s src/main.c build.sh", {"build.sh"}),
        ("rm build.sh; mkfifo build.sh", {"build.sh"}),
        ("echo >> .gitignore", {".gitignore"}),
        ("echo '!*.o' >> sub/.gitignore", {"sub/.gitignore"}),
        ("rm sub/.gitignore", {"sub/.gitignore"}),
        ("mv sub bus; mkdir sub", {"sub/.gitignore"}),
        ("echo '!secret' > src/.gitignore", {"src/.gitignore"}),
        ("echo x > sub/CACHEDIR.TAG", {"sub/CACHEDIR.TAG"}),
        ("echo x > src/CACHEDIR.TAG; echo '!secret' > src/.gitignore", {"src/CACHEDIR.TAG", "src/.gitignore"}),
        ("echo x > src/pyvenv.cfg", {"src/pyvenv.cfg"}),
        ("echo '[core] hooksPath=x' >> .git/config", {".git/config"}),
        ("echo x > .git/config.worktree", {".git/config.worktree"}),
        ("echo x > .git/hooks/post-checkout", {".git/hooks/post-checkout"}),
        ("chmod o+x .git/hooks/pre-commit.sample", {".git/hooks/pre-commit.sample"}),
        ("mv .git/hooks .git/h; ln -s h .git/hooks; ln -s ../../src .git/info/link", {".git/hooks", ".git/info/link"}),
        ("echo '*.key -filter' > .git/info/attributes", {".git/info/attributes"}),
        ("echo > .git/info/exclude", {".git/info/exclude"}),
        (
            "mv .git .tig; echo 'gitdir: .tig' > .git",
            {".git", ".git/config", ".git/hooks/pre-commit.sample", ".git/info/exclude"},
        ),
        ("echo evil > agent-config/query.txt", {"agent-config/query.txt"}),
        ("echo x > agent-config/config.toml", {"agent-config/config.toml"}),
        ("rm -r agent-config/.code-commit", {"agent-config/.code-commit/state/plan"}),
        (r"touch agent-config/$'\xff'", {"agent-config/\\xff"}),
        ("mkdir -p new/.git/hooks; echo x > new/.git/config; echo '*' > new/.gitignore", {"new/.git"}),
        ("echo 'gitdir: ../.git' > src/.git", {"src/.git"}),
        ("ln -s ../.git src/.git", {"src/.git"}),
        ("mkdir inner/.git/hooks; echo x > inner/.git/hooks/post-commit", {"inner/.git/hooks/post-commit"}),
        ("echo x >> inner/.git/config; rm -r inner/.git/info", {"inner/.git/config", "inner/.git/info/exclude"}),
        ("rm -r inner/.git; ln -s ../.git inner/.git", {"inner/.git", "inner/.git/config", "inner/.git/info/exclude"}),
        ("mkdir new; ln -s ../agent-config/query.txt new/.gitignore", {"new/.gitignore"}),
        ("mkdir new; ln -s /etc new/.git", {"new/.git"}),
        ("ln -s /etc/passwd src/.gitattributes", {"src/.gitattributes"}),
        (f"{CACHE.format('new')}; ln -s ~ new/.gitattributes", {"new/.gitattributes"}),
        (
            (
                "cp /bin/true src/tool; chmod u+s src/tool; "
                "mkdir node_modules/t; cp /bin/true node_modules/t; chmod g+s node_modules/t/true"
            ),
            {"src/tool (was set-uid)", "node_modules/t/true (was set-gid)"},
        ),
        ("mkfifo src/.gitattributes", {"src/.gitattributes (was a named pipe)"}),
        (
            "mkdir new; python3 -c \"import socket; socket.socket(1).bind('new/.gitignore')\"",
            {"new/.gitignore (was a socket)"},
        ),
        ("chmod a-x .", {". (was closed)"}),
        (
            "mv ../project ../old; mkdir ../project",
            {
                ".", ".git/config", ".git/hooks/pre-commit.sample", ".git/info/exclude",
                ".gitignore", "agent-config/.code-commit/state/plan", "agent-config/query.txt",
                "build.sh", "inner/.git/config", "inner/.git/info/exclude", "sub/.gitignore",
            },
        ),
    ],
)  # fmt: skip
def test_changes_to_what_checks_the_project_are_reported(tampered, script, names):
    assert set(tampered(script)) == names


@pytest.mark.parametrize(
    "script",
    [
        "true",
        "echo 'int x;' > src/main.c; rm -r sub/deep; mkdir target; echo '*' > target/.gitignore",
        "touch build.sh .gitignore .git/config; chmod +x build.sh; chmod go+w .git/hooks/*",
        "cp -p .gitignore x; rm .gitignore; mv x .gitignore",
        "echo x > .git/HEAD; mkdir -p .git/objects/ab; echo > .git/objects/ab/cd; echo > .git/index",
        "echo x > logs/new; echo '*' > logs/.gitignore",
        CACHE.format(".pytest_cache"),
        "mkdir -p .venv; echo '*' > .venv/.gitignore; echo > .venv/pyvenv.cfg",
        "mkdir -p made/deep; echo '!x' > made/deep/.gitignore",
        "mkdir -p node_modules/dep/.git/hooks; chmod u+s node_modules; echo x > node_modules/dep/.git/config",
        "rm -r node_modules/left-pad; mkdir node_modules/other; echo x > node_modules/.gitignore",
        "ln -s / link; ln -s . loop; mkfifo pipe",
        "cat build.sh agent-config/* > /dev/null",
        CACHE.format("node_modules/left-pad"),
    ],
)
def test_ordinary_builds_pass(tampered, script):
    assert tampered(script) == ()


def test_caches_may_come_and_go(tampered):
    assert tampered(CACHE.format(".cache")) == ()
    assert tampered("rm -r .cache") == ()
    assert tampered(CACHE.format(".cache")) == ()
    assert tampered("rm .cache/CACHEDIR.TAG") == ()


@pytest.mark.parametrize("where", ["build.sh", "agent-config/query.txt", ".git/config"])
def test_content_behind_a_link_counts(project, tmp_path, tampered, where):
    (tmp_path / "behind").write_text("a")
    (project / where).unlink()
    (project / where).symlink_to(tmp_path / "behind")

    assert tampered(f"echo b > {shlex.quote(str(tmp_path / 'behind'))}") == (where,)


def test_a_folder_that_is_a_link_is_checked_through_it(project, tmp_path, tampered):
    (project / "agent-config").rename(tmp_path / "elsewhere")
    (project / "agent-config").symlink_to(tmp_path / "elsewhere")

    assert tampered("echo x > agent-config/query.txt") == ("agent-config/query.txt",)
    assert tampered("rm agent-config; ln -s src agent-config") != ()


def test_a_large_file_is_compared_without_being_read(project, monkeypatch):
    rollup = project / "agent-config" / "codeRollup.txt"
    with rollup.open("wb") as file:
        file.truncate(200 * 1024 * 1024)
    times = rollup.stat()
    check = IntegrityCheck(project, state_folder=STATE)
    before = check.seal()
    assert check.altered(before) == ()

    with rollup.open("r+b") as file:
        file.write(b"evil")
    os.utime(rollup, ns=(times.st_atime_ns, times.st_mtime_ns))

    assert check.altered(before) == ("agent-config/codeRollup.txt",)


def test_state_that_no_process_can_reach_is_not_looked_at(project):
    check = IntegrityCheck(project, state_folder=STATE, state_hidden=True)
    before = check.seal()
    (project / "agent-config/.code-commit/state/plan").write_text("the host's own doing")

    assert check.altered(before) == ()


def test_git_folders_elsewhere_are_checked_too(project, tmp_path):
    worktree = tmp_path / "top" / ".git" / "worktrees" / "w"
    (worktree / "info").mkdir(parents=True)
    check = IntegrityCheck(project, state_folder=STATE, git_folders=[worktree])
    before = check.seal()
    (worktree / "config.worktree").write_text("x")
    (worktree / "index").write_text("x")

    assert check.altered(before) == (str(worktree / "config.worktree"),)


def test_every_rule_counts_when_git_fails(project):
    def broken(folders):
        raise RuntimeError("git: bad config")

    check = IntegrityCheck(project, state_folder=STATE, ignored=broken)
    before = check.seal()
    (project / "sub/.gitignore").write_text("!*")

    assert check.altered(before) == ("sub/.gitignore",)


def test_folders_that_git_ignores_are_not_searched(project, monkeypatch):
    for number in range(100):
        (project / "node_modules" / str(number) / "deep").mkdir(parents=True)
    folders_listed: list[str] = []

    def ignored(folders):
        folders_listed.extend(folders)
        return _ignored(folders)

    sealed = IntegrityCheck(project, state_folder=STATE, ignored=ignored).seal()

    assert not [
        folder for folder in sealed.files.folders if "deep" in folder and "node_modules" in folder
    ]
    assert "node_modules/7" in folders_listed
    assert sealed.files.rules == (".gitignore", "sub/.gitignore")


def _let_it_be_older(path: Path) -> None:
    """Wait until the clock of files has moved on, so that no process counts as the cause."""
    while time.time_ns() - path.stat().st_ctime_ns <= 2 * integrity._CLOCK_TICK:
        pass


def test_what_would_harm_others_or_stop_us_is_cleared(project, tampered):
    (project / "src/old").touch(mode=0o644)
    (project / "src/old").chmod(0o2755)
    _let_it_be_older(project / "src/old")
    names = tampered(
        "chmod u+s,g+s src/main.c; mkdir src/shared; chmod g+s src/shared; mkfifo src/.gitignore;"
        "chmod 0 ."
    )
    assert names == (
        ". (was closed)",
        "src/.gitignore (was a named pipe)",
        "src/main.c (was set-uid)",
    )
    modes = {name: stat.S_IMODE((project / name).stat().st_mode) for name in ("src/main.c", "src")}
    assert modes == {"src/main.c": 0o644, "src": 0o755}
    assert (project / "src/old").stat().st_mode & stat.S_ISGID, "it is older"
    for kept in ("src/old", "src/shared"):
        assert (project / kept).stat().st_mode & stat.S_ISGID
    assert not (project / "src/.gitignore").exists()


def test_a_folder_too_deep_to_be_searched_is_named(tampered):
    deep = "for i in $(seq 50); do d=$(printf 'd%.0s' {1..200}); mkdir $d; cd $d; done"
    [name] = tampered(f"mkdir src/deep; cd src/deep; {deep}")
    assert name.startswith("src/deep/ddd")
    assert name.endswith("… (cannot be searched: File name too long)")
    assert len(name) < 300


@pytest.mark.usefixtures("no_privileges")
def test_bits_in_closed_folders_are_cleared(project, tampered):
    names = tampered(
        "mkdir -p a/b empty; touch a/b/file; chmod 2755 a/b/file; chmod 0311 a/b; chmod 0 a empty"
    )
    assert names == ("a/b/file (was set-gid)",)
    assert [stat.S_IMODE((project / name).stat().st_mode) for name in ("a", "empty")] == [0, 0]
    (project / "a").chmod(0o755)
    assert stat.S_IMODE((project / "a/b").stat().st_mode) == 0o311
    assert stat.S_IMODE((project / "a/b/file").stat().st_mode) == 0o755


def test_set_uid_files_are_searched_where_a_process_can_write(project):
    script = "for d in src logs new; do mkdir -p $d; cp /bin/true $d/t; chmod u+s $d/t; done"
    named: list[tuple[str, ...]] = []
    for unreachable in (["logs", "new"], None):
        check = IntegrityCheck(
            project, state_folder=STATE, not_searched=["logs"], unreachable=unreachable
        )
        before = check.seal()
        subprocess.run(["bash", "-e", "-c", script], cwd=project, check=True)
        named.append(check.altered(before))
    assert named == [("new/t (was set-uid)", "src/t (was set-uid)"), ()]


def test_folders_are_read_again_after_a_change_alone(project, monkeypatch):
    read: list[str] = []
    read_folder = folders._read

    def recording(folder):
        read.append(os.path.relpath(folder, project))
        return read_folder(folder)

    monkeypatch.setattr(folders, "_read", recording)
    check = IntegrityCheck(project, state_folder=STATE, ignored=_ignored, not_searched=["logs"])
    check.seal()
    first = list(read)
    check.seal()
    assert read == first * 2, "what was changed within two seconds may change again unseen"
    monkeypatch.setattr(folders, "_SETTLED", -(10**12))
    before = check.seal()
    read.clear()
    assert check.altered(before) == ()
    (project / "src/.gitignore").write_text("!secret")
    assert check.altered(before) == ("src/.gitignore",)
    assert read == ["src"]
