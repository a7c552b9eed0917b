"""The host's conformance tests, run by this provider."""

from __future__ import annotations

from typing import ClassVar

from code_commit.plugin_api import Finish
from code_commit_openai.plugin import OPENAI
from code_commit_testing.conformance import ProviderConformance


class TestOpenAI(ProviderConformance):
    definition = OPENAI
    protocol = "openai"
    settings: ClassVar = {"model": "gpt-5"}
    unspoken = frozenset({Finish.PAUSED})
