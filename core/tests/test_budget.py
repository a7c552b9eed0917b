"""The layer of `--max-cost`, alone."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from code_commit.models.limits import Budget
from code_commit.plugin_api import (
    Completion,
    Finish,
    LimitReached,
    Message,
    NotReady,
    ProviderError,
    Request,
    Text,
    ToolSpec,
    Usage,
)
from code_commit.plugin_api.conversation import cost_of
from code_commit_testing import ScriptedProvider, model_call


def a_completion(**fields) -> Completion:
    return Completion(
        Message("assistant", (Text("hi"),)),
        Finish.STOP,
        "stop",
        Usage(1000, 100),
        "gpt-5",
        {},
        **fields,
    )


def spent(budget: Budget) -> float:
    return budget._spent


def bounded(text: str = "hi") -> Request:
    return Request((Message("user", (Text(text),)),), max_tokens=1000)  # $0.01 of reply


def test_an_answer_counts_what_it_cost():
    budget = Budget(1.0)
    completion = budget.spend(
        model_call(bounded(), model="gpt-5"), next=lambda _call: a_completion(), max_tokens=None
    )
    assert completion.cost == pytest.approx(0.00225)
    assert spent(budget) == completion.cost


def test_a_provider_that_knows_the_cost_is_believed():
    budget = Budget(1.0)
    completion = a_completion(cost=0.5)
    assert (
        budget.spend(
            model_call(bounded(), model="gpt-5"), next=lambda _call: completion, max_tokens=None
        ).cost
        == 0.5
    )
    assert spent(budget) == 0.5


def test_a_reply_that_was_stopped_counts_in_full_but_its_cost_is_told():
    budget = Budget(1.0)
    stopped = replace(a_completion(), finish=Finish.STOPPED_EARLY)
    completion = budget.spend(
        model_call(bounded(), model="gpt-5"), next=lambda _call: stopped, max_tokens=None
    )
    assert completion.cost == pytest.approx(0.00225)
    assert spent(budget) == pytest.approx(0.01, rel=0.01)


@pytest.mark.parametrize(
    ("limit", "shown"),
    [(0.001, "$0.0010"), (0.00099, "$0.00099"), (0.00001234, "$0.000012"), (0, "$0.0000")],
)
def test_small_amounts_are_shown_as_numbers(limit, shown):
    with pytest.raises(LimitReached, match=re.escape(f"; $0.0000 of {shown} is spent")) as caught:
        Budget(limit).spend(
            model_call(bounded(), model="gpt-5"), next=lambda _call: a_completion(), max_tokens=None
        )
    assert caught.value.hint.startswith("raise --max-cost, ")


def test_a_reply_without_its_tokens_counts_in_full():
    budget = Budget(1.0)
    untold = replace(a_completion(), usage=Usage())
    completion = budget.spend(
        model_call(bounded(), model="gpt-5"), next=lambda _call: untold, max_tokens=None
    )
    assert spent(budget) == completion.cost == pytest.approx(0.01, rel=0.01)


@pytest.mark.parametrize(
    "kind", ["network", "server", "invalid_response", "auth", "quota", "rate", "rejected"]
)
def test_a_lost_try_counts_in_full_unless_the_service_did_nothing(kind):
    budget = Budget(1.0)
    provider = ScriptedProvider([ProviderError("no", kind=kind)])
    with pytest.raises(ProviderError):
        budget.spend(model_call(bounded(), model="gpt-5"), next=provider.complete, max_tokens=None)
    worked = kind in {"network", "server", "invalid_response"}
    assert spent(budget) == pytest.approx(0.01 if worked else 0, rel=0.01)


def test_calls_at_once_are_reserved_together():
    budget = Budget(0.015)

    def another(_call):
        with pytest.raises(LimitReached, match=r"could cost up to \$0\.0100"):
            budget.spend(model_call(bounded(), model="gpt-5"), next=another, max_tokens=None)
        return a_completion()

    assert (
        budget.spend(model_call(bounded(), model="gpt-5"), next=another, max_tokens=None).text
        == "hi"
    )


def test_a_call_that_is_over_reserves_nothing_more():
    budget = Budget(0.015)  # less than two reservations
    for _ in range(2):
        budget.spend(
            model_call(bounded(), model="gpt-5"), next=lambda _call: a_completion(), max_tokens=None
        )
    assert spent(budget) == pytest.approx(0.0045)


def test_a_call_may_cost_all_that_is_left():
    request = bounded()
    bound = cost_of("gpt-5", Usage(len("hi"), request.max_tokens))
    reply = Budget(bound).spend(
        model_call(request, model="gpt-5"), next=lambda _: a_completion(), max_tokens=None
    )
    assert reply.message == a_completion().message


def test_the_reply_is_bounded():
    provider = ScriptedProvider(["hi", "hi", "hi"])
    for request, configured in (
        (bounded(), 7),
        (Request(bounded().messages), 7),
        (Request(bounded().messages), None),
    ):
        Budget(1.0).spend(
            model_call(request, model="gpt-5"), next=provider.complete, max_tokens=configured
        )
    assert [request.max_tokens for request in provider.requests] == [1000, 7, 32_000]


def test_a_model_of_unknown_price_is_not_asked():
    provider = ScriptedProvider(["hi"])
    with pytest.raises(NotReady, match="the price of nobody-9 is unknown") as caught:
        Budget(1.0).spend(
            model_call("hi", model="nobody-9"), next=provider.complete, max_tokens=None
        )
    assert (provider.requests, caught.value.hint) == ([], "run without --max-cost")


def test_the_schemas_of_tools_count():
    request = replace(bounded(), tools=(ToolSpec("read", "x" * 100_000, {}),))
    with pytest.raises(LimitReached, match=r"\(6\d,\d\d\d tokens of prompt"):
        Budget(0.02).spend(
            model_call(request, model="gpt-5"), next=lambda _call: a_completion(), max_tokens=None
        )


# --- the tokens of a prompt -----------------------------------------------------------------------

# 100,000 bytes.
LONG = Request((Message("user", (Text("words of a text " * 6_250),)),), max_tokens=1000)
REPLY = 0.01  # USD, its longest


def reserved(limit: float, counted: int | None) -> list[int]:
    """Spend on `LONG`; return how often the service was asked for a count."""
    calls: list[int] = []

    def count(_call):
        calls.append(1)
        return counted

    call = model_call(LONG, model="gpt-5")
    Budget(limit).spend(call, next=lambda _call: a_completion(), max_tokens=None, count=count)
    return calls


def test_a_prompt_that_fits_with_a_token_per_byte_is_not_counted():
    assert reserved(0.126 + REPLY, 5) == []


def test_the_count_of_the_service_replaces_a_token_per_byte():
    assert reserved(0.026 + REPLY, 20_000) == [1]
    with pytest.raises(
        LimitReached, match=r"20,420 tokens of prompt, at most 1,000 tokens of reply"
    ):
        reserved(0.025 + REPLY, 20_000)


def test_without_a_count_a_bound_by_kind_replaces_a_token_per_byte():
    assert reserved(0.065 + REPLY, None) == [1]
    with pytest.raises(LimitReached):
        reserved(0.04 + REPLY, None)


def test_writing_a_cache_costs_more():
    marked = Request((Message("user", (Text("x", cache_here=True),)),), max_tokens=1)
    call = model_call(replace(marked, system="word " * 20_000), model="claude-sonnet-4-5")
    with pytest.raises(LimitReached):
        Budget(0.31).spend(
            call, next=lambda _call: a_completion(), max_tokens=None, count=lambda _call: 98_000
        )
    plain = replace(call, request=replace(call.request, messages=(Message("user", (Text("x"),)),)))
    Budget(0.31).spend(
        plain, next=lambda _call: a_completion(), max_tokens=None, count=lambda _call: 98_000
    )


@pytest.mark.parametrize(("write_price", "limit"), [(None, 0.40), (2.0, 0.62)])
def test_marked_input_has_the_price_that_its_wire_tells(write_price, limit):
    marked = Request(
        (Message("user", (Text("x", cache_here=True),)),), system="word " * 20_000, max_tokens=1
    )
    call = model_call(marked, model="claude-opus-4-6")  # $5 for a million tokens
    budget = {
        "next": lambda _call: a_completion(),
        "max_tokens": None,
        "count": lambda _call: 58_000,
    }
    Budget(limit).spend(call, **budget, write_price=write_price)
    with pytest.raises(LimitReached):
        Budget(limit - 0.05).spend(call, **budget, write_price=write_price)
