"""The conformance tests for a `Wire` that counts tokens; they skip others."""

from __future__ import annotations

import json
from typing import ClassVar

import pytest

from code_commit.plugin_api import CountingWire, ProviderDefinition, ProviderError, Request
from code_commit_testing.conformance_samples import INVALID_ANSWERS, QUESTION, READ
from code_commit_testing.scripted_replies import Protocol

_MEMBERS = {"gemini": "totalTokens", "anthropic": "input_tokens"}


class CountConformance:
    """A part of `ProviderConformance`."""

    definition: ClassVar[ProviderDefinition]
    protocol: ClassVar[Protocol | None] = None
    tools: ClassVar[bool] = True

    def count_answer(self, tokens: int) -> bytes:
        """Return the body of the service's answer to `encode_count`.

        Override it for your own protocol.
        """
        if self.protocol not in _MEMBERS:
            raise NotImplementedError("override `count_answer`")
        return json.dumps({_MEMBERS[self.protocol]: tokens}).encode()

    @pytest.fixture
    def counting_wire(self, wire: CountingWire) -> CountingWire:
        """Return the wire if it counts tokens."""
        if not hasattr(wire, "encode_count"):
            pytest.skip("this service counts no tokens")
        return wire

    def test_the_question_for_a_count_holds_the_whole_prompt(
        self, counting_wire: CountingWire
    ) -> None:
        request = Request(QUESTION.messages, system="Be brief & kind.", tools=(READ,))
        call = counting_wire.encode_count(request)
        assert call.path.startswith("/")
        assert json.loads(json.dumps(call.body, allow_nan=False)) == call.body
        assert self.definition.key_header[0].lower() not in {name.lower() for name in call.headers}
        assert call == counting_wire.encode_count(request)
        for expected in (
            "What is in a.txt and b.txt?",
            "Be brief & kind.",
            "Reads a file." if self.tools else "",
        ):
            assert expected in json.dumps(call.body)

    def test_a_count_is_decoded(self, counting_wire: CountingWire) -> None:
        assert counting_wire.decode_count(200, {}, self.count_answer(1234)) == 1234  # noqa: PLR2004 - as above

    @pytest.mark.parametrize("what", INVALID_ANSWERS)
    def test_an_unreadable_count_is_an_error(self, counting_wire: CountingWire, what: str) -> None:
        with pytest.raises(ProviderError):
            counting_wire.decode_count(200, {}, INVALID_ANSWERS[what])

    @pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
    def test_an_error_is_no_count(self, counting_wire: CountingWire, status: int) -> None:
        with pytest.raises(ProviderError):
            counting_wire.decode_count(status, {}, self.count_answer(1234))
