"""Builds of Python projects."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("bubblewrap")


def wheel() -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("tiny.py", "ONE = 1\n")
        archive.writestr(
            "tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n"
        )
        archive.writestr(
            "tiny-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr("tiny-1.0.dist-info/RECORD", "tiny.py,,\n")
    return data.getvalue()


@pytest.fixture
def index(registry: Any) -> str:
    """The address of an index with the Python package `tiny`."""
    name = "tiny-1.0-py3-none-any.whl"
    digest = hashlib.sha256(wheel()).hexdigest()
    registry.add("/simple/tiny/", f'<a href="/{name}#sha256={digest}">{name}</a>', "text/html")
    registry.add(f"/{name}", wheel())
    return f"{registry.address}/simple"


@pytest.mark.slow  # `test_uv` takes less
def test_pip_and_pytest(
    build: Callable,
    write: Callable,
    cache: Callable,
    index: str,
    registry: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    python = getattr(sys, "_base_executable", sys.executable)
    if subprocess.run(
        [python, "-m", "pip", "--version"], capture_output=True, check=False
    ).returncode:
        pytest.skip("pip is not installed")
    monkeypatch.setenv("PYTHON", sys.executable)
    write({"test_it.py": "import tiny\n\ndef test_it():\n    assert tiny.ONE == 1\n"})
    # Others are not cached.
    options = f"--disable-pip-version-check --index-url {index} --trusted-host 127.0.0.1"
    install = f"{python} -m pip install -q {options} --target lib tiny"
    script = (
        f"rm -rf lib; {install}; PYTHONPATH=lib $PYTHON -m pytest -q -p no:cacheprovider test_it.py"
    )

    outputs = build(script, script, network=True)

    assert ["1 passed" in output for output in outputs] == [True, True]
    assert cache("pip/http*")
    assert registry.asked.count("/tiny-1.0-py3-none-any.whl") == 1


def test_uv(
    need, build: Callable, write: Callable, cache: Callable, index: str, sandbox_home: Path
) -> None:
    need("uv")
    (sandbox_home / ".cache/uv").mkdir()  # the user's own
    write({
        "pyproject.toml": '[project]\nname = "demo"\nversion = "1"\nrequires-python = ">=3.11"\ndependencies = ["tiny"]\n'
        f'[[tool.uv.index]]\nurl = "{index}"\ndefault = true\n'
    })  # fmt: skip
    run = f"run --no-python-downloads --python {sys.executable} python -c 'import tiny; print(tiny.ONE)'"

    outputs = build(f"uv {run}", f"rm -r .venv; uv --offline {run}")

    assert [output.splitlines()[-1] for output in outputs] == ["1", "1"]
    assert cache("uv/archive-v*/*/tiny.py")


@pytest.mark.slow  # it makes an environment; `test_uv` takes less
def test_tox(
    need, build: Callable, write: Callable, cache: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("tox")
    monkeypatch.setenv("VIRTUALENV_NO_PERIODIC_UPDATE", "1")
    write({
        "tox.ini": "[tox]\nskipsdist = true\n[testenv]\ncommands = python -c 'import sys; print(sys.prefix)'\n",
        ".gitignore": ".tox\n/agent-config\n",
    })  # fmt: skip

    outputs = build(
        "tox run --runner virtualenv -e py", "rm -r .tox; tox run --runner virtualenv -e py"
    )

    assert ["/.tox/py\n" in output for output in outputs] == [True, True]
    assert cache("virtualenv")
