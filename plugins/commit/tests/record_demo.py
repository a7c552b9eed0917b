"""Records the demo again: run it after a change of the prompts or of the demo's project.

python plugins/commit/tests/record_demo.py
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from code_commit_commit.demo.play import lay_out
from code_commit_testing import install_plugin

DEMO = Path(__file__).parents[1] / "src" / "code_commit_commit" / "demo"
KEPT = {
    "run.started": ("workflow", "token"),
    "call.started": ("number", "label", "provider", "model", "request"),
    "call.finished": None,
    "run.finished": ("outcome", "exit_code", "summary"),
}


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch, "project")
        root.mkdir()
        lay_out(root)
        answers = [(DEMO / "answers" / f"{number}.txt").read_text("utf-8") for number in (1, 2)]
        config = (
            'default_provider = "scripted.default"\n'
            f'[scripted.default]\nmodel = "recorded"\nreplies = {json.dumps(answers, ensure_ascii=False)}\n'
        ).replace("[scripted", "[providers.scripted")
        (root / "agent-config" / "config.toml").write_text("[providers]\n" + config, "utf-8")
        code = "from code_commit_testing.scripted_provider import code_commit_providers\n"
        plugins = install_plugin(Path(scratch, "plugins"), "scripted", code)
        command = [sys.executable, "-m", "code_commit", "--quiet"]
        subprocess.run(
            command, cwd=root, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(plugins)}, check=True
        )
        (recorded,) = (path for path in (root / "logs").iterdir() if path.is_dir())
        keep(recorded, DEMO / "recording")


def keep(recorded: Path, target: Path) -> None:
    """Copy what a replay reads, without details of this machine in the events."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for path in sorted(recorded.glob("*-query*.txt")):
        shutil.copyfile(path, target / path.name)
    lines = []
    for event in map(json.loads, (recorded / "events.jsonl").read_text("utf-8").splitlines()):
        if event["kind"] not in KEPT:
            continue
        names = KEPT[event["kind"]] or tuple(event["data"])
        event["data"] = {name: event["data"][name] for name in names}
        # Not real.
        event["data"].update(
            (name, None) for name in ("input_tokens", "output_tokens") if name in names
        )
        event.update(run=recorded.name, time=0.0, seq=len(lines) + 1)
        lines.append(json.dumps(event, ensure_ascii=False) + "\n")
    (target / "events.jsonl").write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main()
