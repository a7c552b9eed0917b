"""A plugin of tox: what the name of an environment means, so that tox.ini need not list it.

A name consists of words with `-` between them: a Python, then sets of distributions, which are
installed and tested, then tests of them. The settings of this file stand in braces in tox.ini:

- `{plugins}`: the plugins in the name, with what their tests need
- `{tests}`: the files and folders of the tests
- `{everything}`: all distributions of this checkout
- `{everything_editable}`: the same, as editable folders

The file also writes the constraints that tell uv where these distributions are.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from tox.config.sets import ConfigSet, EnvConfigSet
from tox.plugin import impl
from tox.session.state import State

ROOT = Path(__file__).parent
PLUGINS = sorted(file.parent for file in ROOT.glob("plugins/*/pyproject.toml"))
FOLDERS = [ROOT / "workspace", ROOT / "core", ROOT / "testing", *PLUGINS]

# What holds with any set of distributions.
ANY_SET = "tests/test_environment.py tests/test_start.py"
TESTS = {
    "workspace": "workspace/tests",
    "host": "",
    "core": "core/tests testing/tests",
    **{folder.name: f"plugins/{folder.name}/tests" for folder in PLUGINS},
    # The demo runs a recorded run, which the history does.
    "history": "plugins/history/tests plugins/commit/tests/test_demo.py",
    # What needs every distribution.
    "all": "tests core/tests/test_help.py --ignore=tests/docs --ignore=tests/automation",
    # A run from end to end over each protocol.
    "main": "tests/test_commit_end_to_end.py tests/test_models_and_keys.py "
    "tests/test_planner_end_to_end.py",
    "plugins": "plugins",
    # Plugins with libraries that the host does not have.
    "libraries": " ".join(
        f"plugins/{tests}"
        for tests in (
            "commit/tests/test_gates.py",
            "commit/tests/test_init_and_rollup.py",
            "fleet/tests",
            "mcp/tests",
            "otel/tests",
            "report/tests",
            "tasks/tests",
            "toolbox/tests",
        )
    ),
}


@impl
def tox_add_core_config(core_conf: ConfigSet, state: State) -> None:
    """Write the constraints: uv builds a folder that is found in them once for each change, and one
    that is asked for by its path each time.
    """
    del state
    constraints = "".join(f"{_project(folder)['name']} @ {folder.as_uri()}\n" for folder in FOLDERS)
    file = Path(core_conf["work_dir"], "constraints.txt")
    if not file.exists() or file.read_text("utf-8") != constraints:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(constraints, "utf-8")


@impl
def tox_add_env_config(env_conf: EnvConfigSet, state: State) -> None:
    """Add the settings to each environment."""
    del state
    words = env_conf.name.split("-")
    plugins = [_requirement(folder) for folder in PLUGINS if folder.name in words]
    tests = [ANY_SET, *(TESTS[word] for word in words if word in TESTS)]
    settings = {
        "plugins": [*plugins, "code-commit-testing"] if plugins else [],
        "everything": [_project(folder)["name"] for folder in FOLDERS],
        "everything_editable": [f"-e {folder}" for folder in FOLDERS],
    }
    env_conf.add_constant("tests", "paths of the tests", " ".join(tests).split())
    for name, requirements in settings.items():
        env_conf.add_constant(name, "requirements", "\n".join(requirements))


def _requirement(folder: Path) -> str:
    """Return the name of a plugin with all of its extras: they are for its tests."""
    tables = _tables(folder)
    name = tables["project"]["name"]
    pins = tables["tool"]["hatch"]["metadata"]["hooks"]["custom"]
    extras = ",".join(pins.get("optional-dependencies", {}))
    return f"{name}[{extras}]" if extras else name


def _project(folder: Path) -> dict[str, Any]:
    project: dict[str, Any] = _tables(folder)["project"]
    return project


def _tables(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))
