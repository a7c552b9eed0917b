"""The names that a model call and a build have in the run folder."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CallFiles:
    """The files of one model call: the prompt, the words of the reply, the whole reply as JSON.

    `parts` is for a reply that is more than words: its parts in the project's own terms.
    """

    request: str
    response: str
    raw: str
    parts: str


def call_files(number: int | None, label: str) -> CallFiles:
    """Name the files of a call; `number` None leaves the number out.

    `call_files(1, "initial-query")` begins with `1-initial-query.txt` (seed 002), `call_files(None, "query")` with
    `query.txt` (seed 001).
    """
    stem = numbered(number, label)
    return CallFiles(f"{stem}.txt", f"{stem}-response.txt", f"{stem}-response.json", f"{stem}-response-parts.json")


def numbered(number: int | None, name: str) -> str:
    """Put a call's number in front of `name`: a build shares the number of the call it judges, `1-build.txt`."""
    return name if number is None else f"{number}-{name}"


def failure_text(error: str) -> str:
    """Return what stands in the response file of a call that failed."""
    return f"ERROR\n{error}\n"
