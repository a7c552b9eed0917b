"""Install built distributions as a user would, without this checkout, and try them.

    python release/try_out.py DIST ENVIRONMENT SBOM

DIST holds the wheels and sdists. ENVIRONMENT becomes a new virtual environment with all of them:
first the libraries that they need, from the configured index, then the distributions with
`--no-index --find-links DIST`, so that nothing of the same name is taken from an index. SBOM gets
the bill of materials (CycloneDX) of what was installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
from collections.abc import Iterable, Iterator
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement

TESTED = "code_commit_truncation"  # its tests come from its sdist


def libraries(wheels: Iterable[Path]) -> Iterator[str]:
    """Yield what the wheels require of others, for all of their extras."""
    for wheel in wheels:
        with ZipFile(wheel) as archive:
            [metadata] = [name for name in archive.namelist() if name.endswith("/METADATA")]
            fields = Parser().parsestr(archive.read(metadata).decode())
        for text in fields.get_all("Requires-Dist", []):
            requirement = Requirement(text)
            requirement.marker = None
            if not requirement.name.startswith("code-commit"):
                yield str(requirement)


def run(*command: str | Path, home: Path | None = None) -> None:
    """Run a command; with a `home` of its own, no settings of this user help it."""
    print("+", *command, flush=True)
    environ = dict(os.environ)
    if home:
        environ["HOME"] = str(home)
    subprocess.run(command, cwd=home, env=environ, check=True)


def main() -> None:
    dist, environment, sbom = (Path(argument).absolute() for argument in sys.argv[1:])
    wheels = sorted(dist.glob("*.whl"))
    test_tools = [wheel for wheel in wheels if wheel.name.startswith("code_commit_testing-")]
    version = wheels[0].name.split("-")[1]
    venv.create(environment, clear=True, with_pip=True)
    python = environment / "bin/python"
    pip: list[str | Path] = [python, "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    own = [*pip, "--isolated", "--no-index", "--find-links", dist]
    needed = {*libraries(wheel for wheel in wheels if wheel not in test_tools)}
    run(*pip, *sorted(needed))
    run(*own, f"code-commit[all]=={version}")
    run("cyclonedx-py", "environment", python, "--output-reproducible", "--output-file", sbom)
    run(*pip, "hypothesis", *libraries(test_tools))
    run(*own, f"code-commit-testing=={version}")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        run(environment / "bin/code-commit", "demo", home=home)
        with tarfile.open(dist / f"{TESTED}-{version}.tar.gz") as archive:
            archive.extractall(home, filter="data")
        tests = home / f"{TESTED}-{version}/tests"
        flags = ["-q", "-c", os.devnull, "-p", "no:cacheprovider", "--rootdir", str(tests)]
        run(python, "-m", "pytest", *flags, tests, home=home)


if __name__ == "__main__":
    main()
