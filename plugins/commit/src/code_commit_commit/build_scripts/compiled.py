"""Rust, Go and Java: their build tools, by the project's own wrapper if it has one."""

from __future__ import annotations

from code_commit_commit.build_scripts.folder import Folder
from code_commit_commit.build_scripts.part import Part, if_tests

_JVM_TESTS = (
    "*/src/test/java/*",
    "*/src/test/kotlin/*",
    "*/src/test/groovy/*",
    "*/src/test/scala/*",
)

_CARGO = """\
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


def rust(folder: Folder) -> Part | None:
    """Return how to build and test with Cargo, or None without its file."""
    if not folder.has("Cargo.toml"):
        return None
    is_workspace = folder.mentions(r"^\[workspace\]", "Cargo.toml")
    commands = _CARGO.format(workspace=" --workspace" if is_workspace else "")
    # A build script compiles what else is there.
    families = ("Rust", "C") if folder.named("build.rs") else ("Rust",)
    return Part("Rust", commands, ("target/",), families=families, setup="need cargo\n")


def go(folder: Folder) -> Part | None:
    """Return how to build and test with the go command, on every module of a `go.work`."""
    if not folder.has("go.mod", "go.work"):
        return None
    packages = "$(go list -f '{{.Dir}}/...' -m)" if folder.has("go.work") else "./..."
    # A line "ok" with brackets means that there was no test to run.
    tests = if_tests(("*_test.go",), f"run_tests '^ok[^[]*$' go test {packages}")
    return Part(
        "Go",
        f"go vet {packages}\n{tests}",
        install="go mod download",
        families=_with_c(folder),
        setup="need go\n",
    )


def _with_c(folder: Folder) -> tuple[str, ...]:
    """Return the families that the go command builds: C in the folders of packages."""
    packages = {path.rpartition("/")[0] for path in folder.named("*.go")}
    if packages.intersection(path.rpartition("/")[0] for path in folder.named("*.c", "*.cc")):
        return ("Go", "C")
    return ("Go",)


def maven(folder: Folder) -> Part | None:
    """Return how to build and test with Maven or its wrapper."""
    if not folder.has("pom.xml"):
        return None
    program, maven = "mvn", "mvn"
    if folder.has("mvnw"):
        program, maven = "java", "sh mvnw"
    verify = f"{maven} --batch-mode --no-transfer-progress -Dstyle.color=never verify"
    tests = if_tests(_JVM_TESTS, f"run_tests 'Tests run: [1-9]' {verify}", verify)
    return Part("Java", tests, ("target/",), families=("Java",), setup=f"need {program}\n")


def gradle(folder: Folder) -> Part | None:
    """Return how to build and test with Gradle or its wrapper."""
    if not folder.has("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"):
        return None
    program, gradle = "gradle", "gradle"
    if folder.has("gradlew"):
        program, gradle = "java", "sh gradlew"
    build = f"{gradle} --no-daemon --console=plain build\n"
    tests = if_tests(_JVM_TESTS, _GRADLE_RAN.rstrip("\n"))
    return Part(
        "Gradle",
        f"{build}{tests}",
        ("build/", ".gradle/"),
        families=("Java", "C") if folder.named("CMakeLists.txt") else ("Java",),
        setup=f"need {program}\n",
    )
