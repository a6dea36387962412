"""Programs for the kernel's BPF machine, and the system call that loads them. Only what `packet_gate` needs.

The instruction set is that of the kernel's Documentation/bpf/standardization/instruction-set.rst, the layouts are
those of include/uapi/linux/bpf.h. Written by hand, because a compiler or a library would be one more dependency for
some twenty instructions.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Iterable

SYSTEM_CALLS = {"x86_64": 321, "aarch64": 280}
"""Number of bpf(2) by machine."""

MAP_CREATE, MAP_LOOKUP, PROGRAM_LOAD, LINK_CREATE = 0, 1, 5, 28
"""Commands of bpf(2). Links need Linux 5.7."""

ARRAY, OF_CGROUP = 2, 8
"""Type of a map, and of a program that sees the packets of the sockets of a control group."""

INGRESS, EGRESS = 0, 1

LOG_BYTES = 1 << 16
"""For the reasons for which the kernel refuses a program."""

Instruction = bytes


def instruction(code: int, target: int = 0, source: int = 0, offset: int = 0, value: int = 0) -> Instruction:
    """target, source: numbers of registers. value: 32 bits, signed or not."""
    return struct.pack("=BBhI", code, source << 4 | target, offset, value & 0xFFFF_FFFF)


def create_counter() -> int:
    """The descriptor of a map with one number of 64 bits. Raises OSError."""
    return _call(MAP_CREATE, struct.pack("=IIII", ARRAY, 4, 8, 1))


def read_counter(counter: int) -> int:
    key, value = ctypes.c_uint32(0), ctypes.c_uint64(0)
    _call(MAP_LOOKUP, struct.pack("=IIQQ", counter, 0, ctypes.addressof(key), ctypes.addressof(value)))
    return value.value


def load(instructions: Iterable[Instruction]) -> int:
    """The descriptor of a program for control groups. Raises OSError, with the kernel's reason."""
    text = b"".join(instructions)
    code, licence = ctypes.create_string_buffer(text), ctypes.create_string_buffer(b"GPL")
    log = ctypes.create_string_buffer(LOG_BYTES)
    asked = struct.pack(
        "=IIQQIIQ", OF_CGROUP, len(text) // 8, ctypes.addressof(code), ctypes.addressof(licence), 1, LOG_BYTES,
        ctypes.addressof(log),
    )  # fmt: skip
    try:
        return _call(PROGRAM_LOAD, asked)
    except OSError as error:
        said = log.value.decode(errors="replace").strip().splitlines()
        raise OSError(error.errno, ": ".join([error.strerror or "", *said[-2:]])) from error


def attach(program: int, group: int, direction: int) -> int:
    """The descriptor of a link. The program is at work in the control group, a descriptor, until it is closed, as it
    is when this process ends. Raises OSError."""
    return _call(LINK_CREATE, struct.pack("=IIII", program, group, direction, 0))


def _call(command: int, attributes: bytes) -> int:
    number = SYSTEM_CALLS.get(platform.machine())
    if number is None or platform.system() != "Linux":
        raise OSError(f"no bpf system call is known for {platform.system()} on {platform.machine()}")
    buffer = ctypes.create_string_buffer(attributes, 128)
    result = int(ctypes.CDLL(None, use_errno=True).syscall(number, command, buffer, len(buffer)))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result
