"""Refuse a prompt that exceeds the model's context window, before it costs anything."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator

from code_commit.plugin_api import NotReady, estimate_tokens
from code_commit_workspace import count_of

_ALWAYS_FITS = 100_000  # tokens, if neither plugin nor service says; the list loads in a fifth of a second
_HEADER = re.compile(r"^--- (?P<path>[^\n]+) ---\n", re.MULTILINE)
_MARGIN = 1.5  # of the estimate
_NAMED = 3  # folders


def require_window(
    model: str, window: int | None, prompt: str, codebase: str, count: Callable[[], int | None] = lambda: None
) -> None:
    """Check that `prompt` fits the `window` of `model`, in tokens, if it is known.

    `count` returns the exact number of tokens; it is called if the estimate is near the window.

    Raises:
        NotReady: the prompt is too long; the hint names the query, or the largest folders of the `codebase`.
    """
    tokens = estimate_tokens(prompt)
    if window is None and tokens > _ALWAYS_FITS:
        window = window_of(model)
    if window is None:
        return
    if window / _MARGIN < tokens < window * _MARGIN:
        tokens = count() or tokens
    if tokens <= window:
        return
    too_long = f"the prompt has about {tokens:,} tokens, and {model} reads at most {window:,}"
    if len(prompt) > 2 * len(codebase):
        raise NotReady(too_long, hint="shorten the query, or choose another model; most of the prompt is the query")
    largest = list(_largest_folders(codebase))
    named = ", ".join(f"{folder} (about {count_of(size * tokens // len(prompt), 'token')})" for folder, size in largest)
    pattern = shlex.quote(f"/{largest[0][0]}" if largest else "PATTERN")
    raise NotReady(
        too_long,
        hint=f"leave code out, for example with `code-commit rollup --exclude {pattern}`, or choose another model"
        + (f"; most of it is in {named}" if named else ""),
    )


def window_of(model: str) -> int | None:
    """Return the window of `model` in tokens from the list of genai-prices, or None if it is unknown there."""
    from genai_prices import data_snapshot

    snapshot = data_snapshot.get_snapshot()
    try:
        own: int | None = snapshot.find_provider_model(model, None, None, None)[1].context_window
    except LookupError:
        return None
    same = (each for provider in snapshot.providers for each in provider.models if each.id.rpartition("/")[2] == model)
    return own or max((each.context_window or 0 for each in same), default=0) or None


def _largest_folders(codebase: str) -> Iterator[tuple[str, int]]:
    """Yield the top-level folders and files with the most code, and their number of characters."""
    sizes: Counter[str] = Counter()
    headers = list(_HEADER.finditer(codebase))
    ends = [header.start() for header in headers[1:]] + [len(codebase)]
    for header, end in zip(headers, ends, strict=False):  # one end too many where there is no header
        top, slash, _ = header["path"].partition("/")
        sizes[top + slash] += end - header.end()
    return iter(sizes.most_common(_NAMED))
