"""Builds of compiled languages, and of make."""

from __future__ import annotations

import io
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("bubblewrap")


@pytest.mark.slow  # it compiles
def test_cargo_with_a_git_dependency(
    need, build: Callable, write: Callable, cache: Callable, sandbox_home: Path
) -> None:
    need("cargo", "git")
    upstream = sandbox_home / "upstream"
    (upstream / "src").mkdir(parents=True)
    (upstream / "Cargo.toml").write_text(
        '[package]\nname = "dep"\nversion = "0.1.0"\nedition = "2021"\n'
    )
    (upstream / "src/lib.rs").write_text("pub fn one() -> u32 { 1 }\n")
    for command in ("init -q", "add .", "-c user.name=a -c user.email=a@b commit -qm dep"):
        subprocess.run(["git", *command.split()], cwd=upstream, check=True)
    write({
        "Cargo.toml": '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n'
        f'[dependencies]\ndep = {{ git = "file://{upstream}" }}\n',
        "src/lib.rs": "#[test]\nfn one() { assert_eq!(dep::one(), 1) }\n",
        ".gitignore": "target\n/agent-config\n",
    })  # fmt: skip

    outputs = build("cargo test --lib", "rm -r target; cargo test --lib --offline --locked")

    assert ["test one ... ok" in output for output in outputs] == [True, True]
    assert cache("cargo/git/db/upstream-*")


@pytest.mark.slow  # it compiles Go's own packages
def test_go_with_a_module(
    need, build: Callable, write: Callable, cache: Callable, sandbox_home: Path, monkeypatch
) -> None:
    if subprocess.run(["bash", "-c", "go version"], capture_output=True, check=False).returncode:
        pytest.skip("go is not installed")
    proxy = sandbox_home / "proxy/example.com/tiny/@v"
    proxy.mkdir(parents=True)
    module = "module example.com/tiny\n\ngo 1.16\n"
    (proxy / "list").write_text("v1.0.0\n")
    (proxy / "v1.0.0.info").write_text('{"Version": "v1.0.0", "Time": "2020-01-01T00:00:00Z"}')
    (proxy / "v1.0.0.mod").write_text(module)
    with zipfile.ZipFile(proxy / "v1.0.0.zip", "w") as archive:
        archive.writestr("example.com/tiny@v1.0.0/go.mod", module)
        archive.writestr("example.com/tiny@v1.0.0/tiny.go", "package tiny\n\nconst One = 1\n")
    for name, value in {
        "GOPROXY": f"file://{sandbox_home}/proxy",
        "GONOSUMDB": "*",
        "GOTOOLCHAIN": "local",
    }.items():
        monkeypatch.setenv(name, value)
    write({
        "go.mod": "module example.com/demo\n\ngo 1.16\n\nrequire example.com/tiny v1.0.0\n",
        "main.go": 'package main\n\nimport "example.com/tiny"\n\nfunc main() { println("one", tiny.One) }\n',
    })  # fmt: skip

    outputs = build("go mod tidy; go run .", "GOPROXY=off go run .")

    assert ["one 1" in output for output in outputs] == [True, True]
    assert cache("go-mod/example.com/tiny@v1.0.0/tiny.go")
    assert cache("go-build")


@pytest.mark.slow  # Maven alone takes two seconds
def test_maven(need, build: Callable, write: Callable, cache: Callable, sandbox_home: Path) -> None:
    need("mvn")
    release = sandbox_home / "repository/org/example/parent/1"
    release.mkdir(parents=True)
    head = '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
    parent = "<groupId>org.example</groupId><artifactId>parent</artifactId><version>1</version>"
    (release / "parent-1.pom").write_text(
        f"{head}{parent}<packaging>pom</packaging><name>from the parent</name></project>"
    )
    write({
        "pom.xml": f"{head}<parent>{parent}<relativePath/></parent><artifactId>demo</artifactId>"
        "<packaging>pom</packaging><repositories><repository>"
        f"<id>central</id><url>file://{sandbox_home}/repository</url></repository></repositories></project>"
    })  # fmt: skip

    outputs = build("mvn -B -ntp package", "mvn -B -o package")

    assert ["BUILD SUCCESS" in output for output in outputs] == [True, True]
    assert cache("maven/org/example/parent/1/parent-1.pom")


@pytest.mark.slow  # Gradle alone takes ten seconds
def test_gradle(need, build: Callable, write: Callable, cache: Callable, registry: Any) -> None:
    need("gradle", "javac")
    tiny = "<groupId>org.example</groupId><artifactId>tiny</artifactId><version>1</version>"
    jar = io.BytesIO()
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("tiny.txt", "one\n")
    registry.add(
        "/org/example/tiny/1/tiny-1.pom",
        f"<project><modelVersion>4.0.0</modelVersion>{tiny}</project>",
    )
    registry.add("/org/example/tiny/1/tiny-1.jar", jar.getvalue())
    repository = f"url '{registry.address}'; if (it.hasProperty('allowInsecureProtocol')) allowInsecureProtocol = true"
    write({
        "settings.gradle": "rootProject.name = 'demo'\n",
        "build.gradle": f"apply plugin: 'java'\nrepositories {{ maven {{ {repository} }} }}\n"
        "configurations { tiny }\ndependencies { tiny 'org.example:tiny:1' }\n"
        "task show { doLast { println 'needs ' + configurations.tiny.singleFile.name } }\n",
        "src/main/java/Demo.java": "class Demo {}\n",
        ".gitignore": "/agent-config\n.gradle\nbuild\n",
    })  # fmt: skip
    options = "--no-daemon --console plain show compileJava"

    outputs = build(f"gradle {options}", f"rm -r build .gradle; gradle --offline {options}")

    assert ["needs tiny-1.jar" in output for output in outputs] == [True, True]
    assert cache("gradle/caches/modules-2/files-2.1/org.example/tiny/1/*/tiny-1.jar")


def test_make_and_ccache(need, build: Callable, write: Callable, cache: Callable) -> None:
    need("gcc", "make", "ccache")
    write({
        "main.c": "int main(void) { return 0; }\n",
        "Makefile": "main.o: main.c\n\tccache gcc -c -o main.o main.c\n",
    })  # fmt: skip

    outputs = build("make", "rm main.o; ccache -z; make; ccache --print-stats")

    assert "cache_miss\t0\n" in outputs[1]
    assert cache("ccache")


@pytest.mark.slow  # `test_make_and_ccache` takes less
def test_cmake_and_ccache(need, build: Callable, write: Callable) -> None:
    need("gcc", "cmake", "ccache")
    write({
        "main.c": "int main(void) { return 0; }\n",
        "CMakeLists.txt": "cmake_minimum_required(VERSION 3.10)\nproject(demo C)\nadd_executable(demo main.c)\n"
        "enable_testing()\nadd_test(NAME demo COMMAND demo)\n",
    })  # fmt: skip
    cmake = (
        "cmake -S . -B out -DCMAKE_C_COMPILER_LAUNCHER=ccache; cmake --build out; (cd out; ctest)"
    )

    outputs = build(cmake, f"rm -r out; ccache -z; {cmake}; ccache --print-stats")

    assert "100% tests passed" in outputs[1]
    assert "cache_miss\t0\n" in outputs[1]
