"""One TypeScript answer that calls one tool, checked and run by the host, against a bare `deno
run`.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from harness import Command, Line, Measured, NotMeasured, report, run
from project import make_project

from code_commit.plugin_api import PROTECTED, Run
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.git import Git
from code_commit_workspace.guard.guard import Guard

ROUNDS = 20
LIMIT = 3
CODE = """\
async function agent_code(): Promise<string> {
  const content = await show("build.sh");
  return `${content.split("\\n").length} lines`;
}
"""
BARE = "const lines: number = 2;\nconsole.log(`${lines} lines`);\n"


def main() -> list[Line]:
    """Measure and print."""
    try:
        from code_commit_tasks.runtime.deno import deno_binary
    except ImportError:
        lines: list[Line] = [
            NotMeasured("an answer that calls one tool", "code-commit-tasks is not installed")
        ]
    else:
        with tempfile.TemporaryDirectory() as scratch:
            lines = [_measured(Path(scratch), deno_binary())]
    report("a TypeScript answer", lines)
    return lines


def _measured(scratch: Path, deno: str) -> Line:
    bare = scratch / "bare.ts"
    bare.write_text(BARE)
    command = Command(
        [deno, "run", "--no-config", str(bare)],
        {"DENO_DIR": str(scratch), "DENO_NO_UPDATE_CHECK": "1"},
    )
    answer = _answer(make_project(scratch / "project"))
    own, peer = [], []
    for turn in range(ROUNDS + 1):
        start = time.perf_counter()
        answer()
        seconds = time.perf_counter() - start
        bare_seconds = run(command)
        if turn:  # the first round fills the caches
            own.append(seconds)
            peer.append(bare_seconds)
    return Measured(
        "an answer that calls one tool",
        statistics.median(own),
        statistics.median(peer),
        LIMIT,
        "a bare deno run",
    )


def _answer(root: Path) -> Any:
    """Return a function that runs the answer as a task does, with the host's guard, in the project
    at `root`.
    """
    from code_commit_tasks.functions import open_functions
    from code_commit_tasks.runtime.script import ScriptLimits, run_script
    from code_commit_toolbox.settings import ToolboxSettings
    from code_commit_toolbox.tool import ToolContext

    tree = ProjectTree(root)
    guard = Guard(tree, Git(root), PROTECTED)
    own = SimpleNamespace(
        root=root,
        tree=guard.visible,
        may_read=guard.may_read,
        collect=lambda _: (),
        settings_of=lambda _: ToolboxSettings.model_validate({}),
    )
    context = ToolContext(cast("Run", own))
    functions = open_functions(context.run)
    declared = [function.declared for function in functions.by_name.values()]
    limits = ScriptLimits(seconds=60, memory=512 * 1024 * 1024, calls=10)

    def answer() -> None:
        result = run_script(
            CODE, declared, lambda name, given: functions(context, name, given).answer, limits
        )
        assert str(result).endswith(" lines"), result

    return answer


if __name__ == "__main__":
    main()
