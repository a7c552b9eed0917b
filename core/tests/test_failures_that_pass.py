"""What a workflow is told of a call that failed: whether the same request may succeed later."""

from __future__ import annotations

import pytest

from code_commit.plugin_api import ProviderFailed


@pytest.mark.parametrize(
    ("kind", "may_pass"),
    [
        *((kind, True) for kind in ("rate", "network", "server", "invalid_response")),
        *((kind, False) for kind in ("auth", "quota", "rejected", None)),
    ],
)
def test_a_failure_that_may_pass(kind, may_pass):
    failure = ProviderFailed("no answer", hint="wait", kind=kind)
    assert (failure.may_pass, failure.kind, failure.message, failure.hint) == (
        may_pass,
        kind,
        "no answer",
        "wait",
    )
