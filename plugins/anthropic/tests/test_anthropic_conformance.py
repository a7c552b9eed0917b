"""The host's conformance tests, run by this provider."""

from __future__ import annotations

from typing import ClassVar

from code_commit_anthropic.plugin import ANTHROPIC
from code_commit_testing.conformance import ProviderConformance


class TestAnthropic(ProviderConformance):
    definition = ANTHROPIC
    protocol = "anthropic"
    settings: ClassVar = {"model": "claude-sonnet-4-5"}
    unspoken = frozenset()
