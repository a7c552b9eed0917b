"""Names that other programs use for what code-commit calls differently, and what to do here.

A suggestion of the closest spelling would mislead: `--prompt` is not `--rollup`.
"""

from __future__ import annotations

from collections.abc import Mapping

_QUERY = "describe the change with --query"
_QUERY_FILE = "`code-commit --query-file FILE` reads the query from a file"
_TASK = "`code-commit --task TEXT` works on a task"
_CHAT = "`code-commit --chat` talks about the code"
_PLANNING = "`code-commit --planning` makes a plan"
_COMMIT = "--commit commits the changed files if the build passes"
_ATTENDED = "code-commit asks no questions: leave this out; --dry-run shows the change"
_MODEL = "choose a model with --model NAME"
_FILES = "choose the files that the model sees with --files PATH"
_FOLDER = "choose the project with -C DIR"
_DRY_RUN = "--dry-run shows the change and applies nothing"
_BUILD = "build.sh decides whether a change is good: put the command there"
_DEBUG = "--debug shows the traceback of an internal error; logs has every prompt"
_JSON = "--json prints events, one JSON object per line"
_SANDBOX = "--sandbox auto, require or off chooses how builds are isolated"
_KEYS = "a key comes from a file in agent-config or from a variable; `code-commit doctor` checks it"
_SETTINGS = "`code-commit config` shows the settings, and where each comes from"
_RUNS = "`code-commit runs` lists the runs"
_DIFF = "`code-commit runs diff` shows what the latest run changed"
_DOCTOR = "`code-commit doctor` checks what a run here needs"
_INIT = "`code-commit init` creates the files that a project needs"

FLAGS: Mapping[str, str] = {
    "--prompt": _QUERY, "-p": _QUERY, "--message": _QUERY, "--msg": _QUERY, "--print": _QUERY,
    "--instruction": _QUERY, "--instructions": _QUERY,
    "--prompt-file": _QUERY_FILE, "--message-file": _QUERY_FILE, "-f": _QUERY_FILE,
    "--yes": _ATTENDED, "-y": _ATTENDED, "--yes-always": _ATTENDED, "--yolo": _ATTENDED,
    "--full-auto": _ATTENDED, "--no-input": _ATTENDED,
    "--dangerously-skip-permissions": _ATTENDED,
    "--auto-commit": _COMMIT, "--auto-commits": _COMMIT,
    "--file": _FILES, "--read": _FILES,
    "--cwd": _FOLDER, "--cd": _FOLDER, "--dir": _FOLDER,
    "--provider": _MODEL, "--llm": _MODEL,
    "--api-key": _KEYS, "--key": _KEYS,
    "--test-cmd": _BUILD, "--auto-test": _BUILD, "--test": _BUILD, "--lint": _BUILD,
    "--preview": _DRY_RUN, "--dry": _DRY_RUN, "-n": _DRY_RUN,
    "--verbose": _DEBUG, "-v": _DEBUG,
    "--output-format": _JSON,
    "--no-sandbox": _SANDBOX,
    "--plan": _PLANNING,
    "--config": _SETTINGS,
    "--continue": _RUNS,
}  # fmt: skip
COMMANDS: Mapping[str, str] = {
    "exec": _QUERY, "run": _QUERY, "ask": _QUERY, "commit": _QUERY,
    "change": _QUERY, "fix": _QUERY,
    "edit": "`code-commit --edit` opens your editor",
    "login": _KEYS, "logout": _KEYS, "auth": _KEYS, "key": _KEYS, "keys": _KEYS,
    "chat": _CHAT, "plan": _PLANNING, "planning": _PLANNING, "task": _TASK, "tasks": _TASK,
    "configure": _SETTINGS, "settings": _SETTINGS,
    "setup": _INIT,
    "logs": _RUNS, "log": _RUNS, "history": _RUNS, "sessions": _RUNS, "diff": _DIFF,
    "status": _DOCTOR, "test": _DOCTOR, "build": _DOCTOR,
    "model": "`code-commit models` lists the models",
    "mcp-server": "`code-commit mcp` serves the workflows to other agents",
}  # fmt: skip
