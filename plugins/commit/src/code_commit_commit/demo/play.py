"""`code-commit demo`: the commit workflow on a small project, with recorded answers."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from shutil import copytree

from code_commit.plugin_api import (
    STOP,
    ExitCode,
    Host,
    NotReady,
    printable,
    python_command,
    python_environment,
    write_stdout,
)
from code_commit_workspace import Git

RECORDED = "2026-01-01-12-00-00-committing-code"

_DESCRIPTION = (
    "Replay a recorded run in a small project: the first response breaks the build, the second "
    "repairs it. The demo needs no key, no provider and no network, "
    "and keeps the project for you to look at."
)
BEFORE = """\
This is a recorded run: it replays stored responses, calls no model and
needs no key. Everything else is real: the project, its git repository,
its build, and the work of code-commit.

The project is in {root}
The query:

{query}
$ code-commit --model replay/latest
"""
AFTER = """\

The first response broke the build:

{red}
The second response repaired it:

$ git diff
{diff}
The log of the run is in
{folder}

{listing}

Take the change back:

  cd {root}
  {command} undo

Next steps, in your own project:

  1. Install the command with a provider (gemini, openai or anthropic), in a
     checkout of code-commit:  uv tool install ".[gemini]"
  2. export GEMINI_API_KEY="..."
  3. code-commit init
     writes what is missing. Check build.sh: it decides whether a change is good.
  4. code-commit --query "Describe the change"
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `demo`."""
    parser.description = _DESCRIPTION
    parser.add_argument(
        "folder",
        nargs="?",
        metavar="FOLDER",
        help="an empty or new folder (default: a temporary one)",
    )


def demo(host: Host, arguments: Namespace) -> int:
    """Create a project in a scratch folder and replay the recorded run in it.

    Raises:
        NotReady: the given folder is not empty, or git is missing.
    """
    root = _scratch(arguments.folder)
    lay_out(root)
    recorded = root / "logs" / RECORDED
    with as_file(files("code_commit_commit.demo") / "recording") as recording:
        copytree(recording, recorded)
    query = (root / "agent-config" / "query.txt").read_text("utf-8")
    indented = "".join(f"    {line}\n" for line in query.splitlines())
    _show(BEFORE.format(root=root, query=indented))
    command = python_command("code_commit", "--model", "replay/latest")
    with (
        subprocess.Popen(command, cwd=root, env=_environment(host.environ)) as process,
        STOP.child(partial(process.send_signal, signal.SIGINT)),
    ):
        exit_code = process.wait()
    if exit_code != ExitCode.REACHED:
        return exit_code
    folder = max(path for path in (root / "logs").iterdir() if path.is_dir() and path != recorded)
    diff = Git(root).run(["diff", "--no-ext-diff", "--no-textconv"]).decode("utf-8", "replace")
    listing = "\n".join(f"    {path.name}" for path in sorted(folder.iterdir()))
    build_lines = (folder / "1-build.txt").read_text("utf-8").splitlines()
    _show(
        AFTER.format(
            root=root,
            red="".join(f"    {line}\n" for line in build_lines),
            diff=diff,
            folder=folder,
            listing=listing,
            command=host.argv0,
        )
    )
    return ExitCode.REACHED


def lay_out(root: Path) -> None:
    """Create the demo's project in `root`, committed to a new git repository."""
    with as_file(files("code_commit_commit.demo") / "project") as project:
        copytree(project, root, dirs_exist_ok=True)
    (root / "gitignore").rename(root / ".gitignore")
    shown = ("slugs.py", "check_slugs.py")
    rollup = "".join(f"--- {name} ---\n{(root / name).read_text('utf-8')}\n" for name in shown)
    (root / "agent-config" / "codeRollup.txt").write_text(rollup, "utf-8")
    git = Git(root)
    git.init()
    git.commit_all("A small project", author="code-commit demo")


def _scratch(folder: str | None) -> Path:
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="code-commit-demo-")).resolve()
    root = Path(folder).resolve()
    try:
        root.mkdir(parents=True, exist_ok=True)
        if any(root.iterdir()):
            raise NotReady(
                f"{root} is not empty", hint="use a new folder, or omit it for a temporary one"
            )
    except OSError as error:
        raise NotReady(f"cannot create the demo in {root}: {error.strerror}") from error
    return root


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without settings for other projects.

    The run shows no diff, because the demo shows it after the output of the builds.
    """
    names = [name for name in environ if not name.startswith("CODE_COMMIT_")]
    variables = {name: environ[name] for name in names}
    return python_environment({**variables, "CODE_COMMIT_DIFF_LINES": "0"})


def _show(text: str) -> None:
    write_stdout(sys.stdout, printable(text))
