"""The host's conformance tests, run by this provider."""

from __future__ import annotations

from typing import ClassVar

from code_commit.plugin_api import Finish
from code_commit_gemini.plugin import GEMINI
from code_commit_testing.conformance import ProviderConformance


class TestGemini(ProviderConformance):
    definition = GEMINI
    protocol = "gemini"
    settings: ClassVar = {"model": "gemini-2.5-pro"}
    ends_with_finish = True
    unspoken = frozenset({Finish.PAUSED, Finish.REFUSED})
