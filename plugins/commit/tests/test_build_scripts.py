"""The `build.sh` that `code-commit init` writes, with the real tools: green, red, and without a
test that ran.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from code_commit_testing import install_plugin

PYPROJECT = '[project]\nname = "x"\nversion = "1"\n'


# --- the real tools ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Language:
    """A project that builds.

    `red` and `idle` replace files: a failing test, and no test that can run.
    """

    name: str
    files: Mapping[str, str]
    red: Mapping[str, str]
    idle: Mapping[str, str]
    # Ours, or the words of pytest, and of unittest since Python 3.12.
    says: str = "no tests? ran"
    tests: str = ": 1 test"


UNITTEST = "import unittest\nfrom m import f\nclass T(unittest.TestCase):\n    def test_f(self): self.assertEqual(f(), 1)\n"
NODE_TEST = 'require("node:test")("f", () => require("node:assert").equal(require("../m"), 1))\n'
RUST_TEST = "#[test]\nfn f_is_one() {\n    assert_eq!(f(), 1);\n}\n"
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
    "C (make test)",
    {"Makefile": "all: m\nm: test_m.c m.h\n\tcc -o m test_m.c\ntest: m\n\t./m\n", "m.h": "#define F 1\n", "test_m.c": C_TEST},
    {"m.h": "#define F 2\n"},
    {},
    tests="",
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
def test_init_runs_the_build_and_a_broken_test_or_none_fails_it(
    tmp_path, language, cache, project_with, build
):
    project = project_with(tmp_path, language.files)
    finished = project.command("init", "--json", environ=cache)
    assert finished.exit_code == 0, finished.stderr + project.read("build.sh")
    document = finished.document
    assert [each["language"] for each in document["languages"]] == [language.name]
    assert (document["build"]["passed"], document["build"]["exit_code"]) == (True, 0)
    assert f"build.sh passed{language.tests} in " in finished.stderr
    visible = project.git("status", "--short", "--untracked-files=all").split()[1::2]
    assert set(visible) <= {".gitignore", "build.sh", "codeRollup.sh", "Cargo.lock", "m"}

    project.write(language.red)
    finished = project.command("init", environ=cache)
    assert finished.exit_code == 1
    assert "build.sh ended with exit code " in finished.stderr
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
        pytest.param({"Makefile": "all: m.o\n", "m.c": "int m;\n"}, {"test_m.c": "x\n"}, marks=needs("make")),
        pytest.param({"CMakeLists.txt": CMAKE[: CMAKE.index("enable")]}, {"test_m.c": "x\n"}, marks=[needs("cmake", "cc"), pytest.mark.slow]),
    ],
    ids=["python", "javascript", "make", "cmake"],
)  # fmt: skip
def test_a_project_without_tests_passes_until_it_has_test_files(
    tmp_path, cache, files, added, project_with, build
):
    project = project_with(tmp_path, files)
    project.command("init", "--no-build")
    done = build(project, environ=cache)
    assert (done.exit_code, "there are no tests yet" in done.stdout) == (0, True)
    project.write(added)
    assert build(project, environ=cache).exit_code != 0


def test_a_syntax_error_in_a_module_that_no_test_imports_fails_the_build(
    tmp_path, cache, project_with, build
):
    project = project_with(tmp_path, {**UNITTESTS.files, ".venv/lib/old.py": "print 1\n"})
    project.command("init", "--no-build")
    assert build(project, environ=cache).exit_code == 0
    project.write({"other.py": "print(\n"})
    assert "SyntaxError" in build(project, environ=cache).stdout


@pytest.mark.slow
def test_the_compiled_files_of_packages_stay_in_the_cache_and_those_of_the_project_do_not(
    tmp_path, cache, project_with, build
):
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
        ({"web/package.json": JS, "Makefile": "test: all\n\tx\n"}, [("make test", "."), ("JavaScript", "web")]),
        ({"Makefile": "all:\n", "tool.py": ""}, [("Python", ".")]),
        ({"examples/a/Cargo.toml": "", "notes.txt": ""}, []),
    ],
)  # fmt: skip
def test_the_parts_of_a_project_are_found(tmp_path, files, found, project_with):
    project = project_with(tmp_path, files)
    document = project.command("init", "--no-build", "--json").document
    assert [(each["language"], each["folder"]) for each in document["languages"]] == found
    subprocess.run(["bash", "-n", "build.sh"], cwd=project.root, check=True)


@needs("node", "npm")
def test_every_part_must_pass(tmp_path, cache, project_with, build):
    files = {
        **UNITTESTS.files,
        **{f"the web/{path}": text for path, text in JAVASCRIPT.files.items()},
    }
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


def slow(language):
    marks = [*language.marks, pytest.mark.slow]
    return pytest.param(*language.values, id=language.id, marks=marks)


@pytest.mark.parametrize(
    "language",
    [language if language.id == "unittest" else slow(language) for language in LANGUAGES],
)
def test_a_response_that_breaks_a_test_is_repaired(tmp_path, language, cache, project_with):
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
