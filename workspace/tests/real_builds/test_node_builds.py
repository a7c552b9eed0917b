"""Builds of Node projects."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("bubblewrap")


@pytest.fixture
def node_registry(registry: Any, write: Callable) -> None:
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
    tarball = {
        "tarball": f"{registry.address}/tiny/-/tiny-1.0.0.tgz",
        "integrity": f"sha512-{digest}",
    }
    version = {"name": "tiny", "version": "1.0.0", "dist": tarball}
    released = {
        "created": "2020-01-01T00:00:00.000Z",
        "modified": "2020-01-01T00:00:00.000Z",
        "1.0.0": "2020-01-01T00:00:00.000Z",
    }
    page = {
        "name": "tiny",
        "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": version},
        "time": released,
    }
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
def test_npm(need, build: Callable, cache: Callable) -> None:
    need("npm")

    build("npm install; npm test", "rm -r node_modules; npm ci --offline; npm test")

    assert cache("npm/_cacache")


@pytest.mark.usefixtures("node_registry")
def test_pnpm(need, build: Callable, cache: Callable, sandbox_project: Path) -> None:
    need("pnpm")

    build(
        "pnpm install; pnpm test",
        "rm -r node_modules; pnpm install --offline --frozen-lockfile; pnpm test",
    )

    assert cache("pnpm/store/*")
    assert not (sandbox_project / ".pnpm-store").exists()


@pytest.mark.usefixtures("node_registry")
def test_pnpm_keeps_what_was_installed_outside(
    need, build: Callable, cache: Callable, sandbox_home: Path, sandbox_project: Path
) -> None:
    need("pnpm")
    subprocess.run(["pnpm", "install"], cwd=sandbox_project, capture_output=True, check=True)
    state = sandbox_project / "node_modules/.modules.yaml"
    before = [line for line in state.read_text().splitlines() if "storeDir" in line]
    assert (sandbox_home / ".local/share/pnpm/store").is_dir()

    build("pnpm install; pnpm test", "pnpm install --offline; pnpm test")

    assert [line for line in state.read_text().splitlines() if "storeDir" in line] == before
