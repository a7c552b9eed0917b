"""The models that services listed when they were last asked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from code_commit.config.user_files import read_user_file
from code_commit.plugin_api.definitions import ProviderDefinition
from code_commit.plugin_api.errors import NotReady
from code_commit.plugin_api.own_folders import cache_folder
from code_commit_workspace import replace_file

_LARGEST_FILE = 4 << 20  # bytes
_MOST_MODELS = 10_000  # of a service
_LARGEST_WINDOW = 10**9  # tokens
_LISTED_NAME = re.compile(r"[!-~]{1,200}")  # printable ASCII without spaces


def listed_models() -> dict[str, dict[str, int]]:
    """Return the models that services listed when they were last asked.

    They are sorted by provider, each with its window or 0. A file that is missing or broken lists
    none: anything may have written it.
    """
    listed: Any = {}
    with suppress(NotReady, ValueError, RecursionError):
        content = read_user_file(_listed_file(), "the list of models", limit=_LARGEST_FILE)
        listed = json.loads(content or b"{}")
    if not isinstance(listed, dict):
        return {}
    return {name: usable_models(models) for name, models in listed.items()}


def store_listed_models(listed: Mapping[str, Mapping[str, int]]) -> None:
    """Store what `listed_models` returns.

    Raises:
        NotReady: the file cannot be written.
    """
    file = _listed_file()
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(file, json.dumps(listed).encode())
    except OSError as error:
        raise NotReady(f"{file} cannot be written: {error.strerror}") from None


def usable_models(models: object) -> dict[str, int]:
    """Return the `models` that can be used: the first ones with a valid name.

    An impossible window becomes 0.
    """
    if not isinstance(models, Mapping):
        return {}
    return {
        name: _possible_window(window)
        for name, window in islice(models.items(), _MOST_MODELS)
        if isinstance(name, str) and _LISTED_NAME.fullmatch(name)
    }


def _possible_window(window: object) -> int:
    if type(window) is int and 0 < window < _LARGEST_WINDOW:
        return window
    return 0


def window_of(
    definition: ProviderDefinition,
    model: str,
    listed: Mapping[str, Mapping[str, int]] | None = None,
) -> int | None:
    """Return the most tokens that a model reads, or None if neither plugin nor service says.

    `listed` is what `listed_models` returns; without it, the list is read if it is needed.
    """
    window = _possible_window(definition.windows.get(model))
    if window and _LISTED_NAME.fullmatch(model):
        return window
    if listed is None:
        listed = listed_models()
    return listed.get(definition.name, {}).get(model) or None


def _listed_file() -> Path:
    return cache_folder() / "models.json"
