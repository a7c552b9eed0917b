"""The conformance tests notice what a service would notice: mistakes put into our own wires.

Each row is a mistake that the service refuses, misreads or answers with less. It is made in a copy
of the plugin, which then has to fail its own conformance tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

PLUGINS = Path(__file__).parents[1] / "plugins"
LEAST_NOTICED = 27


class Mistake(NamedTuple):
    plugin: str
    file: str
    old: str
    new: str


MISTAKES = [
    Mistake("openai", "wire.py", '"role": "assistant", "content"', '"role": "user", "content"'),
    Mistake("openai", "wire.py", '"tool_call_id": result.call_id', '"tool_call_id": result.name'),
    Mistake("openai", "wire.py", '"role": "system"', '"role": "user"'),
    Mistake("openai", "wire.py", '"reasoning_tokens")', '"no_tokens")'),
    Mistake("openai", "wire.py", '"cached_tokens")', '"no_tokens")'),
    Mistake("openai", "wire.py", 'reply_member(reply, "model", str) or ', ""),
    Mistake("openai", "wire.py", '"arguments": text}', '"arguments": dict(call.arguments_object)}'),
    Mistake("openai", "wire.py", '"parameters": dict(tool.parameters)', '"parameters": {}'),
    Mistake("openai", "wire.py", 'HttpCall("/chat/completions"', 'HttpCall("/completions"'),
    Mistake("openai", "wire.py", '"stream": True', '"stream": False'),
    Mistake("anthropic", "wire.py", '"role": message.role', '"role": "user"'),
    Mistake("anthropic", "wire.py", '"tool_use_id": _id(result.call_id)', '"tool_use_id": "call"'),
    Mistake("anthropic", "wire.py", 'body["system"] =', 'body["prompt"] ='),
    Mistake("anthropic", "wire.py", "body, _HEADERS)", "body)"),
    Mistake("anthropic", "wire.py", '"max_tokens": max_tokens', '"max_tokens": 1'),
    Mistake("anthropic", "wire.py", '"required": "any"', '"required": "required"'),
    Mistake("anthropic", "wire.py", '"is_error"', '"failed"'),
    Mistake("anthropic", "wire.py", "sent += (cache_read or 0)", "sent += 0 * (cache_read or 0)"),
    Mistake("anthropic", "wire.py", 'reply_member(reply, "model", str) or ', ""),
    Mistake("anthropic", "stream.py", '("signature", None)', '("sign", None)'),
    Mistake("gemini", "wire.py", 'role = "model"', 'role = "user"'),
    Mistake("gemini", "wire.py", '{"name": result.name,', '{"name": result.call_id,'),
    Mistake("gemini", "wire.py", 'body["systemInstruction"]', 'body["system"]'),
    Mistake("gemini", "wire.py", '"args": call.arguments_object', '"args": call.raw'),
    Mistake("gemini", "wire.py", '"required": "ANY"', '"required": "REQUIRED"'),
    Mistake("gemini", "wire.py", "?alt=sse", ""),
    Mistake("gemini", "wire.py", "(received or 0) + (thoughts or 0)", "(received or 0)"),
    Mistake("gemini", "wire.py", "reasoning=thoughts", "reasoning=None"),
    Mistake("gemini", "wire.py", 'part["thoughtSignature"] = signature', "pass"),
    Mistake("gemini", "wire.py", "results.sort(", "sorted(results, "),
]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_conformance_notices_mistakes_that_a_service_would_notice(tmp_path: Path) -> None:
    assert len(MISTAKES) == 30
    wires = {mistake.plugin: mistake._replace(new=mistake.old) for mistake in MISTAKES}
    assert not any(_is_noticed(wire, tmp_path / name) for name, wire in wires.items())
    with ThreadPoolExecutor(2) as pool:
        folders = [tmp_path / str(number) for number in range(len(MISTAKES))]
        is_noticed = [*pool.map(_is_noticed, MISTAKES, folders)]
    missed = [mistake for mistake, noticed in zip(MISTAKES, is_noticed, strict=True) if not noticed]
    assert len(MISTAKES) - len(missed) >= LEAST_NOTICED, missed


def _is_noticed(mistake: Mistake, folder: Path) -> bool:
    package = f"code_commit_{mistake.plugin}"
    shutil.copytree(PLUGINS / mistake.plugin / "src" / package, folder / package)
    file = folder / package / mistake.file
    text = file.read_text("utf-8")
    assert mistake.old in text, mistake
    file.write_text(text.replace(mistake.old, mistake.new), "utf-8")
    tests = PLUGINS / mistake.plugin / "tests" / f"test_{mistake.plugin}_conformance.py"
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(tests)]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environ["PYTHONPATH"] = str(folder)
    ended = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert ended.returncode in {0, 1}, ended.stdout + ended.stderr
    return ended.returncode == 1
