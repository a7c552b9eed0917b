"""The filter of system calls, run by an interpreter of its own, for machines that are not here
too.
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess

import pytest

from code_commit_workspace.process.seccomp import filter_for
from code_commit_workspace.process.system_calls import (
    ABIS,
    LIMITED_CALLS,
    MODE_CALLS,
    REFUSED_CALLS,
    ModeCall,
)

ALLOWED = 0x7FFF0000
EPERM = 0x50001
ENOSYS = 0x50026
EAFNOSUPPORT = 0x50061
AUDIT = {"x86_64": 0xC000003E, "i386": 0x40000003, "aarch64": 0xC00000B7, "arm": 0x40000028}
MACHINE = {"x86_64": "x86_64", "i386": "x86_64", "aarch64": "aarch64", "arm": "aarch64"}
ERRORS = {1: EPERM, 38: ENOSYS, 97: EAFNOSUPPORT}
MOST_INSTRUCTIONS = 4096  # of the kernel
SOCKET = {"x86_64": 41, "i386": 359, "aarch64": 198, "arm": 281}
IOCTL = {"x86_64": 16, "i386": 54, "aarch64": 29, "arm": 54}


def answer(abi: str, number: int, *arguments: int, machine: str = "") -> int:
    """Run the program for a machine as the kernel would, and return its answer."""
    program = filter_for(machine or MACHINE[abi])
    instructions = list(struct.iter_unpack("=HBBI", program))
    assert len(instructions) < MOST_INSTRUCTIONS
    values = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, AUDIT.get(abi, 0), 0, *values)
    position = accumulator = 0
    while True:
        code, if_true, if_false, value = instructions[position]
        position += 1
        match code:
            case 0x20:
                [accumulator] = struct.unpack_from("<I", data, value)
            case 0x05:
                position += value
            case 0x15:
                position += if_true if accumulator == value else if_false
            case 0x35:
                position += if_true if accumulator >= value else if_false
            case 0x45:
                position += if_true if accumulator & value else if_false
            case 0x06:
                return value
            case _:
                raise AssertionError(code)


@pytest.mark.parametrize("abi", ABIS)
def test_each_call_of_the_table_is_refused_and_no_other(abi: str) -> None:
    column = ABIS.index(abi)
    refused = {call.numbers[column]: ERRORS[call.error] for call in REFUSED_CALLS}
    limited = {call.numbers[column] for call in (*LIMITED_CALLS, *MODE_CALLS)}

    answers = {number: answer(abi, number) for number in range(600) if number not in limited}

    assert answers == {number: refused.get(number, ALLOWED) for number in answers}
    assert len({*refused} - {None}) > 35


@pytest.mark.parametrize("abi", ABIS)
@pytest.mark.parametrize("upper", [0, 1 << 32, 0xFFFFFFFF << 32])
def test_of_an_argument_the_lower_half_counts_as_in_the_kernel(abi: str, upper: int) -> None:
    families = {
        family: answer(abi, SOCKET[abi], upper | family) for family in (*range(64), 0xFFFFFFFF)
    }
    assert {family for family in families if families[family] == ALLOWED} == {1, 2, 10, 16}
    assert {*families.values()} == {ALLOWED, EAFNOSUPPORT}
    requests = {
        request: answer(abi, IOCTL[abi], 0, upper | request) for request in range(0x5400, 0x5480)
    }
    assert {request for request in requests if requests[request] == EPERM} == {0x5412, 0x541C}


@pytest.mark.parametrize("abi", ABIS)
@pytest.mark.parametrize("upper", [0, 1 << 32])
def test_no_call_sets_the_bit_of_a_set_uid_program(abi: str, upper: int) -> None:
    creating, plain = 0o100, 0o2
    temporary = 0o20200000
    asked = 0
    for call in MODE_CALLS:
        number = call.numbers[ABIS.index(abi)]
        if number is None:
            continue
        asked += 1
        for mode, refused in {0o4755: EPERM, 0o6000: EPERM, 0o104644: EPERM}.items():
            assert _asked(abi, number, call, mode | upper, creating) == refused, call.name
        for mode in (0o755, 0o2755, 0o1777, 0o100644):
            assert _asked(abi, number, call, mode | upper, creating) == ALLOWED, call.name
        if call.flags is not None:
            assert _asked(abi, number, call, 0o4755, temporary) == EPERM
            assert _asked(abi, number, call, 0o4755, plain) == ALLOWED, "the mode is not read"
    assert asked >= 5


def _asked(abi: str, number: int, call: ModeCall, mode: int, flags: int) -> int:
    arguments = [0] * 4
    arguments[call.mode] = mode
    if call.flags is not None:
        arguments[call.flags] = flags
    return answer(abi, number, *arguments)


def test_no_socket_is_made_by_the_old_call_that_hides_its_family() -> None:
    assert [answer("i386", 102, operation) for operation in (1, 2, 8)] == [ENOSYS, ALLOWED, ALLOWED]


def test_other_abis_are_refused() -> None:
    assert answer("x86_64", 0x40000000 | 39) == ENOSYS  # getpid of x32
    assert answer("x86_64", -1) == ENOSYS  # as the kernel answers it
    assert answer("other", 1, machine="x86_64") == ENOSYS
    assert answer("x86_64", 1, machine="aarch64") == ENOSYS


@pytest.mark.parametrize(
    ("machine", "same"), [("i686", "x86_64"), ("armv8l", "aarch64"), ("armv7l", "aarch64")]
)
def test_a_process_of_32_bits_does_not_change_the_filter(machine: str, same: str) -> None:
    assert filter_for(machine) == filter_for(same) != b""


def test_there_is_no_filter_for_an_unknown_machine() -> None:
    assert filter_for("vax") == b""


@pytest.fixture
def headers() -> dict[str, dict[str, int]]:
    """The numbers in the kernel's headers, of the ABIs whose headers are here."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    numbers_by_name = {}
    for abi, header in {
        "x86_64": "asm/unistd_64.h",
        "i386": "asm/unistd_32.h",
        "aarch64": "asm-generic/unistd.h",
    }.items():
        command = ["gcc", "-E", "-dM", "-include", header, "-x", "c", "/dev/null"]
        completed = subprocess.run(command, capture_output=True, text=True, check=False)
        numbers = re.findall(r"#define __NR_(\w+) (\d+)", completed.stdout)
        if numbers:
            numbers_by_name[abi] = {name: int(number) for name, number in numbers}
    if not numbers_by_name:
        pytest.skip("the headers of the kernel are not installed")
    return numbers_by_name


def test_numbers_are_those_of_the_kernels_headers(headers: dict[str, dict[str, int]]) -> None:
    compared = 0
    for abi, numbers in headers.items():
        for call in (*REFUSED_CALLS, *LIMITED_CALLS, *MODE_CALLS):
            number = call.numbers[ABIS.index(abi)]
            if call.name in numbers:
                assert (abi, call.name, number) == (abi, call.name, numbers[call.name])
                compared += 1
            else:  # the header is older, or the call is not there
                assert number is None or number > max(numbers.values()), (abi, call.name)
    assert compared > 35 * len(headers)
