"""C and C++: CMake, Meson, Autotools, and Makefiles."""

from __future__ import annotations

from code_commit_commit.build_scripts.folder import Folder
from code_commit_commit.build_scripts.make_rules import make_rules
from code_commit_commit.build_scripts.own_commands import MAKEFILES
from code_commit_commit.build_scripts.part import Part, if_tests
from code_commit_commit.build_scripts.pipelines import Pipeline
from code_commit_commit.build_scripts.sources import families_in

_TESTS = ("*/[Tt]est*.c", "*/[Tt]est*.c[cpx]*", "*[_T]est.c", "*[_T]est.c[cpx]*")
_PROCESSORS = '"$(getconf _NPROCESSORS_ONLN)"'
_CONFIGURE = """\
[ -x configure ] || autoreconf --force --install
[ -f Makefile ] || ./configure
make
make check
"""
_COMPILES = r"\$[({](?:CC|CXX|LD)[)}]|\b(?:gcc|g\+\+|clang|cc|c\+\+|cmake)\b|\.o\b|\$[({]MAKE[)}]"


def c_part(folder: Folder, pipeline: Pipeline) -> Part | None:
    """Return how to build and test C and C++, or None without sources or without a build tool."""
    if not families_in(folder)["C"]:
        return None
    if part := configured_part(folder):
        return part
    name = _makefile(folder)
    if not folder.mentions(_COMPILES, name):
        return None
    tests = "" if folder.path else pipeline.tests("C")
    return _make(name, tests)


def configured_part(folder: Folder) -> Part | None:
    """Return how to build with CMake, Meson or Autotools, or None without their files."""
    return _cmake(folder) or _meson(folder) or _autotools(folder)


def make_part(folder: Folder) -> Part | None:
    """Return how to build a project of an unknown language with Make."""
    name = _makefile(folder)
    rules = make_rules(folder.read(name))
    first = next((target for target in rules.by_target if not target.startswith(".")), "")
    if not first or rules.runs_nothing(first):
        return None
    return _make(name, "")


def _makefile(folder: Folder) -> str:
    return next((name for name in MAKEFILES if name in folder.names), "")


def _cmake(folder: Folder) -> Part | None:
    if not folder.has("CMakeLists.txt"):
        return None
    has_build = any(subfolder.path == "build" for subfolder in folder.folders)
    out = "cmake-build" if has_build else "build"
    tests = if_tests(_TESTS, f"(cd {out} && ctest --output-on-failure --no-tests=error)")
    build = f"cmake -S . -B {out}\ncmake --build {out} --parallel {_PROCESSORS}\n"
    return Part("CMake", f"{build}{tests}", (f"{out}/",), families=("C",), setup="need cmake\n")


def _meson(folder: Folder) -> Part | None:
    if not folder.has("meson.build"):
        return None
    tests = if_tests(_TESTS, "run_tests '^Ok: +[1-9]' meson test -C build --print-errorlogs")
    build = "[ -f build/build.ninja ] || meson setup build\nmeson compile -C build\n"
    return Part("Meson", f"{build}{tests}", ("build/",), families=("C",), setup="need meson\n")


def _autotools(folder: Folder) -> Part | None:
    if not folder.has("configure.ac"):
        return None
    return Part("Autotools", _CONFIGURE, families=("C",), setup="need make\nneed autoreconf\n")


def _make(name: str, tests: str) -> Part:
    """Return the part of a Makefile without a target for tests; `tests` runs them, if known."""
    if not tests:
        message = f'there are test files, but {name} has no target "test"'
        tests = f"if grep -qE '^test *:' {name}; then\n  make test\nel"
        tests += if_tests(_TESTS, f"fail '{message}'").rstrip("\n")
    return Part("Make", f"make\n{tests}\n", families=("C",), setup="need make\n")
