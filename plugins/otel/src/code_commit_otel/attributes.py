"""Attributes of spans: OpenTelemetry's conventions for generative AI and processes, and our own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from code_commit.plugin_api import RunTexts, is_build, process_passed

Attributes = dict[str, str | int | float | bool | Sequence[str]]
Data = Mapping[str, Any]

# Bytes of one prompt or response; collectors accept no more in one request.
_LARGEST = 4 * 1024 * 1024
# The conventions' names of providers, where they differ.
_PROVIDERS = {"gemini": "gcp.gemini"}
_PORTS = {"https": 443, "http": 80}
_TOKENS = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_creation.input_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning.output_tokens",
}


def of_run(data: Data) -> Attributes:
    """Return the attributes of a run at its start."""
    return _without_unknown(
        {
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.workflow.name": data.get("workflow"),
            "code_commit.run": Path(str(data.get("folder", ""))).name,
            "vcs.ref.head.revision": data.get("commit"),
        }
    )


def of_ending(data: Data) -> Attributes:
    """Return the attributes of a run at its end."""
    return _without_unknown(
        {
            "code_commit.outcome": data.get("outcome"),
            "process.exit.code": data.get("exit_code"),
        }
    )


def of_call(data: Data) -> Attributes:
    """Return the attributes of a model call at its start."""
    provider = str(data.get("provider"))
    attributes = _without_unknown(
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
            "gen_ai.request.model": data.get("model"),
            "code_commit.call.number": data.get("number"),
            "code_commit.call.label": data.get("label"),
        }
    )
    return attributes | _server(data.get("address"))


def of_answer(data: Data) -> Attributes:
    """Return the attributes of a model call at its end."""
    attributes: dict[str, Any] = {}
    for field, name in _TOKENS.items():
        if count := data.get(field):
            attributes[name] = count
    if data.get("error"):
        attributes["error.type"] = data.get("error_kind") or "_OTHER"
    else:
        attributes["gen_ai.response.model"] = data.get("model")
    if finish := finish_of(data):
        attributes["gen_ai.response.finish_reasons"] = (str(finish),)
    attributes["code_commit.cost_usd"] = data.get("cost_usd")
    return _without_unknown(attributes)


def finish_of(data: Data) -> object:
    """Return why a reply ended, in the service's own word if it sent one."""
    return data.get("finish_detail") or data.get("finish")


def of_process(data: Data, *, content: bool) -> Attributes:
    """Return the attributes of a process; command lines are content, except the build's."""
    argv = texts(data, "argv")
    attributes: dict[str, Any] = {"code_commit.sandbox": data.get("sandbox")}
    if argv:
        attributes["process.executable.name"] = Path(argv[0]).name
    if content or is_build(argv):
        attributes["process.command_args"] = argv
    return _without_unknown(attributes)


def of_process_end(data: Data) -> Attributes:
    """Return the attributes of a process at its end."""
    exit_code = data.get("exit_code")
    attributes = {"process.exit.code": exit_code}
    if not process_passed(data):
        attributes["error.type"] = _kind_of_failure(data)
    return _without_unknown(attributes)


def _kind_of_failure(data: Data) -> str:
    if data.get("timed_out"):
        return "timeout"
    if data.get("tampered"):
        return "tampered"
    return "exit_code"


def of_changes(data: Data, *, content: bool) -> Attributes:
    """Return the attributes of applied or refused changes; paths are content."""
    written = texts(data, "written")
    deleted = texts(data, "deleted")
    attributes: Attributes = {
        "code_commit.files_written": len(written),
        "code_commit.files_deleted": len(deleted),
    }
    if content:
        attributes["code_commit.written"] = written
        attributes["code_commit.deleted"] = deleted
    return attributes


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
    values = data.get(name)
    if not isinstance(values, list | tuple):
        return []
    return [str(value) for value in values]


def _server(address: object) -> Attributes:
    if not isinstance(address, str):
        return {}
    parts = urlsplit(address)
    try:
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        port = None
    return _without_unknown({"server.address": parts.hostname, "server.port": port})


def _read(folder: Path, name: object) -> str | None:
    if not isinstance(name, str):
        return None
    try:
        content = RunTexts(folder).read(name)[:_LARGEST]
    except (OSError, ValueError):
        return None
    return content.decode("utf-8", "replace")


def _without_unknown(values: Mapping[str, Any]) -> Attributes:
    """Drop unknown values and values that cannot be attributes."""
    return {name: value for name, value in values.items() if _is_attribute(value)}


def _is_attribute(value: object) -> bool:
    if isinstance(value, list | tuple):
        return bool(value)
    return isinstance(value, str | int | float)
