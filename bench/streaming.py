"""A streamed reply: CPU of an event, and its first token on a terminal.

The CPU is that of the whole process, the system's part included, without that of the same reply as
a whole. It is measured for events that come many at once, as from a fast or a distant service,
against a program that does no more than to parse them; and for events that come alone, in a segment
each, a millisecond apart: then the system wakes two threads for each event, and the peer is httpx
alone.

The design allows 20 µs for each of many events, on its own machine, and no time of the peer there
is on record. So no ratio follows from it. The limit here is chosen: two and a half times the peer,
which does the least that a reader of the stream does. Runs on one machine gave 1.8 to 2.2: two
threads take turns, and not always at the same events.
"""

from __future__ import annotations

import json
import os
import pty
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

from harness import Command, Line, Measured, code_commit, plain_environment, report, run
from project import fresh_copies, make_project

WORDS = 20_000
ALONE = 2_000  # events that come alone
ROUNDS, ROUNDS_ALONE = 10, 3
MANY_RATIO = 2.5
ALONE_RATIO = 8
SHOWN = 0.05  # seconds
READING = """
import sys, httpx
body = {"stream": bool(sys.argv[2])}
with httpx.stream("POST", sys.argv[1], json=body, trust_env=False) as reply:
    for _ in reply.iter_raw():
        pass
"""
PARSING = """
import json, sys, httpx
body = {"stream": bool(sys.argv[2])}
with httpx.stream("POST", sys.argv[1], json=body, trust_env=False) as reply:
    for line in reply.iter_lines():
        if line.startswith("data: "):
            json.loads(line[6:])
"""
TOKENS = re.compile(rb"\d tokens")


def main() -> list[Line]:
    """Measure and print."""
    many = [f"word{number} " if number % 12 else "\n" for number in range(WORDS)]
    pieces = [
        "^^^src/answer.txt\n",
        "right\n",
        "^^^end\n",
        "^^^src/much.txt\n",
        *many,
        "\n^^^end\n",
    ]
    with tempfile.TemporaryDirectory() as scratch, streaming(pieces[:3]) as (url, server):
        copies = fresh_copies(make_project(Path(scratch, "project")), Path(scratch, "copies"))
        first = statistics.median(_first_token(url, server, copies()) for _ in range(ROUNDS))
    many_at_once = _event(pieces, PARSING, rounds=ROUNDS)
    alone = _event(pieces[: ALONE - 1] + pieces[-1:], READING, rounds=ROUNDS_ALONE, apart=0.001)
    lines: list[Line] = [
        Measured(
            "CPU of an event, many at once", *many_at_once, MANY_RATIO, "httpx and json.loads", "µs"
        ),
        Measured(
            "CPU of an event that comes alone",
            *alone,
            ALONE_RATIO,
            "httpx alone, which parses nothing",
            "µs",
        ),
        Measured(
            "the first token on a terminal",
            first,
            SHOWN,
            1,
            f"{SHOWN * 1000:g} ms after its arrival",
        ),
    ]
    report("streaming", lines)
    return lines


def _event(
    pieces: Sequence[str], peer: str, *, rounds: int, apart: float = 0
) -> tuple[float, float]:
    """Return the microseconds of CPU of an event: of code-commit, and of the program `peer`."""
    with tempfile.TemporaryDirectory() as scratch, streaming(pieces, apart=apart) as (url, _):
        copies = fresh_copies(make_project(Path(scratch, "project")), Path(scratch, "copies"))
        commit = [code_commit(), "--model", "openai/large"]
        reading = [sys.executable, "-c", peer, f"{url}/chat/completions"]
        commands = [
            *(
                Command(commit, {"OPENAI_BASE_URL": url, "CODE_COMMIT_STREAM": how}, copies)
                for how in ("never", "always")
            ),
            *(Command([*reading, how], None, copies) for how in ("", "stream")),
        ]
        seconds = [[_cpu_of(command) for command in commands] for _ in range(rounds)]
    # The median of the rounds: least values would come from different ones, and their difference
    # from none.
    own, peers = zip(
        *((streamed - whole, read - whole_read) for whole, streamed, whole_read, read in seconds),
        strict=True,
    )
    return statistics.median(own) / len(pieces) * 1e6, statistics.median(peers) / len(pieces) * 1e6


def _cpu_of(command: Command) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _first_token(url: str, server: Streamed, folder: Path) -> float:
    """Return the seconds from the first token, which the service holds back a moment, to its count
    on the terminal.
    """
    ours, theirs = pty.openpty()
    environment = {**plain_environment(), "OPENAI_BASE_URL": url, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        [code_commit(), "--model", "openai/large"],
        cwd=folder,
        env=environment,
        stdout=theirs,
        stderr=theirs,
    ):
        os.close(theirs)
        shown, seen = b"", 0.0
        while not seen:
            shown += os.read(ours, 65536)
            if TOKENS.search(shown):
                seen = time.monotonic()
        server.shown.set()
        try:
            while os.read(ours, 65536):
                pass
        except OSError:  # its end, on Linux
            pass
    os.close(ours)
    return seen - server.sent


class Streamed:
    """When the first token of the latest streamed reply was sent.

    The next one waits until `shown`.
    """

    def __init__(self, pieces: Sequence[str]) -> None:
        self.pieces = pieces
        self.sent = 0.0
        self.shown = Event()


@contextmanager
def streaming(pieces: Sequence[str], *, apart: float = 0) -> Iterator[tuple[str, Streamed]]:
    """Serve the text of `pieces`, streamed with an event for each if that is asked for; yield the
    base URL.

    The events come at once, or `apart` seconds from each other.
    """
    server = Streamed(pieces)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            if not request.get("stream"):
                self._whole()
                return
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            first, *buffered = map(_chunk, [*pieces, None])
            if apart:
                for event in (first, *buffered):
                    self.wfile.write(event)
                    time.sleep(apart)
                first, buffered = b"", []
            elif len(pieces) < WORDS:
                server.shown.clear()
                self.wfile.write(_chunk(""))
                time.sleep(0.3)  # the status line has been drawn
                server.sent = time.monotonic()
                self.wfile.write(first)
                server.shown.wait(10)
                first = b""
            self.wfile.write(first + b"".join(buffered) + b"0\r\n\r\n")

        def _whole(self) -> None:
            message = {"role": "assistant", "content": "".join(pieces)}
            body = json.dumps(
                _chunk_body([{"index": 0, "finish_reason": "stop", "message": message}])
            ).encode()
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the standard library
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_address[1]}/v1", server
        http.shutdown()


def _chunk(text: str | None) -> bytes:
    """Return the event of a piece of the text, or of the end, as an HTTP chunk."""
    delta: Mapping[str, Any] = {} if text is None else {"content": text}
    choice = {"index": 0, "delta": delta, "finish_reason": "stop" if text is None else None}
    data = b"data: " + json.dumps(_chunk_body([choice], "chat.completion.chunk")).encode() + b"\n\n"
    return b"%x\r\n%s\r\n" % (len(data), data)


def _chunk_body(
    choices: Sequence[Mapping[str, Any]], kind: str = "chat.completion"
) -> Mapping[str, Any]:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    return {
        "id": "bench",
        "object": kind,
        "created": 0,
        "model": "large",
        "choices": choices,
        "usage": usage,
    }


if __name__ == "__main__":
    sys.exit(0 if all(isinstance(line, Measured) and line.ok for line in main()) else 1)
