"""Make system calls and print their errors: a program for tests, without imports but of Python's
own.

Reads a list of [number, argument...] as JSON from its first argument. With the second argument
"i386", it calls as programs of 32 bits do.
"""

import ctypes
import json
import mmap
import sys

_INT_0X80 = bytes.fromhex(
    "53"  # push rbx
    "89f8"  # mov eax, edi: the number
    "89f3"  # mov ebx, esi: the first argument
    "87d1"  # xchg ecx, edx: the second and third one
    "4489c6"  # mov esi, r8d: the fourth one
    "cd80"  # int 0x80
    "5b"  # pop rbx
    "c3"  # ret
)
_libc = ctypes.CDLL(None, use_errno=True)


def native(number: int, *arguments: int) -> int:
    """Return the error of a call, or 0."""
    failed = _libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)) == -1
    return ctypes.get_errno() if failed else 0


def i386(number: int, *arguments: int) -> int:
    """Return the error of a call by an interrupt, or 0."""
    memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(_INT_0X80)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    call = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_int] * 5)(address)
    padded = [*arguments, *[-1] * (4 - len(arguments))]
    return max(0, -call(number, *(ctypes.c_int(value).value for value in padded)))


if __name__ == "__main__":
    make = i386 if sys.argv[2:] == ["i386"] else native
    print(json.dumps([make(*call) for call in json.loads(sys.argv[1])]))
