"""Google's models, as data. The prices, also of cached input, are those of genai-prices.

Sources: the pages "Models", "Context caching" and "Pricing" of the Gemini API, as of November 2026.
"""

from __future__ import annotations

# The model's id: its aliases, the most tokens that it reads, and the fewest tokens of a prompt that the service caches,
# which it does by itself and does not guarantee.
# An alias without a version names the newest model; `gemini` and `gemini-pro` name the required default.
MODELS: dict[str, tuple[tuple[str, ...], int, int]] = {
    "gemini-2.5-pro": (("gemini", "gemini-pro", "gemini-2.5", "gemini2.5-pro"), 1_048_576, 2048),
    "gemini-2.5-flash": (("gemini2.5-flash",), 1_048_576, 2048),
    "gemini-2.5-flash-lite": (("gemini-flash-lite", "flash-lite"), 1_048_576, 2048),
    "gemini-3.1-pro-preview": (("gemini-3.1-pro", "gemini-3-pro", "gemini-3"), 1_048_576, 4096),
    "gemini-3.5-flash": ((), 1_048_576, 4096),
    "gemini-3.8-flash": (("gemini-flash", "flash", "gemini-3-flash"), 1_048_576, 4096),
    "gemini-4-argon": (("gemini-4",), 1_048_576, 4096),
}
