"""Attributes of spans: OpenTelemetry's conventions for generative AI and processes, and some of our
own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from code_commit.plugin_api import is_build, open_run_file, process_passed

Attributes = dict[str, str | int | float | bool | Sequence[str]]
Data = Mapping[str, Any]

# Bytes of one prompt or response; collectors accept no more in one request.
_LARGEST = 4 * 1024 * 1024
# The conventions' names of providers, where they differ.
_PROVIDERS = {"gemini": "gcp.gemini"}
_TOKENS = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_creation.input_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
}


def of_run(data: Data) -> Attributes:
    """Return the attributes of a run at its start."""
    return _known({
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": data.get("workflow"),
        "code_commit.run": Path(str(data.get("folder", ""))).name,
        "vcs.ref.head.revision": data.get("commit"),
    })  # fmt: skip


def of_ending(data: Data) -> Attributes:
    """Return the attributes of a run at its end."""
    return _known(
        {"code_commit.outcome": data.get("outcome"), "process.exit.code": data.get("exit_code")}
    )


def of_call(data: Data) -> Attributes:
    """Return the attributes of a model call at its start."""
    provider = str(data.get("provider"))
    return _known({
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
        "gen_ai.request.model": data.get("model"),
        "code_commit.call.number": data.get("number"),
        "code_commit.call.label": data.get("label"),
    }) | _server(data.get("address"))  # fmt: skip


def of_answer(data: Data) -> Attributes:
    """Return the attributes of a model call at its end."""
    tokens = {name: data.get(field) for field, name in _TOKENS.items()}
    finish = data.get("finish_detail") or data.get("finish")
    values = {
        "gen_ai.response.model": None if data.get("error") else data.get("model"),
        "gen_ai.response.finish_reasons": (str(finish),) if finish else None,
        "error.type": (data.get("error_kind") or "_OTHER") if data.get("error") else None,
        "code_commit.cost_usd": data.get("cost_usd"),
    }
    return _known({name: count for name, count in tokens.items() if count} | values)


def of_process(data: Data, *, content: bool) -> Attributes:
    """Return the attributes of a build or a command; command lines are content, except the build's."""
    argv = texts(data, "argv")
    shown = argv if content or is_build(argv) else None
    return _known({
        "process.executable.name": Path(argv[0]).name if argv else None,
        "process.command_args": shown,
        "code_commit.sandbox": data.get("sandbox"),
    })  # fmt: skip


def of_process_end(data: Data) -> Attributes:
    """Return the attributes of a process at its end."""
    failed = not process_passed(data)
    kind = (
        "timeout" if data.get("timed_out") else "tampered" if data.get("tampered") else "exit_code"
    )
    return _known(
        {"process.exit.code": data.get("exit_code"), "error.type": kind if failed else None}
    )


def of_changes(data: Data, *, content: bool) -> Attributes:
    """Return the attributes of applied or refused changes; paths are content."""
    written, deleted = (texts(data, name) for name in ("written", "deleted"))
    counts: Attributes = {
        "code_commit.files_written": len(written),
        "code_commit.files_deleted": len(deleted),
    }
    return counts | (
        {"code_commit.written": written, "code_commit.deleted": deleted} if content else {}
    )


def input_messages(folder: Path, name: object) -> Attributes:
    """Return the prompt in the conventions' format."""
    text = _read(folder, name)
    if text is None:
        return {}
    messages = [{"role": "user", "parts": [{"type": "text", "content": text}]}]
    return {"gen_ai.input.messages": json.dumps(messages, ensure_ascii=False)}


def output_messages(folder: Path, name: object, finish: object) -> Attributes:
    """Return the response in the conventions' format."""
    text = _read(folder, name)
    if text is None:
        return {}
    parts = [{"type": "text", "content": text}]
    messages = [{"role": "assistant", "parts": parts, "finish_reason": str(finish)}]
    return {"gen_ai.output.messages": json.dumps(messages, ensure_ascii=False)}


def texts(data: Data, name: str) -> list[str]:
    """Return a field that is a list of strings, or an empty list."""
    value = data.get(name)
    return [str(each) for each in value] if isinstance(value, list | tuple) else []


def _server(address: object) -> Attributes:
    parts = urlsplit(address) if isinstance(address, str) else urlsplit("")
    try:
        port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    except ValueError:
        port = None
    return _known({"server.address": parts.hostname, "server.port": port})


def _read(folder: Path, name: object) -> str | None:
    try:
        with open_run_file(folder, name if isinstance(name, str) else "") as file:
            return file.read(_LARGEST).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None


def _known(values: Mapping[str, Any]) -> Attributes:
    """Drop unknown values and values that cannot be attributes."""
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, str | int | float) or (isinstance(value, list | tuple) and value)
    }
