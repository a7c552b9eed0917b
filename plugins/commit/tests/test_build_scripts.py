"""The `build.sh` that `code-commit init` writes: green, red, without a test that ran, and without its tools."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from code_commit_testing import Finished, Project, install_plugin

PYPROJECT = '[project]\nname = "x"\nversion = "1"\n'


def project_with(folder: Path, files: Mapping[str, str]) -> Project:
    """Create a project without a build.sh."""
    project = Project.create(folder, files=dict(files), query=None, rollup=None)
    project.git("rm", "--quiet", "build.sh")
    return project


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """Variables: a cache folder for all tests, so that pytest is compiled once; and the toolchain of the real home."""
    rustup = os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup"))
    return {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache")), "RUSTUP_HOME": rustup}


def build(project: Project, *, path: str | None = None, environ: Mapping[str, str] | None = None) -> Finished:
    environ = project.environment({**(environ or {}), **({"PATH": path} if path else {})})
    done = subprocess.run(
        [shutil.which("bash") or "bash", "build.sh"],
        cwd=project.root,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


# --- the real tools ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Language:
    """A project that builds. `red` and `idle` replace files: a failing test, and no test that can run."""

    name: str
    files: Mapping[str, str]
    red: Mapping[str, str]
    idle: Mapping[str, str]
    # Ours, or the words of pytest, and of unittest since Python 3.12.
    says: str = "no tests? ran"


UNITTEST = (
    "import unittest\nfrom m import f\nclass T(unittest.TestCase):\n    def test_f(self): self.assertEqual(f(), 1)\n"
)
NODE_TEST = 'require("node:test")("f", () => require("node:assert").equal(require("../m"), 1))\n'
RUST_TEST = "#[test]\nfn f_is_one() {\n    assert_eq!(f(), 1);\n}\n"
JAVA_TEST = "class ATest {}\n"
C_TEST = '#include "m.h"\nint main(void) { return F != 1; }\n'
CMAKE = "cmake_minimum_required(VERSION 3.10)\nproject(x C)\nenable_testing()\nadd_executable(test_m test_m.c)\n"
PYTHON = Language(
    "Python",
    {"pyproject.toml": PYPROJECT, "m.py": "def f(): return 1\n", "tests/m_test.py": "from m import f\ndef test_f(): assert f() == 1\n"},
    {"m.py": "def f(): return 2\n"},
    {"tests/m_test.py": "x = 1\n"},
)  # fmt: skip
UNITTESTS = Language(
    "Python",
    {"setup.py": "", "m.py": "def f(): return 1\n", "tests/test_m.py": UNITTEST},
    {"m.py": "def f(): return 2\n"},
    {"tests/test_m.py": "x = 1\n"},
)
JAVASCRIPT = Language(
    "JavaScript",
    {"package.json": '{"scripts": {"test": "node --test test/"}}', "m.js": "module.exports = 1\n", "test/m.js": NODE_TEST},
    {"m.js": "module.exports = 2\n"},
    {"package.json": '{"scripts": {"test": "node --test --help"}}'},
)  # fmt: skip
RUST = Language(
    "Rust",
    {"Cargo.toml": '[package]\nname = "x"\nversion = "1.0.0"\n', "src/lib.rs": "pub fn f() -> u8 {\n    1\n}\n" + RUST_TEST},
    {"src/lib.rs": "pub fn f() -> u8 {\n    2\n}\n" + RUST_TEST},
    {"src/lib.rs": "#[cfg(any())]\n" + RUST_TEST},
)  # fmt: skip
CMAKE_TESTS = Language(
    "CMake",
    {"CMakeLists.txt": CMAKE + "add_test(m test_m)\n", "m.h": "#define F 1\n", "test_m.c": C_TEST},
    {"m.h": "#define F 2\n"},
    {"CMakeLists.txt": CMAKE},
    "No tests were found",
)
MAKE = Language(
    "Make",
    {"Makefile": "all: m\nm: test_m.c m.h\n\tcc -o m test_m.c\ntest: m\n\t./m\n", "m.h": "#define F 1\n", "test_m.c": C_TEST},
    {"m.h": "#define F 2\n"},
    {},
)  # fmt: skip


def needs(*tools: str) -> pytest.MarkDecorator:
    missing = [tool for tool in tools if not shutil.which(tool)]
    return pytest.mark.skipif(bool(missing), reason=f"{' and '.join(missing)} not installed")


LANGUAGES = [
    pytest.param(PYTHON, id="pytest", marks=pytest.mark.slow),
    pytest.param(UNITTESTS, id="unittest"),
    pytest.param(JAVASCRIPT, id="node", marks=needs("node", "npm")),
    pytest.param(RUST, id="cargo", marks=[needs("cargo"), pytest.mark.slow]),
    pytest.param(CMAKE_TESTS, id="cmake", marks=[needs("cmake", "cc"), pytest.mark.slow]),
    pytest.param(MAKE, id="make", marks=needs("make", "cc")),
]


@pytest.mark.parametrize("language", LANGUAGES)
def test_init_runs_the_build_and_a_broken_test_or_none_fails_it(tmp_path, language, cache):
    project = project_with(tmp_path, language.files)
    finished = project.command("init", "--json", environ=cache)
    assert finished.exit_code == 0, finished.stderr + project.read("build.sh")
    document = finished.document
    assert [each["language"] for each in document["languages"]] == [language.name]
    assert (document["build"]["passed"], document["build"]["exit_code"]) == (True, 0)
    assert "build.sh passed in " in finished.stderr
    visible = project.git("status", "--short", "--untracked-files=all").split()[1::2]
    assert set(visible) <= {".gitignore", "build.sh", "codeRollup.sh", "Cargo.lock", "m"}

    project.write(language.red)
    finished = project.command("init", environ=cache)
    assert finished.exit_code == 1
    assert "build.sh failed (exit code " in finished.stderr
    project.write({**language.files, **language.idle})
    if language.idle:
        done = build(project, environ=cache)
        assert done.exit_code != 0
        assert re.search(language.says, done.stdout + done.stderr, re.IGNORECASE)


@pytest.mark.parametrize(
    ("files", "added"),
    [
        pytest.param({"setup.py": ""}, {"test_m.py": "def test_f(): assert False\n"}, marks=pytest.mark.slow),
        pytest.param({"package.json": "{}"}, {"test/m.js": "x\n"}, marks=needs("node")),
        pytest.param({"Makefile": "all:\n"}, {"test_m.c": "x\n"}, marks=needs("make")),
        pytest.param({"CMakeLists.txt": CMAKE[: CMAKE.index("enable")]}, {"test_m.c": "x\n"}, marks=[needs("cmake", "cc"), pytest.mark.slow]),
    ],
    ids=["python", "javascript", "make", "cmake"],
)  # fmt: skip
def test_a_project_without_tests_passes_until_it_has_test_files(tmp_path, cache, files, added):
    project = project_with(tmp_path, files)
    project.command("init", "--no-build")
    done = build(project, environ=cache)
    assert (done.exit_code, "there are no tests yet" in done.stdout) == (0, True)
    project.write(added)
    assert build(project, environ=cache).exit_code != 0


def test_a_syntax_error_in_a_module_that_no_test_imports_fails_the_build(tmp_path, cache):
    project = project_with(tmp_path, {**UNITTESTS.files, ".venv/lib/old.py": "print 1\n"})
    project.command("init", "--no-build")
    assert build(project, environ=cache).exit_code == 0
    project.write({"other.py": "print(\n"})
    assert "SyntaxError" in build(project, environ=cache).stdout


@pytest.mark.slow
def test_the_compiled_files_of_packages_stay_in_the_cache_and_those_of_the_project_do_not(tmp_path, cache):
    project = project_with(tmp_path, PYTHON.files)
    project.command("init", "--no-build")
    assert build(project, environ=cache).exit_code == 0
    compiled = Path(cache["XDG_CACHE_HOME"]).rglob("pytest/*.pyc")
    of_pytest = {path: path.stat().st_mtime_ns for path in compiled}
    assert of_pytest
    status = (project.root / "m.py").stat()
    project.write({"m.py": "def f(): return 2\n"})  # of the same size, and as old
    os.utime(project.root / "m.py", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert build(project, environ=cache).exit_code == 1
    assert {path: path.stat().st_mtime_ns for path in of_pytest} == of_pytest
    assert list(project.root.rglob("__pycache__")) == []


# --- what the scripts run ---------------------------------------------------------------------------------------------

RECORDED = '#!/bin/sh\necho "$(basename "$0") $*" >> {calls}\necho "{output}"\n'
USUAL = ("bash", "sh", "env", "dirname", "basename", "find", "grep", "awk", "rm", "pwd", "xargs", "cat", "head")


@dataclass(frozen=True)
class Stubs:
    """Programs that record how they are called, on a PATH with nothing else but shell tools."""

    folder: Path
    calls: Path

    @property
    def path(self) -> str:
        return str(self.folder)

    def add(self, *names: str, output: str = "") -> None:
        for name in names:
            program = self.folder / name
            program.write_text(RECORDED.format(calls=self.calls, output=output))
            program.chmod(0o755)

    def called(self) -> list[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []


@pytest.fixture
def stubs(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in USUAL:
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    return Stubs(folder, tmp_path / "calls")


MAVEN_TEST = {"pom.xml": "", "src/test/java/ATest.java": JAVA_TEST}
GRADLE_TEST = {"build.gradle": "", "src/test/java/ATest.java": JAVA_TEST}
MESON_TEST = {"meson.build": "", "test_m.c": ""}
GO_TEST = {"go.mod": "", "m_test.go": ""}
PACKAGES = '{"devDependencies": {"x": "1"}, "scripts": {"test": "x", "build": "y", "typecheck": "z", "lint": "w"}}'
INSTALLED = {"package.json": PACKAGES, "node_modules/x/index.js": ""}


@pytest.mark.parametrize(
    ("files", "tools", "calls"),
    [
        (INSTALLED, ("node", "npm"), ["npm run typecheck", "npm run build", "npm test"]),
        (
            INSTALLED | {"pnpm-lock.yaml": ""},
            ("node", "pnpm"),
            ["pnpm run typecheck", "pnpm run build", "pnpm test"],
        ),
        (INSTALLED | {"yarn.lock": ""}, ("node", "yarn"), ["yarn run typecheck", "yarn run build", "yarn test"]),
        (INSTALLED | {"bun.lock": ""}, ("node", "bun"), ["bun run typecheck", "bun run build", "bun run test"]),
        (
            {"package.json": '{"packageManager": "pnpm@9.1.0", "scripts": {"test": "x"}}'},
            ("node", "pnpm"),
            ["pnpm test"],
        ),
        (
            {"package.json": '{"workspaces": ["a"]}', "node_modules/a.js": "", "package-lock.json": ""},
            ("node", "npm"),
            ["npm run build --workspaces --if-present", "npm run test --workspaces --if-present"],
        ),
        (
            {
                "package.json": '{"devDependencies": {"typescript": "5"}, "scripts": {"test": "x"}}',
                "tsconfig.json": "",
                "node_modules/t.js": "",
            },
            ("node", "npm", "npx"),
            ["npx --no-install tsc --noEmit", "npm test"],
        ),
        (MAVEN_TEST, ("mvn",), ["mvn --batch-mode --no-transfer-progress -Dstyle.color=never verify"]),
        (GRADLE_TEST, ("gradle",), ["gradle --no-daemon --console=plain build"]),
        (GO_TEST, ("go",), ["go vet ./...", "go test ./..."]),
        (GO_TEST | {"go.work": ""}, ("go",), ["go list -f {{.Dir}}/... -m", "go vet ok x", "go list -f {{.Dir}}/... -m", "go test ok x"]),
        (MESON_TEST, ("meson",), ["meson setup build", "meson compile -C build", "meson test -C build --print-errorlogs"]),
        ({"Cargo.toml": "[workspace]\n"}, ("cargo",), ["cargo build --workspace --all-targets", "cargo test --workspace"]),
        ({"x.csproj": ""}, ("dotnet",), ["dotnet build", "dotnet test --no-build"]),
        ({"Gemfile": ""}, ("bundle",), ["bundle exec rake"]),
        ({"Package.swift": ""}, ("swift",), ["swift build", "swift test"]),
        ({"mix.exs": ""}, ("mix",), ["mix compile --warnings-as-errors", "mix test"]),
        ({"composer.json": ""}, ("composer",), ["composer validate --quiet", "composer test"]),
        ({"deno.json": ""}, ("deno",), ["deno check .", "deno test"]),
        ({"manage.py": "", "app/tests.py": UNITTEST}, ("python3",), ["python3 manage.py test"]),
        ({"setup.py": "", "x/__init__.py": "", "x/tests/__init__.py": "", "x/tests/test_a.py": UNITTEST, "more/b_test.py": UNITTEST}, ("python3",), ["python3 -m unittest discover", "python3 -m unittest discover --start-directory more --pattern *_test.py"]),
    ],
)  # fmt: skip
def test_the_script_calls_the_tools_of_the_project(tmp_path, stubs, files, tools, calls):
    project = project_with(tmp_path / "p", files)
    project.command("init", "--no-build")
    missing = build(project, path=stubs.path)
    assert missing.exit_code == 1
    assert "is not installed" in missing.stderr
    stubs.add(*tools, output={"mvn": "Tests run: 1", "go": "ok x", "meson": "Ok: 1"}.get(tools[0], "Ran 1 test"))
    (project.root / "build/test-results").mkdir(parents=True)
    (project.root / "build/test-results/a.xml").write_text("<testcase/>")
    done = build(project, path=stubs.path)
    assert done.exit_code == 0, done.stderr
    ignored = ("-m compileall", "-c import", "node ")
    assert [call for call in stubs.called() if not any(word in call for word in ignored)] == calls


@pytest.mark.parametrize(
    ("files", "tool"), [(MAVEN_TEST, "mvn"), (GRADLE_TEST, "gradle"), (GO_TEST, "go"), (MESON_TEST, "meson")]
)
@pytest.mark.parametrize("output", ["", "ok x [no tests to run]", "Tests run: 0", "Ok:                 0"])
def test_a_tool_that_ran_no_test_fails_the_build(tmp_path, stubs, files, tool, output):
    project = project_with(tmp_path / "p", files)
    project.command("init", "--no-build")
    stubs.add(tool, output=output)
    done = build(project, path=stubs.path)
    assert (done.exit_code, "no test ran" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("files", "wrapper"), [({**MAVEN_TEST, "mvnw": ""}, "mvnw"), ({**GRADLE_TEST, "gradlew": ""}, "gradlew")]
)
def test_the_wrapper_of_a_project_comes_first(tmp_path, stubs, files, wrapper):
    project = project_with(tmp_path / "p", files)
    project.command("init", "--no-build")
    stubs.add("java", "mvn", "gradle")
    project.write({wrapper: f"echo {wrapper} >> {stubs.calls}\nexit 3\n"})  # not executable
    assert build(project, path=stubs.path).exit_code != 0
    assert stubs.called() == [wrapper]


WITH_EXTRA = PYPROJECT + '[project.optional-dependencies]\ntest = ["pytest"]\n'
WITH_GROUP = PYPROJECT + '[dependency-groups]\ntests = ["pytest"]\n'


@pytest.mark.parametrize(
    ("files", "install"),
    [
        ({"pyproject.toml": WITH_EXTRA}, "python3 -m venv .venv && .venv/bin/pip install -e '.[test]'"),
        ({"pyproject.toml": WITH_GROUP}, "python3 -m venv .venv && .venv/bin/pip install -e . --group tests"),
        (
            {"setup.cfg": "[options.extras_require]\ndev =\n  pytest\n"},
            "python3 -m venv .venv && .venv/bin/pip install -e '.[dev]'",
        ),
        (
            {"setup.py": "", "requirements-dev.txt": "pytest"},
            "python3 -m venv .venv && .venv/bin/pip install -e . -r requirements-dev.txt",
        ),
        (
            {"requirements.txt": "pytest"},
            "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt",
        ),
        ({"pyproject.toml": WITH_EXTRA, "uv.lock": ""}, "uv sync --extra test"),
        ({"pyproject.toml": WITH_GROUP, "uv.lock": ""}, "uv sync --group tests"),
        (
            {"pyproject.toml": PYPROJECT + "pytest", "poetry.lock": ""},
            "poetry config --local virtualenvs.in-project true && poetry install --all-extras",
        ),
    ],
)
def test_the_message_names_what_installs_pytest(tmp_path, stubs, cache, files, install):
    """The project's own interpreter comes first, also before that of its manager where this is not installed."""
    project = project_with(tmp_path / "p", {**files, "conftest.py": ""})
    own = project.root / ".venv/bin/python"
    own.parent.mkdir(parents=True)
    own.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    own.chmod(0o755)
    project.command("init", "--no-build")
    assert ".venv/\n" in project.read(".gitignore")
    done = build(project, path=stubs.path, environ=cache)
    message = f"build.sh: .venv/bin/python has no pytest. Install the project with its tests: {install}\n"
    assert (done.exit_code, done.stderr) == (1, message)


def test_the_manager_of_a_lock_file_runs_the_tests(tmp_path, stubs):
    project = project_with(tmp_path / "p", {"pyproject.toml": WITH_EXTRA, "uv.lock": "", "test_m.py": ""})
    project.command("init", "--no-build")
    done = build(project, path=stubs.path)
    assert (done.exit_code, "the project uses uv, which is not installed" in done.stderr) == (1, True)
    stubs.add("uv")
    assert build(project, path=stubs.path).exit_code == 0
    assert stubs.called()[-1] == "uv run python -m pytest"


def test_tox_runs_the_tests_of_a_project_whose_python_has_no_pytest(tmp_path, stubs):
    project = project_with(tmp_path / "p", {"tox.ini": "[testenv]\ncommands = pytest\n", "setup.py": ""})
    project.command("init", "--no-build")
    (stubs.folder / "python3").write_text('#!/bin/sh\n[ "$1" != -c ]\n')
    (stubs.folder / "python3").chmod(0o755)
    stubs.add("tox")
    assert build(project, path=stubs.path).exit_code == 0
    assert stubs.called() == ["tox run -e py"]


@pytest.mark.parametrize(
    ("lock", "install"),
    [
        ("package-lock.json", "npm ci"),
        ("pnpm-lock.yaml", "pnpm install --frozen-lockfile"),
        ("yarn.lock", "yarn install"),
        ("bun.lockb", "bun install --frozen-lockfile"),
        ("README.md", "npm install"),
    ],
)
def test_the_message_names_what_installs_the_packages(tmp_path, stubs, lock, install):
    project = project_with(tmp_path / "p", {"package.json": PACKAGES, lock: ""})
    stubs.add("node", "npm", "pnpm", "yarn", "bun")
    finished = project.command("init", environ={"PATH": f"{stubs.path}:{os.environ['PATH']}"})
    assert finished.exit_code == 1
    assert f"the packages are not installed: run {install}\n" in finished.stderr
    assert finished.stderr.endswith(f"Next: {install}\n")
    assert project.read(".gitignore") == "/agent-config\nnode_modules/\n"
    assert "changed  .gitignore (added node_modules/)\n" in finished.stdout


@pytest.mark.parametrize(
    "files",
    [
        {"package.json": '{"scripts": {"test": "mocha"}}', "test/a.js": ""},
        {"package.json": '{"scripts": {"test": "npm run test:unit", "test:unit": "vitest run --passWithNoTests"}}', "a.test.ts": ""},
        {"package.json": "{}", "a.test.js": 'import test from "node:test"\n'},
    ],
)  # fmt: skip
def test_a_runner_of_javascript_that_passes_without_a_test_does_not_pass_the_build(tmp_path, stubs, files):
    project = project_with(tmp_path / "p", files)
    project.command("init", "--no-build")
    stubs.add("node", "npm", output="0 passing, tests 0, No test files found")
    done = build(project, path=stubs.path)
    assert (done.exit_code, "no test ran" in done.stderr) == (1, True)
    stubs.add("node", "npm", output="  2 passing (3ms)")
    assert build(project, path=stubs.path).exit_code == 0


# --- several parts ----------------------------------------------------------------------------------------------------

JS = '{"scripts": {"test": "node --test"}}'


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"pyproject.toml": "", "package.json": JS}, [("Python", "."), ("JavaScript", ".")]),
        ({"pyproject.toml": "", "package.json": '{"devDependencies": {"prettier": "3"}}'}, [("Python", ".")]),
        ({"setup.py": "", "web/package.json": JS, "docs/package.json": JS}, [("Python", "."), ("JavaScript", "web")]),
        ({"package.json": JS, "packages/a/package.json": JS, "script.py": ""}, [("JavaScript", ".")]),
        (
            {"backend/requirements.txt": "", "frontend/package.json": JS, "frontend/tsconfig.json": "", "Makefile": "up:\n"},
            [("Python", "backend"), ("TypeScript", "frontend")],
        ),
        ({"services/a/go.mod": "", "services/b/Cargo.toml": ""}, [("Go", "services/a"), ("Rust", "services/b")]),
        ({"web/package.json": JS, "Makefile": "test: all\n\tx\n"}, [("Make", ".")]),
        ({"Makefile": "all:\n", "tool.py": ""}, [("Python", ".")]),
        ({"examples/a/Cargo.toml": "", "notes.txt": ""}, []),
    ],
)  # fmt: skip
def test_the_parts_of_a_project_are_found(tmp_path, files, found):
    project = project_with(tmp_path, files)
    document = project.command("init", "--no-build", "--json").document
    assert [(each["language"], each["folder"]) for each in document["languages"]] == found
    subprocess.run(["bash", "-n", "build.sh"], cwd=project.root, check=True)


@needs("node", "npm")
def test_every_part_must_pass(tmp_path, cache):
    files = {**UNITTESTS.files, **{f"the web/{path}": text for path, text in JAVASCRIPT.files.items()}}
    project = project_with(tmp_path, files)
    finished = project.command("init", environ=cache)
    assert finished.exit_code == 0, finished.stderr
    assert "build.sh is for Python and JavaScript in the web/." in finished.stderr
    project.write({"the web/m.js": "module.exports = 2\n"})
    assert build(project, environ=cache).exit_code == 1
    project.write({"the web/m.js": "module.exports = 1\n", "m.py": "def f(): return 2\n"})
    assert build(project, environ=cache).exit_code == 1


# --- the whole command ------------------------------------------------------------------------------------------------

SCRIPTED = "from code_commit_testing.scripted_provider import code_commit_providers\n"


@pytest.mark.parametrize(
    "language",
    [
        each if each.id == "unittest" else pytest.param(*each.values, id=each.id, marks=[*each.marks, pytest.mark.slow])
        for each in LANGUAGES
    ],
)
def test_a_response_that_breaks_a_test_is_repaired(tmp_path, language, cache):
    project = project_with(tmp_path, language.files)
    project.command("init", "--no-build")
    assert project.command("rollup").exit_code == 0
    (path,) = language.red
    answers = [
        f"^^^{path}\n{language.red[path]}^^^end\n",
        f"^^^{path}\n{language.files[path]}^^^end\n^^^new.txt\nx\n^^^end\n",
    ]
    model = '[providers]\ndefault_provider = "scripted.default"\n[providers.scripted.default]\n'
    project.write({"agent-config/config.toml": f"{model}replies = {json.dumps(answers)}\n"})
    plugins = [install_plugin(tmp_path / "plugins", "scripted", SCRIPTED)]
    finished = project.command("--query", "Change it.", plugins=plugins, environ=cache)
    assert finished.exit_code == 0, finished.stderr
    assert (project.read(path), project.read("new.txt")) == (language.files[path], "x\n")
    assert (project.run_folder / "2-repair-query.txt").exists()
