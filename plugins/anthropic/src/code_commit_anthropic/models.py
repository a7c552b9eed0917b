"""Anthropic's models, as data. genai-prices has their prices, except for one kind of cache.

Sources: Anthropic's pages "Models overview", "Pricing" and "Prompt caching", as of November 2026.
"""

from __future__ import annotations

from typing import NamedTuple


class Model(NamedTuple):
    """A model: its other names, and two sizes of prompts in tokens."""

    aliases: tuple[str, ...]
    window: int  # the largest prompt
    cached_from: int  # the smallest prompt that the service caches


# By id. An alias without a version names the newest model.
MODELS = {
    "claude-sonnet-5": Model(
        ("claude", "anthropic", "sonnet", "claude-sonnet", "sonnet-5"), 1_000_000, 1024
    ),
    "claude-opus-5": Model(("opus", "claude-opus", "opus-5"), 1_000_000, 512),
    "claude-haiku-4-5": Model(
        ("haiku", "claude-haiku", "haiku-4-5", "haiku-4.5", "claude-haiku-4.5"), 200_000, 4096
    ),
    "claude-opus-4-1": Model(("opus-4-1", "opus-4.1", "claude-opus-4.1"), 200_000, 1024),
    "claude-sonnet-4-6": Model(("sonnet-4-6", "sonnet-4.6", "claude-sonnet-4.6"), 1_000_000, 1024),
    "claude-opus-4-6": Model(("opus-4-6", "opus-4.6", "claude-opus-4.6"), 1_000_000, 4096),
    "claude-opus-4-7": Model(("opus-4-7", "opus-4.7", "claude-opus-4.7"), 1_000_000, 2048),
    "claude-opus-4-8": Model(("opus-4-8", "opus-4.8", "claude-opus-4.8"), 1_000_000, 1024),
    "claude-sonnet-4-5": Model(("sonnet-4-5", "sonnet-4.5", "claude-sonnet-4.5"), 200_000, 1024),
    "claude-opus-4-5": Model(("opus-4-5", "opus-4.5", "claude-opus-4.5"), 200_000, 4096),
}

# The price of input that is written to the cache, relative to other input: for five minutes, as in
# genai-prices, and for an hour.
WRITE = 1.25
WRITE_FOR_AN_HOUR = 2.0
