"""The functions that plugins give are checked before they are called; what they return is checked
after.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import SimpleNamespace

import pytest

from code_commit.plugin_api import CommandDefinition, WorkflowDefinition
from code_commit.plugin_api.errors import NotReady, UsageError
from code_commit.plugin_api.host import HOST, Plugin
from code_commit.plugins.code import (
    checked_result,
    collect_objects,
    fault_of_code,
    import_code,
    import_target,
    is_async,
    naming,
    noting,
)


async def coroutine() -> None: ...


async def generator() -> AsyncIterator[int]:
    yield 1


class AsyncCall:
    async def __call__(self) -> None: ...


def plain(one: int, two: int = 2) -> None: ...


@pytest.mark.parametrize(
    ("code", "arguments", "fault"),
    [
        (None, None, "is missing"),
        (3, None, "is not callable"),
        (coroutine, None, "is async; use a plain function"),
        (generator, None, "is async; use a plain function"),
        (AsyncCall(), None, "is async; use a plain function"),
        (plain, None, ""),
        (plain, 1, ""),
        (plain, 2, ""),
        (plain, 0, "is called with 0 arguments: missing a required argument: 'one'"),
        (plain, 3, "is called with 3 arguments: too many positional arguments"),
        (lambda: 0, 1, "is called with 1 argument: too many positional arguments"),
        (plain, "a pydantic model", "is not a pydantic model"),
        (type, 1, ""),  # a builtin has no signature
    ],
)
def test_a_function_that_cannot_be_called_is_found(code, arguments, fault):
    assert fault_of_code(code, arguments) == fault
    assert is_async(code) is ("async" in fault)


def test_a_result_of_another_type_is_an_error():
    error = NotReady("no")
    assert checked_result(error, NotReady, message=str, hint=str) is error
    with pytest.raises(TypeError, match="it returned 3 for a NotReady"):
        checked_result(3, NotReady)
    with pytest.raises(
        TypeError, match="it returned a NotReady whose `message` must be of type int, not 'no'"
    ):
        checked_result(error, NotReady, hint=str, message=int)
    with pytest.raises(TypeError, match="it is async; use a plain function"):
        checked_result(coroutine(), int)


PLUGIN = Plugin("one", "dist-one", "1.0", False, None)
HOSTS = Plugin("own", HOST, "1.0", False, None)
COMMAND = CommandDefinition("go", "goes", "odd_code:call")
WORKFLOW = WorkflowDefinition("work", "works", (), "odd_code:call")


def test_code_is_imported_and_what_it_prints_is_no_result(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "odd_code.py").write_text(
        "print('loud')\ndef call(one): ...\nclass Deep:\n    call = call\n"
    )
    (tmp_path / "odd_stop.py").write_text("raise KeyboardInterrupt")
    assert import_code(COMMAND, "arguments") is None
    assert import_code(WORKFLOW, "run").__name__ == "call"
    assert import_target("it", "odd_code:Deep.call", 1) is import_target("it", "odd_code:call", 1)
    assert capsys.readouterr().out == ""
    with pytest.raises(KeyboardInterrupt):
        import_target("it", "odd_stop", 1)
    for target, needed, fault in (
        (
            "odd_code:absent",
            1,
            "cannot be imported: AttributeError: module 'odd_code' has no attribute 'absent'",
        ),
        (
            "odd_nowhere:x",
            1,
            "cannot be imported: ModuleNotFoundError: No module named 'odd_nowhere'",
        ),
        ("odd_code:call", 2, "is called with 2 arguments: too many positional arguments"),
        ("odd_code", 1, "is not callable"),
    ):
        with pytest.raises(UsageError) as caught:
            import_target("it", target, needed)
        assert caught.value.message == f"it {target!r} {fault}"


def test_an_error_of_a_plugins_code_names_it_and_one_of_the_host_does_not():
    with pytest.raises(UsageError) as caught, naming(PLUGIN, COMMAND):
        raise KeyError("x")
    assert caught.value.message == "the command go of dist-one 1.0 is broken: KeyError: 'x'"
    assert (caught.value.hint, type(caught.value.__cause__)) == (
        "fix or uninstall the plugin",
        KeyError,
    )
    with (
        pytest.raises(UsageError, match=r"^the workflow work of dist-one 1\.0 is broken: no$"),
        naming(PLUGIN, WORKFLOW),
    ):
        raise NotReady("no", hint="go")
    for plugin, error in ((HOSTS, KeyError), (HOSTS, NotReady), (PLUGIN, KeyboardInterrupt)):
        with pytest.raises(error), naming(plugin, COMMAND):
            raise error("x")
    for plugin, notes in ((PLUGIN, ["in it of dist-one"]), (HOSTS, [])):
        with pytest.raises(KeyError) as noted, noting(plugin, "it"):
            raise KeyError("x")
        assert getattr(noted.value, "__notes__", []) == notes


class Sink:
    def receive(self, record): ...


class Rule:
    name = "rule"

    def judge(self, changes): ...


class Layer:
    async def __call__(self, call, proceed): ...


@pytest.mark.parametrize(
    ("hook", "item", "faults"),
    [
        ("code_commit_log_sinks", Sink(), ["Sink.close is missing"]),
        ("code_commit_log_sinks", Sink, ["Sink is a class; return an object of it"]),
        ("code_commit_log_sinks", None, ["NoneType.receive is missing", "NoneType.close is missing"]),
        ("code_commit_log_sinks", SimpleNamespace(receive=1, close=len),
         ["SimpleNamespace.receive is not callable", "SimpleNamespace.close is called with 0 arguments: "]),
        ("code_commit_model_layers", plain, []),
        ("code_commit_model_layers", coroutine, ["coroutine is async; use a plain function"]),
        ("code_commit_model_layers", Layer(), ["Layer is async; use a plain function"]),
        ("code_commit_model_layers", lambda call: 0, ["<lambda> is called with 2 arguments: too many"]),
        ("code_commit_path_rules", Rule(), ["Rule.judge is called with 2 arguments: too many positional arguments"]),
        ("code_commit_path_rules", SimpleNamespace(judge=plain, name=1), ["SimpleNamespace has no `name`"]),
        ("code_commit_path_rules", SimpleNamespace(judge=plain, name="x"), []),
        ("code_commit_path_rules", SimpleNamespace(judge=plain), ["SimpleNamespace has no `name`"]),
    ],
)  # fmt: skip
def test_an_object_of_a_plugin_is_examined_and_given_anyway(hook, item, faults):
    rejected = []

    def collect(*arguments: object, only: object) -> list[tuple[object, object]]:
        return [(PLUGIN, item)] if arguments == (hook, {}) and only is PLUGIN else []

    host = SimpleNamespace(
        collect=collect,
        reject=lambda plugin, stage, fault: rejected.append((plugin, stage, fault)),
    )
    assert list(collect_objects(host, hook, {}, only=PLUGIN)) == [(PLUGIN, item)]
    assert [(plugin, stage) for plugin, stage, _ in rejected] == [(PLUGIN, hook)] * len(faults)
    assert all(
        fault.startswith(expected) for (*_, fault), expected in zip(rejected, faults, strict=True)
    )
