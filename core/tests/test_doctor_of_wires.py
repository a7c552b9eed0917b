"""`code-commit plugins doctor` finds what is wrong with a wire, before it costs a call."""

from __future__ import annotations

import pytest

from code_commit_testing import Project, install_plugin

GOOD = """
from pydantic import BaseModel
from code_commit.plugin_api import HttpCall, ProviderDefinition, ProviderError, hookimpl


class Config(BaseModel):
    model: str = "m"


class Decoder:
    def feed(self, event):
        return []

    def finish(self):
        pass

    def partial(self):
        pass


class Wire:
    def __init__(self, config):
        pass

    def encode(self, request):
        return HttpCall("/replies", {})

    encode_stream = encode_count = encode_models = encode

    def decode(self, status, headers, body):
        pass

    decode_count = decode_models = decode

    def stream(self):
        return Decoder()


@hookimpl
def code_commit_providers():
    return [
        ProviderDefinition(
            "wired",
            {"wired-1": ()},
            "https://example.org/v1",
            None,
            None,
            ("key", "{key}"),
            "wired_plugin:Config",
            "wired_plugin:Wire",
        )
    ]
"""
CALL = 'return HttpCall("/replies", {})'
WRONG = {
    "no call": (CALL, "return {}", "Wire.encode must return an HttpCall, but it returned dict"),
    "a path without a slash": (
        '"/replies"',
        '"replies"',
        "Wire.encode must return a path that begins with a slash, not 'replies'",
    ),
    "an error": (
        CALL,
        "return 1 / 0",
        "Wire.encode failed for a short question: ZeroDivisionError: division by zero",
    ),
    "a stream that nobody requests": ("encode_stream = ", "", "Wire.encode_stream is missing"),
    "a request that nobody decodes": ("def stream", "def streamed", "Wire.stream is missing"),
    "a count that nobody decodes": ("decode_count = ", "", "Wire.decode_count is missing"),
    "models that nobody decodes": ("= decode_models =", "=", "Wire.decode_models is missing"),
    "models without a page": (
        "    decode_count",
        "    def encode_models(self): pass\n    decode_count",
        "Wire.encode_models is called with 1 argument: too many positional arguments",
    ),
    "an async stream": (
        "def stream",
        "async def stream",
        "Wire.stream is async; use a plain function",
    ),
    "a stream that yields": (
        "return Decoder()",
        "yield Decoder()",
        "Wire.stream contains `yield`, so a call of it does nothing",
    ),
    "no decoder": (
        "return Decoder()",
        "pass",
        "Wire.stream must return a StreamDecoder, but it returned NoneType",
    ),
    "an async decoder": (
        "def feed",
        "async def feed",
        "Decoder.feed is async; use a plain function",
    ),
    "a decoder that yields a completion": (
        "def finish(self):\n        pass",
        "def finish(self):\n        yield",
        "Decoder.finish contains `yield`, so a call of it does nothing",
    ),
    "a decoder that cannot finish": ("def finish", "def finished", "Decoder.finish is missing"),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return a project that no test changes."""
    return Project.create(tmp_path_factory.mktemp("doctor"))


@pytest.fixture(scope="module")
def all_wrong(project, tmp_path_factory):
    """Examine all that is in `WRONG`, in one process."""
    folder = tmp_path_factory.mktemp("wrong")
    for number, (right, wrong, _) in enumerate(WRONG.values()):
        assert right in GOOD
        install_plugin(
            folder, f"wired{number}", GOOD.replace(right, wrong).replace("wired", f"wired{number}")
        )
    return errors(project, folder)


def errors(project, folder):
    """Return the errors of each plugin."""
    problems = project.command("plugins", "doctor", "--json", plugins=[folder]).document["problems"]
    errors_by_plugin = {problem["plugin"]: [] for problem in problems}
    for problem in problems:
        errors_by_plugin[problem["plugin"]].append(problem["error"])
    return errors_by_plugin


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_named(all_wrong, what):
    assert WRONG[what][2] in all_wrong[f"wired{list(WRONG).index(what)}"]


@pytest.mark.parametrize(
    "code",
    [
        GOOD,
        GOOD.replace("return []", "yield from ()"),
        GOOD.replace(CALL, "raise ProviderError('too long', kind='rejected')"),
    ],
)
def test_a_wire_with_all_functions_is_found_sound(project, tmp_path, code):
    assert errors(project, install_plugin(tmp_path, "wired", code)) == {}
