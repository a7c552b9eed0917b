"""The webhook after whole runs, received by a server on loopback."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from code_commit_testing import Project, Reply, ScriptedServer

TOKEN = "webhook-token-0123456789"


@pytest.fixture
def received():
    """Pairs of a token and a document that the server received; `url` is the address of the server."""

    class Received(list):
        url = ""

    received = Received()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((self.headers["Authorization"], json.loads(body)))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        received.url = f"http://127.0.0.1:{server.server_port}/runs"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield received
        server.shutdown()


def run(tmp_path, url):
    project = Project.create(tmp_path, build='echo "the token is: $WEBHOOK_TOKEN"\n')
    project.write({"agent-config/config.toml": f'[plugins.webhook]\nurl = "{url}"\n'})
    with ScriptedServer([Reply("^^^a.txt\nnew\n^^^end\n")]) as server:
        environ = {**server.environment(), "WEBHOOK_TOKEN": TOKEN}
        return project, project.command("--model", "gpt-5", environ=environ)


def test_the_result_is_posted_with_the_token(tmp_path, received):
    project, finished = run(tmp_path, received.url)
    assert finished.exit_code == 0, finished.stderr
    [(authorization, document)] = received
    assert authorization == f"Bearer {TOKEN}"
    assert (document["run"], document["outcome"]) == (project.run_folder.name, "reached")


def test_the_build_does_not_see_the_token(tmp_path, received):
    project, finished = run(tmp_path, received.url)
    assert "the token is: \n" in (project.run_folder / "1-build.txt").read_text()
    files = [path.read_text() for path in project.run_folder.iterdir()]
    assert TOKEN not in "".join([finished.stdout, finished.stderr, *files])


def test_a_missing_server_does_not_change_the_outcome(tmp_path):
    _, finished = run(tmp_path, "http://127.0.0.1:9/runs")
    assert finished.exit_code == 0
    assert "webhook" in finished.stderr
