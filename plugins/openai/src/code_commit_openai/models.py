"""OpenAI's models, as data. genai-prices has their prices, also of cached input.

Sources: OpenAI's pages about its models, and its guide "Prompt caching", as of November 2026.
"""

from __future__ import annotations

# By id: the aliases, and the largest input in tokens.
# `gpt` and `openai` name the model in the requirements, not the newest one.
MODELS: dict[str, tuple[tuple[str, ...], int]] = {
    "gpt-5": (("gpt5", "gpt", "openai"), 400_000),
    "gpt-5-mini": (("gpt5-mini", "gpt-mini"), 400_000),
    "gpt-5-nano": (("gpt5-nano", "gpt-nano"), 400_000),
    "gpt-5.1": (("gpt5.1",), 400_000),
    "gpt-5.2": (("gpt5.2",), 400_000),
    "gpt-5.4": (("gpt5.4",), 1_050_000),
    "gpt-5.5": (("gpt5.5",), 1_050_000),
    "gpt-4.1": (("gpt4.1",), 1_047_576),
    "gpt-4.1-mini": (("gpt4.1-mini",), 1_047_576),
    "gpt-4o": (("gpt4o",), 128_000),
    "gpt-4o-mini": (("gpt4o-mini",), 128_000),
    "o3": ((), 200_000),
    "o4-mini": ((), 200_000),
}

CACHE_MINIMUM = 1024  # tokens of the smallest prompt that the service caches
# From this version on, the cache ends at marks, without steps, and writing to it costs more than
# sending.
CACHE_MARKS_SINCE = (5, 6)
