"""Build the distributions of this checkout: the wheel of each from its sdist alone.

    python release/build.py TARGET [FOLDER ...]

TARGET gets an sdist and a wheel for each folder, of all distributions if none is given. It prints
the names of the wheels. Two builds of one commit give the same bytes with the same hatchling: the
times in the archives are that of the commit, or `SOURCE_DATE_EPOCH`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from contextlib import chdir
from pathlib import Path

from hatchling.build import build_sdist, build_wheel

ROOT = Path(__file__).parents[1]


def distributions() -> list[Path]:
    """Return the folders of all distributions that are published."""
    plugins = sorted(file.parent for file in ROOT.glob("plugins/*/pyproject.toml"))
    return [ROOT / "workspace", ROOT / "core", ROOT / "testing", *plugins]


def build(target: Path, folders: Iterable[Path]) -> list[str]:
    """Build folders in one process, because each start costs more than a build."""
    wheels = []
    with tempfile.TemporaryDirectory() as unpacked:
        for folder in folders:
            with chdir(folder):
                sdist = build_sdist(str(target))
            with tarfile.open(target / sdist) as archive:
                archive.extractall(unpacked, filter="data")
            with chdir(Path(unpacked, sdist.removesuffix(".tar.gz"))):
                wheels.append(build_wheel(str(target)))
    return wheels


def time_of_commit() -> str:
    """Return when the commit was made, in seconds since 1970."""
    command = ["git", "log", "-1", "--format=%ct"]
    return subprocess.check_output(command, cwd=ROOT, text=True).strip()


def main() -> None:
    target, *folders = (Path(argument).absolute() for argument in sys.argv[1:])
    target.mkdir(parents=True, exist_ok=True)
    if "SOURCE_DATE_EPOCH" not in os.environ:
        os.environ["SOURCE_DATE_EPOCH"] = time_of_commit()
    for wheel in build(target, folders or distributions()):
        print(wheel)


if __name__ == "__main__":
    main()
