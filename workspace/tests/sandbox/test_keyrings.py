"""No process in the sandbox sees, reads or adds keys in the kernel's keyrings; see keyrings(7)."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from code_commit_workspace.process import seccomp, supervisor
from code_commit_workspace.process.launch import Process
from code_commit_workspace.process.system_calls import ABIS, REFUSED_CALLS
from code_commit_workspace.records import ProcessResult

CANARY = "canary-5f3a9c1e7b"
MACHINE = os.uname().machine
NUMBERS = {
    call.name: call.numbers[ABIS.index(MACHINE)] for call in REFUSED_CALLS if MACHINE in ABIS
}
Run = Callable[..., ProcessResult]
SESSION, USER = -3, -4
# Operations of keyctl(2).
JOIN = 1
UNLINK = 9
READ = 11
pytestmark = pytest.mark.skipif(bool(seccomp.why_unfiltered()), reason=seccomp.why_unfiltered())


def attempt(keys: list[int], *keyrings: int) -> str:
    """Return a program, without single quotes, that tries to read `keys` and to add to
    `keyrings`.
    """
    numbers = f"keyctl, add_key = {NUMBERS['keyctl']}, {NUMBERS['add_key']}"
    return f"""
import ctypes, os
{numbers}
libc = ctypes.CDLL(None, use_errno=True)
def attempt(what, *call):
    failed = libc.syscall(*call) == -1
    print(what, os.strerror(ctypes.get_errno()) if failed else "done")
for key in {keys}:
    attempt("read:", keyctl, {READ}, key, ctypes.create_string_buffer(99), 99)
for keyring in {keyrings}:
    attempt("add:", add_key, b"user", b"left", b"behind", 6, keyring)
"""


@pytest.fixture
def keyctl() -> Callable[..., int]:
    libc = ctypes.CDLL(None, use_errno=True)

    def keyctl(operation: int, *arguments: object) -> int:
        answer = libc.syscall(NUMBERS["keyctl"], operation, *arguments)
        if answer == -1 and ctypes.get_errno() in {errno.ENOSYS, errno.EPERM}:
            pytest.skip("there are no keyrings, or a container closes them")
        return answer

    return keyctl


@pytest.fixture
def keys(keyctl: Callable[..., int]) -> Iterator[list[int]]:
    """Keys in the keyring of this session, which becomes one of this process, and of the user."""
    assert keyctl(JOIN, None) > 0
    add = ctypes.CDLL(None).syscall
    where = {"session": SESSION, "user": USER}
    keys = [
        add(NUMBERS["add_key"], b"user", f"{CANARY}-{name}".encode(), b"secret", 6, keyring)
        for name, keyring in where.items()
    ]
    assert all(key > 0 for key in keys)
    yield keys
    keyctl(UNLINK, keys[1], USER)


@pytest.fixture
def listed(keyctl: Callable[..., int]) -> Callable[[], list[bytes]]:
    """The contents of the keyrings of the session and of the user."""

    def listed() -> list[bytes]:
        buffer = ctypes.create_string_buffer(4096)
        return [buffer.raw[: keyctl(READ, keyring, buffer, 4096)] for keyring in (SESSION, USER)]

    return listed


@pytest.fixture
def no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the filter, to see what else is in the way."""
    monkeypatch.setattr("code_commit_workspace.process.launch.filter_here", bytes)


@pytest.mark.usefixtures("bubblewrap")
def test_no_key_is_read_added_or_listed(
    run: Run, keys: list[int], listed: Callable[[], list[bytes]]
) -> None:
    before = listed()

    shown = run(f"python3 -c '{attempt(keys, SESSION, USER)}'; cat /proc/keys /proc/key-users")

    output = shown.output.decode()
    assert output.count("read: Function not implemented") == len(keys)
    assert output.count("add: Function not implemented") == 2
    assert output.count("Permission denied") == 2  # the lists
    assert CANARY not in output
    assert listed() == before


def test_the_supervisor_knows_the_number_of_the_call() -> None:
    [call] = [call for call in REFUSED_CALLS if call.name == "keyctl"]
    numbers = dict(zip(ABIS, call.numbers, strict=True))
    assert {abi: numbers[abi] for abi in ("x86_64", "aarch64")} == supervisor._KEYCTL


@pytest.mark.usefixtures("bubblewrap", "no_filter")
@pytest.mark.parametrize("set_uid", [False, True])
def test_without_the_filter_no_key_of_the_session_is_possessed(
    run: Run,
    keys: list[int],
    listed: Callable[[], list[bytes]],
    monkeypatch: pytest.MonkeyPatch,
    set_uid: bool,
) -> None:
    """Also where bubblewrap is a set-uid program, which the supervisor does not restrict."""
    monkeypatch.setattr("code_commit_workspace.process.launch._is_set_uid", lambda _: set_uid)
    session = listed()[0]

    output = run(f"python3 -c '{attempt(keys[:1], SESSION)}'").output.decode()

    assert "read: Permission denied" in output
    assert "add: done" in output
    assert listed()[0] == session


def test_a_process_without_a_sandbox_keeps_the_keyring(keys: list[int], tmp_path: Path) -> None:
    command = [sys.executable, "-c", attempt(keys[:1], SESSION)]
    with Process(command, wrapper=None, cwd=tmp_path, env={}, stdin=b"") as process:
        assert process.wait(60) == 0
        assert os.read(process.stdout, 4096).startswith(b"read: done")


@pytest.mark.usefixtures("bubblewrap")
def test_an_account_without_privileges_is_no_different(
    by_plain_account: Callable[[str], str], keys: list[int]
) -> None:
    # What this process has in its session, its children have, whatever their account.
    output = by_plain_account(
        f"/usr/bin/python3 -c '{attempt(keys, SESSION, USER)}'; cat /proc/keys /proc/key-users 2>&1; unshare -Ur cat /proc/keys 2>&1"
    )

    assert output.count("read: Function not implemented") == len(keys)
    assert output.count("add: Function not implemented") == 2
    assert output.count("Permission denied") == 3
    assert CANARY not in output


@pytest.mark.usefixtures("bubblewrap")
def test_a_kernel_without_keyrings_is_no_fault(run: Run) -> None:
    """In the sandbox, the calls fail as on such a kernel: start our supervisor there."""
    folder = Path(supervisor.__file__).parent
    code = (
        f"import os, sys; sys.path.append('{folder}'); import supervisor; "
        "control, end = os.pipe(); "
        "supervisor.main(str(control), '1', 'sandbox', 'sh', '-c', 'exit 3')"
    )
    assert run(f'python3 -c "{code}"').output.endswith(b"exit 3\n")
