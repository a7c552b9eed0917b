"""Read a TOML file that may contain keys: no error quotes it."""

from __future__ import annotations

import re
from typing import Any

from code_commit.plugin_api.errors import NotReady


def parse_toml(content: bytes | None, label: str) -> dict[str, Any]:
    """Return the tables of a TOML file; None has none. `label` names the file.

    Raises:
        NotReady: it is not valid TOML. The error names the line and the mistake, but quotes
            nothing: the text may contain a key.
    """
    if content is None:
        return {}
    import tomllib

    try:
        text = content.decode("utf-8").removeprefix("\ufeff")
        return tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise NotReady(f"{label}, line {line}: not UTF-8", hint="save the file as UTF-8") from None
    except RecursionError:
        raise NotReady(f"{label}: nested too deeply") from None
    except ValueError as error:
        raise NotReady(
            f"{label}, {_place_and_kind(str(error), text)}", hint="fix the TOML on that line"
        ) from None


def _place_and_kind(message: str, text: str) -> str:
    """Return where an error of `tomllib` is, and what is wrong, without a quote."""
    reason, _, place = message.partition(" (at ")
    if place.startswith("line"):
        line = place.removesuffix(")")
    else:  # at the end
        line = f"line {text.count(chr(10)) + 1}"
    if re.search(r"[(\[]|'[^']{3,}'|\"[^\"]{3,}\"", reason):  # these messages quote the file
        reason = "a name is defined twice"
    return f"{line}: {reason[:1].lower()}{reason[1:]}"
