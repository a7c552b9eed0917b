"""The tools that are compared: how each is installed, started and spoken to.

Each is started as its documentation says for scripts and CI, with the fewest flags that let it work
without questions. The installed programs are in `build/peers`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from faults import FILES, KEY, TASK

Form = Literal[
    "whole files", "search and replace", "shell", "patch tool", "replace tool", "responses"
]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool.

    `packages` are for pip or npm; `program` is the command that they bring. `arguments` and
    `variables` are functions of the service's address, `settings` are files in the home folder.
    `form` is how it wants its replies, and with `builds` it runs the build itself. `side_calls` is
    how to know a request that is not of the task: a title, a message of a commit.
    """

    name: str
    installer: Literal["pip", "npm"]
    packages: Sequence[str]
    program: str
    form: Form
    arguments: Callable[[str], Sequence[str]]
    variables: Callable[[str], Mapping[str, str]]
    settings: Mapping[str, str] = field(default_factory=dict)
    builds: bool = False
    side_calls: Literal["", "without tools", "another model"] = ""


def _ours(_: str) -> Sequence[str]:
    return ["--query", TASK]


def _aider(_: str) -> Sequence[str]:
    return [
        *("--model", "openai/gpt-5", "--yes-always", "--no-check-update"),
        *("--auto-test", "--test-cmd", "bash build.sh"),
        *("--message", TASK),
        *FILES,
    ]


def _codex(address: str) -> Sequence[str]:
    members = {
        "name": "scripted",
        "base_url": f"{address}/v1",
        "env_key": "SCRIPTED_KEY",
        "wire_api": "responses",
    }
    provider = ", ".join(f'{name}="{value}"' for name, value in members.items())
    return [
        *("exec", "--model", "gpt-5.5", "--sandbox", "workspace-write"),
        # It would wait for its server of statistics for five seconds.
        *("-c", "analytics.enabled=false"),
        *("-c", "model_provider=scripted", "-c", f"model_providers.scripted={{{provider}}}"),
        TASK,
    ]


def _opencode_provider(address: str) -> Mapping[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{address}/v1", "apiKey": "{env:SCRIPTED_KEY}"},
        "models": {"gpt-5": {}},
    }
    return {
        "SCRIPTED_KEY": KEY,
        "OPENCODE_CONFIG_CONTENT": json.dumps({"provider": {"scripted": provider}}),
    }


def _openai(address: str) -> Mapping[str, str]:
    # litellm would ask the network for prices, and wait for it.
    return {
        "OPENAI_API_KEY": KEY,
        "OPENAI_API_BASE": f"{address}/v1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }


def _gemini(address: str) -> Mapping[str, str]:
    return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": address}


TOOLS: tuple[Tool, ...] = (
    Tool(
        name="code-commit",
        installer="pip",
        packages=[".[gemini,report]"],
        program="code-commit",
        form="whole files",
        arguments=_ours,
        variables=_gemini,
        builds=True,
    ),
    Tool(
        name="aider",
        installer="pip",
        packages=["aider-chat"],
        program="aider",
        form="search and replace",
        arguments=_aider,
        variables=_openai,
        builds=True,
        side_calls="another model",
    ),
    Tool(
        name="codex",
        installer="npm",
        packages=["@openai/codex"],
        program="codex",
        form="responses",
        arguments=_codex,
        variables=lambda _: {"SCRIPTED_KEY": KEY},
    ),
    Tool(
        name="gemini-cli",
        installer="npm",
        packages=["@google/gemini-cli"],
        program="gemini",
        form="replace tool",
        arguments=lambda _: ["-m", "gemini-2.5-pro", "--yolo", "--skip-trust", "-p", TASK],
        variables=_gemini,
        settings={
            ".gemini/settings.json": '{"security": {"auth": {"selectedType": "gemini-api-key"}},'
            ' "privacy": {"usageStatisticsEnabled": false}}'
        },
        side_calls="without tools",
    ),
    Tool(
        name="opencode",
        installer="npm",
        packages=["opencode-ai"],
        program="opencode",
        form="patch tool",
        arguments=lambda _: ["run", "--model", "scripted/gpt-5", TASK],
        variables=_opencode_provider,
        side_calls="without tools",
    ),
    Tool(
        name="mini-swe-agent",
        installer="pip",
        packages=["mini-swe-agent"],
        program="mini",
        form="shell",
        arguments=lambda _: ["-m", "openai/gpt-5", "-y", "--exit-immediately", "-t", TASK],
        variables=lambda address: {**_openai(address), "MSWEA_CONFIGURED": "true"},
    ),
)
