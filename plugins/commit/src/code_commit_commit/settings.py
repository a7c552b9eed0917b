"""Flags and settings of the commit workflow."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

_CONTEXT = Field(
    "auto",
    min_length=1,
    description='Which code the model sees: "all" of it; what a context of a plugin chooses for '
    'the query, such as "ranked"; or "auto", which is "ranked" if not all of the code fits.',
)
_CONTEXT_TOKENS = Field(
    None,
    ge=1,
    description="The most tokens of code that a context may choose; half of the model's window "
    "by default, at most 200,000.",
)
_MOST_CANDIDATES = 16


def _read_candidates(value: Any) -> Any:
    """Return a number, or a tuple of models; a text is one of them, as a flag gives it."""
    if isinstance(value, str):
        value = [name.strip() for name in value.split(",")]
        if len(value) == 1 and re.fullmatch(r"[+-]?\d+", value[0]):
            value = int(value[0])
    if isinstance(value, int) and not isinstance(value, bool):
        count = value
    elif isinstance(value, list | tuple) and all(isinstance(name, str) and name for name in value):
        count = len(value)
        value = tuple(value)
    else:
        raise ValueError("name models, or give their number")
    if not 1 <= count <= _MOST_CANDIDATES:
        raise ValueError(f"there are 1 to {_MOST_CANDIDATES} candidates, not {count}")
    return value


Candidates = Annotated[int | tuple[str, ...], BeforeValidator(_read_candidates)]
_CANDIDATES = Field(
    1,
    description="How many responses to ask for at once, or a list of models, each of which is "
    "asked for one; the first response that is accepted stays.",
)
_REPAIRS = Field(3, ge=0, le=100, description="Maximum number of repairs.")


class CommitSettings(BaseModel):
    """The section `[plugins.commit]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    candidates: Candidates = _CANDIDATES
    repairs: int = _REPAIRS
    unusable_response: Literal["repair", "stop"] = Field(
        "repair",
        description="What to do after a response that is malformed, incomplete or sent back.",
    )
    refused_path: Literal["stop", "repair"] = Field(
        "stop", description="What to do after a response with a path that is not allowed."
    )
    changed_since_rollup: Literal["refresh", "stop", "protect", "ignore"] = Field(
        "refresh",
        description="The reaction to files that changed or are new since `code-commit rollup`: "
        "collect the code again, stop before the first call, "
        "send back a response that changes one of them, or do nothing.",
    )
    unseen_file: Literal["repair", "stop", "allow"] = Field(
        "repair",
        description="What to do if a response replaces or deletes a file that the model has not "
        "seen: send it back with the file's text, end the run, or let it pass.",
    )
    response_format: str = Field(
        "files",
        description='How a response names changes: "files", the name of a format of a plugin such '
        'as "edits", or "auto": "edits" if a file has more than 400 lines, else "files".',
    )
    context: str = _CONTEXT
    context_tokens: int | None = _CONTEXT_TOKENS
    prompt_order: Literal["standard", "cached"] = Field(
        "standard",
        description='The order of a prompt: "cached" puts the query and the code before what '
        "changes in a repair, so that the service reads them from its cache.",
    )
    auto_commit: bool = Field(False, description="Commit after each success, as with --commit.")
    commit_hooks: bool = Field(
        False, description="Run the repository's hooks and sign commits, with --commit."
    )


class CommitOptions(BaseModel):
    """The flags; `candidates` and `repairs` override the settings of that name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    query: str | None = None
    query_file: str | None = None
    edit: bool = False
    rollup: bool = False
    context: str = _CONTEXT
    context_tokens: int | None = _CONTEXT_TOKENS
    files: tuple[str, ...] = ()
    dry_run: bool = False
    candidates: Candidates = _CANDIDATES
    repairs: int = _REPAIRS
    format: str | None = None
    commit: bool = False
    no_commit: bool = False
    allow_tests: tuple[str, ...] = ()
    review: bool = False

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.query is not None and self.query_file is not None:
            raise ValueError("--query cannot be used with --query-file")
        if self.edit and (self.query is not None or self.query_file is not None):
            raise ValueError("--edit cannot be used with another query")
        if self.commit and self.dry_run:
            raise ValueError("--commit cannot be used with --dry-run")
        if self.commit and self.no_commit:
            raise ValueError("--commit cannot be used with --no-commit")
        return self
