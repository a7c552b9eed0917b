"""Google's models, as data. genai-prices has their prices, also of cached input.

Sources: the pages "Models", "Context caching" and "Pricing" of the Gemini API, as of November 2026.
"""

from __future__ import annotations

# By id: the aliases, the largest input in tokens, and the smallest prompt in tokens that the
# service caches, which it does by itself and without guarantee. An alias without a version names
# the newest model; `gemini` and `gemini-pro` name the required default.
MODELS: dict[str, tuple[tuple[str, ...], int, int]] = {
    "gemini-2.5-pro": (("gemini", "gemini-pro", "gemini-2.5", "gemini2.5-pro"), 1_048_576, 2048),
    "gemini-2.5-flash": (("gemini2.5-flash",), 1_048_576, 2048),
    "gemini-2.5-flash-lite": (("gemini-flash-lite", "flash-lite"), 1_048_576, 2048),
    "gemini-3.1-pro-preview": (("gemini-3.1-pro", "gemini-3-pro", "gemini-3"), 1_048_576, 4096),
    "gemini-3.5-flash": ((), 1_048_576, 4096),
    "gemini-3.8-flash": (("gemini-flash", "flash", "gemini-3-flash"), 1_048_576, 4096),
    "gemini-4-argon": (("gemini-4",), 1_048_576, 4096),
}
