"""The peer of a whole commit: imports the given libraries and does the job without error handling.

Like code-commit, it asks git what is ignored and saves the tree before and after each attempt. It
has no plugins, no isolation, no undo, no redaction, no retries and no recovery.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pathspec
import pluggy
import pydantic_settings
import structlog

PROMPT = "Answer with whole files:\n^^^path\ncontent\n^^^end\n"
REPAIRS = 3


class Settings(pydantic_settings.BaseSettings):
    model_config = pydantic_settings.SettingsConfigDict(env_prefix="NAIVE_")
    model: str = "gpt-5"
    base_url: str = ""


def main() -> int:
    settings = Settings()
    pluggy.PluginManager("naive")
    assert pathspec.PathSpec.from_lines("gitwildmatch", ["/agent-config"]).match_file(
        "agent-config/query.txt"
    )
    query = Path("agent-config/query.txt").read_text()
    rollup = Path("agent-config/codeRollup.txt").read_text()
    key = Path("agent-config/openai-key.txt").read_text().strip()

    folder = Path(time.strftime("logs/%Y-%m-%d-%H-%M-%S-naive"))
    folder.mkdir(parents=True)
    Path("logs/.gitignore").write_text("*")
    with (folder / "events.jsonl").open("w") as events:
        log = structlog.wrap_logger(
            structlog.WriteLogger(events),
            processors=[structlog.processors.JSONRenderer(sort_keys=True)],
        )
        keep = snapshots()
        keep()
        output = ""
        replaced: dict[str, str] = {}
        for attempt in range(1, REPAIRS + 2):
            prompt = f"{PROMPT}{output}\n[query]\n{query}\n[codebase]\n{rollup}\n{replaced or ''}"
            (folder / f"{attempt}-query.txt").write_text(prompt)
            log.info("call.started", attempt=attempt)
            text = ask(settings, key, prompt, folder / f"{attempt}-query-response")
            files = dict(
                re.findall(r"^\^\^\^(\S+)\n(.*?)^\^\^\^end$", text, re.MULTILINE | re.DOTALL)
            )
            refuse_ignored(files)
            write(files)
            replaced |= files
            log.info("changes.applied", paths=sorted(files))
            build = subprocess.run(
                ["bash", "build.sh"], capture_output=True, stdin=subprocess.DEVNULL, check=False
            )
            output = (build.stdout + build.stderr).decode()
            (folder / f"{attempt}-build.txt").write_text(f"{build.returncode}\n{output}")
            keep()
            log.info("process.finished", exit_code=build.returncode)
            if build.returncode == 0:
                (folder / "run.json").write_text(
                    json.dumps({"outcome": "reached", "attempts": attempt})
                )
                return 0
    return 1


def ask(settings: Settings, key: str, prompt: str, log: Path) -> str:
    with httpx.Client(timeout=600) as client:
        response = client.post(
            f"{settings.base_url}/chat/completions",
            headers={"authorization": f"Bearer {key}"},
            json={"model": settings.model, "messages": [{"role": "user", "content": prompt}]},
        )
    response.raise_for_status()
    log.with_suffix(".json").write_bytes(response.content)
    text = str(response.json()["choices"][0]["message"]["content"])
    log.with_suffix(".txt").write_text(text)
    return text


def refuse_ignored(files: dict[str, str]) -> None:
    listing = "\0".join(f"./{name}" for name in files).encode()
    command = ["git", "check-ignore", "--no-index", "-z", "--stdin"]
    judged = subprocess.run(command, input=listing, capture_output=True, check=False)
    if judged.stdout or any(".." in name or name.startswith("/") for name in files):
        sys.exit(f"refused: {judged.stdout!r}")


def write(files: dict[str, str]) -> None:
    for name, content in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(content)
    subprocess.run(["sync", "-f", "."], check=True)


def snapshots() -> Callable[[], None]:
    """Return a function that saves the visible tree in a separate repository."""
    environment = {**os.environ, "GIT_DIR": "agent-config/snapshots.git", "GIT_WORK_TREE": "."}
    subprocess.run(["git", "init", "-q"], env=environment, check=True)

    def keep() -> None:
        subprocess.run(["git", "add", "-A"], env=environment, check=True)
        subprocess.run(
            ["git", "write-tree"], env=environment, check=True, stdout=subprocess.DEVNULL
        )

    return keep


if __name__ == "__main__":
    sys.exit(main())
