"""Google's models, as data. genai-prices has their prices, also of cached input.

Sources: the pages "Models", "Context caching" and "Pricing" of the Gemini API, as of November 2026.
"""

from __future__ import annotations

from typing import NamedTuple


class Model(NamedTuple):
    """A model: its other names, and two sizes of prompts in tokens."""

    aliases: tuple[str, ...]
    window: int  # the largest prompt
    cached_from: int  # the smallest prompt that the service caches: by itself, without guarantee


# By id. An alias without a version names the newest model; `gemini` and `gemini-pro` name the
# required default.
MODELS = {
    "gemini-2.5-pro": Model(
        ("gemini", "gemini-pro", "gemini-2.5", "gemini2.5-pro"), 1_048_576, 2048
    ),
    "gemini-2.5-flash": Model(("gemini2.5-flash",), 1_048_576, 2048),
    "gemini-2.5-flash-lite": Model(("gemini-flash-lite", "flash-lite"), 1_048_576, 2048),
    "gemini-3.1-pro-preview": Model(
        ("gemini-3.1-pro", "gemini-3-pro", "gemini-3"), 1_048_576, 4096
    ),
    "gemini-3.5-flash": Model((), 1_048_576, 4096),
    "gemini-3.8-flash": Model(("gemini-flash", "flash", "gemini-3-flash"), 1_048_576, 4096),
    "gemini-4-argon": Model(("gemini-4",), 1_048_576, 4096),
}
