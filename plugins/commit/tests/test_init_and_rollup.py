"""`code-commit init` and `code-commit rollup`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zlib

import pytest

from code_commit_testing import Project

SCRIPTED = '[providers]\ndefault_provider = "scripted.default"\n[providers.scripted.default]\nmodel = "scripted"\n'


# --- init -------------------------------------------------------------------------------------------------------------


def test_init_creates_all_files_once(tmp_path):
    project = Project(tmp_path / "project", tmp_path / "home")
    project.root.mkdir()
    project.home.mkdir()
    assert project.command("init", "--json").exit_code == 1  # an unknown language
    assert (project.root / "build.sh").read_text().endswith('this project"\n')
    for path in project.root.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    first = project.command("init", "--json", "--no-build").document
    assert (first["languages"], first["build"], first["next"]) == ([], None, "git init")
    assert first["created"] == [
        ".gitignore",
        "agent-config/",
        "agent-config/query.txt",
        "build.sh",
        "codeRollup.sh",
    ]
    assert first["kept"] == []
    before = {path: path.read_bytes() for path in project.root.rglob("*") if path.is_file()}
    second = project.command("init", "--json").document
    assert (second["created"], second["changed"], second["kept"]) == ([], [], first["created"])
    assert {path: path.read_bytes() for path in project.root.rglob("*") if path.is_file()} == before
    assert (project.root / "agent-config").stat().st_mode & 0o777 == 0o700
    assert os.access(project.root / "build.sh", os.X_OK)


def test_init_keeps_existing_files_and_adds_the_gitignore_line(tmp_path):
    project = Project.create(tmp_path, build="true\n", gitignore="*.log", query="mine\n")
    finished = project.command("init")
    assert finished.exit_code == 0
    files = [
        "created  codeRollup.sh",
        "kept     agent-config/",
        "kept     agent-config/query.txt",
        "kept     build.sh",
    ]
    assert finished.stdout.splitlines() == [*files, "changed  .gitignore (added /agent-config)"]
    assert project.read(".gitignore") == "*.log\n/agent-config\n"
    assert (project.read("build.sh"), project.read("agent-config/query.txt")) == (
        "true\n",
        "mine\n",
    )


def test_a_run_works_after_init_and_rollup(tmp_path, answered):
    project = Project.create(
        tmp_path, files={"main.py": "print(1)\n"}, gitignore="", query=None, rollup=None
    )
    (project.root / "build.sh").unlink()
    assert "build.sh is for Python. " in project.command("init").stderr
    assert project.command("rollup").exit_code == 0
    project.write({"agent-config/query.txt": "Print 2.\n"})
    finished = answered(project, "^^^main.py\nprint(2\n^^^end\n", "^^^main.py\nprint(2)\n^^^end\n")
    assert (finished.exit_code, project.read("main.py")) == (0, "print(2)\n")
    assert "SyntaxError" in (project.run_folder / "1-build.txt").read_text()


def test_the_build_for_an_unknown_language_fails(tmp_path, answered):
    project = Project.create(tmp_path, files={"notes.txt": "x\n"})
    (project.root / "build.sh").unlink()
    finished = project.command("init")
    assert finished.exit_code == 1
    assert "build.sh fails until you add the commands that check this project" in finished.stderr
    assert "build.sh: add the commands that build and test this project" in finished.stderr
    assert finished.stderr.endswith("Next: ./build.sh\n")
    finished = answered(project, "never asked")
    assert finished.exit_code == 3
    assert (
        "error: build.sh builds and tests nothing: it is what `code-commit init`" in finished.stderr
    )
    assert "asking" not in finished.stderr


@pytest.mark.parametrize(
    ("build", "said"),
    [("exit 3", "It printed nothing.\nFix"), ("echo bad; exit 3", "Its last lines:\n  bad\nFix")],
)
def test_a_first_build_that_fails_shows_what_it_printed(tmp_path, build, said):
    finished = Project.create(tmp_path, build=build).command("init")
    assert (finished.exit_code, f"before any change. {said} the project" in finished.stderr) == (
        1,
        True,
    ), finished.stderr


@pytest.mark.parametrize("path", [".gitignore", "build.sh", "codeRollup.sh"])
def test_init_fails_if_a_folder_is_in_the_place_of_a_file(tmp_path, path):
    project = Project.create(tmp_path, query=None, rollup=None)
    (project.root / path).unlink(missing_ok=True)
    (project.root / path).mkdir()
    finished = project.command("init")
    assert (finished.exit_code, finished.stdout) == (3, "")
    assert path in finished.stderr


def test_the_added_line_has_the_line_ending_of_the_file(tmp_path):
    project = Project.create(tmp_path, gitignore="a\r\nb")
    project.command("init")
    assert project.read(".gitignore") == "a\r\nb\r\n/agent-config\r\n"


@pytest.mark.parametrize("variable", ["", "GEMINI_API_KEY"])
def test_init_ends_with_the_next_command_and_what_it_needs(tmp_path, variable):
    pytest.importorskip(
        "code_commit_gemini", reason="a provider with a key; the environment `commit` has it"
    )
    project = Project.create(tmp_path, query=None, rollup=None)
    finished = project.command("init", environ={variable: "0123456789"} if variable else {})
    next_command, needs = finished.stderr.partition("\nNext: ")[2].partition("\n")[::2]
    assert next_command == 'code-commit --query "Describe the change"'
    assert ("GEMINI_API_KEY (or agent-config/gemini-key.txt)" in needs) is (not variable)


@pytest.mark.parametrize(
    ("summary", "said"),
    [
        ("===== 3 skipped in 0.01s =====", True),
        ("3 skipped, 1 warning in 0.01s", True),
        ("===== 1 passed, 3 skipped in 0.01s =====", False),
        ("Ran 3 tests in 0.000s\n\nOK (skipped=3)", True),
        ("Ran 13 tests in 0.000s\n\nOK (skipped=3)", False),
    ],
)
def test_init_says_that_every_test_was_skipped(tmp_path, summary, said):
    project = Project.create(tmp_path, build=f"cat <<'END'\n{summary}\nEND\n")
    finished = project.command("init")
    assert finished.exit_code == 0
    assert (" s, but every test was skipped (interpreter: bash)\n" in finished.stderr) is said


def test_init_ends_a_build_after_the_time_limit_of_builds(tmp_path):
    project = Project.create(tmp_path, build="sleep 600\n")
    finished = project.command("init", environ={"CODE_COMMIT_BUILD__TIMEOUT_SECONDS": "1"})
    assert finished.exit_code == 1
    assert (
        "build.sh ran into its time limit of 1 s (interpreter: bash), before any change"
        in finished.stderr
    )


def test_init_ignores_what_a_new_build_leaves(tmp_path):
    project = Project.create(tmp_path, files={"Cargo.toml": ""})
    assert "changed" not in project.command("init").stdout  # the project has a build of its own
    (project.root / "build.sh").unlink()
    assert "changed  .gitignore (added target/)\n" in project.command("init", "--no-build").stdout
    (project.root / "build.sh").unlink()
    project.write({".gitignore": "/agent-config\n/target\n"})
    assert "changed" not in project.command("init", "--no-build").stdout


def test_the_first_hint_in_a_new_project_names_init(tmp_path, plugins, answered):
    project = Project.create(tmp_path, gitignore="", query=None, rollup=None)
    finished = project.command("--query", "Change it.", plugins=plugins)
    assert (finished.exit_code, finished.stderr.count("hint: run `code-commit init`")) == (3, 1)
    (project.root / "build.sh").unlink()
    project.write({".gitignore": "/agent-config\n"})
    finished = answered(project, arguments=["--query", "Change it."])
    assert (
        finished.exit_code,
        "there is no build.sh here\nhint: `code-commit init` " in finished.stderr,
    ) == (3, True)
    (project.root / "build.sh").symlink_to("a.txt")
    finished = answered(project, arguments=["--query", "Change it."])
    assert (finished.exit_code, "build.sh is a link\nhint: replace it " in finished.stderr) == (
        3,
        True,
    )


def test_the_sample_query_is_not_sent(tmp_path, answered):
    project = Project.create(tmp_path, query=None)
    project.command("init", "--no-build")
    finished = answered(project, "^^^a.txt\nnew\n^^^end\n")
    assert (finished.exit_code, project.read("a.txt")) == (3, "old\n")
    assert "still has the sample text" in finished.stderr
    assert not list(project.root.glob("logs/*/1-initial-query.txt"))
    project.write(
        {"agent-config/query.txt": project.read("agent-config/query.txt") + "Write new to a.txt.\n"}
    )
    assert answered(project, "^^^a.txt\nnew\n^^^end\n").exit_code == 0


def test_init_follows_no_link(tmp_path):
    project = Project.create(tmp_path, query=None, rollup=None)
    outside = tmp_path / "outside"
    outside.mkdir()
    (project.root / "agent-config").symlink_to(outside)
    finished = project.command("init")
    assert finished.exit_code == 3
    assert list(outside.iterdir()) == []


# --- rollup -----------------------------------------------------------------------------------------------------------


def test_the_rollup_contains_the_readable_files_sorted_with_headers(project):
    project.write(
        {
            "logs/run.txt": "l\n",
            "agent-config/note.txt": "k\n",
            "new.txt": "new\n",
            "UserSpecification.md": "s\n",
        }
    )
    (project.root / "picture.bin").write_bytes(b"\x89PNG\0")
    (project.root / "link.txt").symlink_to("b.py")
    finished = project.command("rollup")
    assert finished.exit_code == 0
    assert project.read("agent-config/codeRollup.txt") == (
        "--- .gitignore ---\n/agent-config\n--- UserSpecification.md ---\ns\n--- a/x.txt ---\nno newline\n"
        "--- b.py ---\nprint(2)\n--- build.sh ---\nexit 0\n--- new.txt ---\nnew\n"
    )
    assert "6 files" in finished.stderr
    assert "tokens" in finished.stderr
    assert "picture.bin" in finished.stderr


def test_every_path_that_is_left_out_is_named_with_the_reason(project):
    project.write(
        {
            ".gitignore": "/agent-config\n*.log\n",
            "binary": "\0",
            "gone": "",
            "new\nline": "",
            "tracked.log": "",
        }
    )
    (project.root / "caf\udce9").touch()
    (project.root / "inside").symlink_to("b.py")
    (project.root / "outside").symlink_to("/etc/hostname")
    with (project.root / "large").open("wb") as file:
        file.truncate(16 * 1024 * 1024 + 1)
    for name in ("nested", "submodule"):
        project.git("init", "--quiet", name)
        project.git(
            "-C",
            name,
            "-c",
            "user.name=x",
            "-c",
            "user.email=x",
            "commit",
            "--quiet",
            "--allow-empty",
            "-m",
            "x",
        )
    project.git("add", "--force", ".", ":!nested", ":!agent-config")
    (project.root / "gone").unlink()
    finished = project.command("rollup", "--json", "--exclude", "large")
    assert finished.document["left_out"] == [
        {"path": "binary", "reason": "It is not UTF-8 text."},
        {"path": "caf\udce9", "reason": "The path contains the byte 0xE9, which is not UTF-8."},
        {"path": "gone", "reason": "There is no such file."},
        {"path": "inside", "reason": "It is a symbolic link; only regular files can be read."},
        {"path": "nested/", "reason": "It is another git repository."},
        {"path": "new\nline", "reason": "The path contains the control character U+000A."},
        {"path": "outside", "reason": "It is a symbolic link; only regular files can be read."},
        {
            "path": "submodule",
            "reason": "'submodule' is another git repository.",
        },
        {"path": "tracked.log", "reason": "git ignores it, by '*.log' in line 2 of .gitignore."},
    ]
    assert (
        "left out (it is a symbolic link; only regular files can be read): inside, outside\n"
        in finished.stderr
    )
    assert (
        "left out (the path contains the control character U+000A): new\\nline\n" in finished.stderr
    )
    assert "left out (it is larger than 16 MiB): large\n" in project.command("rollup").stderr


def test_the_state_of_code_commit_is_not_named_where_git_does_not_ignore_it_yet(project):
    (project.root / ".gitignore").unlink()
    project.write({"agent-config/notes.txt": "x"})
    for _ in range(2):
        stderr = project.command("rollup").stderr
        assert ("agent-config/notes.txt" in stderr, ".code-commit" in stderr) == (True, False), (
            stderr
        )


def test_pointers_of_git_lfs_are_listed(project):
    project.write(
        {"big.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"}
    )
    finished = project.command("rollup", "--json")
    assert finished.document["remarks"] == {"lfs_pointers": ["big.bin"]}
    assert "included without their contents, which are in Git LFS: big.bin\n" in finished.stderr


LOCK_FILES = ["package-lock.json", "sub/uv.lock", "Cargo.lock"]
GENERATED = ["web/app.min.js", "x_pb2.py"]
PLAIN = {
    ".npmrc": "engine-strict=true\nregistry=https://registry.example.com/npm/\n",
    "web/.npmrc": "//registry.example.com/:_authToken=${NPM_TOKEN}\nalways-auth=\n",
    ".pypirc": "[distutils]\nindex-servers = pypi\n\n[pypi]\nrepository = https://upload.example.com/legacy/\n",
    "old/.netrc": "machine example.com login reader\n",
}
HOLDING = {
    ".npmrc": "//registry.example.com/:_authToken=npm_abc\n",
    "b/.npmrc": "; //registry.example.com/:_auth = aGVsbG8=\n",
    "c/.npmrc": "registry=https://me:word@registry.example.com/\n",
    "d/.npmrc": "email=x\nwhatever=npm_a1b2c3d4e5f6g7h8i9j0k1\n",
    ".pypirc": "[pypi]\nusername = __token__\npassword = hunter2\n",
    "e/.pypirc": "[pypi]\npassword:hunter2\n",
    ".netrc": "machine example.com login me password hunter2\n",
    "f/_netrc": "machine example.com\n  login me\n  password\n  hunter2\n",
    "g/.npmrc": "x" * 70_000,
    ".git-credentials": "",
    ".env-prod": "",
    ".env.local": "",
    "deploy/config.env": "",
    "deploy/sample.key": "",
    "deploy/my-sample-app.env": "",
    "deploy/dist.env": "",
}
EXAMPLES = [
    *(
        ".env.example",
        ".env.local.example",
        ".env.example.local",
        ".env-sample",
        "config.example.env",
        "sample.env",
    ),
    *("app.env.template", ".env.dist", "deploy/prod.env.sample", "example.env", "TEMPLATE.env"),
]


def test_a_file_is_left_out_as_secret_only_if_it_may_hold_a_secret(project):
    for name, files in {
        "plain": PLAIN,
        "holding": HOLDING,
        "examples": dict.fromkeys(EXAMPLES, "A=\n"),
    }.items():
        project.write({f"{name}/{path}": text for path, text in files.items()})
    project.git("add", "-A")
    done = project.command(
        "rollup",
        "--json",
        "--include",
        "/plain/",
        "--include",
        "/holding/",
        "--include",
        "/examples/",
    )
    document = json.loads(done.stdout)
    shown = [*(f"plain/{path}" for path in PLAIN), *(f"examples/{path}" for path in EXAMPLES)]
    assert document["files"] == sorted(shown)
    assert {row["path"]: row["reason"] for row in document["left_out"]} == {
        f"holding/{path}": "It may contain secrets." for path in HOLDING
    }


SECRETS = [".env", ".envrc", ".git-credentials", "deploy/id_rsa", "deploy/prod.env"]
VENDORED = ["vendor/a/vendor/b.go", "web/node_modules/c.js"]


def test_what_no_person_wrote_is_left_out_and_named(project):
    project.write(dict.fromkeys([*LOCK_FILES, *GENERATED, *SECRETS, *VENDORED], "x\n"))
    project.write(
        {"vendor.py": "", ".env.example": "A=\n", "sample.env": "A=\n", "secrets.py": "x = 1\n"}
    )
    project.git("add", "-A", ":!.env")
    finished = project.command("rollup", "--json")
    document = finished.document
    files = [
        ".env.example",
        ".gitignore",
        "a/x.txt",
        "b.py",
        "build.sh",
        "sample.env",
        "secrets.py",
        "vendor.py",
    ]
    assert document["files"] == files
    reasons = {each["path"]: each["reason"] for each in document["left_out"]}
    assert reasons == {
        **dict.fromkeys(LOCK_FILES, "It is a lock file."),
        **dict.fromkeys(GENERATED, "It is generated."),
        **dict.fromkeys(SECRETS, "It may contain secrets."),
        **dict.fromkeys(
            ["vendor/", "web/node_modules/"], "It usually holds copies of other projects."
        ),
    }
    assert (
        "  left out (it is a lock file): Cargo.lock, package-lock.json, sub/uv.lock\n"
        in finished.stderr
    )
    assert "to include one of these: --exclude '!PATTERN'\n" in finished.stderr


@pytest.mark.parametrize(
    ("exclude", "more", "less"),
    [
        (["!vendor/"], ["vendor/a/vendor/b.go"], []),
        (["!*.lock", "Cargo.lock"], ["sub/uv.lock"], []),
        (["!.env", "b.py"], [".env"], ["b.py"]),
    ],
)
def test_a_pattern_includes_again_what_is_left_out_by_default(project, exclude, more, less):
    project.write(dict.fromkeys([*LOCK_FILES, *SECRETS, *VENDORED], "x\n"))
    plain = set(project.command("rollup", "--json").document["files"])
    patterns = [word for pattern in exclude for word in ("--exclude", pattern)]
    document = project.command("rollup", "--json", *patterns).document
    assert set(document["files"]) == (plain | set(more)) - set(less)
    left_out = {each["path"] for each in document["left_out"]}
    assert left_out.isdisjoint(more)
    assert ("vendor/" in left_out) is ("!vendor/" not in exclude)


@pytest.mark.parametrize("pattern", ["!", "[\\-[]"])
@pytest.mark.parametrize("flag", ["--include", "--exclude"])
def test_a_pattern_that_cannot_be_read_is_exit_2(project, flag, pattern):
    finished = project.command("rollup", flag, pattern)
    assert (finished.exit_code, "a pattern is malformed" in finished.stderr) == (2, True)


def test_patterns_include_and_exclude_files(project):
    document = project.command(
        "rollup", "--json", "--include", "*.py", "--include", "a/", "--exclude", "x.*"
    ).document
    assert document["files"] == ["b.py"]
    assert document["bytes"] == len(project.read("agent-config/codeRollup.txt"))


def test_rollup_without_a_matching_file_fails_and_keeps_the_old_rollup(project):
    project.write({"agent-config/codeRollup.txt": "old\n"})
    finished = project.command("rollup", "--include", "*.zig")
    assert (finished.exit_code, project.read("agent-config/codeRollup.txt")) == (3, "old\n")
    assert "nothing to collect" in finished.stderr


def test_a_rollup_of_several_megabytes_is_complete_and_matches_its_manifest(project):
    long = {f"src/{name}.txt": f"{name}\n" * 400_000 for name in "bdeé"} | {
        "src/z.txt": "no newline"
    }
    project.write(long)
    (project.root / "src/a.txt").write_bytes(b"\0" * 3_000_000)
    (project.root / "src/c.txt").write_bytes(b"\xff" * 10)
    finished = project.command("rollup", "--json", "--include", "src/?.txt")
    assert [each["path"] for each in finished.document["left_out"]] == ["src/a.txt", "src/c.txt"]
    parts = {path: f"{content}\n".replace("\n\n", "\n") for path, content in sorted(long.items())}
    text = "".join(f"--- {path} ---\n{part}" for path, part in parts.items()).encode()
    assert (project.root / "agent-config/codeRollup.txt").read_bytes() == text
    assert finished.document["bytes"] == len(text)
    manifest = json.loads(project.read("agent-config/.code-commit/rollup.json"))
    assert manifest["rollup"] == zlib.crc32(text)
    assert {
        path: text[start:end].decode() for path, (start, end) in manifest["files"].items()
    } == long


def test_rollup_fails_on_a_full_disk_and_keeps_the_old_rollup(project):
    # More than wait to be written.
    long = {f"src/long{number}.txt": "x\n" * 600_000 for number in range(9)}
    project.write({"agent-config/codeRollup.txt": "older\n", **long})
    limited = f"ulimit -f 2048; exec '{sys.executable}' -c \"$SCRIPT\" rollup"
    script = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); from code_commit.__main__ import main; exit(main())"
    environ = {**os.environ, "SCRIPT": script}
    done = subprocess.run(
        ["bash", "-c", limited],
        cwd=project.root,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 3, done.stderr
    assert "cannot write" in done.stderr
    assert project.read("agent-config/codeRollup.txt") == "older\n"
    assert not [*project.root.glob("agent-config/**/*.new")]


def test_rollup_needs_a_repository(tmp_path):
    (tmp_path / "bare").mkdir()
    (tmp_path / "home").mkdir()
    finished = Project(tmp_path / "bare", tmp_path / "home").command("rollup")
    assert finished.exit_code == 3
    assert "git init" in finished.stderr


def test_the_script_of_init_writes_the_rollup(project):
    project.command("init")
    bin_folder = project.home / "bin"
    bin_folder.mkdir()
    script = bin_folder / "code-commit"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m code_commit "$@"\n')
    script.chmod(0o755)
    environ = project.environment({"PATH": f"{bin_folder}:{os.environ['PATH']}"})
    subprocess.run(
        ["bash", str(project.root / "codeRollup.sh")],
        cwd="/",
        env=environ,
        check=True,
        capture_output=True,
    )
    assert "--- codeRollup.sh ---" in project.read("agent-config/codeRollup.txt")
