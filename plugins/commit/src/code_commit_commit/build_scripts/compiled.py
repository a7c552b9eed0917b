"""Rust, Go, Java, C and C++: their build tools, by the project's own wrapper if it has one."""

from __future__ import annotations

import re

from code_commit_commit.build_scripts.folder import Folder
from code_commit_commit.build_scripts.part import Part, if_tests

_JVM_TESTS = (
    "*/src/test/java/*",
    "*/src/test/kotlin/*",
    "*/src/test/groovy/*",
    "*/src/test/scala/*",
)
_C_TESTS = ("*/[Tt]est*.c", "*/[Tt]est*.c[cpx]*", "*[_T]est.c", "*[_T]est.c[cpx]*")

_CARGO = """\
need cargo
cargo build{workspace} --all-targets
if grep -rqE --include='*.rs' --exclude-dir=target '#\\[([a-z_]+::)*test' .; then
  run_tests '^running [1-9]' cargo test{workspace}
else
  cargo test{workspace}
fi
"""
_GRADLE_RAN = """\
[ -n "$(find . -path '*/build/test-results/*' -name '*.xml' \
-exec grep -q '<testcase' {} \\; -print -quit)" ] ||
    fail "there are test files, but no test ran"
"""
_MAKE_WITHOUT_TESTS = """\
if grep -qE '^test *:' {name}; then
  make test
elif has_files {tests}; then
  fail 'there are test files, but {name} has no target "test"'
else
  echo "build.sh: there are no tests yet"
fi
"""


def rust(folder: Folder) -> Part | None:
    """Return how to build and test with Cargo, or None without its file."""
    if not folder.has("Cargo.toml"):
        return None
    is_workspace = folder.mentions(r"^\[workspace\]", "Cargo.toml")
    commands = _CARGO.format(workspace=" --workspace" if is_workspace else "")
    return Part("Rust", commands, ("target/",))


def go(folder: Folder) -> Part | None:
    """Return how to build and test with the go command, on every module of a `go.work`."""
    if not folder.has("go.mod", "go.work"):
        return None
    packages = "$(go list -f '{{.Dir}}/...' -m)" if folder.has("go.work") else "./..."
    # A line "ok" with brackets means that there was no test to run.
    tests = if_tests(("*_test.go",), f"run_tests '^ok[^[]*$' go test {packages}")
    return Part("Go", f"need go\ngo vet {packages}\n{tests}", install="go mod download")


def maven(folder: Folder) -> Part | None:
    """Return how to build and test with Maven or its wrapper."""
    if not folder.has("pom.xml"):
        return None
    program, maven = "mvn", "mvn"
    if folder.has("mvnw"):
        program, maven = "java", "sh mvnw"
    verify = f"{maven} --batch-mode --no-transfer-progress -Dstyle.color=never verify"
    tests = if_tests(_JVM_TESTS, f"run_tests 'Tests run: [1-9]' {verify}", verify)
    return Part("Java", f"need {program}\n{tests}", ("target/",))


def gradle(folder: Folder) -> Part | None:
    """Return how to build and test with Gradle or its wrapper."""
    if not folder.has("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"):
        return None
    program, gradle = "gradle", "gradle"
    if folder.has("gradlew"):
        program, gradle = "java", "sh gradlew"
    build = f"{gradle} --no-daemon --console=plain build\n"
    tests = if_tests(_JVM_TESTS, _GRADLE_RAN.rstrip("\n"))
    return Part("Gradle", f"need {program}\n{build}{tests}", ("build/", ".gradle/"))


def cmake(folder: Folder) -> Part | None:
    """Return how to build and test with CMake and CTest."""
    if not folder.has("CMakeLists.txt"):
        return None
    has_build = any(subfolder.path == "build" for subfolder in folder.folders)
    out = "cmake-build" if has_build else "build"
    tests = if_tests(_C_TESTS, f"(cd {out} && ctest --output-on-failure --no-tests=error)")
    return Part(
        "CMake",
        f"need cmake\ncmake -S . -B {out}\ncmake --build {out} --parallel\n{tests}",
        (f"{out}/",),
    )


def meson(folder: Folder) -> Part | None:
    """Return how to build and test with Meson."""
    if not folder.has("meson.build"):
        return None
    tests = if_tests(_C_TESTS, "run_tests '^Ok: +[1-9]' meson test -C build --print-errorlogs")
    setup = "[ -f build/build.ninja ] || meson setup build\nmeson compile -C build\n"
    return Part("Meson", f"need meson\n{setup}{tests}", ("build/",))


def make(folder: Folder) -> Part | None:
    """Return how to build and test with Make, by the target `test` or `check`."""
    name = next(
        (name for name in ("GNUmakefile", "makefile", "Makefile") if folder.has(name)), None
    )
    if name is None:
        return None
    target = make_target(folder)
    tests = " ".join(f"'{pattern}'" for pattern in _C_TESTS)
    test = f"make {target}\n" if target else _MAKE_WITHOUT_TESTS.format(name=name, tests=tests)
    return Part("Make", f"need make\nmake\n{test}")


def make_target(folder: Folder) -> str:
    """Return the target of a Makefile that runs the tests, or ""."""
    text = "\n".join(
        folder.read(name) for name in ("GNUmakefile", "makefile", "Makefile") if folder.has(name)
    )
    return next(
        (name for name in ("test", "check") if re.search(rf"^{name} *:(?!=)", text, re.MULTILINE)),
        "",
    )
