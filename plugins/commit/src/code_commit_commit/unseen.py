"""Send back a response that changes files which the model has not seen, or not as they are now.

The texts of these files are sent along.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from code_commit.plugin_api import Change, Refusal
from code_commit_commit.left_out import may_be_secret

if TYPE_CHECKING:
    from code_commit.plugin_api import Run
    from code_commit_commit.seen_files import SeenFiles

LARGEST_TEXT = 64 * 1024  # bytes of one file
LARGEST_TEXTS = 256 * 1024  # bytes of all files of one response
_RULE = "unseen"
_CHANGED_RULE = "changed"
_NOT_SEEN = "The response changes this file, but no prompt has shown its text."
_CHANGED = "Somebody changed this file after the model saw it."


@dataclass(frozen=True, slots=True)
class Unseen:
    """Why a response must not change files yet.

    `texts` has the files that the model sees next, as they are.
    """

    refusals: tuple[Refusal, ...]
    texts: dict[str, bytes] = field(repr=False)


def find_unseen(changes: Sequence[Change], run: Run, seen: SeenFiles) -> Unseen:
    """Return the refusals of changes of files that the model has not seen, and the texts to show.

    A file that is no text or may contain secrets is refused for good: `then` is "stop".
    """
    paths = seen.unseen([change.path for change in changes])
    texts: dict[str, bytes] = {}
    refusals = tuple(_refusals(paths, run, texts, _RULE, _NOT_SEEN))
    return Unseen(refusals, texts)


def find_changed(paths: Sequence[str], run: Run, seen: SeenFiles) -> Unseen:
    """Return the refusals of changes of files that somebody changed since the model saw them."""
    gone = [path for path in paths if not (run.root / path).exists()]
    for path in gone:
        seen.see(path, None)
    there = [path for path in paths if path not in gone]
    texts: dict[str, bytes] = {}
    refusals = [
        Refusal(path, _CHANGED_RULE, f"{_CHANGED} It is gone.", then="repair") for path in gone
    ]
    refusals += _refusals(there, run, texts, _CHANGED_RULE, _CHANGED)
    return Unseen(tuple(refusals), texts)


def _refusals(
    paths: Sequence[str],
    run: Run,
    texts: dict[str, bytes],
    rule: str,
    reason: str,
) -> Iterator[Refusal]:
    """Yield a refusal for each path, and collect the texts to show."""
    room = LARGEST_TEXTS
    for path in paths:
        content = run.tree.read(path, LARGEST_TEXT + 1) or b""
        if may_be_secret(path, run.tree) or run.may_read(path):
            yield Refusal(path, rule, f"{reason} It may contain secrets.")
        elif (text := _text(content)) is None:
            yield Refusal(path, rule, f"{reason} It is not UTF-8 text.")
        elif run.redacted(text) != text:
            yield Refusal(path, rule, f"{reason} It contains a key.")
        elif len(content) > min(room, LARGEST_TEXT):
            too_large = f"{reason} It is too large to show here: leave it as it is."
            yield Refusal(path, rule, too_large, then="repair")
        else:
            room -= len(content)
            texts[path] = content
            yield Refusal(path, rule, reason, then="repair")


def _text(content: bytes) -> str | None:
    """Return the text in `content`, whose end may be cut off; None if it is something else."""
    if b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        may_be_cut = len(content) > LARGEST_TEXT and error.reason == "unexpected end of data"
        return content[: error.start].decode() if may_be_cut else None
