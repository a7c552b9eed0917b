"""What calls cost in USD, by the price list of `genai-prices`, which loads slowly: import it when needed."""

from __future__ import annotations

from code_commit.plugin_api.conversation import Usage


def cost_of(model: str, usage: Usage) -> float | None:
    """Return what a call cost, or None when its price or its tokens are not known."""
    if usage.input is None or usage.output is None:
        return None
    from genai_prices import Usage as PricedUsage
    from genai_prices import calc_price

    priced = PricedUsage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
    )
    try:
        return float(calc_price(priced, model).total_price)
    except LookupError:
        return None
