"""Test doubles for plugins. Modules are imported on first use.

    from code_commit_testing import Reply, ScriptedServer

    with ScriptedServer([Reply(text="hello")]) as server:
        ...  # point a provider at server.url("openai")

- `ScriptedServer`: a real HTTP server on loopback with the protocols of Gemini, OpenAI and
  Anthropic
- `Reply`, `RecordedRequest`: its answers, and the requests it received; `Stream`: how an answer is
  streamed
- `Project`, `Finished`, `install_plugin`: run the command in a test project, with test plugins
- `ScriptedProvider`: a provider that answers from a list, without HTTP; its module is also a plugin
- `TokenEndpoint`: hands out access tokens, beside the script of a `ScriptedServer`
- `model_call`: a call of a model, for tests of a provider or a layer
- `code_commit_testing.conformance`: the test class that every provider must pass (needs pytest)
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from code_commit_testing.command import Finished, Project, install_plugin
    from code_commit_testing.scripted_provider import ScriptedProvider, model_call
    from code_commit_testing.scripted_replies import Reply, Stream
    from code_commit_testing.scripted_server import RecordedRequest, ScriptedServer
    from code_commit_testing.token_endpoint import TokenEndpoint

_MODULES = {
    "Finished": "code_commit_testing.command",
    "Project": "code_commit_testing.command",
    "RecordedRequest": "code_commit_testing.scripted_server",
    "Reply": "code_commit_testing.scripted_replies",
    "ScriptedProvider": "code_commit_testing.scripted_provider",
    "ScriptedServer": "code_commit_testing.scripted_server",
    "Stream": "code_commit_testing.scripted_replies",
    "TokenEndpoint": "code_commit_testing.token_endpoint",
    "install_plugin": "code_commit_testing.command",
    "model_call": "code_commit_testing.scripted_provider",
}

__all__ = [
    "Finished",
    "Project",
    "RecordedRequest",
    "Reply",
    "ScriptedProvider",
    "ScriptedServer",
    "Stream",
    "TokenEndpoint",
    "install_plugin",
    "model_call",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    modules = [
        f"code_commit_testing.conformance{part}"
        for part in ("", "_count", "_provider", "_stream", "_stream_http", "_token")
    ]
    # For readable failures of their tests.
    if "pytest" in sys.modules and modules[0] not in sys.modules:
        sys.modules["pytest"].register_assert_rewrite(*modules)
    return getattr(import_module(_MODULES[name]), name)
