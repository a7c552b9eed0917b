"""The host's conformance tests, run by this provider."""

from __future__ import annotations

from typing import ClassVar

from code_commit.testing.conformance import ProviderConformance
from code_commit_anthropic.plugin import ANTHROPIC


class TestAnthropic(ProviderConformance):
    definition = ANTHROPIC
    protocol = "anthropic"
    settings: ClassVar = {"model": "claude-sonnet-4-5"}
    unspoken = frozenset()
