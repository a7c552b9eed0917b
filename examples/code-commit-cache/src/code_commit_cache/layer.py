"""The layer: one file for each answer."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from code_commit.plugin_api import (
    Completion,
    Finish,
    Message,
    ModelCall,
    NextLayer,
    Usage,
    parts_from_json,
    parts_to_json,
)


class Cache:
    """A `ModelLayer`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, call: ModelCall, next: NextLayer) -> Completion:
        """Answer from the folder, or pass the call on and store the answer."""
        file = self._folder / f"{key_of(call)}.json"
        try:
            stored = completion_of(json.loads(file.read_text("utf-8")))
            return replace(stored, cost=0.0, cached=True)
        except FileNotFoundError:
            pass
        except (OSError, ValueError, LookupError, TypeError) as error:
            call.warn(f"{file} is invalid and will be replaced: {error}")
        completion = next(call)
        if completion.finish in {Finish.STOP, Finish.TOOL_CALLS}:
            try:
                self._store(file, document_of(completion))
            except OSError as error:
                call.warn(f"cannot store the answer: {error}")
        return completion

    def _store(self, file: Path, document: dict[str, Any]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=self._folder)
        with open(handle, "w", encoding="utf-8") as opened:
            json.dump(document, opened)
        os.replace(name, file)


def key_of(call: ModelCall) -> str:
    """Return the cache key of a call: a hash of the request, the provider and the model."""
    request = call.request
    content = {
        "provider": call.provider,
        "model": call.model,
        "system": request.system,
        "messages": [[turn.role, parts_to_json(turn.parts)] for turn in request.messages],
        "tools": [[tool.name, tool.description, dict(tool.parameters)] for tool in request.tools],
        "tool_choice": request.tool_choice,
        "max_tokens": request.max_tokens,
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def document_of(completion: Completion) -> dict[str, Any]:
    """Return a completion as JSON."""
    return {
        "parts": parts_to_json(completion.message.parts),
        "finish": completion.finish.value,
        "finish_detail": completion.finish_detail,
        "usage": asdict(completion.usage),
        "model": completion.model,
        "raw": dict(completion.raw),
    }


def completion_of(document: dict[str, Any]) -> Completion:
    """Return the completion in a document."""
    return Completion(
        message=Message("assistant", parts_from_json(document["parts"])),
        finish=Finish(document["finish"]),
        finish_detail=document["finish_detail"],
        usage=Usage(**document["usage"]),
        model=document["model"],
        raw=document["raw"],
    )
