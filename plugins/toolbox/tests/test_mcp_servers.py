"""The tools of MCP servers: one made with the official SDK, one that starts faster, and servers
that hang, lie, flood and end.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

# Imported for the warm server, which then forks with it: see `warm_start`.
pytest.importorskip("mcp", reason="needs the extra toolbox[mcp]")

import anyio
from anyio.from_thread import start_blocking_portal

from code_commit_toolbox.mcp import connection
from code_commit_toolbox.mcp.connection import Connection, ConnectionFailed

needs_sandbox = pytest.mark.usefixtures("bubblewrap")

KEY = "sk-canary-0123456789-key7Q"
OFFICIAL = """\
import os, sys
from pathlib import Path
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("official")

@server.tool()
def add(a: int, b: int = 1) -> str:
    '''Add two numbers.'''
    return str(a + b)

@server.tool()
def fail() -> str:
    raise ToolError("no coffee")

@server.tool(name="odd-name.x")
def odd(text: str) -> str:
    return f"{text} sk-canary-0123456789-key7Q"

@server.tool()
def environment(name: str) -> str:
    return os.environ.get(name, "unset")

@server.tool()
def write(path: str) -> str:
    try:
        Path(path).write_text("written")
    except OSError as error:
        return f"refused: {error.strerror}"
    return "written"

@server.tool()
def large(size: int) -> str:
    return "x" * size

@server.tool()
def end() -> str:
    os._exit(3)

@server.tool()
def wait(seconds: float) -> str:
    import time
    time.sleep(seconds)
    return "late"

if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run()
"""
PLAIN = """\
import json, os, sys
from pathlib import Path

TOOLS = {
    "add": lambda a, b=1: str(a + b),
    "environment": lambda name: os.environ.get(name, "unset"),
    "write": lambda path: Path(path).write_text("written") and "written",
}
for line in sys.stdin:
    asked = json.loads(line)
    answer = {"error": {"code": -32601, "message": "no such method"}}
    if asked["method"] == "initialize":
        answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                             "serverInfo": {"name": "plain", "version": "1"}}}
    elif asked["method"] == "tools/list":
        answer = {"result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}}
    elif asked["method"] == "tools/call":
        text = TOOLS[asked["params"]["name"]](**asked["params"]["arguments"])
        answer = {"result": {"content": [{"type": "text", "text": text}]}}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""
LIAR = """\
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "liar", "version": "1"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
    elif asked["method"] == "tools/list":
        tools = [{"name": "lie", "inputSchema": {"type": "object", "properties": {}}},
                 {"name": "broken", "inputSchema": {"type": "object", "properties": {"a": {"type": "nonsense"}}}}]
        print("not JSON at all", flush=True)
        print(json.dumps({"jsonrpc": "2.0", "id": 99999, "result": {}}), flush=True)
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"tools": tools}}), flush=True)
    elif asked["method"] == "tools/call":
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": "a text"}}), flush=True)
    else:
        error = {"code": -32601, "message": "no such method"}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}), flush=True)
"""
BROKEN = {
    "hangs": "import time\ntime.sleep(600)",
    "floods": "import os\nwhile True: os.write(1, b'x' * 65536)",
    "ends": "import sys\nprint('cannot find my database', file=sys.stderr)\nsys.exit(4)",
}


@pytest.fixture
def serve(bench):
    """Return a function that configures a server with this code in the user's file."""

    def configure(code: str = PLAIN, name: str = "office", **entry) -> Path:
        script = bench.project.root / f"{name}.py"
        script.write_text(code)
        # JSON's strings, numbers, lists and booleans are TOML.
        settings = {"command": [sys.executable, str(script)], **entry}
        file = bench.project.home / ".config" / "code-commit" / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = "".join(
            f"{key} = {json.dumps(value)}\n"
            for key, value in settings.items()
            if not isinstance(value, dict)
        )
        tables = "".join(
            f"[plugins.toolbox.mcp.{name}.{key}]\n"
            + "".join(f"{k} = {json.dumps(v)}\n" for k, v in value.items())
            for key, value in settings.items()
            if isinstance(value, dict)
        )
        with file.open("a") as config:
            config.write(f"[plugins.toolbox.mcp.{name}]\n{lines}{tables}")
        return script

    return configure


@needs_sandbox
def test_a_model_uses_the_tools_of_a_server(bench, serve) -> None:
    serve(OFFICIAL, environment={"COLOR": "green"})
    calls = [
        ("office_add", {"a": 2, "b": 5}),
        ("office_add", {"a": 2}),
        ("office_add", {"a": "two"}),
        ("office_fail", {}),
        ("office_odd_name_x", {"text": "the key"}),
        ("office_environment", {"name": "COLOR"}),
        ("office_environment", {"name": "OPENAI_API_KEY"}),
        ("office_write", {"path": "new.txt"}),
        ("office_write", {"path": str(bench.project.home / "new.txt")}),
        ("office_write", {"path": ".git/hooks/pre-commit"}),
        ("office_large", {"size": 100_000}),
    ]
    worked = bench.work(
        *({"calls": [call]} for call in calls), {"text": "done"}, environ={"OPENAI_API_KEY": KEY}
    )
    assert worked.end == "FINISHED", worked.finished.stderr
    texts = [row["text"] for row in worked.results]
    assert texts[:2] == ["7", "3"]
    assert "'two' is not of type 'integer'" in texts[2]
    assert "no coffee" in texts[3]
    assert "***" in texts[4]
    assert KEY not in texts[4]
    assert texts[5:8] == ["green", "unset", "written"]
    assert texts[8].startswith("refused: ")
    assert texts[9].startswith("refused: ")
    assert 30_000 < len(texts[10]) < 40_000
    assert [row["is_error"] for row in worked.results] == [False, False, True, True, *[False] * 7]
    assert {"office_add", "office_odd_name_x", "read_file"} <= set(worked.asked[0]["tools"])
    assert KEY not in worked.finished.stdout + json.dumps(worked.asked)


def test_only_the_named_tools_are_offered(bench, serve) -> None:
    serve(tools=["add"], trusted=True)
    worked = bench.use("office_add", {"a": 1})
    assert [name for name in worked.asked[0]["tools"] if name.startswith("office")] == [
        "office_add"
    ]
    assert worked.result["text"] == "2"


def test_a_trusted_server_runs_outside_of_the_sandbox(bench, serve, no_sandbox) -> None:
    serve(trusted=True)
    path = bench.project.home / "new.txt"
    worked = bench.use("office_write", {"path": str(path)}, environ=no_sandbox)
    assert (worked.result["text"], path.read_text()) == ("written", "written")


@pytest.mark.parametrize("way", ["by its path", "on PATH"])
def test_a_trusted_program_of_the_project_does_not_start(bench, serve, no_sandbox, way) -> None:
    folder = bench.project.root / "venv/bin"
    folder.mkdir(parents=True)
    (folder / "office-server").symlink_to(sys.executable)
    program = "office-server" if way == "on PATH" else f"{folder}/office-server"
    serve(command=[program], trusted=True)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    worked = bench.use("read_file", {"path": "a.txt"}, environ={**no_sandbox, "PATH": path})
    assert (worked.finished.exit_code, worked.asked) == (3, [])
    assert (
        f"{folder}/office-server is in the project, where a build could replace it"
        in worked.finished.stderr
    )


def test_without_a_sandbox_a_server_does_not_start(bench, serve, no_sandbox) -> None:
    serve()
    worked = bench.use("office_add", {"a": 1}, environ=no_sandbox)
    assert worked.finished.exit_code == 3
    assert worked.asked == []


# The SDK waits ten seconds for a first word.
@pytest.mark.parametrize("how", ["floods", "ends", pytest.param("hangs", marks=pytest.mark.slow)])
def test_a_broken_server_ends_the_run_before_a_call(bench, serve, how) -> None:
    serve(BROKEN[how], "broken", seconds=1, trusted=True)
    worked = bench.use("read_file", {"path": "a.txt"})
    assert worked.finished.exit_code == 3
    assert worked.asked == []
    error, hint = worked.finished.events[-1]["data"]["summary"], worked.finished.stderr
    assert error.startswith("the MCP server broken does not work: ")
    assert "[plugins.toolbox.mcp.broken]" in hint
    if how == "ends":
        assert "cannot find my database" in error


def test_a_server_that_cannot_be_started_is_an_error(bench, serve) -> None:
    serve(command=["./no-such-server"], trusted=True)
    worked = bench.use("read_file", {"path": "a.txt"})
    assert (worked.finished.exit_code, worked.asked) == (3, [])
    assert "./no-such-server cannot be started: " in worked.finished.stderr


def test_without_the_sdk_a_server_is_an_error(bench, serve) -> None:
    serve(trusted=True)
    (bench.plugins / "mcp.py").write_text("raise ImportError('it is not installed')\n")
    worked = bench.use("read_file", {"path": "a.txt"})
    assert (worked.finished.exit_code, worked.asked) == (3, [])
    assert "the MCP server office needs the MCP SDK: it is not installed" in worked.finished.stderr


def test_a_silent_server_has_a_time_limit(monkeypatch) -> None:
    monkeypatch.setattr(connection, "_START_SECONDS", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as server:
        silent = Connection(
            f"http://127.0.0.1:{server.getsockname()[1]}/mcp", headers={}, seconds=1
        )
        with pytest.raises(ConnectionFailed, match=r"no answer within 0\.01 s"):
            silent.open()


def test_a_call_that_the_sdk_does_not_end_has_a_time_limit(monkeypatch) -> None:
    class Silent:
        async def call_tool(self, *_: object, **__: object) -> None:
            await anyio.sleep_forever()

    monkeypatch.setattr(connection, "_SPARE_SECONDS", 0)
    silent = Connection("http://127.0.0.1:1/mcp", headers={}, seconds=1)
    with start_blocking_portal() as portal:
        silent._opened.set_result((portal, Silent(), []))
        with pytest.raises(ConnectionFailed, match=r"no answer within 0\.01 s"):
            silent.call("add", {}, seconds=0.01)
    with pytest.raises(ConnectionFailed, match="the server has ended"):
        silent.call("add", {}, seconds=0.01)


def test_a_server_that_lies_fails_alone(bench, serve) -> None:
    serve(LIAR, "liar", trusted=True)
    worked = bench.work(
        {"calls": [["liar_lie", {}]]},
        {"calls": [["read_file", {"path": "a.txt"}]]},
        {"text": "done"},
    )
    assert worked.end == "FINISHED", worked.finished.stderr
    assert "The MCP server liar failed" in worked.results[0]["text"]
    assert "one" in worked.results[1]["text"]
    assert "liar_broken" not in worked.asked[0]["tools"]
    (failed,) = worked.events("plugin.failed")
    assert failed["stage"] == "MCP server liar"
    assert "liar_broken" in failed["error"]


def test_a_server_that_ends_or_is_late_fails_alone(bench, serve) -> None:
    calls = [("office_wait", {"seconds": 600}), ("office_end", {}), ("office_add", {"a": 1})]
    for seconds in (1, 8, 64):  # on a busy machine, the list of its tools may be late, too
        serve(OFFICIAL, seconds=seconds, trusted=True)
        worked = bench.work(*({"calls": [call]} for call in calls), {"text": "done"})
        if worked.finished.exit_code != 3:
            break
        (bench.project.home / ".config/code-commit/config.toml").unlink()
    assert worked.end == "FINISHED"
    assert [row["is_error"] for row in worked.results] == [True, True, True]
    assert all("The MCP server office failed" in row["text"] for row in worked.results)


def test_no_server_outlives_the_run(bench, serve) -> None:
    serve(f"{PLAIN}import time\ntime.sleep(600)\n", trusted=True)  # also after its input
    worked = bench.use(
        "office_environment",
        {"name": "MARK"},
        environ={"MARK": f"mark-{os.getpid()}-{time.time()}"},
    )
    mark = worked.result["text"].encode()
    assert mark.startswith(b"mark-")
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            assert mark not in (folder / "environ").read_bytes(), folder
        except OSError:
            continue


def test_a_project_cannot_name_a_server(bench) -> None:
    bench.settings('[plugins.toolbox.mcp.evil]\ncommand = ["sh", "-c", "touch evil"]\n')
    worked = bench.use("read_file", {"path": "a.txt"})
    assert worked.finished.exit_code == 3
    assert "plugins.toolbox.mcp only works in your own configuration" in worked.finished.stderr
    assert not (bench.project.root / "evil").exists()


@pytest.mark.parametrize(
    "entry", [{"command": []}, {"url": "http://127.0.0.1:1/mcp"}, {"command": [], "url": "ftp://x"}]
)
def test_an_entry_is_a_command_or_an_address(bench, serve, entry) -> None:
    serve(**entry)
    worked = bench.use("read_file", {"path": "a.txt"})
    assert worked.finished.exit_code == 3
    assert "[plugins.toolbox]" in worked.finished.stderr


def test_a_server_is_reached_by_http(bench, serve) -> None:
    script = bench.project.root / "office_http.py"
    script.write_text(OFFICIAL)
    with subprocess.Popen(
        [sys.executable, str(script), "0"], stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stderr
            [address] = next(
                addresses
                for line in server.stderr
                if (addresses := re.findall(r"running on (http://\S+)", line))
            )
            serve(command=[], url=f"{address}/mcp")
            worked = bench.use("office_add", {"a": 40, "b": 2})
            assert worked.result["text"] == "42"
        finally:
            server.kill()


FLOODS = b"x" * 65536, b": x\n\n" * 16384


@pytest.mark.parametrize(
    ("kind", "flood"),
    [
        ("application/json", FLOODS[0]),
        ("text/event-stream", FLOODS[1]),
        pytest.param("text/event-stream", FLOODS[0], marks=pytest.mark.slow),
        pytest.param("application/json", FLOODS[1], marks=pytest.mark.slow),
    ],
)
def test_a_flood_over_http_ends(bench, serve, kind, flood) -> None:
    sent = [0]

    class Flood(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            with suppress(OSError):
                while True:
                    sent[0] += self.wfile.write(flood)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Flood) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        serve(command=[], url=f"http://127.0.0.1:{server.server_port}/mcp")
        worked = bench.use("read_file", {"path": "a.txt"})
        server.shutdown()
    assert worked.finished.exit_code == 3
    assert "the reply has more than 8388608 bytes" in worked.finished.events[-1]["data"]["summary"]
    assert sent[0] < 50_000_000


def test_doctor_lists_servers_and_their_tools(bench, serve) -> None:
    serve(trusted=True, tools=["add", "write"])
    serve(BROKEN["ends"], "broken", trusted=True)
    finished = bench.project.command("doctor", "--json", plugins=[bench.plugins])
    rows = [row for row in finished.document["checks"] if row["name"] == "mcp"]
    assert [(row["state"], row["data"]["server"]) for row in rows] == [
        ("ok", "office"),
        ("problem", "broken"),
    ]
    assert rows[0]["text"] == "office outside of the sandbox: 2 tools: office_add, office_write"
    finished = bench.project.command("doctor", "--no-build", "--json", plugins=[bench.plugins])
    (row,) = [row for row in finished.document["checks"] if row["name"] == "mcp"]
    assert (row["state"], row["text"]) == (
        "skipped",
        "not started, because of --no-build: office, broken",
    )
