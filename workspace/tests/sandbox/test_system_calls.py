"""No process in the sandbox makes a refused system call, whatever ABI it uses; builds make
theirs.
"""

from __future__ import annotations

import errno
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from code_commit_workspace.process import seccomp
from code_commit_workspace.process.system_calls import (
    ABIS,
    LIMITED_CALLS,
    MODE_CALLS,
    REFUSED_CALLS,
)

MACHINE = os.uname().machine
PROGRAM = Path(__file__).with_name("kernel_calls.py")
INVALID = [-1] * 4  # no call that the kernel makes succeeds with these
FAMILIES = {1, 2, 10, 16}
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
pytestmark = [
    pytest.mark.usefixtures("bubblewrap"),
    pytest.mark.skipif(bool(seccomp.why_unfiltered()), reason=seccomp.why_unfiltered()),
]

Calls = Callable[..., list[int]]


@pytest.fixture(params=["own account", "plain account"])
def output(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """Run a script in the sandbox, by this account and by one without privileges."""
    if request.param == "plain account":
        if os.geteuid() != 0:
            pytest.skip("this account is one")
        return request.getfixturevalue("by_plain_account")
    run = request.getfixturevalue("run")
    return lambda script: run(script).output.decode()


@pytest.fixture(params=[MACHINE, "i386", "in a sandbox of its own"])
def abi(request: pytest.FixtureRequest) -> str:
    if request.param == "i386":
        if MACHINE != "x86_64":
            pytest.skip("this machine is no PC")
        command = [sys.executable, PROGRAM, "[[20]]", "i386"]  # getpid
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("this kernel does not run programs of 32 bits")
    return request.param


@pytest.fixture
def errors(output: Callable[[str], str], abi: str) -> Calls:
    """Make system calls in the sandbox, and return their errors, 0 for success."""

    def errors(calls: list[list[int]]) -> list[int]:
        program = f"python3 -c {shlex.quote(PROGRAM.read_text())} '{json.dumps(calls)}' {abi}"
        if abi == "in a sandbox of its own":  # as root of its own namespace
            program = f"if unshare -Ur true; then unshare -Urmpf {program}; else {program}; fi"
        lines = output(f"( {program} ) 2> errors || cat errors").splitlines()
        return json.loads(lines[-1])

    return errors


@pytest.fixture
def column(abi: str) -> int:
    return ABIS.index("i386" if abi == "i386" else MACHINE)


def test_every_call_of_the_table_is_refused(errors: Calls, column: int) -> None:
    calls = {call.name: call for call in REFUSED_CALLS if call.numbers[column] is not None}

    error_numbers = errors([[call.numbers[column], *INVALID] for call in calls.values()])

    assert dict(zip(calls, error_numbers, strict=True)) == {
        name: call.error for name, call in calls.items()
    }


def test_sockets_of_few_families_can_be_made(errors: Calls, column: int) -> None:
    [call] = [call for call in LIMITED_CALLS if call.name == "socket"]
    families = range(50)
    stream, raw = 1, 3

    error_numbers = errors([
        [call.numbers[column], family, raw if family == 16 else stream, 0] for family in families
    ])  # fmt: skip

    assert {family for family in families if error_numbers[family] == 0} | {10} == FAMILIES
    assert {error_numbers[family] for family in families if family not in FAMILIES} == {
        errno.EAFNOSUPPORT
    }


def test_nothing_is_typed_into_a_terminal(errors: Calls, column: int) -> None:
    [call] = [call for call in LIMITED_CALLS if call.name == "ioctl"]
    upper = 0 if column == ABIS.index("i386") else 1 << 32
    requests = [TIOCSTI, TIOCLINUX, upper | TIOCSTI, 0x5413]

    error_numbers = errors([[call.numbers[column], -1, request, -1] for request in requests])

    assert error_numbers == [errno.EPERM, errno.EPERM, errno.EPERM, errno.EBADF]


@pytest.mark.parametrize(("mode", "is_refused"), [(0o4755, True), (0o2755, False)])
def test_no_call_makes_a_set_uid_program(
    errors: Calls, column: int, mode: int, is_refused: bool
) -> None:
    calls = {}
    for call in MODE_CALLS:
        number = call.numbers[column]
        if number is not None:
            arguments = [*INVALID]
            arguments[call.mode] = mode
            if call.flags is not None:
                arguments[call.flags] = os.O_CREAT | os.O_WRONLY
            calls[call.name] = [number, *arguments]

    error_numbers = errors(list(calls.values()))

    refused = {
        name for name, error in zip(calls, error_numbers, strict=True) if error == errno.EPERM
    }
    assert refused == (set(calls) if is_refused else set())


@pytest.mark.skipif(MACHINE != "x86_64", reason="calls of x86")
def test_no_other_abi_is_a_way_around(output: Callable[[str], str]) -> None:
    get_process_id_of_x32 = 0x40000000 | 39
    vsock = 40
    socketcall = [102, 1, 0, 0]
    program = f"python3 -c {shlex.quote(PROGRAM.read_text())}"

    script = (
        f"{program} '[[{get_process_id_of_x32}], [41, {(1 << 32) | vsock}, 1, 0]]'\n"
        f"{program} '[{socketcall}]' i386 || true"
    )
    lines = output(script).splitlines()

    assert json.loads(lines[0]) == [errno.ENOSYS, errno.EAFNOSUPPORT]
    if len(lines) > 1 and lines[1].startswith("["):  # the kernel runs programs of 32 bits
        assert json.loads(lines[1]) == [errno.ENOSYS]


def test_every_process_is_filtered_also_the_first(output: Callable[[str], str]) -> None:
    modes = output("cat /proc/[0-9]*/status | grep ^Seccomp:; grep NoNewPrivs /proc/self/status")

    assert {*modes.split()[1::2]} == {"2", "1"}
    assert modes.count("Seccomp:\t2") >= 2


def test_the_filter_adds_no_handle_and_no_words_for_others_to_see(
    output: Callable[[str], str],
) -> None:
    shown = output("ls /proc/self/fd | wc -l; tr '\\0' '\\n' < /proc/1/cmdline | wc -l")

    handles, words = map(int, shown.split())
    assert handles == 4  # with that of `ls`
    assert words == 11  # `bwrap`, three options with a handle, `--`, `bash -c` and the script
