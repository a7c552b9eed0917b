"""The peer of a whole commit: what a run does at the least, with the standard library alone.

It calls the model, checks the paths, writes the files, and builds in bubblewrap until the build
passes. It has no plugins, no retries, no redaction, no undo, and recovers from nothing.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

PROMPT = "Answer with whole files:\n^^^path\ncontent\n^^^end\n"
BLOCK = re.compile(r"^\^\^\^(\S+)\n(.*?)^\^\^\^end$", re.MULTILINE | re.DOTALL)
VIEW = "--ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --unshare-pid --die-with-parent"


def ask(prompt: str) -> str:
    url = f"{os.environ['GOOGLE_GEMINI_BASE_URL']}/v1beta/models/gemini-2.5-pro:generateContent"
    key = Path("agent-config/gemini-key.txt").read_text().strip()
    headers = {"x-goog-api-key": key, "content-type": "application/json"}
    body = json.dumps({"contents": [{"role": "user", "parts": [{"text": prompt}]}]}).encode()
    with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as reply:
        return str(json.load(reply)["candidates"][0]["content"]["parts"][0]["text"])


def check(paths: list[str]) -> None:
    listing = "\0".join(paths).encode()
    command = ["git", "check-ignore", "--no-index", "-z", "--stdin"]
    ignored = subprocess.run(command, input=listing, capture_output=True, check=False).stdout
    if ignored or "build.sh" in paths or any(".." in path or path[0] == "/" for path in paths):
        sys.exit("a path is not allowed")


def build() -> subprocess.CompletedProcess[str]:
    here = str(Path.cwd())
    bubblewrap = ["bwrap", *VIEW.split(), "--bind", here, here, "bash", "build.sh"]
    return subprocess.run(
        bubblewrap, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


query = Path("agent-config/query.txt").read_text()
rollup = Path("agent-config/codeRollup.txt").read_text()
output = ""
for _ in range(4):
    files = dict(BLOCK.findall(ask(f"{PROMPT}{output}\n[query]\n{query}\n[codebase]\n{rollup}")))
    check(list(files))
    for path, content in files.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(content)
    built = build()
    if built.returncode == 0:
        sys.exit(0)
    output = built.stdout + built.stderr
sys.exit(1)
