"""After any network fault, a run ends with the right outcome, before its deadline, without the key
in any output.

The command meets each fault at a real server on loopback. A run that takes longer than a minute
fails its test.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from code_commit_testing import Finished, Reply, ScriptedServer

GOOD = Reply("^^^a.txt\nnew\n^^^end\n")
SLOW = pytest.mark.slow  # a further form of what the other cases prove
SHORT = {"CODE_COMMIT_HTTP__DEADLINE_SECONDS": "1"}
ONCE = {"CODE_COMMIT_HTTP__RETRIES": "0"}
PROVIDERS = ("openai", "anthropic", "gemini")


def outcome(finished: Finished) -> str:
    return finished.events[-1]["data"]["outcome"]


def count(finished: Finished, kind: str) -> int:
    return [event["kind"] for event in finished.events].count(kind)


# --- connections that break, stall or never answer


@pytest.mark.parametrize("fault", ["drop", "half", pytest.param("reset", marks=SLOW)])
def test_a_broken_connection_is_retried(commit, project, fault) -> None:
    with ScriptedServer([Reply(GOOD.text, fault=fault), GOOD]) as server:
        finished = commit(server)
        assert len(server.requests) == 2
    assert (finished.exit_code, project.read("a.txt")) == (0, "new\n")
    assert count(finished, "call.retried") == 1


@pytest.mark.parametrize(
    "fault", ["reset", *(pytest.param(fault, marks=SLOW) for fault in ("drop", "half"))]
)
def test_a_connection_that_always_breaks_is_exit_4(commit, project, fault) -> None:
    with ScriptedServer([Reply(GOOD.text, fault=fault)] * 2) as server:
        finished = commit(server, **{**ONCE, "CODE_COMMIT_HTTP__RETRIES": "1"})
        assert len(server.requests) == 2
    assert (finished.exit_code, outcome(finished), project.read("a.txt")) == (
        4,
        "provider_failed",
        "old\n",
    )
    assert "gave up after 2 tries" in finished.stderr


@pytest.mark.parametrize(
    ("fault", "provider"),
    [
        ("hang", "openai"),
        ("stall", "gemini"),
        ("trickle", "anthropic"),
        *(pytest.param("trickle", provider, marks=SLOW) for provider in ("openai", "gemini")),
    ],
)
def test_an_answer_that_does_not_end_is_cancelled_at_the_deadline(
    commit, project, fault, provider
) -> None:
    # Byte by byte this would take five minutes.
    with ScriptedServer([Reply("x" * 6000, fault=fault)] * 9) as server:
        finished = commit(server, provider=provider, **SHORT)
    assert (finished.exit_code, outcome(finished), project.read("a.txt")) == (
        4,
        "provider_failed",
        "old\n",
    )
    assert "time limit" in finished.stderr


def test_a_silent_connection_ends_at_its_time_limit(commit) -> None:
    with ScriptedServer([Reply(fault="stall"), *[GOOD] * 4]) as server:
        finished = commit(server, CODE_COMMIT_HTTP__TIMEOUT_SECONDS="1")
    # More than one, if a busy machine answers late.
    assert (finished.exit_code, count(finished, "call.retried") > 0) == (0, True)


def test_a_closed_port_is_exit_4(commit) -> None:
    with socket.socket() as listener:  # so that nobody else can listen there
        listener.bind(("127.0.0.1", 0))
        finished = commit(
            OPENAI_BASE_URL=f"http://127.0.0.1:{listener.getsockname()[1]}/v1", **ONCE
        )
    assert (finished.exit_code, "cannot connect" in finished.stderr) == (4, True)


@contextmanager
def raw_server(answer: bytes) -> Iterator[str]:
    """Yield an address that accepts one connection after the other and answers each with these
    bytes.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, suppress(OSError):
                        connection.recv(65536)
                        connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.fast_rows(3)
@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFFFF\r\n{}",
        b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 300_000 + b"\r\n\r\n{}",
        b"HTTP/9.9 20 \x00\r\n\r\n",
    ],
    ids=["ssh", "negative length", "chunk without end", "endless header", "no status"],
)
def test_an_answer_that_is_not_http_is_exit_4(commit, answer) -> None:
    with raw_server(answer) as address:
        finished = commit(OPENAI_BASE_URL=address, **ONCE, **SHORT)
    assert (finished.exit_code, outcome(finished)) == (4, "provider_failed")


# --- invalid answers


HTML = b"<!DOCTYPE html><p>Sign in</p>"
INVALID_ANSWERS = [b"[" * 100_000, b"", b"null", b'{"choices": [{"mess', b"\x1f\x8b\x08\x00"]


@pytest.mark.fast_rows(6)
@pytest.mark.parametrize(
    ("provider", "body"),
    [
        *((provider, HTML) for provider in PROVIDERS),
        *(("openai", body) for body in INVALID_ANSWERS),
    ],
)
def test_an_invalid_answer_with_status_200_is_exit_4(commit, project, provider, body) -> None:
    with ScriptedServer([Reply(body=body, headers={"content-type": "text/html"})]) as server:
        finished = commit(server, provider=provider)
    assert (finished.exit_code, outcome(finished), project.read("a.txt")) == (
        4,
        "provider_failed",
        "old\n",
    )


def zeros_compressed(blocks: int) -> bytes:
    """Return this many megabytes of zeros in gzip, as one compressed block repeated."""
    packer = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
    head = packer.compress(bytes(1_000_000)) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(1_000_000)) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + block * (blocks - 1)


# Prints the peak memory of the command. The kernel counts the memory of the parent until the child
# loads its program, so the parent must be small.
_PEAK = """
import resource, subprocess, sys
done = subprocess.run([sys.executable, "-m", "code_commit", *sys.argv[1:]], stdin=subprocess.DEVNULL)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_a_compressed_bomb_uses_little_memory(project, key, commit) -> None:
    bomb = Reply(body=zeros_compressed(4000), headers={"content-encoding": "gzip"})
    assert len(bomb.body) < 5_000_000  # compressed; 4 GB decompressed
    with ScriptedServer([bomb, bomb]) as server:
        finished = commit(server, **ONCE)
        environ = project.environment({"OPENAI_API_KEY": key, **server.environment(), **ONCE})
        command = [sys.executable, "-c", _PEAK, "--quiet", "--model", "gpt-5"]
        completed = subprocess.run(
            command, cwd=project.root, env=environ, capture_output=True, text=True, check=True
        )
    assert (finished.exit_code, "larger than" in finished.stderr) == (4, True)
    exit_code, peak = map(int, completed.stdout.split())
    assert exit_code == 4
    assert peak < 220_000  # KB; the limit for an answer is 64 MB, and copies need more


@pytest.mark.fast_rows(1)  # the providers' own tests have the reasons of each protocol
@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_open_block_with_an_unknown_finish_reason_needs_a_repair(
    commit, project, provider
) -> None:
    odd = Reply(GOOD.text.replace("^^^end", ""), finish="brand_new_reason")
    with ScriptedServer([odd, GOOD]) as server:
        finished = commit(server, provider=provider)
        assert "brand_new_reason" in server.requests[1].prompt
    assert (finished.exit_code, project.read("a.txt")) == (0, "new\n")


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_closed_blocks_with_an_unknown_finish_reason_are_not_applied(
    commit, project, provider
) -> None:
    half = Reply(GOOD.text.replace("new", "half"), finish="brand_new_reason")
    with ScriptedServer([half, GOOD]) as server:
        finished = commit(server, provider=provider)
        assert (
            "the response is incomplete: it ended with `brand_new_reason`"
            in server.requests[1].prompt
        )
    assert (finished.exit_code, outcome(finished), project.read("a.txt")) == (0, "reached", "new\n")


# --- statuses, waits, redirects


@pytest.mark.parametrize(
    ("status", "tries", "provider"),
    [(418, 1, "openai"), (425, 1, "openai"), (503, 2, "gemini"), (529, 2, "anthropic")],
)
def test_unusual_statuses_are_exit_4(commit, status, tries, provider) -> None:
    with ScriptedServer([Reply.error(status, "no coffee here")] * 2) as server:
        finished = commit(server, provider=provider, CODE_COMMIT_HTTP__RETRIES="1")
        assert len(server.requests) == tries
    assert (finished.exit_code, outcome(finished)) == (4, "provider_failed")
    assert f"HTTP {status}" in finished.stderr


@pytest.mark.parametrize("wait", ["86400", "99999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_a_retry_after_that_is_too_long_ends_the_run_at_once(commit, wait) -> None:
    with ScriptedServer([Reply.error(429, "slow down", retry_after=wait), GOOD]) as server:
        finished = commit(server)
        assert len(server.requests) == 1
    assert (finished.exit_code, "asks to wait" in finished.stderr) == (4, True)


@pytest.mark.parametrize(
    "wait",
    [
        *("-1", "soon", "nan"),
        *(
            pytest.param(wait, marks=SLOW)
            for wait in ("0", "inf", "", "1e999", "Thu, 01 Jan 1970 00:00:00 GMT", "0x10")
        ),
    ],
)
def test_an_invalid_retry_after_is_ignored(commit, wait) -> None:
    with ScriptedServer([Reply.error(503, "slow down", retry_after=wait), GOOD]) as server:
        finished = commit(server)
    assert (finished.exit_code, count(finished, "call.retried")) == (0, 1)


@pytest.mark.parametrize(
    "status", [302, 307, *(pytest.param(status, marks=SLOW) for status in (301, 303, 308))]
)
def test_a_redirect_is_not_followed(commit, status) -> None:
    with ScriptedServer([GOOD]) as second:
        with ScriptedServer(
            [Reply.redirect(f"{second.url('openai')}/chat/completions", status)]
        ) as server:
            finished = commit(server)
        assert second.requests == []
    assert (finished.exit_code, "redirects to 127.0.0.1" in finished.stderr) == (4, True)


def test_the_log_contains_the_answer_of_a_failed_call(commit, project) -> None:
    with ScriptedServer([Reply.error(418, "no coffee here")]) as server:
        commit(server)
    assert (project.run_folder / "1-initial-query-response.txt").read_text().startswith("ERROR\n")
    assert "no coffee here" in (project.run_folder / "1-initial-query-response.txt").read_text()
    assert json.loads((project.run_folder / "run.json").read_bytes())["exit_code"] == 4
