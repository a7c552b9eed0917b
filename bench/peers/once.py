"""Run one tool once and print what it did, as JSON.

    unshare --net python bench/peers/once.py TOOL SCENARIO FOLDER PROGRAM

The service listens on loopback, which is all the network there is. `FOLDER` gets an empty home
folder, the project and temporary files.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from faults import (
    FAULTS,
    FILES,
    KEY,
    OUTSIDE,
    SPEED,
    STARTED,
    Build,
    Change,
    End,
    Refuse,
    Scenario,
    Turn,
)
from replies import (
    error,
    patch_tool,
    replace_tool,
    response_items,
    search_and_replace,
    shell_commands,
    whole_files,
)
from tools import TOOLS, Form, Tool

from code_commit_testing import Reply, ScriptedServer
from code_commit_testing.scripted_server import RecordedRequest

LIMIT = 180.0  # seconds; a tool that needs more is said to hang
AFTER_SIGNAL = 30.0  # seconds
SETTLING = 3.0  # seconds after the end, in which helpers may end too
OUTPUT = "output.txt"  # of the tool, as a terminal shows it
ROUNDS = 3  # of the task, after one that fills the caches
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)

ENCODED: dict[Form, Callable[[Turn], Reply]] = {
    "whole files": whole_files,
    "search and replace": search_and_replace,
    "shell": shell_commands,
    "patch tool": patch_tool,
    "replace tool": replace_tool,
    "responses": response_items,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run did.

    `exit_code` is None if it had to be ended, negative if a signal ended it. `seconds` counts from
    the start, or from the signal that was sent. `tree` is in words. `commits` are those that the
    tool made. `key_files` hold the key as plain text. `orphans` are programs that were left.
    `bytes_sent` is what the service received, `bytes_left` what is on disk afterwards and was not
    before.
    """

    exit_code: int | None
    seconds: float
    cpu: float
    tree: str
    other_files: list[str]
    commits: int
    key_files: list[str]
    orphans: list[str]
    calls: int
    bytes_sent: int
    bytes_left: int


class Service:
    """The turns of a scenario, in a tool's own form."""

    def __init__(self, tool: Tool, scenario: Scenario) -> None:
        skipped = (Build, End) if tool.builds else ()
        self.turns = [turn for turn in scenario.turns if not isinstance(turn, skipped)]
        self.tool = tool
        self.scenario = scenario
        self.stalled = threading.Event()
        self._next = 0
        self._lock = threading.Lock()

    def answer(self, request: RecordedRequest) -> Reply:
        """Return the reply to `request`."""
        if request.method != "POST":
            return Reply(status=404, body=b"{}", stream=None)
        first = self.turns[0]
        if isinstance(first, Refuse):
            return error(first)
        if self._is_aside(request):
            return Reply("Give the right answer")
        with self._lock:
            number = self._next
            self._next += 1
        if number < len(self.turns):
            turn = self.turns[number]
        else:
            turn = self.turns[-1] if self.scenario.repeated else End()
        if isinstance(turn, Change) and turn.delivery == "stalled":
            self.stalled.set()
        return ENCODED[self.tool.form](turn)

    def _is_aside(self, request: RecordedRequest) -> bool:
        if self.tool.side_calls == "without tools":
            return not request.json.get("tools")
        return self.tool.side_calls == "another model" and request.model != "gpt-5"


def main(name: str, scenario_name: str, folder: Path, program: str) -> None:
    """Run and print."""
    _only_loopback()
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    tool = next(tool for tool in TOOLS if tool.name == name)
    scenario = next(item for item in (*FAULTS, SPEED) if item.name == scenario_name)
    shutil.rmtree(folder, ignore_errors=True)
    for part in ("home", "tmp"):
        (folder / part).mkdir(parents=True)
    rounds = ROUNDS + 1 if scenario is SPEED else 1
    outcomes = [_run(tool, scenario, folder, program) for _ in range(rounds)]
    print(json.dumps([asdict(outcome) for outcome in outcomes]))


def _run(tool: Tool, scenario: Scenario, folder: Path, program: str) -> Outcome:
    project = _new_project(folder / "project", scenario.build)
    for path, text in tool.settings.items():
        (folder / "home" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "home" / path).write_text(text)
    size = _size(folder)
    service = Service(tool, scenario)
    with ScriptedServer([service.answer] * 2000) as server:
        cpu = _processor_time()
        start = time.monotonic()
        with (folder / OUTPUT).open("wb") as output:
            process = subprocess.Popen(
                [program, *tool.arguments(server.address)],
                cwd=project,
                env=_environment(tool, folder, server.address),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        start, limit = _send_signal(process, scenario, service, project, start)
        exit_code = _exit_code(process, limit)
        seconds = time.monotonic() - start
        orphans = _orphans() if exit_code is not None else []
        _end_all()
        calls = [request for request in server.requests if request.method == "POST"]
        return Outcome(
            exit_code=exit_code,
            seconds=round(seconds, 2),
            cpu=round(_processor_time() - cpu, 3),
            tree=_tree(project, scenario),
            other_files=_other_files(project),
            commits=int(_git(project, "rev-list", "--count", "HEAD")) - 1,
            key_files=sorted(_key_files(folder)),
            orphans=orphans,
            calls=len(calls),
            bytes_sent=sum(len(request.body) for request in calls),
            bytes_left=_size(folder) - size,
        )


def _new_project(root: Path, build: str) -> Path:
    shutil.rmtree(root, ignore_errors=True)
    files = {**FILES, "build.sh": build, ".gitignore": "/agent-config\n/target\n"}
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root.parent / OUTSIDE).unlink(missing_ok=True)
    _git(root, "init", "-q")
    _git(root, "config", "user.name", "Peers")
    _git(root, "config", "user.email", "peers@example.invalid")
    _git(root, "add", "-A")
    _git(root, "commit", "-q", "-m", "Begin")
    return root


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=root, check=True, capture_output=True, text=True
    ).stdout


def _environment(tool: Tool, folder: Path, address: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        **tool.variables(address),
    }


def _send_signal(
    process: subprocess.Popen[bytes],
    scenario: Scenario,
    service: Service,
    project: Path,
    start: float,
) -> tuple[float, float]:
    """Send the signal of `scenario`; return when the clock starts, and for how long it may run."""
    if not scenario.signal:
        return start, LIMIT
    while process.poll() is None and time.monotonic() < start + LIMIT:
        if scenario.signal == "Ctrl-C" and service.stalled.is_set():
            time.sleep(1.0)  # until half of the reply has arrived
            os.killpg(process.pid, signal.SIGINT)
            break
        if scenario.signal == "kill -9" and (project / STARTED).exists():
            process.kill()
            break
        time.sleep(0.05)
    return time.monotonic(), AFTER_SIGNAL


def _exit_code(process: subprocess.Popen[bytes], limit: float) -> int | None:
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        return None


def _orphans() -> list[str]:
    """Return the names of the programs that the tool left, after it had time to end them."""
    end = time.monotonic() + SETTLING
    while time.monotonic() < end and _descendants(os.getpid()):
        _reap()
        time.sleep(0.1)
    return sorted(_name(process) for process in _descendants(os.getpid()))


def _end_all() -> None:
    """End what is left, so that its processor time counts and nothing is written any more."""
    while processes := _descendants(os.getpid()):
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.05)
        _reap()


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _descendants(process: int) -> list[int]:
    """Return the processes below `process` that have not ended."""
    found = []
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, path.read_text().split()):
                found += [*([child] if _is_alive(child) else []), *_descendants(child)]
    return found


def _is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def _name(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return "?"


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _tree(project: Path, scenario: Scenario) -> str:
    changed = {path for path, text in FILES.items() if (project / path).read_text() != text}
    outside = (project.parent / OUTSIDE).exists()
    inside = {path for path in scenario.goals if path in FILES}
    if not changed:
        words = "unchanged"
    elif changed < inside or (f"../{OUTSIDE}" in scenario.goals and not outside):
        words = "half changed"
    else:
        words = "changed"
    return f"{words}, outside too" if outside else words


def _other_files(project: Path) -> list[str]:
    """Return what else differs in the project and that git does not ignore."""
    lines = _git(project, "status", "--porcelain", "--untracked-files=all").splitlines()
    committed = _git(project, "log", "--format=", "--name-only").splitlines()
    known = {*FILES, "build.sh", ".gitignore"}
    differing = {line[3:] for line in lines} | {path for path in committed if path not in known}
    return sorted(differing - set(FILES))


def _key_files(folder: Path) -> Iterator[str]:
    """Yield the files that hold the key: as they are, and as git's objects."""
    key = KEY.encode()
    written = [path for path in _files(folder) if path.name != OUTPUT]
    for path in written:
        with suppress(OSError):
            content = path.read_bytes()
            if key in content or (len(path.name) == 38 and key in _inflated(content)):
                yield str(path.relative_to(folder))


def _inflated(content: bytes) -> bytes:
    try:
        return zlib.decompress(content)
    except zlib.error:
        return b""


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            if path.is_file() and not path.is_symlink():
                yield path


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in _files(folder) if path.parent != folder)


def _only_loopback() -> None:
    """Raise loopback, which a new network namespace has but does not use.

    Raises:
        SystemExit: there are other networks.
    """
    others = [name for _, name in socket.if_nameindex() if name != "lo"]
    if others:
        sys.exit(f"start this with `unshare --net`: there is a network, {', '.join(others)}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        up = struct.pack("16sh", b"lo", 1)  # IFF_UP
        fcntl.ioctl(any_socket, 0x8914, up + bytes(22))  # SIOCSIFFLAGS


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4])
