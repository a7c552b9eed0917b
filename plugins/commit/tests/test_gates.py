"""What `code-commit init` puts into `build.sh`: the project's own commands first, and every part."""

from __future__ import annotations

import json
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit_commit.build_scripts.make_rules import just_rules, make_rules
from code_commit_commit.build_scripts.pipelines import find_pipeline

PYPROJECT = '[project]\nname = "x"\nversion = "1"\n'
TEST = "def test_f(): pass\n"
PYTHON = {"pyproject.toml": PYPROJECT, "m.py": "x = 1\n", "tests/test_m.py": TEST}
RUST = {"Cargo.toml": '[package]\nname = "x"\nversion = "1.0.0"\n', "src/lib.rs": "pub fn f() {}\n"}
C_TEST = "#include <stdio.h>\nint main(void) { return f(); }\n"
C = {"server.c": "int f(void) { return 0; }\n", "check.c": '#include "server.c"\n' + C_TEST}
MAKEFILE = "all: server.o\ntest: server.o\n\t$(CC) -o check check.c && ./check\n"


def languages(project) -> list[str]:
    document = project.command("init", "--no-build", "--json").document
    return [row["language"] for row in document["languages"]]


# --- the project's own command ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "text", "command"),
    [
        ("Makefile", "help:\n\techo\ntest: lint\n\tpytest -q\nlint:\n\truff\n", "make test"),
        ("GNUmakefile", "check test::\n\t@$(PY) -m pytest\nPY = python3\n", "make test"),
        ("Makefile", "check: ; ./run.sh\n", "make check"),
        ("justfile", 'default:\n  @just --list\n\ntest *args="": lint\n  pytest {{args}}\n', "just test"),
    ],
)  # fmt: skip
def test_the_own_command_of_a_project_tests_it(
    tmp_path, stubs, project_with, build, file, text, command
):
    project = project_with(tmp_path / "p", {**PYTHON, file: text, "run.sh": "pytest\n"})
    assert languages(project) == [f"Python ({command})"]
    program = command.split()[0]
    stubs.add("python3", program, output="1 passed")
    assert build(project, path=stubs.path).exit_code == 0
    assert stubs.called()[-1] == command
    stubs.add(program, output="0 passed, 5 deselected")
    done = build(project, path=stubs.path)
    assert (done.exit_code, "no test ran" in done.stderr) == (1, True)


@pytest.mark.skipif(not shutil.which("make"), reason="make not installed")
def test_the_environment_that_a_makefile_activates_is_the_next_step(tmp_path, project_with):
    makefile = "test:\n\t. env3/bin/activate; \\\n\tpytest\n"
    files = {**PYTHON, "Makefile": makefile, "requirements/tests.txt": "pytest\n"}
    project = project_with(tmp_path, files)
    finished = project.command("init", environ={"CODE_COMMIT_SANDBOX": "off"})
    assert finished.exit_code == 1
    install = "python3 -m venv env3 && env3/bin/pip install -e . -r requirements/tests.txt"
    assert f"Next: {install}\n" in finished.stderr


@pytest.mark.parametrize(
    "text",
    ["test:\n", "test: build\nbuild:\n\t@echo done\n", "test:\n\t@true\n", ".PHONY: test\ntest: ; :\n"],
)  # fmt: skip
def test_an_own_command_that_runs_nothing_is_not_the_gate(tmp_path, project_with, text):
    project = project_with(tmp_path, {**PYTHON, "Makefile": text})
    finished = project.command("init", "--no-build")
    assert "not used: `make test` of Makefile runs nothing\n" in finished.stderr
    assert "build.sh is for Python. " in finished.stderr
    assert "make test" not in project.read("build.sh")


@pytest.mark.skipif(not shutil.which("cc"), reason="cc not installed")
def test_a_helper_in_another_language_does_not_hide_the_program(
    tmp_path, stubs, project_with, build
):
    project = project_with(tmp_path / "p", {**C, **RUST, "Makefile": MAKEFILE})
    assert languages(project) == ["C (make test)", "Rust"]
    for name in ("make", "cc", "as", "ld"):
        (stubs.folder / name).symlink_to(shutil.which(name))
    stubs.add("cargo")
    assert build(project, path=stubs.path).exit_code == 0
    project.write({"server.c": "int f(void) { return 1; }\n"})
    assert build(project, path=stubs.path).exit_code != 0


def test_cmake_beside_python_is_a_part_of_its_own(tmp_path, stubs, project_with, build):
    project = project_with(tmp_path / "p", {**PYTHON, "a.c": "x\n", "CMakeLists.txt": "x\n"})
    assert languages(project) == ["Python", "CMake"]
    stubs.add("python3", "cmake", "getconf", output="4")
    assert build(project, path=stubs.path).exit_code == 0
    assert stubs.called()[-1] == "cmake --build build --parallel 4"


def test_compiled_code_of_a_package_is_built_again(tmp_path, stubs, project_with, build):
    backend = '[build-system]\nrequires = ["scikit-build-core"]\nbuild-backend = "scikit_build_core.build"\n'
    files = {**PYTHON, "pyproject.toml": PYPROJECT + backend, "a.c": "x\n", "CMakeLists.txt": "x\n"}
    project = project_with(tmp_path / "p", files)
    assert languages(project) == ["Python"]
    stubs.add("python3", output="1 passed")
    done = build(project, path=stubs.path)
    assert (done.exit_code, "pip install" in "".join(stubs.called())) == (1, False)
    assert done.stderr.endswith(": python3 -m venv .venv && .venv/bin/pip install -e . pytest\n")
    (project.root / ".venv/bin").mkdir(parents=True)
    (stubs.folder / "python3").rename(project.root / ".venv/bin/python")
    assert build(project, path=stubs.path).exit_code == 0
    assert "python -m pip install --quiet --no-deps --editable ." in stubs.called()


# --- what no part covers ------------------------------------------------------------------------------------------------


def test_what_is_not_covered_fails_until_a_person_decides(tmp_path, stubs, project_with, build):
    files = {f"engine/{number}.c": "" for number in range(12)}
    project = project_with(tmp_path / "p", {**PYTHON, **files, "docs/conf.c": ""})
    finished = project.command("init", "--no-build")
    assert "not covered: 12 .c files; build.sh fails until you decide, see its end\n" in (
        finished.stderr
    )
    assert finished.stderr.endswith("Next: ./build.sh\n")
    stubs.add("python3", output="1 passed")
    done = build(project, path=stubs.path)
    assert (done.exit_code, done.stdout) == (1, "1 passed\n" * 3)
    assert done.stderr == "build.sh: not covered, see the end of build.sh: 12 .c files\n"
    *rest, last = project.read("build.sh").splitlines()
    assert last.startswith("fail ")
    project.write({"build.sh": "\n".join(rest) + "\n"})
    assert build(project, path=stubs.path).exit_code == 0


@pytest.mark.parametrize(
    ("files", "not_covered"),
    [
        (dict.fromkeys(["lib/a.rs", "b.go", "x/c.go"], ""), ["2 .go files", "1 .rs file"]),
        ({"meson.build": "", "a.cpp": ""}, []),
        (dict.fromkeys([f"static/{number}.js" for number in range(4)], ""), []),
        (dict.fromkeys([f"static/{number}.js" for number in range(5)], ""), ["5 .js files"]),
        (dict.fromkeys(["examples/a.c", "vendor/b.c", "web/x.min.js", ".ci/a.go"], ""), []),
    ],
)
def test_sources_without_a_tool_are_named(tmp_path, project_with, files, not_covered):
    project = project_with(tmp_path, {**PYTHON, **files})
    document = project.command("init", "--no-build", "--json").document
    assert document["not_covered"] == not_covered


@pytest.mark.parametrize(
    ("files", "language"),
    [
        ({"README.md": "x\n", "docs/a.md": "x\n"}, []),
        ({"mkdocs.yml": "x\n", "docs/a.md": "x\n"}, ["MkDocs"]),
        ({"README.md": "x\n", ".pre-commit-config.yaml": "repos: []\n"}, ["pre-commit"]),
        ({"README.md": "x\n", "Makefile": "all:\n\n"}, []),
        ({"main.zig": "x\n"}, []),
    ],
)
def test_a_project_of_documents_passes_only_with_its_own_tool(
    tmp_path, stubs, project_with, build, files, language
):
    project = project_with(tmp_path / "p", files)
    assert languages(project) == language
    done = build(project, path=stubs.path)
    assert done.exit_code == 1, done
    if not language and "main.zig" not in files:
        assert done.stderr == "build.sh: add the commands that build and test this project\n"


# --- workspaces ---------------------------------------------------------------------------------------------------------

MEMBERS = [f"packages/{number}" for number in range(40)]
SCRIPTS = json.dumps({"scripts": {"test": "vitest"}})


@pytest.mark.parametrize(
    ("files", "member", "expected"),
    [
        ({"package.json": '{"private": true}', "pnpm-workspace.yaml": "", "pnpm-lock.yaml": ""}, {"package.json": SCRIPTS, "tsconfig.json": ""}, ["JavaScript"]),
        ({"package.json": '{"workspaces": ["packages/*"]}', "bun.lock": ""}, {"package.json": SCRIPTS, "tsconfig.json": ""}, ["JavaScript"]),
        ({"pyproject.toml": PYPROJECT + "[tool.uv.workspace]\n", "uv.lock": ""}, {"pyproject.toml": PYPROJECT, "a.py": ""}, ["Python"]),
        ({"Cargo.toml": '[workspace]\nmembers = ["packages/*"]\n'}, RUST, ["Rust"]),
    ],
    ids=["pnpm", "bun", "uv", "cargo"],
)  # fmt: skip
def test_a_member_of_a_workspace_has_no_block_of_its_own(
    tmp_path, project_with, files, member, expected
):
    members = {f"{folder}/{path}": text for folder in MEMBERS for path, text in member.items()}
    project = project_with(tmp_path, {**files, **members})
    assert languages(project) == expected
    if expected == ["Python"]:
        assert "uv run --all-packages python" in project.read("build.sh")


# --- tox, nox and pipelines ---------------------------------------------------------------------------------------------

VERSION = "$($python -c 'import sys; print(\"%d%d\" % sys.version_info[:2])')"


@pytest.mark.fast_rows(5)
@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"tox.ini": "[tox]\nenvlist = py{310,311},lint\n[testenv]\ncommands = pytest\n"}, f'tox run -e "py{VERSION}"'),
        ({"tox.ini": "[tox]\nenvlist =\n  py{310, 311}-dj{42,50}\n  py312-dj51\n"}, f'tox run -e "py{VERSION}-dj50"'),
        ({"tox.toml": 'env_list = ["lint", "tests"]\n'}, "tox run -e tests"),
        ({"noxfile.py": "import nox\n@nox.session(python=['3.11'])\ndef tests(s): ...\n"}, '--session "tests-$($python'),
        ({"tox.ini": "[flake8]\nmax-line-length = 9\n"}, ""),
        ({"tox.ini": "[tox]\nenvlist = lint\n[testenv:lint]\ncommands = ruff\n"}, ""),
        ({"tox.ini": "[testenv]\ncommands = pytest\n"}, "tox run -e py"),
        ({"tox.ini": "broken\n"}, ""),
        ({"pyproject.toml": PYPROJECT + '[tool.tox]\nenv_list = ["3.11"]\n[tool.tox.env_run_base]\ncommands = []\n'}, "tox run -e py"),
        ({"noxfile.py": "import nox\n@nox.session\ndef unit(s): ...\n"}, "nox --reuse-existing-virtualenvs --session unit\n"),
        ({"noxfile.py": "import nox\n@nox.session(name='$(x)')\ndef tests(s): ...\n"}, ""),
        ({"noxfile.py": "broken(\n"}, ""),
    ],
)  # fmt: skip
def test_tox_and_nox_run_what_they_are_configured_for(tmp_path, project_with, files, command):
    project = project_with(tmp_path, {**PYTHON, **files})
    project.command("init", "--no-build")
    script = project.read("build.sh")
    assert command in script
    assert bool(command) is ("tox run" in script or "nox --" in script)


WORKFLOW = """\
on: {on}
jobs:
  test:
    runs-on: {runs_on}
    strategy: {{matrix: {{python: [3.11, 3.12]}}}}
    steps:
      - uses: actions/checkout@v4
      - {key}
        run: |
          python -m pip install --upgrade pip
          pip install -e '.[ci]' -r needs.txt
      - {key}
        run: {run}
"""
PLAIN = {
    "on": "[push]",
    "runs_on": "ubuntu-latest",
    "key": "name: x",
    "run": "pytest --cov=x tests/unit",
}


@pytest.mark.fast_rows(7)
@pytest.mark.parametrize(
    ("changed", "is_used"),
    [
        ({}, True),
        ({"runs_on": "'${{ matrix.os }}'", "on": "{pull_request: {}}"}, True),
        ({"runs_on": "windows-latest"}, False),
        ({"key": "if: github.ref == 'x'"}, False),
        ({"key": "env: {DATABASE: x}"}, False),
        ({"run": "pytest ${{ matrix.args }} tests/unit"}, False),
        ({"run": "'pytest tests/unit | tee log'"}, False),
        ({"key": "working-directory: sub"}, False),
        ({"on": "workflow_dispatch"}, False),
        ({"run": "'$(pytest tests/unit)'"}, False),
        ({"key": "<<: *base"}, False),
        ({"run": '"pytest tests/unit\\e[0m"'}, False),
        ({"run": "[pytest, tests/unit]"}, False),
        ({"run": "'cd sub; pytest tests/unit'"}, False),
        ({"key": "env: {CI: 1}"}, True),
    ],
)
def test_a_plain_command_of_a_workflow_tests_the_project(tmp_path, project_with, changed, is_used):
    workflow = WORKFLOW.format(**{**PLAIN, **changed})
    files = {**PYTHON, "needs.txt": "pytest\n", ".github/workflows/ci.yml": workflow}
    project = project_with(tmp_path, files)
    project.command("init", "--no-build")
    script = project.read("build.sh")
    assert ("passed|^Ran [1-9]' pytest tests/unit\n" in script) is is_used
    assert ("$python -m pytest\n" in script) is not is_used


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("pip install -e '.[ci]' -r needs.txt", "-e '.[ci]' -r needs.txt"),
        ("python -m pip install -r needs.txt --index-url https://x", "-e . pytest"),
        ("pip install -r gone.txt", "-e . pytest"),
        ("pip install tool @ https://x", "-e . pytest"),
    ],
)
def test_the_pipeline_says_what_pip_installs(tmp_path, project_with, line, arguments):
    workflow = WORKFLOW.format(**PLAIN).replace("pip install -e '.[ci]' -r needs.txt", line)
    files = {**PYTHON, "needs.txt": "pytest\n", ".github/workflows/ci.yml": workflow}
    project = project_with(tmp_path / "p", files)
    project.write({"build.sh": "echo No module named x; exit 1\n"})
    step = f"Next: python3 -m venv .venv && .venv/bin/pip install {arguments}\n"
    assert project.command("init").stderr.endswith(step)


GITLAB = """\
.hidden: &base
  script: [pytest hidden]
stages: [test]
unit:
  before_script: [pip install x]
  script:
    - pytest tests/gitlab
"""


def test_gitlab_and_what_is_not_understood(tmp_path, project_with):
    project = project_with(tmp_path / "a", {**PYTHON, ".gitlab-ci.yml": GITLAB})
    project.command("init", "--no-build")
    assert "' pytest tests/gitlab\n" in project.read("build.sh")
    workflow = WORKFLOW.format(**{**PLAIN, "run": "make $FLAGS test"})
    files = {".github/workflows/a.yml": workflow, ".github/workflows/b.yml": "jobs: [\n"}
    finished = project_with(tmp_path / "b", files).command("init", "--no-build")
    assert "not used: .github/workflows/b.yml\n" in finished.stderr
    assert "not used: .github/workflows/a.yml: make $FLAGS test\n" in finished.stderr


def test_the_pipeline_tests_a_program_in_c(tmp_path, project_with):
    workflow = WORKFLOW.format(**{**PLAIN, "run": "./runtest --verbose"})
    files = {"a.c": "", "Makefile": "%:\n\tcc a.c\n", ".github/workflows/ci.yml": workflow}
    project = project_with(tmp_path, files)
    assert languages(project) == ["Make"]
    assert "\nmake\n./runtest --verbose\n" in project.read("build.sh")


# --- coverage, Django, Rails, broken files ------------------------------------------------------------------------------


@pytest.mark.parametrize("own", [{}, {"Makefile": "test:\n\tpytest\n"}])
def test_a_limit_of_coverage_does_not_hold_for_the_tests_of_before(
    tmp_path, stubs, project_with, build, own
):
    limit = '[tool.pytest.ini_options]\naddopts = "--cov=x --cov-fail-under=90"\n'
    files = {**PYTHON, **own, "pyproject.toml": PYPROJECT + limit}
    project = project_with(tmp_path / "p", files)
    project.command("init", "--no-build")
    stubs.add("python3", "make", output='1 passed $PYTEST_ADDOPTS\\"')
    environ = {"CODE_COMMIT_TESTS_OF_BEFORE": "1", "PATH": stubs.path}
    assert "--cov-fail-under=0" in build(project, environ=environ).stdout
    assert "--cov-fail-under=0" not in build(project, path=stubs.path).stdout


def test_a_threshold_of_jest_does_not_hold_for_the_tests_of_before(tmp_path, project_with):
    package = {"scripts": {"test": "jest"}, "jest": {"coverageThreshold": {}}}
    project = project_with(tmp_path, {"package.json": json.dumps(package)})
    project.command("init", "--no-build")
    option = "npm run test ${CODE_COMMIT_TESTS_OF_BEFORE:+-- --coverage=false}\n"
    assert option in project.read("build.sh")


MANAGE = """\
import django, sys, unittest
if sys.argv[1] == "test":
    unittest.main("site_app.tests", argv=["test"])
"""


def test_a_fresh_django_site_passes_and_says_that_nothing_is_tested(
    tmp_path, project_with, build, cache
):
    files = {"manage.py": MANAGE, "site_app/tests.py": "# Create your tests here.\n"}
    files |= {"django.py": "", "site_app/__init__.py": ""}
    project = project_with(tmp_path, files)
    finished = project.command("init", environ=cache)
    assert finished.exit_code == 0, finished.stderr
    assert ", but nothing is tested (" in finished.stderr
    assert project.command("init", "--json", environ=cache).document["build"]["tests"] == 0
    test = "import unittest\nclass T(unittest.TestCase):\n    def test_f(self): assert {}\n"
    project.write({"site_app/tests.py": test.format("True")})
    assert "build.sh passed: 1 test in " in project.command("init", environ=cache).stderr
    project.write({"site_app/tests.py": test.format("False")})
    assert build(project, environ=cache).exit_code == 1
    (project.root / "django.py").unlink()
    finished = project.command("init", environ={**cache, "PYTHONPATH": ""})
    assert finished.stderr.endswith("Next: python3 -m venv .venv && .venv/bin/pip install django\n")


@pytest.mark.parametrize(("minor", "exit_code"), [(11, 0), (99, 1)])
def test_a_python_that_is_too_old_fails_the_build(
    tmp_path, project_with, build, cache, minor, exit_code
):
    needs = f'{PYPROJECT}requires-python = ">=3.{minor}"\n'
    project = project_with(tmp_path, {"pyproject.toml": needs, "m.py": "x = 1\n"})
    project.command("init", "--no-build")
    done = build(project, environ=cache)
    said = "build.sh: the project needs Python 3.99, python3 is older\n"
    assert (done.exit_code, done.stderr) == (exit_code, said * exit_code)


def test_rails_runs_its_own_tests(tmp_path, stubs, project_with, build):
    files = {"Gemfile": "", "bin/rails": "echo '3 runs, 3 assertions'\n", "test/a_test.rb": ""}
    files |= {"package.json": '{"dependencies": {"esbuild": "1"}}', "app/a.rb": ""}
    project = project_with(tmp_path / "p", files)
    (project.root / "bin/rails").chmod(0o755)
    assert languages(project) == ["Ruby"]
    stubs.add("bundle")
    assert build(project, path=stubs.path).exit_code == 0
    project.write({"bin/rails": "echo '0 runs, 0 assertions'\n"})
    assert build(project, path=stubs.path).exit_code == 1


@pytest.mark.parametrize("text", ["{broken", "[]", '{"scripts": []}'])
def test_a_broken_package_never_passes(tmp_path, project_with, build, text):
    project = project_with(tmp_path, {"package.json": text, "a.js": ""})
    project.command("init", "--no-build")
    done = build(project)
    assert (done.exit_code, "init cannot read package.json" in done.stderr) == (1, True)


# --- readers ------------------------------------------------------------------------------------------------------------

LINES = st.lists(
    st.sampled_from(
        ["test: a $(B)", "\tpytest", "B = $(B) $(B)", "%.o: %.c", "include x", "a b:: c ; d", "define x"]
    )
    | st.text(max_size=20),
    max_size=12,
).map("\n".join)  # fmt: skip


@given(LINES)
def test_no_makefile_or_justfile_breaks_their_readers(text):
    for rules in (make_rules(text), just_rules(text)):
        for target in ("test", *rules.by_target):
            assert isinstance(rules.runs(target), str)
            assert rules.runs_nothing(target) in {True, False}


class _OneFile:
    """A folder with one workflow."""

    path = ""
    paths = (".github/workflows/ci.yml",)
    names = ()

    def __init__(self, text: str) -> None:
        self.text = text

    def read(self, path: str) -> str:
        assert path in self.paths
        return self.text


SHELL = st.text("pytest $`|&;<>()'\"\\#~*{}\n\x1b\u2028", max_size=30)


@given(SHELL)
def test_a_plain_line_has_nothing_for_a_shell(run):
    workflow = WORKFLOW.format(**{**PLAIN, "run": json.dumps(f"pytest {run}")})
    for step in find_pipeline(_OneFile(workflow)).steps:
        if step.plain:
            assert not set(step.line) & set("$`|&;<>#~*\n\x1b")


YAML = st.recursive(
    st.none() | st.booleans() | st.text(max_size=20) | st.just("pytest"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["jobs", "on", "push", "test", "steps", "run", "env", "runs-on"]), inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(st.one_of(YAML.map(json.dumps), st.text(max_size=60), st.just("[" * 9000)))
def test_no_workflow_breaks_its_reader(text):
    pipeline = find_pipeline(_OneFile(text))
    pipeline.not_understood()
    pipeline.tests("Python")
    pipeline.pip_arguments()
