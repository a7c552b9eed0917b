"""Code that means harm, or means well and goes wrong: nothing gets out, and each ends in its outcome."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
import time
from typing import Any

import pytest

from code_commit_tasks.runtime.script import CallAnswer, ScriptFailed, ScriptFunction, ScriptLimits, run_script

SHOW = ScriptFunction("show", ("path",))
LIST = ScriptFunction("list", ("path",), json=True)
PATIENT = ScriptLimits(seconds=60, memory=256 * 1024 * 1024, calls=100)
HASTY = ScriptLimits(seconds=0.7, memory=256 * 1024 * 1024, calls=100)
SECRET = "c0ffee-not-for-models"


def code(body: str) -> str:
    return f"async function agent_code(): Promise<any> {{\n{body}\n}}"


def run(body: str, *, limits: ScriptLimits = PATIENT, whole: bool = False, printed: list[str] | None = None) -> Any:
    def call(name: str, given: Any) -> CallAnswer:
        if name == "list":
            return CallAnswer('["a", "b"]')
        return CallAnswer(f"{name} of {given}", is_error=name != "show")

    heard = [] if printed is None else printed
    return run_script(body if whole else code(body), [SHOW, LIST], call, limits, on_output=heard.append)


def failure(body: str, *, limits: ScriptLimits = PATIENT, whole: bool = False) -> ScriptFailed:
    with pytest.raises(ScriptFailed) as caught:
        run(body, limits=limits, whole=whole)
    return caught.value


# --- what works ----------------------------------------------------------------------------------------------------


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
def test_code_returns_what_it_returns(body: str, value: Any) -> None:
    assert run(body) == value


@pytest.mark.parametrize(
    "whole",
    [
        "export async function agent_code() { return 'x'; }",
        "export default async function agent_code() { return 'x'; }",
        "const agent_code = async (): Promise<string> => 'x';",
        "function agent_code() { return 'x'; } // no line end",
    ],
)
def test_the_function_may_be_written_in_several_ways(whole: str) -> None:
    assert run(whole, whole=True) == "x"


def test_what_it_prints_is_heard_line_by_line() -> None:
    printed: list[str] = []
    run('console.log("a", {b: 1}); console.table([1]); console.log("c\\nd"); return "";', printed=printed)
    assert printed[0] == "a { b: 1 }"
    assert printed[-2:] == ["c", "d"]


def test_a_call_that_fails_rejects() -> None:
    assert (
        run_script(
            code("try { await show('a'); } catch (e) { return e.message; }"),
            [SHOW],
            lambda *_: CallAnswer("no such file", is_error=True),
            PATIENT,
        )
        == "no such file"
    )


# --- what goes wrong -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("whole", "told"),
    [
        ("let a = 1;\nlet b = ;", r"SyntaxError: Expression expected[\s\S]*agent_code\.ts:2:9"),
        ("let a = 1;\n  let a = 2;", r"SyntaxError: .*already been declared at agent_code\.ts:2:7"),
        ("function agent_code() {", r"SyntaxError: Expected .*\n    at agent_code\.ts:1:24, its end"),
        ("const x = 1;", "no function agent_code"),
        ("const agent_code = 1;", "no function agent_code"),
        ('import x from "https://example.org/x.ts";', "remote specifier.*--no-remote"),
        ('import x from "npm:left-pad";', "--no-npm"),
        ('import x from "jsr:@std/path";', "--no-remote"),
    ],
)
def test_code_that_does_not_load_is_told_where(whole: str, told: str) -> None:
    failed = failure(whole, whole=True)
    assert failed.fault == "code"
    assert not re.search("base64|bridge", str(failed))
    with pytest.raises(ScriptFailed, match=told):
        raise failed


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("throw new Error('boom');", r"Error: boom\n    at agent_code \(agent_code\.ts:2:7\)"),
        ("throw {a: 1};", r"\{ a: 1 \}"),
        ("throw null;", "null"),
        ("throw new Error('long '.repeat(1e6));", r"Error: long long"),
        ("throw new Error('file:///x '.repeat(1e5));", r"Error: file:///x"),
        ("await show('a', 'b');", "show takes 1 arguments, not 2"),
        ("return 12n;", "BigInt"),
        ("const o: any = {}; o.o = o; return o;", "circular"),
        ("await show(12n);", "BigInt"),
        ("const f = (n: number): number => f(n) + 1; f(0);", "call stack"),
    ],
)
def test_code_that_throws_is_told_what(body: str, told: str) -> None:
    with pytest.raises(ScriptFailed, match=told):
        run(body)


# --- what does not end ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "for (;;) {}",
        "for (;;) await show('a');",
        "for (;;) await null;",
        "for (;;) console.log('x'.repeat(1e5));",
        "await new Promise(() => setInterval(() => {}, 10));",
        "Deno.stdin.readSync(new Uint8Array(1)); for (;;) {}",
        "return { get steps() { for (;;) {} } };",
        "for (const s of ['SIGTERM', 'SIGINT', 'SIGHUP']) Deno.addSignalListener(s as any, () => {}); for (;;) {}",
        "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);",
        "/^(a+)+$/.test('a'.repeat(60) + 'b');",
    ],
)
def test_what_does_not_end_is_ended(body: str) -> None:
    limits = ScriptLimits(HASTY.seconds, HASTY.memory, calls=10**9)
    assert failure(body, limits=limits).fault == "time"


def test_top_level_code_that_does_not_end_is_ended() -> None:
    assert failure("for (;;) {}\nfunction agent_code() {}", limits=HASTY, whole=True).fault == "time"


def test_a_worker_that_does_not_end_is_ended() -> None:
    body = (
        'const w = new Worker("data:application/javascript,postMessage(1);for(;;);", {type: "module"});'
        "await new Promise((done) => { w.onmessage = done; }); await new Promise(() => {});"
    )
    roomy = ScriptLimits(seconds=3, memory=2 * 1024**3, calls=1)
    assert failure(body, limits=roomy).fault in {"time", "memory"}


@pytest.mark.parametrize("body", ["await new Promise(() => {});", "await new Promise(() => { show('a'); });"])
def test_a_promise_that_nothing_can_settle_ends_at_once(body: str) -> None:
    failed = failure(body)
    assert failed.fault == "ended"
    assert "nothing can settle" in str(failed)


def test_the_time_of_calls_does_not_count() -> None:
    def slow(*_: Any) -> CallAnswer:
        began = time.monotonic()
        while time.monotonic() - began < 2 * HASTY.seconds:
            pass
        return CallAnswer("slow")

    assert run_script(code("return await show('a');"), [SHOW], slow, HASTY) == "slow"


def test_calls_without_end_are_ended() -> None:
    assert "more than 100 tool calls" in str(failure("for (;;) await show('a');"))


# --- what takes too much -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "const a = []; for (;;) a.push('x'.repeat(1 << 28) + a.length);",
        "const a = []; for (let i = 0;; i++) a.push(JSON.stringify('y'.repeat(1 << 24) + i));",
        "const a = []; for (let i = 0;; i++) a.push({ i, s: 'k' + i });",
        "const a = []; for (;;) { const b = new Uint8Array(1 << 26); b.fill(7); a.push(b); }",
        (
            "const a = []; for (;;) { const m = new WebAssembly.Memory({ initial: 1024 }); a.push(m); "
            "new Uint8Array(m.buffer).fill(1); }"
        ),
        (
            "const hungry = 'data:application/javascript,const a=[];for(;;)a.push(Array(1e6).fill(.5))';"
            "for (let i = 0; i < 50; i++) new Worker(hungry, { type: 'module' });"
            "await new Promise((done) => setTimeout(done, 30000));"
        ),
    ],
)
def test_memory_is_bounded(body: str) -> None:
    failed = failure(body, limits=ScriptLimits(60, 128 * 1024 * 1024, 1))
    assert failed.fault == "memory" or "allocat" in str(failed)


def test_a_line_without_end_is_ended() -> None:
    body = "const x = new Uint8Array(1 << 20).fill(65); for (;;) Deno.stdout.writeSync(x);"
    assert "printed a line" in str(failure(body))


def test_it_keeps_nothing_on_disk(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    module = "'data:application/typescript,//' + i + '%0Aexport const a: number = 1'"
    body = f"for (let i = 0; i < 9; i++) await import({module}); return (await show('a')) + await (await caches.open('a')).keys();"
    assert "cache storage" in str(failure(body))
    assert list(tmp_path.iterdir()) == []


def test_it_cannot_write_to_disk() -> None:
    body = (
        "const { DatabaseSync } = await import('node:sqlite'); const d = new DatabaseSync(':memory:');"
        "d.exec('pragma temp_store = file; pragma cache_size = 10; pragma cache_spill = on');"
        "d.exec('create temp table t (a); insert into t with recursive c (x) as (select 1 union all select x + 1 from c "
        "where x < 100000) select hex(randomblob(100)) from c'); return 'spilled';"
    )
    assert "wrote to disk" in str(failure(body))


# --- what must not get out -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "return Deno.readTextFileSync(PATH);",
        "return await Deno.readTextFile(PATH);",
        "return (await import('file://' + PATH, { with: { type: 'text' } })).default;",
        "return (await import('file://' + PATH, { with: { type: 'json' } })).default;",
        "return await (await fetch('file://' + PATH)).text();",
        "return (await import('node:fs')).readFileSync(PATH, 'utf8');",
        "return (await import('node:module')).createRequire('file:///x/y.js')(PATH);",
        "return (await import('node:child_process')).execFileSync('/bin/cat', [PATH], { env: {} }).toString();",
        "return new TextDecoder().decode(new Deno.Command('/bin/cat', { args: [PATH] }).outputSync().stdout);",
        "const { DatabaseSync } = await import('node:sqlite'); return new DatabaseSync(PATH);",
        "return Deno.dlopen('libc.so.6', {});",
        "await Deno.permissions.request({ name: 'read' }); return Deno.readTextFileSync(PATH);",
        "return (await import('node:process')).env.SECRET;",
        "return Deno.env.get('SECRET');",
        "return await (await fetch('https://example.org')).text();",
        "return await Deno.connect({ hostname: '127.0.0.1', port: 80 });",
        "return Deno.listen({ port: 0 });",
        "return new WebSocket('ws://127.0.0.1:1') && await new Promise((_, no) => no(new Error('x')));",
        "return await import('http://127.0.0.1:1/x.ts');",
        "return localStorage.setItem('a', 'b');",
        "const card = await navigator.gpu.requestAdapter(); throw card && card.info.description;",
        "const w = new Worker('file://' + PATH, { type: 'module' }); await new Promise((_, no) => { w.onerror = no; });",
        "Deno.writeTextFileSync('/tmp/x', 'x');",
        "Deno.kill(1, 'SIGTERM');",
        "Deno.chdir('/'); return Deno.cwd();",
    ],
)
def test_nothing_of_the_machine_can_be_reached(body: str, tmp_path, monkeypatch) -> None:
    secret = tmp_path / "agent-config" / "tiny-key.txt"
    secret.parent.mkdir()
    secret.write_text(f'"{SECRET}"')
    monkeypatch.setenv("SECRET", SECRET)
    failed = failure(f"const PATH = {str(secret)!r};\n{body}", limits=ScriptLimits(10, PATIENT.memory, 10))
    assert SECRET not in str(failed)
    assert failed.fault != "time"


@pytest.mark.parametrize(
    "whole", ['import x from "file://PATH" with {type: "text"};', 'import "file://PATH";', 'export * from "PATH";']
)
def test_nothing_is_imported_from_disk(whole: str, tmp_path) -> None:
    module = tmp_path / "module.js"
    module.write_text(f'throw new Error("{SECRET}");')
    failed = failure(whole.replace("PATH", str(module)), whole=True)
    assert SECRET not in str(failed)


def test_its_environment_is_empty_but_for_its_own() -> None:
    assert "SECRET" not in os.environ
    assert failure("return Object.keys(Deno.env.toObject());").fault == "code"


def bridges(parent: int) -> list[str]:
    """The processes with the bridge in them that have this parent."""
    running = subprocess.run(["ps", "-ewwo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in running.splitlines()[1:]]
    return [row[0] for row in rows if int(row[1]) == parent and "bridge.js" in row[2]]


def test_it_does_not_run_on() -> None:
    failure("for (;;) {}", limits=HASTY)
    assert bridges(os.getpid()) == []


@pytest.mark.skipif(not shutil.which("setpriv"), reason="elsewhere its CPU time is what ends it")
def test_it_does_not_outlive_its_host() -> None:
    script = (
        "from code_commit_tasks.runtime.script import *\n"
        "def call(name, given):\n"
        "    print('up', flush=True)\n"
        "    return CallAnswer('')\n"
        "code = 'async function agent_code() { await show(); for (;;) {} }'\n"
        "run_script(code, [ScriptFunction('show', ())], call, ScriptLimits(60, 2**28, 9))\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as host:
        assert host.stdout
        assert host.stdout.readline() == b"up\n"
        [pid] = bridges(host.pid)
        agent = os.pidfd_open(int(pid))
        host.kill()
    # Readable when it has ended.
    assert select.select([agent], [], [], 30)[0] == [agent]
    os.close(agent)


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
def test_tricks_on_the_bridge_come_to_an_end(body: str) -> None:
    limits = ScriptLimits(2, PATIENT.memory, 10)
    try:
        assert isinstance(run(body, limits=limits), str)
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
        "[" * 100_000,
    ],
)
def test_forged_lines_mean_nothing(line: str) -> None:
    forged = f"Deno.stdout.writeSync(new TextEncoder().encode('\\x1e' + {line!r} + '\\n'));"
    assert run(f"{forged} return await show('a');") == "show of {'path': 'a'}"


def test_answers_that_it_does_not_take_do_not_pile_up(monkeypatch) -> None:
    monkeypatch.setattr("code_commit_tasks.runtime.process._UNSENT", 1_000_000)
    forged = "JSON.stringify({ kind: 'call', id, tool: 'show', given: {} })"
    body = (
        f"for (let id = 0; id < 50; id++) Deno.stdout.writeSync(new TextEncoder().encode('\\x1e' + {forged} + '\\n'));"
    )
    answered: list[str] = []

    def call(name: str, _: Any) -> CallAnswer:
        answered.append(name)
        return CallAnswer("x" * 600_000)

    with pytest.raises(ScriptFailed, match="longer than"):
        run_script(code(f"{body} for (;;) {{}}"), [SHOW], call, HASTY)
    assert len(answered) < 5


def test_a_forged_call_is_judged_as_any_other() -> None:
    heard: list[Any] = []

    def call(name: str, given: Any) -> CallAnswer:
        heard.append((name, given))
        return CallAnswer("refused", is_error=True)

    line = '{"kind": "call", "id": 99, "tool": "no_such_tool", "given": "words"}'
    body = f"Deno.stdout.writeSync(new TextEncoder().encode('\\x1e' + {line!r} + '\\n')); return 'x';"
    assert run_script(code(body), [SHOW], call, PATIENT) == "x"
    assert heard == [("no_such_tool", "words")]
