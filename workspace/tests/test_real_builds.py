"""Real build tools in the sandbox: with cold caches, then offline with the private caches that the first build left.

Nothing is taken from the network: packages come from a registry on this machine or from folders. A tool that is not
installed is skipped by name.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import pwd
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Protocol

import pytest

from code_commit_workspace.records import ProcessResult

pytestmark = pytest.mark.usefixtures("bubblewrap")

_TOOLS = (
    "npm_",
    "pnpm_",
    "yarn_",
    "pip_",
    "uv_",
    "cargo_",
    "rust",
    "go",
    "maven_",
    "gradle_",
    "java_",
    "ccache_",
    "tox_",
)


class Registry:
    """A package registry on this machine: what it serves, and what was asked for."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.pages: dict[str, tuple[str, bytes]] = {}
        self.asked: list[str] = []

    def add(self, path: str, content: str | bytes, kind: str = "application/octet-stream") -> None:
        self.pages[path] = (kind, content.encode() if isinstance(content, str) else content)


@pytest.fixture
def registry() -> Iterator[Registry]:
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._head()

        def do_GET(self) -> None:
            served.asked.append(self.path)
            self.wfile.write(self._head())

        def _head(self) -> bytes:
            kind, content = served.pages.get(self.path, ("text/plain", b""))
            self.send_response(200 if self.path in served.pages else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "max-age=365000000, immutable")
            self.end_headers()
            return content

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        served = Registry(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield served
        server.shutdown()
        thread.join()


class Build(Protocol):
    """Run a script with cold caches; then another, offline, with those that the first one left."""

    def __call__(self, cold: str, warm: str, *, network: bool = False) -> tuple[str, str]: ...


@pytest.fixture
def write(sandbox_project: Path) -> Callable[[dict[str, str]], None]:
    def write(files: dict[str, str]) -> None:
        for name, text in files.items():
            (sandbox_project / name).parent.mkdir(parents=True, exist_ok=True)
            (sandbox_project / name).write_text(text)

    return write


@pytest.fixture
def build(sandboxed: Callable[..., ProcessResult], sandbox_home: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    account = pwd.getpwuid(os.getuid()).pw_dir
    toolchains = os.environ.get("RUSTUP_HOME", f"{account}/.rustup")
    for name in [each for each in os.environ if each.lower().startswith(_TOOLS)]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("RUSTUP_HOME", toolchains)

    def build(cold: str, warm: str, *, network: bool = False) -> tuple[str, str]:
        before = _listing(sandbox_home)
        outputs = []
        for script, settings in ((cold, {}), (warm, {"network": network})):
            result = sandboxed(f"set -e\n{script}", **settings)
            output = (result.stdout + result.stderr).decode("utf-8", "replace")
            assert (result.exit_code, result.tampered) == (0, ()), output
            outputs.append(output)
        assert _listing(sandbox_home) == before
        return outputs[0], outputs[1]

    return build


def _listing(home: Path) -> dict[str, tuple[int, int]]:
    """Return what is in the home folder, but for the project and the private folders."""
    found = {}
    for top, folders, files in os.walk(home):
        folders[:] = [each for each in folders if Path(top, each) not in {home / "src", home / ".cache/code-commit"}]
        for name in (*folders, *files):
            status = Path(top, name).lstat()
            found[str(Path(top, name))] = (status.st_size, status.st_mtime_ns if name != ".cache" else 0)
    return found


@pytest.fixture
def cache(sandbox_home: Path) -> Callable[[str], bool]:
    """Whether something is at a place of the private cache."""
    return lambda pattern: any(sandbox_home.glob(f".cache/code-commit/sandbox/*/cache/{pattern}"))


def need(*commands: str) -> None:
    for command in commands:
        try:
            works = subprocess.run([command, "--version"], capture_output=True, check=False).returncode == 0
        except OSError:
            works = False
        if not works:
            pytest.skip(f"{command} is not installed")


def wheel() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("tiny.py", "ONE = 1\n")
        archive.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny-1.0.dist-info/RECORD", "tiny.py,,\n")
    return data.getvalue()


@pytest.fixture
def index(registry: Registry) -> str:
    """The address of an index with the Python package `tiny`."""
    name = "tiny-1.0-py3-none-any.whl"
    digest = hashlib.sha256(wheel()).hexdigest()
    registry.add("/simple/tiny/", f'<a href="/{name}#sha256={digest}">{name}</a>', "text/html")
    registry.add(f"/{name}", wheel())
    return f"{registry.address}/simple"


@pytest.mark.slow  # `test_uv` takes less
def test_pip_and_pytest(
    build: Build, write: Callable, cache: Callable, index: str, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = getattr(sys, "_base_executable", sys.executable)
    if subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False).returncode:
        pytest.skip("pip is not installed")
    monkeypatch.setenv("PYTHON", sys.executable)
    write({"test_it.py": "import tiny\n\ndef test_it():\n    assert tiny.ONE == 1\n"})
    options = f"--disable-pip-version-check --index-url {index} --trusted-host 127.0.0.1"  # others are not cached
    install = f"{python} -m pip install -q {options} --target lib tiny"
    script = f"rm -rf lib; {install}; PYTHONPATH=lib $PYTHON -m pytest -q -p no:cacheprovider test_it.py"

    outputs = build(script, script, network=True)

    assert ["1 passed" in output for output in outputs] == [True, True]
    assert cache("pip/http*")
    assert registry.asked.count("/tiny-1.0-py3-none-any.whl") == 1


def test_uv(build: Build, write: Callable, cache: Callable, index: str, sandbox_home: Path) -> None:
    need("uv")
    (sandbox_home / ".cache/uv").mkdir()  # the user's own
    write({
        "pyproject.toml": '[project]\nname = "demo"\nversion = "1"\nrequires-python = ">=3.11"\ndependencies = ["tiny"]\n'
        f'[[tool.uv.index]]\nurl = "{index}"\ndefault = true\n'
    })  # fmt: skip
    run = f"run --no-python-downloads --python {sys.executable} python -c 'import tiny; print(tiny.ONE)'"

    outputs = build(f"uv {run}", f"rm -r .venv; uv --offline {run}")

    assert [output.startswith("1\n") for output in outputs] == [True, True]
    assert cache("uv/archive-v*/*/tiny.py")


@pytest.mark.slow  # it makes an environment; `test_uv` takes less
def test_tox(build: Build, write: Callable, cache: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    need("tox")
    monkeypatch.setenv("VIRTUALENV_NO_PERIODIC_UPDATE", "1")
    write({
        "tox.ini": "[tox]\nskipsdist = true\n[testenv]\ncommands = python -c 'import sys; print(sys.prefix)'\n",
        ".gitignore": ".tox\n/agent-config\n",
    })  # fmt: skip

    outputs = build("tox run --runner virtualenv -e py", "rm -r .tox; tox run --runner virtualenv -e py")

    assert ["/.tox/py\n" in output for output in outputs] == [True, True]
    assert cache("virtualenv")


@pytest.fixture
def node_registry(registry: Registry, write: Callable) -> None:
    """A registry with the Node package `tiny`, and a project that needs it."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, text in {
            "package.json": '{"name": "tiny", "version": "1.0.0"}',
            "index.js": "exports.one = 1",
        }.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    digest = base64.b64encode(hashlib.sha512(data.getvalue()).digest()).decode()
    tarball = {"tarball": f"{registry.address}/tiny/-/tiny-1.0.0.tgz", "integrity": f"sha512-{digest}"}
    version = {"name": "tiny", "version": "1.0.0", "dist": tarball}
    released = {
        "created": "2020-01-01T00:00:00.000Z",
        "modified": "2020-01-01T00:00:00.000Z",
        "1.0.0": "2020-01-01T00:00:00.000Z",
    }
    page = {"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}, "time": released}
    registry.add("/tiny", json.dumps(page), "application/json")
    registry.add("/tiny/-/tiny-1.0.0.tgz", data.getvalue())
    test = "node -e \\\"if (require('tiny').one !== 1) throw 1\\\""
    write({
        "package.json": f'{{"name": "demo", "version": "1.0.0", "dependencies": {{"tiny": "1.0.0"}}, "scripts": {{"test": "{test}"}}}}',
        ".npmrc": f"registry={registry.address}/\naudit=false\nfund=false\nupdate-notifier=false\n",
        ".gitignore": "node_modules\n/agent-config\n",
    })  # fmt: skip


@pytest.mark.slow  # seconds, for what `test_uv` and the tests of the variables prove
@pytest.mark.usefixtures("node_registry")
def test_npm(build: Build, cache: Callable) -> None:
    need("npm")

    build("npm install; npm test", "rm -r node_modules; npm ci --offline; npm test")

    assert cache("npm/_cacache")


@pytest.mark.usefixtures("node_registry")
def test_pnpm(build: Build, cache: Callable, sandbox_project: Path) -> None:
    need("pnpm")

    build("pnpm install; pnpm test", "rm -r node_modules; pnpm install --offline --frozen-lockfile; pnpm test")

    assert cache("pnpm/store/*")
    assert not (sandbox_project / ".pnpm-store").exists()


@pytest.mark.usefixtures("node_registry")
def test_pnpm_keeps_what_was_installed_outside(
    build: Build, cache: Callable, sandbox_home: Path, sandbox_project: Path
) -> None:
    need("pnpm")
    subprocess.run(["pnpm", "install"], cwd=sandbox_project, capture_output=True, check=True)
    state = sandbox_project / "node_modules/.modules.yaml"
    before = [line for line in state.read_text().splitlines() if "storeDir" in line]
    assert (sandbox_home / ".local/share/pnpm/store").is_dir()

    build("pnpm install; pnpm test", "pnpm install --offline; pnpm test")

    assert [line for line in state.read_text().splitlines() if "storeDir" in line] == before


@pytest.mark.slow  # it compiles
def test_cargo_with_a_git_dependency(build: Build, write: Callable, cache: Callable, sandbox_home: Path) -> None:
    need("cargo", "git")
    upstream = sandbox_home / "upstream"
    (upstream / "src").mkdir(parents=True)
    (upstream / "Cargo.toml").write_text('[package]\nname = "dep"\nversion = "0.1.0"\nedition = "2021"\n')
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
def test_go_with_a_module(build: Build, write: Callable, cache: Callable, sandbox_home: Path, monkeypatch) -> None:
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
    for name, value in {"GOPROXY": f"file://{sandbox_home}/proxy", "GONOSUMDB": "*", "GOTOOLCHAIN": "local"}.items():
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
def test_maven(build: Build, write: Callable, cache: Callable, sandbox_home: Path) -> None:
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
def test_gradle(build: Build, write: Callable, cache: Callable, registry: Registry) -> None:
    need("gradle", "javac")
    tiny = "<groupId>org.example</groupId><artifactId>tiny</artifactId><version>1</version>"
    jar = io.BytesIO()
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("tiny.txt", "one\n")
    registry.add("/org/example/tiny/1/tiny-1.pom", f"<project><modelVersion>4.0.0</modelVersion>{tiny}</project>")
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


def test_make_cmake_and_ccache(build: Build, write: Callable, cache: Callable) -> None:
    need("gcc", "make", "cmake", "ccache")
    write({
        "main.c": "int main(void) { return 0; }\n",
        "Makefile": "demo: main.c\n\tccache gcc -c -o main.o main.c\n\tgcc -o demo main.o\n",
        "CMakeLists.txt": "cmake_minimum_required(VERSION 3.10)\nproject(demo C)\nadd_executable(demo main.c)\n"
        "enable_testing()\nadd_test(NAME demo COMMAND demo)\n",
    })  # fmt: skip
    cmake = "cmake -S . -B out -DCMAKE_C_COMPILER_LAUNCHER=ccache; cmake --build out; (cd out; ctest)"

    outputs = build(f"make; ./demo; {cmake}", f"rm -r out demo; ccache -z; make; {cmake}; ccache --print-stats")

    assert "100% tests passed" in outputs[1]
    assert "cache_miss\t0\n" in outputs[1]
    assert cache("ccache")
