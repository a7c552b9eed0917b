"""What the finish words of services mean: one table for all of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from code_commit.plugin_api.conversation import Finish, Part, ToolCall

# The finish words of services, in lower case.
FINISH_WORDS: Mapping[str, Finish] = {
    "stop": Finish.STOP,
    "end_turn": Finish.STOP,  # Anthropic, Bedrock
    "stop_sequence": Finish.STOP,  # the same, TGI
    "eos": Finish.STOP,  # Together
    "eos_token": Finish.STOP,  # TGI
    "complete": Finish.STOP,  # Cohere
    "tool_calls": Finish.TOOL_CALLS,
    "tool_call": Finish.TOOL_CALLS,  # Cohere
    "tool_use": Finish.TOOL_CALLS,  # Anthropic, Bedrock
    "function_call": Finish.TOOL_CALLS,
    "pause_turn": Finish.PAUSED,  # Anthropic
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,  # Anthropic, Gemini, Bedrock
    "model_length": Finish.LENGTH,  # Mistral
    "model_context_window_exceeded": Finish.LENGTH,  # Anthropic, Zhipu
    "refusal": Finish.REFUSED,  # Anthropic
    "content_filter": Finish.FILTERED,
    "content_filtered": Finish.FILTERED,  # Bedrock
    "guardrail_intervened": Finish.FILTERED,  # Bedrock
    "sensitive": Finish.FILTERED,  # Zhipu
    "safety": Finish.FILTERED,  # Gemini; the next ones too
    "recitation": Finish.FILTERED,
    "language": Finish.FILTERED,
    "blocklist": Finish.FILTERED,
    "prohibited_content": Finish.FILTERED,
    "spii": Finish.FILTERED,
    "model_armor": Finish.FILTERED,
    "image_safety": Finish.FILTERED,
    "image_prohibited_content": Finish.FILTERED,
    "image_recitation": Finish.FILTERED,
}
# What a word that is not in the table means if it contains one of these. Any other word means CUT.
_FINISH_HINTS: Mapping[Finish, tuple[str, ...]] = {
    Finish.LENGTH: ("length", "max_token", "maxtoken", "context", "window"),
    Finish.CUT: ("abort", "error", "insufficient", "timeout"),
    Finish.FILTERED: ("filter", "safety", "sensitive", "recitation", "refusal"),
}
_WORD_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[-\s]+")
_NO_WORDS: Mapping[str, Finish] = {}


def finish_of(
    word: str | None,
    parts: Collection[Part | None],
    meanings: Mapping[str, Finish] = _NO_WORDS,
) -> Finish:
    """Return what a service's finish reason means. `meanings` are words that only this service has.

    If `word` is None or empty, the reply is whole. An unknown word means LENGTH, CUT or FILTERED,
    never a whole reply. With tool calls, STOP becomes TOOL_CALLS: some services have one reason for
    both. A word for tool calls without any means CUT.
    """
    finish = _meaning_of((word or "").strip(), meanings)
    has_calls = any(isinstance(part, ToolCall) for part in parts)
    if finish is Finish.STOP and has_calls:
        return Finish.TOOL_CALLS
    if finish is Finish.TOOL_CALLS and not has_calls:
        return Finish.CUT
    return finish


def _meaning_of(word: str, meanings: Mapping[str, Finish]) -> Finish:
    if not word:
        return Finish.STOP
    name = in_lower_case(word)
    finish = meanings.get(word) or FINISH_WORDS.get(name)
    if finish is not None:
        return finish
    for hinted_finish, hints in _FINISH_HINTS.items():
        if any(hint in name for hint in hints):
            return hinted_finish
    return Finish.CUT


def in_lower_case(name: str) -> str:
    """Return `name` in lower case with underscores: `max_tokens` for `MaxTokens`."""
    return _WORD_BORDER.sub("_", name).lower()
