"""Examine the `Wire` or `Provider` that a factory returns, as `plugins doctor` does."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from code_commit.plugin_api import HttpCall, Message, ProviderError, Request, Text, describe
from code_commit.plugins.code import fault_of_code

GENERATOR = "contains `yield`, so a call of it does nothing"
# Methods with the number of their arguments.
_WIRE = {"encode": 1, "decode": 3}
# A wire has both functions of a pair, or none.
_PAIRS = (
    {"encode_stream": 1, "stream": 0},
    {"encode_count": 1, "decode_count": 3},
    {"encode_models": 1, "decode_models": 3},
    {"encode_token": 0, "decode_token": 3},
)
_DECODER = {"feed": 1, "finish": 0, "partial": 0}
_PROVIDER = {"complete": 1, "close": 0}
_REQUEST = Request((Message("user", (Text("a question"),)),), system="Be brief.")


def faults_of_provider(provider: Any) -> Iterator[str]:
    """Yield what is wrong with `provider`: a `Wire` or a `Provider`, or a class of them.

    Faults are functions that the host cannot call, and results that it cannot use. Of the
    functions, only those that send nothing are called.
    """
    if not callable(getattr(provider, "encode", None)):
        yield from _faults_of_methods(provider, _PROVIDER)
        return
    methods = dict(_WIRE)
    for pair in _PAIRS:
        if any(hasattr(provider, method) for method in pair):
            methods |= pair
    faults = list(_faults_of_methods(provider, methods))
    yield from faults
    if faults or inspect.isclass(provider):
        return
    for method in methods:
        if method.startswith("encode"):
            yield from _faults_of_encoding(provider, method)
    if "stream" in methods:
        decoder = provider.stream()
        if not hasattr(decoder, "feed"):
            function = f"{type(provider).__name__}.stream"
            returned = type(decoder).__name__
            yield f"{function} must return a StreamDecoder, but it returned {returned}"
            return
        yield from _faults_of_methods(decoder, _DECODER)


def class_name(owner: Any) -> str:
    """Return the name of a class, or of the class of an object."""
    if inspect.isclass(owner):
        return owner.__name__
    return type(owner).__name__


def _faults_of_methods(owner: Any, methods: Mapping[str, int]) -> Iterator[str]:
    name = class_name(owner)
    for method, count in methods.items():
        code = getattr(owner, method, None)
        needed = count
        if inspect.isclass(owner):
            needed += 1  # `self`
        if fault := fault_of_code(code, needed):
            yield f"{name}.{method} {fault}"
        elif inspect.isgeneratorfunction(code) and method != "feed":  # `feed` may yield deltas
            yield f"{name}.{method} {GENERATOR}"


def _faults_of_encoding(wire: Any, method: str) -> Iterator[str]:
    name = f"{type(wire).__name__}.{method}"
    arguments: tuple[object, ...] = (_REQUEST,)
    if method == "encode_models":
        arguments = (b"",)
    elif method == "encode_token":
        arguments = ()
    try:
        call = getattr(wire, method)(*arguments)
    except ProviderError:  # the service cannot answer this request
        return
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything
        yield f"{name} failed for a short question: {describe(error)}"
        return
    if not isinstance(call, HttpCall):
        yield f"{name} must return an HttpCall, but it returned {type(call).__name__}"
    elif not call.path.startswith("/") and method != "encode_token":
        yield f"{name} must return a path that begins with a slash, not {call.path!r}"
