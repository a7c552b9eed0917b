"""How `PluginHost` loads plugins and calls their hooks: what counts as a hook, and how a failure is
reported.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from code_commit.plugin_api.errors import Interrupted, UsageError
from code_commit.plugin_api.host import Plugin, PluginFailure
from code_commit.plugins.discovery import discover
from code_commit.plugins.host import PluginHost
from code_commit_testing import install_plugin

IMPORT = "from code_commit.plugin_api import NotReady, hookimpl\n"
HOOK = IMPORT + "@hookimpl\ndef {hook}({arguments}):\n    {body}\n"
LONG = f"Plugin 'odd_plugin' for hook 'code_commit_checks' hookimpl definition: code_commit_checks({'x' * 2000}"
SPECIFICATION = """
import pluggy

class Hooks:
    @pluggy.HookspecMarker("code_commit")
    def code_commit_tools(self, settings): "Tools."

def code_commit_addhooks(pluginmanager):
    print("declared")
    pluginmanager.add_hookspecs(Hooks)
    {then}
"""


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that loads the plugins with this code, by name."""
    monkeypatch.syspath_prepend(str(tmp_path))
    names: list[str] = []

    def load(disabled=(), **codes: str) -> PluginHost:
        for name, code in codes.items():
            install_plugin(tmp_path, name, code)
            names.append(f"{name}_plugin")
        return PluginHost(discover([str(tmp_path)]), disabled=disabled)

    yield load
    for name in names:
        sys.modules.pop(name, None)


@pytest.mark.parametrize(("general", "guarding"), [("first", "second"), ("second", "first")])
def test_a_module_in_both_groups_is_one_plugin_that_guards_paths(
    tmp_path, load, general, guarding
) -> None:
    load(both="")
    text = f"[code_commit]\n{general} = both_plugin\n[code_commit.path_rules]\n{guarding} = both_plugin\n"
    (tmp_path / "code_commit_both-1.0.dist-info/entry_points.txt").write_text(text)
    host = load(more="")
    assert [(plugin.name, plugin.guards_paths) for plugin in host.plugins] == [
        ("first", True),
        ("more", False),
    ]
    assert host.failures == []


@pytest.mark.parametrize(
    ("code", "failures"),
    [
        (HOOK.format(hook="code_commit_chekcs", arguments="", body="pass").replace("impl\nd", "impl(optionalhook=True)\nd"), []),
        ("code_commit_limit = 3", []),
        ("def other_hook(): pass", []),
        (
            HOOK.format(hook="code_commit_chekcs", arguments="", body="pass"),
            [
                (
                    "code_commit_chekcs",
                    "there is no such hook; did you mean code_commit_checks?; mark a hook of a plugin that may be missing with @hookimpl(optionalhook=True)",
                )
            ],
        ),
        (
            SPECIFICATION.format(then=""),
            [("code_commit_addhooks", "it is not marked with @hookimpl, so it is never called")],
        ),
        (
            IMPORT + SPECIFICATION.replace("def code_commit_a", "@hookimpl\ndef code_commit_a").format(then="1 / 0"),
            [("code_commit_addhooks", "ZeroDivisionError: division by zero")],
        ),
        ("raise KeyError('x' * 2000)", [("import", f"KeyError: '{'x' * 1998}…")]),
        (
            HOOK.format(hook="code_commit_checks", arguments="x" * 2000, body="pass"),
            [("code_commit_checks", f"PluginValidationError: {LONG[:1999]}…; possible arguments: nothing")],
        ),
        ("raise KeyError('x' * 1998)", [("import", f"KeyError: '{'x' * 1998}'")]),
        (IMPORT + "raise NotReady('no', hint='go')", [("import", "NotReady: no (hint: go)")]),
    ],
)  # fmt: skip
def test_what_looks_like_a_hook_is_checked(load, capsys, code, failures) -> None:
    host = load(odd=code)
    assert [(failure.stage, failure.error) for failure in host.failures] == failures
    assert (capsys.readouterr().out, host.knows_hook("code_commit_tools")) == ("", "1 / 0" in code)
    raised = [
        failure
        for failure in host.failures
        if re.match("[A-Z][A-Za-z]+: (?!Plugin)", failure.error)
    ]
    assert [trace.startswith("Traceback") for trace in host.traces] == [True] * len(raised)


@pytest.mark.parametrize(
    ("hook", "body", "items", "error"),
    [
        ("code_commit_after_run", "return 'a line'", ["a line"], ""),
        ("code_commit_after_run", "return ''", [], ""),
        ("code_commit_after_run", "return None", [], ""),
        (
            "code_commit_after_run",
            "return 5",
            [],
            "TypeError: it must return a string or None, not int",
        ),
        (
            "code_commit_settings",
            "return dict",
            [],
            "TypeError: it must return a string or None, not type",
        ),
        ("code_commit_secrets", "return ('A', 'B')", ["A", "B"], ""),
        ("code_commit_secrets", "yield 'A'", ["A"], ""),
        (
            "code_commit_secrets",
            "return 5",
            [],
            "TypeError: it must return a list or None, not int",
        ),
        ("code_commit_secrets", "print('loud'); return ()", [], ""),
    ],
)
def test_a_hook_gives_items_a_text_or_nothing(load, capsys, hook, body, items, error) -> None:
    host = load(one=HOOK.format(hook=hook, arguments="", body=body))
    assert [value for _, value in host.collect("code_commit_nothing")] == []
    assert (
        [value for _, value in host.collect(hook)]
        == [value for _, value in host.collect(hook)]
        == ([] if error else items)
    )
    errors = [failure.error[: len(error)] for failure in host.failures]
    assert errors == ([error] if error else [])
    assert capsys.readouterr().out == ""


def test_one_plugin_alone_is_called(load) -> None:
    host = load(
        **{
            name: HOOK.format(hook="code_commit_secrets", arguments="", body=f"yield {name!r}")
            for name in "ab"
        }
    )
    first, second = host.plugins
    assert list(host.collect("code_commit_secrets")) == [(first, "a"), (second, "b")]
    assert list(host.collect("code_commit_secrets", only=second)) == [(second, "b")]
    assert [host.hooks_of(plugin) for plugin in host.plugins] == [["code_commit_secrets"]] * 2
    assert (host.knows_hook("code_commit_secrets"), host.knows_hook("code_commit_nothing")) == (
        True,
        False,
    )


def test_the_hooks_of_a_plugin_are_sorted(load) -> None:
    names = ("code_commit_workflows", "code_commit_checks", "code_commit_providers")
    host = load(
        many=IMPORT + "".join(f"@hookimpl\ndef {name}():\n    return []\n" for name in names)
    )
    assert host.hooks_of(host.plugins[0]) == sorted(names)


def test_a_failure_is_told_once_and_an_interrupt_is_none() -> None:
    host = PluginHost([])
    plugin = Plugin("one", "dist-one", "1.0", True, None)
    reported = []
    host.on_failure = reported.append
    expected = PluginFailure(
        "one", "dist-one", "1.0", "stage", "the name is claimed by a and b", True, ("a", "b")
    )
    for _ in range(2):
        assert host.reject(plugin, "stage", "the name", ["a", "b"]) == expected
    assert (host.failures, reported, host.traces) == ([expected], [expected], [])
    assert host.reject(plugin, "stage", ValueError("no")).error == "ValueError: no"
    assert (len(host.failures), len(host.traces)) == (2, 1)
    with pytest.raises(KeyboardInterrupt):
        host.reject(plugin, "stage", KeyboardInterrupt())


def test_an_interrupted_import_names_the_plugin(load) -> None:
    with pytest.raises(
        Interrupted, match=r"^interrupted while the plugin slow of code-commit-slow was imported$"
    ) as caught:
        load(slow="raise KeyboardInterrupt")
    assert caught.value.hint == "if it hangs, disable it with --disable-plugin slow"


@pytest.mark.parametrize("disabled", ["one", "code-commit-one"])
def test_a_plugin_is_disabled_by_its_name_or_that_of_its_distribution(load, disabled) -> None:
    host = load(disabled=[disabled], one="raise ValueError", two="")
    assert [plugin.name for plugin in host.plugins] == ["two"]
    assert (host.failures, host.disabled) == ([], {disabled})


@pytest.mark.parametrize(
    ("disabled", "close"),
    [("onee", "one"), ("code-comit-one", "code-commit-one"), ("ten-others", None)],
)
def test_an_unknown_name_cannot_be_disabled(load, disabled, close) -> None:
    with pytest.raises(UsageError) as caught:
        load(disabled=["one", disabled], one="")
    suggestion = f"; did you mean {close}?" if close else ""
    assert caught.value.message == f"there is no plugin {disabled!r} to disable{suggestion}"
    assert caught.value.hint == "`code-commit plugins` lists them"


def test_only_the_arguments_that_an_implementation_names_are_made(load) -> None:
    host = load(
        after=HOOK.format(
            hook="code_commit_after_run", arguments="run, ending", body='return f"{run} {ending}"'
        )
    )
    evaluated = []
    arguments = {
        name: lambda plugin, name=name: evaluated.append(name) or f"{plugin.name}-{name}"
        for name in ("settings", "run")
    }
    values = [value for _, value in host.collect("code_commit_after_run", arguments)]
    assert (values, evaluated, host.failures) == (["after-run None"], ["run"], [])


def test_no_manager_is_shared(load) -> None:
    with_plugin, without = load(once=""), PluginHost([])
    assert [plugin.name for plugin in with_plugin.plugins] == ["once"]
    assert without.plugins == []
