"""The filter of system calls for sandboxed processes, as a program of classic BPF for seccomp(2).

A kernel runs programs of several ABIs, which give different numbers to the same calls, so each ABI
has its part of the filter. x32, which no distribution offers by default, is refused as a whole.
"""

from __future__ import annotations

import os
import struct
from functools import cache
from pathlib import Path

from code_commit_workspace.process.system_calls import (
    ABIS,
    CLOSED,
    CREATING_FLAGS,
    LIMITED_CALLS,
    MISSING,
    MODE_CALLS,
    REFUSED_CALLS,
    SET_UID_BIT,
    LimitedCall,
    ModeCall,
)

# Instructions, as in <linux/bpf_common.h>: a code, how many to skip if true and if false, a value.
_Instruction = tuple[int, int, int, int]
_LOAD = 0x20
_SKIP = 0x05
_IF_EQUAL = 0x15
_IF_AT_LEAST = 0x35
_IF_ANY_BIT = 0x45
_RETURN = 0x06
# Offsets in `struct seccomp_data`. On these machines, the lower half of an argument comes first.
_NUMBER = 0
_ABI = 4
_ARGUMENTS = 16
# What to return.
_ALLOW = 0x7FFF0000
_ERROR = 0x00050000

# Numbers of ABIs, from <linux/audit.h>.
_AUDIT = {"x86_64": 0xC000003E, "i386": 0x40000003, "aarch64": 0xC00000B7, "arm": 0x40000028}
_FIRST_OF_X32 = 0x40000000
# On a 64-bit kernel, a process can ask for the name of a 32-bit machine (`setarch`).
_X86 = ("x86_64", "i386", "i486", "i586", "i686")
_ARM = ("aarch64", "armv8l", "armv7l", "armv6l")


def filter_for(machine: str) -> bytes:
    """Return the program for `machine`, as `os.uname` names it; empty if its calls are unknown."""
    if machine in _X86:
        return _program("x86_64", "i386")
    if machine in _ARM:
        return _program("aarch64", "arm")
    return b""


@cache
def why_unfiltered() -> str:
    """Return why the calls of sandboxed processes are not filtered on this machine, or ""."""
    machine = os.uname().machine
    if not filter_for(machine):
        return f"system calls are not filtered: their numbers on {machine} are unknown"
    if b"\nSeccomp:" not in Path("/proc/self/status").read_bytes():
        return "system calls are not filtered: the kernel has no seccomp"
    return ""


@cache
def filter_here() -> bytes:
    """Return the program for this machine; empty if `why_unfiltered` gives a reason."""
    return b"" if why_unfiltered() else filter_for(os.uname().machine)


def _program(*abis: str) -> bytes:
    instructions: list[_Instruction] = [(_LOAD, 0, 0, _ABI)]
    for abi in abis:
        part = _part_of(abi)
        instructions += [(_IF_EQUAL, 1, 0, _AUDIT[abi]), (_SKIP, 0, 0, len(part)), *part]
    instructions.append((_RETURN, 0, 0, _ERROR | MISSING))  # any other ABI
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)


def _part_of(abi: str) -> list[_Instruction]:
    """Return the part of the filter for one ABI."""
    column = ABIS.index(abi)
    part: list[_Instruction] = [(_LOAD, 0, 0, _NUMBER)]
    if abi == "x86_64":
        part += _return_if(_IF_AT_LEAST, _FIRST_OF_X32, _ERROR | MISSING)
    for refused in REFUSED_CALLS:
        number = refused.numbers[column]
        if number is not None:
            part += _return_if(_IF_EQUAL, number, _ERROR | refused.error)
    for limited in LIMITED_CALLS:
        part += _if_called(limited.numbers[column], _judge_argument(limited))
    for creating in MODE_CALLS:
        part += _if_called(creating.numbers[column], _judge_mode(creating))
    part.append((_RETURN, 0, 0, _ALLOW))
    return part


def _if_called(number: int | None, judgement: list[_Instruction]) -> list[_Instruction]:
    """Return the instructions that reach `judgement`, which returns, for the call `number`."""
    if number is None:
        return []
    return [(_IF_EQUAL, 0, len(judgement), number), *judgement]


def _judge_argument(call: LimitedCall) -> list[_Instruction]:
    """Return the instructions that allow or refuse a call by its argument."""
    if_listed = _ERROR | call.error
    if_not = _ALLOW
    if call.only:
        if_listed, if_not = if_not, if_listed
    judgement: list[_Instruction] = [(_LOAD, 0, 0, _ARGUMENTS + 8 * call.argument)]
    for value in call.values:
        judgement += _return_if(_IF_EQUAL, value, if_listed)
    judgement.append((_RETURN, 0, 0, if_not))
    return judgement


def _judge_mode(call: ModeCall) -> list[_Instruction]:
    """Return the instructions that refuse a call which would set the set-uid bit."""
    judgement: list[_Instruction] = []
    if call.flags is not None:
        judgement += [
            (_LOAD, 0, 0, _ARGUMENTS + 8 * call.flags),
            (_IF_ANY_BIT, 1, 0, CREATING_FLAGS),
            (_RETURN, 0, 0, _ALLOW),
        ]
    judgement.append((_LOAD, 0, 0, _ARGUMENTS + 8 * call.mode))
    judgement += _return_if(_IF_ANY_BIT, SET_UID_BIT, _ERROR | CLOSED)
    judgement.append((_RETURN, 0, 0, _ALLOW))
    return judgement


def _return_if(condition: int, value: int, action: int) -> list[_Instruction]:
    return [(condition, 0, 1, value), (_RETURN, 0, 0, action)]
