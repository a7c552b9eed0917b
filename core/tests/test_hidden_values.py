"""What may hold a key is in no `repr`: a traceback or a log line would show it."""

from __future__ import annotations

from pathlib import Path

import pytest

from code_commit.models.http import Endpoint
from code_commit.plugin_api import Completion, ExitCode, Finish, Invocation, Message, Usage
from code_commit.run.assembly import RunPlan
from code_commit.run.session import RunEnding

KEY = "sk-canary-0123456789"


@pytest.mark.parametrize(
    "value",
    [
        Completion(Message("assistant", ()), Finish.STOP, "", Usage(), "gpt-5", {"echo": KEY}),
        Endpoint("https://service.invalid", key=KEY),
        Invocation(None, {}, {}, argv=("--query", KEY)),
        RunPlan(None, None, None, None, None, Path(), argv=(KEY,), environ={}),
        RunPlan(None, None, None, None, None, Path(), argv=(), environ={"OPENAI_API_KEY": KEY}),
        RunEnding(Path(), ExitCode.INTERNAL, "a bug", trace=KEY),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_repr_holds_no_key(value):
    assert KEY not in repr(value)
