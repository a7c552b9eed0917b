"""OpenAI's models, as data. genai-prices has their prices, also of cached input.

Sources: OpenAI's pages about its models, and its guide "Prompt caching", as of November 2026.
"""

from __future__ import annotations

from typing import NamedTuple


class Model(NamedTuple):
    """A model: its other names, and the size of its largest prompt in tokens."""

    aliases: tuple[str, ...]
    window: int


# By id. `gpt` and `openai` name the model in the requirements, not the newest one.
MODELS = {
    "gpt-5": Model(("gpt5", "gpt", "openai"), 400_000),
    "gpt-5-mini": Model(("gpt5-mini", "gpt-mini"), 400_000),
    "gpt-5-nano": Model(("gpt5-nano", "gpt-nano"), 400_000),
    "gpt-5.1": Model(("gpt5.1",), 400_000),
    "gpt-5.2": Model(("gpt5.2",), 400_000),
    "gpt-5.4": Model(("gpt5.4",), 1_050_000),
    "gpt-5.5": Model(("gpt5.5",), 1_050_000),
    "gpt-4.1": Model(("gpt4.1",), 1_047_576),
    "gpt-4.1-mini": Model(("gpt4.1-mini",), 1_047_576),
    "gpt-4o": Model(("gpt4o",), 128_000),
    "gpt-4o-mini": Model(("gpt4o-mini",), 128_000),
    "o3": Model((), 200_000),
    "o4-mini": Model((), 200_000),
}

CACHE_MINIMUM = 1024  # tokens of the smallest prompt that the service caches
# From this version on, the cache ends at marks, without steps, and writing to it costs more than
# sending.
CACHE_MARKS_SINCE = (5, 6)
