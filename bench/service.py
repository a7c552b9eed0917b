"""A service on loopback that speaks the protocols of OpenAI and Gemini, and answers immediately
from a repeating list.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@contextmanager
def answering(texts: Sequence[str], *, after: float = 0) -> Iterator[str]:
    """Serve `texts` in turn, each after `after` seconds; yield the base URL of OpenAI's protocol.

    Gemini's has the same without `/v1`.
    """
    turns = itertools.cycle(texts)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Else the body waits until the client has acknowledged the head.
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            encode = _gemini if ":generateContent" in self.path else _openai
            body = encode(next(turns))
            time.sleep(after)
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the standard library
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


def _openai(text: str) -> bytes:
    return json.dumps(
        {
            "id": "bench",
            "object": "chat.completion",
            "created": 0,
            "model": "gpt-5",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": text},
                }
            ],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
        }
    ).encode()


def _gemini(text: str) -> bytes:
    return json.dumps(
        {
            "candidates": [
                {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}
            ],
            "usageMetadata": {
                "promptTokenCount": 1000,
                "candidatesTokenCount": 100,
                "totalTokenCount": 1100,
            },
            "modelVersion": "gemini-2.5-pro",
        }
    ).encode()
