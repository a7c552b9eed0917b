"""Anthropic's models, as data. The prices, except of one kind of cache, are those of genai-prices.

Sources: Anthropic's pages "Models overview", "Pricing" and "Prompt caching", as of November 2026.
"""

from __future__ import annotations

# The model's id: its aliases, the most tokens that it reads, and the fewest tokens of a prompt that the service caches.
# An alias without a version names the newest model.
MODELS: dict[str, tuple[tuple[str, ...], int, int]] = {
    "claude-sonnet-5": (("claude", "anthropic", "sonnet", "claude-sonnet", "sonnet-5"), 1_000_000, 1024),
    "claude-opus-5": (("opus", "claude-opus", "opus-5"), 1_000_000, 512),
    "claude-haiku-4-5": (("haiku", "claude-haiku", "haiku-4-5", "haiku-4.5", "claude-haiku-4.5"), 200_000, 4096),
    "claude-opus-4-1": (("opus-4-1", "opus-4.1", "claude-opus-4.1"), 200_000, 1024),
    "claude-sonnet-4-6": (("sonnet-4-6", "sonnet-4.6", "claude-sonnet-4.6"), 1_000_000, 1024),
    "claude-opus-4-6": (("opus-4-6", "opus-4.6", "claude-opus-4.6"), 1_000_000, 4096),
    "claude-opus-4-7": (("opus-4-7", "opus-4.7", "claude-opus-4.7"), 1_000_000, 2048),
    "claude-opus-4-8": (("opus-4-8", "opus-4.8", "claude-opus-4.8"), 1_000_000, 1024),
    "claude-sonnet-4-5": (("sonnet-4-5", "sonnet-4.5", "claude-sonnet-4.5"), 200_000, 1024),
    "claude-opus-4-5": (("opus-4-5", "opus-4.5", "claude-opus-4.5"), 200_000, 4096),
}

# The price of input that is written to the cache, as a multiple of that of other input: for five minutes, which is what
# genai-prices has, and for an hour.
WRITE = 1.25
WRITE_FOR_AN_HOUR = 2.0
