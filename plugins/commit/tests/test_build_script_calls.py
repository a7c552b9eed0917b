"""What the `build.sh` of `code-commit init` calls, and what it says when a tool is missing or ran
no test.
"""

from __future__ import annotations

import os
import sys

import pytest

PYPROJECT = '[project]\nname = "x"\nversion = "1"\n'
UNITTEST = (
    "import unittest\nclass T(unittest.TestCase):\n    def test_f(self): self.assertEqual(1, 1)\n"
)
JAVA_TEST = "class ATest {}\n"
MAVEN_TEST = {"pom.xml": "", "src/test/java/ATest.java": JAVA_TEST}
GRADLE_TEST = {"build.gradle": "", "src/test/java/ATest.java": JAVA_TEST}
MESON_TEST = {"meson.build": "", "test_m.c": ""}
GO_TEST = {"go.mod": "", "m_test.go": ""}
PACKAGES = '{"devDependencies": {"x": "1"}, "scripts": {"test": "x", "build": "y", "typecheck": "z", "lint": "w"}}'
INSTALLED = {"package.json": PACKAGES, "node_modules/x/index.js": ""}


@pytest.mark.parametrize(
    ("files", "tools", "calls"),
    [
        (INSTALLED, ("node", "npm"), ["npm run typecheck", "npm run build", "npm run test"]),
        (
            INSTALLED | {"pnpm-lock.yaml": ""},
            ("node", "pnpm"),
            ["pnpm run typecheck", "pnpm run build", "pnpm run test"],
        ),
        (INSTALLED | {"yarn.lock": ""}, ("node", "yarn"), ["yarn run typecheck", "yarn run build", "yarn run test"]),
        (INSTALLED | {"bun.lock": ""}, ("node", "bun"), ["bun run typecheck", "bun run build", "bun run test"]),
        (
            {"package.json": '{"packageManager": "pnpm@9.1.0", "scripts": {"test": "x"}}'},
            ("node", "pnpm"),
            ["pnpm run test"],
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
            ["npx --no-install tsc --noEmit", "npm run test"],
        ),
        (MAVEN_TEST, ("mvn",), ["mvn --batch-mode --no-transfer-progress -Dstyle.color=never verify"]),
        (GRADLE_TEST, ("gradle",), ["gradle --no-daemon --console=plain build"]),
        (GO_TEST, ("go",), ["go vet ./...", "go test ./..."]),
        (GO_TEST | {"go.work": ""}, ("go",), ["go list -f {{.Dir}}/... -m", "go vet ok x", "go list -f {{.Dir}}/... -m", "go test ok x"]),
        (MESON_TEST, ("meson",), ["meson setup build", "meson compile -C build", "meson test -C build --print-errorlogs"]),
        ({"Cargo.toml": "[workspace]\n"}, ("cargo",), ["cargo build --workspace --all-targets", "cargo test --workspace"]),
        ({"x.csproj": ""}, ("dotnet",), ["dotnet build", "dotnet test --no-build"]),
        ({"Gemfile": ""}, ("bundle",), ["bundle check", "bundle exec rake"]),
        ({"Package.swift": ""}, ("swift",), ["swift build", "swift test"]),
        ({"mix.exs": ""}, ("mix",), ["mix compile --warnings-as-errors", "mix test"]),
        ({"composer.json": '{"scripts": {"test": "phpunit"}}', "vendor/a.php": ""}, ("composer",), ["composer validate --quiet", "composer run test"]),
        ({"deno.json": ""}, ("deno",), ["deno check .", "deno test"]),
        ({"manage.py": "", "app/tests.py": UNITTEST}, ("python3",), ["python3 manage.py check", "python3 manage.py test"]),
        ({"setup.py": "", "x/__init__.py": "", "x/tests/__init__.py": "", "x/tests/test_a.py": UNITTEST, "more/b_test.py": UNITTEST}, ("python3",), ["python3 -m unittest discover", "python3 -m unittest discover --start-directory more --pattern *_test.py"]),
    ],
)  # fmt: skip
def test_the_script_calls_the_tools_of_the_project(
    tmp_path, stubs, files, tools, calls, project_with, build
):
    project = project_with(tmp_path / "p", files)
    project.command("init", "--no-build")
    missing = build(project, path=stubs.path)
    assert missing.exit_code == 1
    assert "is not installed" in missing.stderr
    stubs.add(
        *tools,
        output={"mvn": "Tests run: 1", "go": "ok x", "meson": "Ok: 1"}.get(tools[0], "Ran 1 test"),
    )
    (project.root / "build/test-results").mkdir(parents=True)
    (project.root / "build/test-results/a.xml").write_text("<testcase/>")
    done = build(project, path=stubs.path)
    assert done.exit_code == 0, done.stderr
    ignored = ("-m compileall", "-c import", "node ")
    assert [call for call in stubs.called() if not any(word in call for word in ignored)] == calls


NO_TEST = ["", "ok x [no tests to run]", "Tests run: 0", "Ok:                 0"]
TOOLS = {"mvn": MAVEN_TEST, "gradle": GRADLE_TEST, "go": GO_TEST, "meson": MESON_TEST}


@pytest.mark.parametrize(
    ("files", "tool", "output"),
    [
        pytest.param(files, tool, output, marks=() if output in {"", own} else pytest.mark.slow)
        for (tool, files), own in zip(
            TOOLS.items(), ("Tests run: 0", "", NO_TEST[1], NO_TEST[3]), strict=True
        )
        for output in NO_TEST
    ],
)
def test_a_tool_that_ran_no_test_fails_the_build(
    tmp_path, stubs, files, tool, output, project_with, build
):
    project = project_with(tmp_path / "p", files)
    project.command("init", "--no-build")
    stubs.add(tool, output=output)
    done = build(project, path=stubs.path)
    assert (done.exit_code, "no test ran" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("files", "wrapper"),
    [({**MAVEN_TEST, "mvnw": ""}, "mvnw"), ({**GRADLE_TEST, "gradlew": ""}, "gradlew")],
)
def test_the_wrapper_of_a_project_comes_first(tmp_path, stubs, files, wrapper, project_with, build):
    project = project_with(tmp_path / "p", files)
    project.command("init", "--no-build")
    stubs.add("java", "mvn", "gradle")
    project.write({wrapper: f"echo {wrapper} >> {stubs.calls}\nexit 3\n"})  # not executable
    assert build(project, path=stubs.path).exit_code != 0
    assert stubs.called() == [wrapper]


WITH_EXTRA = PYPROJECT + '[project.optional-dependencies]\ntest = ["pytest"]\n'
WITH_GROUP = PYPROJECT + '[dependency-groups]\ntests = ["pytest"]\n'


@pytest.mark.fast_rows(6)
@pytest.mark.parametrize(
    ("files", "install"),
    [
        (
            {"pyproject.toml": WITH_GROUP},
            "python3 -m venv .venv && .venv/bin/pip install --upgrade pip && .venv/bin/pip install -e . --group tests",
        ),
        ({"pyproject.toml": WITH_EXTRA, "uv.lock": ""}, "uv sync --extra test"),
        (
            {"pyproject.toml": PYPROJECT + "pytest", "poetry.lock": ""},
            "POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --all-extras",
        ),
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
        (
            {"pyproject.toml": WITH_EXTRA},
            "python3 -m venv .venv && .venv/bin/pip install -e '.[test]'",
        ),
        ({"pyproject.toml": WITH_GROUP, "uv.lock": ""}, "uv sync --group tests"),
    ],
)
def test_the_message_names_what_installs_pytest(
    tmp_path, stubs, cache, files, install, project_with, build
):
    """The project's own interpreter comes first, also before that of its manager where this is not
    installed.
    """
    project = project_with(tmp_path / "p", {**files, "conftest.py": ""})
    own = project.root / ".venv/bin/python"
    own.parent.mkdir(parents=True)
    own.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    own.chmod(0o755)
    project.command("init", "--no-build")
    assert ".venv/\n" in project.read(".gitignore")
    done = build(project, path=stubs.path, environ=cache)
    message = (
        f"build.sh: .venv/bin/python has no pytest. Install the project with its tests: {install}\n"
    )
    assert (done.exit_code, done.stderr) == (1, message)


def test_the_manager_of_a_lock_file_runs_the_tests(tmp_path, stubs, project_with, build):
    project = project_with(
        tmp_path / "p", {"pyproject.toml": WITH_EXTRA, "uv.lock": "", "test_m.py": ""}
    )
    project.command("init", "--no-build")
    done = build(project, path=stubs.path)
    assert (done.exit_code, "the project uses uv, which is not installed" in done.stderr) == (
        1,
        True,
    )
    stubs.add("uv")
    assert build(project, path=stubs.path).exit_code == 0
    assert stubs.called()[-1] == "uv run python -m pytest"


def test_tox_runs_the_tests_of_a_project_whose_python_has_no_pytest(
    tmp_path, stubs, project_with, build
):
    project = project_with(
        tmp_path / "p", {"tox.ini": "[testenv]\ncommands = pytest\n", "setup.py": ""}
    )
    project.command("init", "--no-build")
    (stubs.folder / "python3").write_text('#!/bin/sh\n[ "$1" != -c ]\n')
    (stubs.folder / "python3").chmod(0o755)
    stubs.add("tox")
    assert build(project, path=stubs.path).exit_code == 0
    assert stubs.called() == ["tox run -e py"]


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize(
    ("lock", "install"),
    [
        ("package-lock.json", "npm ci"),
        ("pnpm-lock.yaml", "pnpm install --frozen-lockfile"),
        ("yarn.lock", "yarn install --frozen-lockfile"),
        ("bun.lockb", "bun install --frozen-lockfile"),
        ("README.md", "npm install"),
    ],
)
def test_the_message_names_what_installs_the_packages(tmp_path, stubs, lock, install, project_with):
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
def test_a_runner_of_javascript_that_passes_without_a_test_does_not_pass_the_build(
    tmp_path, stubs, files, project_with, build
):
    project = project_with(tmp_path / "p", files)
    project.command("init", "--no-build")
    stubs.add("node", "npm", output="0 passing, tests 0, No test files found")
    done = build(project, path=stubs.path)
    assert (done.exit_code, "no test ran" in done.stderr) == (1, True)
    stubs.add("node", "npm", output="  2 passing (3ms)")
    assert build(project, path=stubs.path).exit_code == 0
