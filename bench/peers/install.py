"""Install the newest versions of the tools that are compared into `build/peers`, each by itself.

    python bench/peers/install.py

What does not install or does not start is named and left out. `build/peers/bin` has a link to each
program, so that `make bench` finds them as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools import TOOLS

ROOT = Path(__file__).parents[2]
PEERS = ROOT / "build/peers"
INSTALLED = PEERS / "installed.json"
LIMIT = 900.0  # seconds
START_LIMIT = 120.0  # seconds
# Peers of `make bench` alone.
MORE = [("llm", "pip", ["llm"], "llm")]


def main() -> None:
    """Install, link, and write down what works."""
    (PEERS / "bin").mkdir(parents=True, exist_ok=True)
    tools = [(tool.name, tool.installer, tool.packages, tool.program) for tool in TOOLS]
    installed = {}
    for name, installer, packages, program in (*tools, *MORE):
        print(f"Installing {name} …", flush=True)
        folder = PEERS / "tools" / name
        try:
            if installer == "pip":
                path = _install_with_pip(folder, packages) / program
                version = _version_from_pip(folder, packages[0])
            else:
                path = _install_with_npm(folder, packages) / program
                version = _version_from_npm(folder, packages[0])
            _start(path)
        except (OSError, subprocess.SubprocessError) as error:
            output = getattr(error, "output", None) or b""
            print(f"{name} is left out: {error}\n{output.decode(errors='replace')[-2000:]}")
            continue
        installed[name] = {"program": str(path), "version": version}
        link = PEERS / "bin" / program
        link.unlink(missing_ok=True)
        if name != "code-commit":
            link.symlink_to(path)
    INSTALLED.write_text(json.dumps(installed, indent=2) + "\n")


def _install_with_pip(folder: Path, packages: Sequence[str]) -> Path:
    # A checkout is installed anew: its version does not change with each edit.
    clear = ["--clear"] if packages[0].startswith(".") else []
    _run([sys.executable, "-m", "venv", *clear, str(folder)])
    pip = [str(folder / "bin/python"), "-m", "pip", "install", "--disable-pip-version-check"]
    _run([*pip, "--quiet", "--upgrade", *packages])
    return folder / "bin"


def _install_with_npm(folder: Path, packages: Sequence[str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    newest = [f"{package}@latest" for package in packages]
    quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
    _run(["npm", "install", "--prefix", str(folder), *quiet, *newest])
    return folder / "node_modules/.bin"


def _version_from_pip(folder: Path, package: str) -> str:
    name = "code-commit" if package.startswith(".") else package
    code = f"import importlib.metadata; print(importlib.metadata.version({name!r}))"
    return _run([str(folder / "bin/python"), "-c", code]).strip()


def _version_from_npm(folder: Path, package: str) -> str:
    return str(json.loads((folder / f"node_modules/{package}/package.json").read_text())["version"])


def _start(program: Path) -> None:
    with tempfile.TemporaryDirectory() as home:
        subprocess.run(
            [program, "--help"],
            env={"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=START_LIMIT,
            check=True,
        )


def _run(command: Sequence[str]) -> str:
    completed = subprocess.run(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LIMIT,
        check=True,
    )
    return completed.stdout.decode(errors="replace")


if __name__ == "__main__":
    main()
