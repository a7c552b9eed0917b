"""Code that does not end, uses too much, or tries to escape: nothing escapes, and each case has its
outcome.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from code_commit_tasks.runtime.script import CallAnswer, ScriptLimits, run_script

SECRET = "c0ffee-not-for-models"


# --- endless code --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "for (;;) {}",
        "for (;;) await show('a');",
        pytest.param("for (;;) await null;", marks=pytest.mark.slow),
        pytest.param("for (;;) console.log('x'.repeat(1e5));", marks=pytest.mark.slow),
        "await new Promise(() => setInterval(() => {}, 10));",
        "Deno.stdin.readSync(new Uint8Array(1)); for (;;) {}",
        "return { get steps() { for (;;) {} } };",
        "for (const s of ['SIGTERM', 'SIGINT', 'SIGHUP']) Deno.addSignalListener(s as any, () => {}); for (;;) {}",
        pytest.param(
            "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);", marks=pytest.mark.slow
        ),
        "/^(a+)+$/.test('a'.repeat(60) + 'b');",
    ],
)
def test_endless_code_is_stopped(script, body: str) -> None:
    limits = ScriptLimits(script.HASTY.seconds, script.HASTY.memory, calls=10**9)
    assert script.failure(body, limits=limits).fault == "time"


def test_endless_top_level_code_is_stopped(script) -> None:
    began = time.process_time()
    assert (
        script.failure(
            "for (;;) {}\nfunction agent_code() {}", limits=script.HASTY, whole=True
        ).fault
        == "time"
    )
    assert time.process_time() - began < 0.15  # the host waits without work


def test_an_endless_worker_is_stopped(script) -> None:
    body = (
        'const w = new Worker("data:application/javascript,postMessage(1);for(;;);", {type: "module"});'
        "await new Promise((done) => { w.onmessage = done; }); await new Promise(() => {});"
    )
    roomy = ScriptLimits(seconds=1.5, memory=2 * 1024**3, calls=1)
    assert script.failure(body, limits=roomy).fault in {"time", "memory"}


@pytest.mark.parametrize(
    "body", ["await new Promise(() => {});", "await new Promise(() => { show('a'); });"]
)
def test_a_promise_that_cannot_settle_ends_immediately(script, body: str) -> None:
    failed = script.failure(body)
    assert failed.fault == "ended"
    assert "cannot settle" in str(failed)


def test_the_time_of_calls_does_not_count(script, monkeypatch) -> None:
    passed = 0.0
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + passed)
    for module in ("process", "script"):
        monkeypatch.setattr(f"code_commit_tasks.runtime.{module}.time", clock)

    def slow(*_: Any) -> CallAnswer:
        nonlocal passed
        passed = 2 * script.PATIENT.seconds
        return CallAnswer("slow")

    assert (
        run_script(script.code("return await show('a');"), [script.SHOW], slow, script.PATIENT)
        == "slow"
    )


def test_the_number_of_calls_is_limited(script) -> None:
    limits = ScriptLimits(script.PATIENT.seconds, script.PATIENT.memory, calls=2)
    calls = "await show('a'); await show('b');"
    assert script.run(f"{calls} return 'done';", limits=limits) == "done"
    assert "more than 2 tool calls" in str(
        script.failure(f"{calls} await show('c');", limits=limits)
    )


# --- excessive code ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            "const a = []; for (;;) a.push('x'.repeat(1 << 27) + a.length);", marks=pytest.mark.slow
        ),  # for ropes
        "const a = []; for (let i = 0;; i++) a.push(JSON.stringify('y'.repeat(1 << 24) + i));",
        "const a = []; for (let i = 0;; i++) a.push(Array(1e4).fill({ i }));",
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
def test_memory_is_limited(script, body: str) -> None:
    failed = script.failure(body, limits=ScriptLimits(60, 128 * 1024 * 1024, 1))
    assert failed.fault == "memory" or "allocat" in str(failed)


def test_an_endless_line_is_stopped(script) -> None:
    body = "const x = new Uint8Array(1 << 20).fill(65); for (;;) Deno.stdout.writeSync(x);"
    assert "printed a line" in str(script.failure(body))


def test_code_stores_nothing_on_disk(script, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    module = "'data:application/typescript,//' + i + '%0Aexport const a: number = 1'"
    body = f"for (let i = 0; i < 9; i++) await import({module}); return (await show('a')) + await (await caches.open('a')).keys();"
    assert "cache storage" in str(script.failure(body))
    assert list(tmp_path.iterdir()) == []


def test_code_cannot_write_to_disk(script) -> None:
    body = (
        "const { DatabaseSync } = await import('node:sqlite'); const d = new DatabaseSync(':memory:');"
        "d.exec('pragma temp_store = file; pragma cache_size = 10; pragma cache_spill = on');"
        "d.exec('create temp table t (a); insert into t with recursive c (x) as (select 1 union all select x + 1 from c "
        "where x < 100000) select hex(randomblob(100)) from c'); return 'spilled';"
    )
    assert "wrote to disk" in str(script.failure(body))


# --- isolation -----------------------------------------------------------------------------------------------------


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
        "const w = new Worker('file://' + PATH, { type: 'module' }); await new Promise((_, no) => { w.onerror = no; });",
        "Deno.writeTextFileSync('/tmp/x', 'x');",
        "Deno.kill(1, 'SIGTERM');",
        "Deno.chdir('/'); return Deno.cwd();",
    ],
)
def test_code_cannot_access_the_machine(script, body: str, tmp_path, monkeypatch) -> None:
    secret = tmp_path / "agent-config" / "loopback-key.txt"
    secret.parent.mkdir()
    secret.write_text(f'"{SECRET}"')
    monkeypatch.setenv("SECRET", SECRET)
    failed = script.failure(
        f"const PATH = {str(secret)!r};\n{body}", limits=ScriptLimits(10, script.PATIENT.memory, 10)
    )
    assert SECRET not in str(failed)
    assert failed.fault != "time"


@pytest.mark.parametrize(
    "whole",
    [
        'import x from "file://PATH" with {type: "text"};',
        'import "file://PATH";',
        'export * from "PATH";',
    ],
)
def test_code_cannot_import_from_disk(script, whole: str, tmp_path) -> None:
    module = tmp_path / "module.js"
    module.write_text(f'throw new Error("{SECRET}");')
    failed = script.failure(whole.replace("PATH", str(module)), whole=True)
    assert SECRET not in str(failed)


def test_code_finds_no_gpu(script) -> None:
    assert script.run("return String(await navigator.gpu.requestAdapter());") == "null"


def test_code_cannot_read_the_environment(script) -> None:
    assert "SECRET" not in os.environ
    assert script.failure("return Object.keys(Deno.env.toObject());").fault == "code"


def bridges(parent: int) -> list[str]:
    """Return the ids of the bridge processes with this parent."""
    running = subprocess.run(
        ["ps", "-ewwo", "pid,ppid,args"], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(None, 2) for line in running.splitlines()[1:]]
    return [row[0] for row in rows if int(row[1]) == parent and "bridge.js" in row[2]]


def test_a_stopped_process_has_ended(script) -> None:
    script.failure("for (;;) {}", limits=script.HASTY)
    assert bridges(os.getpid()) == []


@pytest.mark.skipif(
    not shutil.which("setpriv"), reason="without setpriv, only its CPU time is limited"
)
def test_the_process_ends_with_its_host() -> None:
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
    # Readable after its end.
    assert select.select([agent], [], [], 30)[0] == [agent]
    os.close(agent)
