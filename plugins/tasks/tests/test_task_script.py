"""Running the code of an answer: results, error messages, and attacks on the bridge."""

from __future__ import annotations

import re
from typing import Any

import pytest

from code_commit_tasks.runtime.script import CallAnswer, ScriptFailed, ScriptLimits, run_script

# --- results -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ('return "x";', "x"),
        ("return {steps: [], title: undefined};", {"steps": []}),
        ("return;", None),
        ('return await show("a");', "show of {'path': 'a'}"),
        ('return await show({path: "a"});', "show of {'path': 'a'}"),
        ("return await show(undefined);", "show of {}"),
        ('return await show({file: "a"});', "show of {'path': {'file': 'a'}}"),
        ("return await list();", ["a", "b"]),
        ("return (await Promise.all([list(), show('a'), list()])).length;", 3),
        ("const wrong: number = 'x'; return wrong;", "x"),
        ("enum E { A = 7 } return E.A;", 7),
        ("try { await nothing(); } catch (e) { return e.name; }", "ReferenceError"),
    ],
)
def test_the_result_of_the_code_is_returned(script, body: str, value: Any) -> None:
    assert script.run(body) == value


@pytest.mark.parametrize(
    "whole",
    [
        "export async function agent_code() { return 'x'; }",
        "export default async function agent_code() { return 'x'; }",
        "const agent_code = async (): Promise<string> => 'x';",
        "function agent_code() { return 'x'; } // no line end",
    ],
)
def test_the_function_can_be_defined_in_several_forms(script, whole: str) -> None:
    assert script.run(whole, whole=True) == "x"


@pytest.mark.parametrize(
    "whole",
    [
        "async function agent_code() { BODY }\nagent_code();",
        "const r = await agent_code();\nconsole.log(r);\nasync function agent_code() { BODY }",
        "export default async function agent_code() { BODY }\nagent_code().then(console.log);",
        "export const agent_code = async () => { BODY };\n(async () => { await agent_code(); })();",
        "let agent_code = async (n = 1) => { if (n) return agent_code(n - 1); BODY };\nagent_code();",
        "function agent_code() { console.log('ran'); return 'x'; }\nagent_code();",
    ],
)
def test_a_call_of_the_code_itself_is_the_only_one(script, whole: str) -> None:
    printed: list[str] = []
    code = whole.replace("BODY", "await list(); console.log('ran'); return 'x';")
    assert script.run(code, whole=True, printed=printed) == "x"
    assert printed.count("ran") == 1


@pytest.mark.parametrize("name", ["async function agent_code()", "const agent_code = async () =>"])
def test_a_failed_call_of_the_code_itself_is_described(script, name: str) -> None:
    with pytest.raises(ScriptFailed, match=r"Error: boom\n.*agent_code\.ts:2:9") as failed:
        script.run(f"{name} {{\n  throw new Error('boom');\n}}\nagent_code();", whole=True)
    assert "agent$code" not in str(failed.value)


def test_printed_output_arrives_line_by_line(script) -> None:
    printed: list[str] = []
    script.run(
        'console.log("a", {b: 1}); console.table([1]); console.log("c\\nd"); return "";',
        printed=printed,
    )
    assert printed[0] == "a { b: 1 }"
    assert printed[-2:] == ["c", "d"]


def test_a_failed_call_rejects_its_promise(script) -> None:
    assert (
        run_script(
            script.code("try { await show('a'); } catch (e) { return e.message; }"),
            [script.SHOW],
            lambda *_: CallAnswer("no such file", is_error=True),
            script.PATIENT,
        )
        == "no such file"
    )


# --- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("whole", "message"),
    [
        ("let a = 1;\nlet b = ;", r"SyntaxError: Expression expected[\s\S]*agent_code\.ts:2:9"),
        ("let a = 1;\n  let a = 2;", r"SyntaxError: .*already been declared at agent_code\.ts:2:7"),
        (
            "function agent_code() {",
            r"SyntaxError: Expected .*\n    at agent_code\.ts:1:24, its end",
        ),
        ("const x = 1;", "no function agent_code"),
        ("const agent_code = 1;", "no function agent_code"),
        ('import x from "https://example.org/x.ts";', "remote specifier.*--no-remote"),
        ('import x from "npm:left-pad";', "--no-npm"),
        ('import x from "jsr:@std/path";', "--no-remote"),
    ],
)
def test_a_load_error_has_the_line_and_column(script, whole: str, message: str) -> None:
    failed = script.failure(whole, whole=True)
    assert failed.fault == "code"
    assert not re.search("base64|bridge", str(failed))
    with pytest.raises(ScriptFailed, match=message):
        raise failed


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("throw new Error('boom');", r"Error: boom\n    at agent_code \(agent_code\.ts:2:7\)"),
        ("throw {a: 1};", r"\{ a: 1 \}"),
        ("throw null;", "null"),
        ("throw new Error('a\\ud800');", r"Error: a\?"),
        ("return 'x\\ud800';", "returned contains a lone surrogate"),
        (
            "return { title: 't', steps: [{ ['\\udfff']: 1 }] };",
            "returned contains a lone surrogate",
        ),
        (
            "let a: any = 'x'; for (let i = 0; i < 200; i++) a = [a]; return a;",
            "returned is nested more than 100 levels deep",
        ),
        (
            "let a: any = 'x'; for (let i = 0; i < 20_000; i++) a = [a]; return a;",
            "nested too deeply",
        ),
        ("await show('\\ud800');", "passed to the tool contains a lone surrogate"),
        (
            "let a: any = 'x'; for (let i = 0; i < 200; i++) a = [a]; await show(a);",
            "passed to the tool is nested",
        ),
        ("throw new Error('long '.repeat(1e6));", r"Error: long long"),
        ("throw new Error('file:///x '.repeat(1e5));", r"Error: file:///x"),
        ("await show('a', 'b');", "show takes 1 arguments, not 2"),
        ("return 12n;", "BigInt"),
        ("const o: any = {}; o.o = o; return o;", "circular"),
        ("await show(12n);", "BigInt"),
        ("const f = (n: number): number => f(n) + 1; f(0);", "call stack"),
    ],
)
def test_an_exception_has_its_message(script, body: str, message: str) -> None:
    with pytest.raises(ScriptFailed, match=message):
        script.run(body)


# --- tricks on the bridge ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "JSON.stringify = () => 'zzz'; JSON.parse = () => 1 as any; return await show('a');",
        "(Object.prototype as any).kind = 'returned'; (Object.prototype as any).value = 'stolen'; return await show('a');",
        "Promise.prototype.then = () => { throw 1 }; return 'x';",
        "Map.prototype.get = () => undefined; await show('a'); return 'x';",
        "Map.prototype.set = () => { throw 1 }; await show('a'); return 'x';",
        "Array.prototype.push = () => 0; Array.prototype.map = () => []; return await show('a');",
        "Object.fromEntries = () => ({ path: 'other' }); return await show('a');",
        "Object.defineProperty(Deno.stdout, 'writeSync', { value: () => 1 }); return 'x';",
        "TextEncoder.prototype.encode = () => new Uint8Array(); return 'x';",
        "String.prototype.split = () => []; return await show('a');",
        "Symbol.for = () => Symbol(); Object.defineProperty = () => 1 as any; return 'x';",
        "Deno.exit(0);",
        "Deno.stdin.close(); return await show('a');",
        "Deno.stdout.close(); return 'x';",
        "throw { get message() { for (const x of [1]) throw 2; } };",
        "throw new Proxy(new Error('x'), { get() { throw 1; } });",
    ],
)
def test_tricks_on_the_bridge_end(script, body: str) -> None:
    limits = ScriptLimits(2, script.PATIENT.memory, 10)
    try:
        assert isinstance(script.run(body, limits=limits), str)
    except ScriptFailed as failed:
        assert str(failed)  # noqa: PT017 - either way is an end


@pytest.mark.parametrize(
    "line",
    [
        '{"kind": "call", "id": "x", "tool": "show", "given": {}}',
        '{"kind": "call", "id": 1, "tool": 7}',
        '{"kind": "ready"}',
        '{"kind": ["returned"]}',
        "[]",
        "null",
        "nonsense",
        '{"kind": "returned", "value": NaN}',
        '{"kind": "returned", "value": ' + "9" * 5000 + "}",
    ],
)
def test_forged_lines_are_ignored(script, line: str) -> None:
    forged = f"Deno.stdout.writeSync(new TextEncoder().encode('\\x1e' + {line!r} + '\\n'));"
    assert script.run(f"{forged} return await show('a');") == "show of {'path': 'a'}"


def test_unread_answers_do_not_accumulate(script, monkeypatch) -> None:
    monkeypatch.setattr("code_commit_tasks.runtime.process._UNSENT", 1_000_000)
    forged = "JSON.stringify({ kind: 'call', id, tool: 'show', given: 'x'.repeat(100_000) })"
    body = f"for (let id = 0; id < 50; id++) Deno.stdout.writeSync(new TextEncoder().encode('\\x1e' + {forged} + '\\n'));"
    answered: list[str] = []

    def call(name: str, _: Any) -> CallAnswer:
        answered.append(name)
        return CallAnswer("x" * 900_000)

    # Its calls are not read either, so it never gets to its end.
    with pytest.raises(ScriptFailed, match="longer than"):
        run_script(script.code(f"{body} Deno.exit();"), [script.SHOW], call, script.HASTY)
    assert len(answered) < 5


def test_a_forged_call_is_checked_like_any_other(script) -> None:
    calls: list[Any] = []

    def call(name: str, argument: Any) -> CallAnswer:
        calls.append((name, argument))
        return CallAnswer("refused", is_error=True)

    line = '{"kind": "call", "id": 99, "tool": "no_such_tool", "given": "words"}'
    body = (
        f"Deno.stdout.writeSync(new TextEncoder().encode('\\x1e' + {line!r} + '\\n')); return 'x';"
    )
    assert run_script(script.code(body), [script.SHOW], call, script.PATIENT) == "x"
    assert calls == [("no_such_tool", "words")]
