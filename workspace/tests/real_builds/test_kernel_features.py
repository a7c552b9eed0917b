"""Runtimes, debuggers, sanitizers and sandboxes that builds use work with the calls that are
left.
"""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from code_commit_workspace.records import ProcessResult

pytestmark = pytest.mark.usefixtures("bubblewrap")

Run = Callable[..., ProcessResult]
Write = Callable[[dict[str, str]], None]

C_PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int shared;
static void *add(void *value) { shared += *(int *)value; return NULL; }
int main(int count, char **words) {
    pthread_t threads[2];
    int one = 1;
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, add, &one);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    char *volatile lost = malloc(count);
    lost = NULL;
    puts("done");
    return 0;
}
"""
NODE_PROGRAM = """
const fs = require('fs').promises, http = require('http'), os = require('os')
const { Worker } = require('worker_threads'), { spawnSync } = require('child_process')
async function main() {
  await Promise.all([...Array(50).keys()].map(n => fs.writeFile(`f${n}`, `${n}`)))
  const texts = await Promise.all([...Array(50).keys()].map(n => fs.readFile(`f${n}`, 'utf8')))
  if (texts[49] !== '49' || !os.networkInterfaces()) throw 1
  await new Promise(done => new Worker('1', { eval: true }).on('exit', done))
  if (spawnSync('true').status !== 0) throw 2
  const server = http.createServer((_, answer) => answer.end('hello')).listen(0, '127.0.0.1')
  await new Promise(done => server.on('listening', done))
  http.get(server.address(), answer => answer.on('data', text => console.log(`${text}`)))
    .on('close', () => server.close())
}
main()
"""
JAVA_PROGRAM = """
import java.net.*; import java.nio.*; import java.nio.channels.*; import java.nio.file.*;
import java.util.stream.*;
public class Demo {
    public static void main(String[] words) throws Exception {
        int sum = IntStream.range(0, 1000).parallel().sum();
        try (var file = FileChannel.open(Path.of("f"), StandardOpenOption.CREATE,
                 StandardOpenOption.WRITE); var lock = file.lock()) {
            file.write(ByteBuffer.wrap("x".getBytes()));
        }
        try (var server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
             var client = new Socket(server.getInetAddress(), server.getLocalPort())) {
            new ProcessBuilder("true").start().waitFor();
            System.out.println("sum " + sum + NetworkInterface.networkInterfaces().count());
        }
    }
}
"""
GO_PROGRAM = """
package demo
import ("net"; "os/exec"; "sync"; "testing")
func TestAll(t *testing.T) {
    var group sync.WaitGroup
    for n := 0; n < 100; n++ { group.Add(1); go group.Done() }
    group.Wait()
    listener, err := net.Listen("tcp", "127.0.0.1:0")
    if err != nil { t.Fatal(err) }
    if _, err := net.Dial("tcp", listener.Addr().String()); err != nil { t.Fatal(err) }
    if _, err := net.Interfaces(); err != nil { t.Fatal(err) }
    if err := exec.Command("true").Run(); err != nil { t.Fatal(err) }
}
"""
RUST_PROGRAM = """
use std::{net::*, os::unix::net::UnixStream, process::Command, thread};
fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || TcpStream::connect(address).unwrap()).join().unwrap();
    UnixStream::pair().unwrap();
    assert!(Command::new("true").status().unwrap().success());
    println!("done");
}
"""
PYTHON_PROGRAM = """
import asyncio, ctypes, multiprocessing, multiprocessing.shared_memory, socket, tempfile
def square(number): return number * number
async def main():
    child = await asyncio.create_subprocess_exec("true")
    assert await child.wait() == 0
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    assert await reader.read() == b""
if __name__ == "__main__":
    asyncio.run(main())
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(square, [2]) == [4]
    multiprocessing.shared_memory.SharedMemory(create=True, size=9).unlink()
    print("done")
"""


@pytest.mark.parametrize(
    ("tool", "name", "program", "script", "output"),
    [
        ("node", "demo.js", NODE_PROGRAM, "node demo.js", "hello"),
        ("python3", "demo.py", PYTHON_PROGRAM, "python3 demo.py", "done"),
        pytest.param(
            *("java", "Demo.java", JAVA_PROGRAM, "java Demo.java", "sum 499500"),
            marks=pytest.mark.slow,  # it compiles
        ),
        pytest.param(
            *("rustc", "demo.rs", RUST_PROGRAM, "rustc demo.rs; ./demo", "done"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("go", "demo_test.go", GO_PROGRAM, "go mod init demo; go test", "PASS"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_runtime(
    need, build: Callable, write: Write, tool: str, name: str, program: str, script: str, output: str
) -> None:  # fmt: skip
    if tool == "go":  # it has no option `--version`
        if subprocess.run(
            ["bash", "-c", "go version"], capture_output=True, check=False
        ).returncode:
            pytest.skip("go is not installed")
    else:
        need(tool)
    write({name: program})

    assert output in build(script, "true")[0]


@pytest.mark.parametrize(
    ("tools", "script", "output"),
    [
        (("gdb",), "gcc -g demo.c; gdb -batch -ex 'break add' -ex run -ex bt a.out", "#0  add"),
        (("strace",), "gcc demo.c; strace -f ./a.out", "+++ exited with 0 +++"),
        (("setarch",), "gcc demo.c; setarch -R ./a.out", "done"),
        ((), "gcc -fsanitize=address demo.c; ./a.out || true", "detected memory leaks"),
        ((), "gcc -fsanitize=undefined demo.c; ./a.out", "done"),
        ((), "gcc -fsanitize=thread demo.c; ./a.out || true", "data race"),
    ],
    ids=["gdb", "strace", "setarch", "LeakSanitizer", "UBSan", "ThreadSanitizer"],
)
def test_a_debugger_or_sanitizer(
    need, sandboxed: Run, write: Write, tools: tuple[str, ...], script: str, output: str
) -> None:
    need("gcc", *tools)
    write({"demo.c": C_PROGRAM})

    assert output in sandboxed(f"set -e\n{script} 2>&1").output.decode("utf-8", "replace")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="about programs of i386")
def test_a_program_of_32_bits(need, sandboxed: Run, write: Write, tmp_path: Path) -> None:
    need("gcc")
    start = 'void _start(void) { __asm__("int $0x80" :: "a"(1), "b"(7)); }\n'  # exit(7)
    compiled = "gcc -m32 -ffreestanding -nostdlib -static -o demo start.c"
    write({"start.c": start})
    (tmp_path / "start.c").write_text(start)
    outside = subprocess.run(
        ["bash", "-c", f"{compiled} && ./demo"], cwd=tmp_path, capture_output=True, check=False
    )
    if outside.returncode != 7:
        pytest.skip("gcc or the kernel does not support 32 bits")

    assert sandboxed(f"{compiled}; ./demo").exit_code == 7


NESTED = "bwrap --ro-bind / / --dev /dev --unshare-user --unshare-net --unshare-ipc"


def test_a_sandbox_of_bubblewrap_inside(by_plain_account: Callable[[str], str]) -> None:
    mount = "unshare -Urm sh -c 'mount -t tmpfs none /mnt && touch /mnt/x && ls /mnt'"

    output = by_plain_account(f"{NESTED} echo inside 2>&1; {mount} 2>&1")

    assert output == "inside\nx\n"


@pytest.mark.slow  # a browser
def test_a_browser_with_its_own_sandbox(need, by_plain_account: Callable[[str], str]) -> None:
    need("chromium")
    options = "--headless --disable-gpu --user-data-dir=$PWD/profile --dump-dom"
    page = "data:text/html,<p id=one><script>one.textContent=1+1</script>"

    shown = by_plain_account(f"timeout 50 chromium {options} '{page}' 2> errors || cat errors")

    assert '<p id="one">2' in shown
