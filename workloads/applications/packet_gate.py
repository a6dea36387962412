"""A gate between the processes of a control group and brokers: while it is closed, no packet passes.

It closes both directions, or one of them. We cannot let a program wait at `workloads.clients.network_gate`, and
brokers cannot tell its packets from those of other clients on this host. But the kernel can: a socket belongs to the
control group of the process that opened it. So the processes have a control group, and programs in the kernel drop
the packets of its sockets whose peers are brokers. Everything else that the processes talk to stays reachable.
Kubernetes network policies (Cilium) use the same hook. A filter of the host (nft, iptables) could do it as well, but
would stay if we were killed; these programs go with our process.

A packet has to be lost on its way, and not refused by its sender. If the hook drops what a socket sends, the kernel
tells TCP, which does not count the segment as sent and tries again with each write: 521 tries in 3 s for a write
each 5 ms, and traffic went on at the moment of the heal. So over the loopback interface, where clients reach the
ports that an engine publishes, the program only marks what is sent, and a second one, at the root of all control
groups, drops marked packets where they are received: 5 tries with longer and longer waits, and traffic went on 0.3 s
after the heal, as after a cut between machines. A mark does not leave this host, so that packets by other interfaces
are dropped where they are sent.

What the kernel sends for a socket that is gone, such as a reset, belongs to no group and passes.
"""

from __future__ import annotations

import ctypes
import os
import platform
import socket
import struct
import threading
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

Way = Literal["in", "out"]

WAYS: tuple[Way, ...] = ("in", "out")
"""From the brokers to the processes, and from the processes to the brokers."""

MARK, INTERFACE, REMOTE_IPV4, REMOTE_IPV6, REMOTE_PORT, LOCAL_PORT = 8, 40, 92, 100, 132, 136
"""Offsets in struct __sk_buff. The remote ones are of the peer to which the socket is connected, also where the
packet has another address because of NAT."""

LOOPBACK = 1
"""The number of this interface on each host."""

Peer = tuple[bytes, int]
"""4 or 16 bytes of an address, and a port."""

MOVE, LOAD, STORE, LOAD_MAP = 0xB7, 0x61, 0x62, 0x18
COPY, ADD, ADD_ATOMICALLY = 0xBF, 0x07, 0xDB
MOVE_32, IF_SAME_32, IF_OTHER_REGISTER_32, STORE_REGISTER = 0xB4, 0x16, 0x5E, 0x63
IF_ZERO, IF_OTHER_32, CALL, EXIT = 0x15, 0x56, 0x85, 0x95
"""Codes of instructions."""

LOOK_UP = 1
"""Number of the helper function bpf_map_lookup_elem."""

DROP, PASS = 0, 1


class PacketGate:
    """Of one control group, a folder of the hierarchy of version 2. Closed until `open` is called, or until this
    process ends. Safe for use by several threads. Several gates of one group do not interfere.

    ways  in which nothing passes.
    """

    def __init__(self, group: Path, brokers: Iterable[tuple[str, int]], ways: Collection[Way] = WAYS) -> None:
        self._group, self._brokers, self._ways = group, tuple(brokers), tuple(ways)
        self._held: list[int] = []
        self._counters: dict[Way, int] = {}
        self._lock = threading.Lock()

    @property
    def is_closed(self) -> bool:
        return bool(self._counters)

    @property
    def tried(self) -> int:
        """Packets that were dropped since it was closed."""
        return sum(self.dropped.values())

    @property
    def dropped(self) -> Mapping[Way, int]:
        """Packets that were dropped since it was closed, by their way; nothing while it is open."""
        with self._lock:
            return {way: read_counter(counter) for way, counter in self._counters.items()}

    def close(self) -> None:
        """Raises OSError."""
        with self._lock:
            if self._counters:
                return
            counters: dict[Way, int] = {}
            held: list[int] = []
            try:
                found = peers(self._brokers)
                for way in self._ways:
                    held.append(counter := create_counter())
                    counters[way] = counter
                    self._close_way(way, found, counter, held)
            except OSError:
                _close(reversed(held))
                raise
            self._held, self._counters = held, counters

    def _close_way(self, way: Way, found: Collection[Peer], counter: int, held: list[int]) -> None:
        held.append(group := _folder(self._group))
        if way == "in":
            held.append(program := load_program(dropping(found, counter)))
            held.append(attach_program(program, group, INGRESS))
            return
        mark = zlib.crc32(self._group.name.encode()) or 1  # the same for all gates of the group
        held.append(root := _folder(hierarchy(self._group)))
        held.append(program := load_program(dropping_marked({port for _, port in found}, counter, mark)))
        held.append(attach_program(program, root, INGRESS))
        held.append(program := load_program(marking(found, counter, mark)))
        held.append(attach_program(program, group, EGRESS))

    def open(self) -> None:
        with self._lock:
            _close(reversed(self._held))  # nothing is marked any more when marked packets pass again
            self._held, self._counters = [], {}


def hierarchy(group: Path) -> Path:
    """Where the hierarchy of that group is mounted."""
    root = group
    while (root.parent / "cgroup.procs").exists():
        root = root.parent
    return root


def _folder(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY)


def _close(descriptors: Iterable[int]) -> None:
    for each in descriptors:
        with suppress(OSError):
            os.close(each)


def peers(brokers: Iterable[tuple[str, int]]) -> list[Peer]:
    """All addresses of these hosts. Raises OSError for a name that cannot be resolved."""
    found: dict[Peer, None] = {}
    for host, port in brokers:
        try:
            known = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except socket.gaierror as error:
            raise OSError(f"the address of broker {host}:{port} is unknown: {error.strerror}") from error
        for family, _, _, _, address in known:
            found[socket.inet_pton(family, str(address[0])), port] = None
    return list(found)


def dropping(brokers: Iterable[Peer], counter: int) -> Iterator[bytes]:
    """The program that drops and counts the packets of sockets that are connected to one of these peers."""
    return _matching(brokers, list(_drop(counter)))


def marking(brokers: Iterable[Peer], counter: int, mark: int) -> Iterator[bytes]:
    """The program that marks such packets, and drops and counts them where they do not stay on this host."""
    drop = list(_drop(counter))
    return _matching(
        brokers,
        [
            instruction(LOAD, 7, 6, INTERFACE),
            instruction(IF_OTHER_32, 7, 0, 4, LOOPBACK),
            instruction(MOVE_32, 7, value=mark),
            instruction(STORE_REGISTER, 6, 7, MARK),
            instruction(MOVE, 0, value=PASS),
            instruction(EXIT),
            *drop,
        ],
    )


def dropping_marked(ports: Iterable[int], counter: int, mark: int) -> Iterator[bytes]:
    """The program that drops and counts what has the mark and arrives at one of these ports."""
    yield instruction(COPY, 6, 1)
    ports = sorted(ports)
    drop = list(_drop(counter))
    yield instruction(LOAD, 7, 6, MARK)
    yield instruction(MOVE_32, 8, value=mark)
    yield instruction(IF_OTHER_REGISTER_32, 7, 8, 1 + len(ports))
    yield instruction(LOAD, 7, 6, LOCAL_PORT)
    for number, port in enumerate(ports):
        yield instruction(IF_SAME_32, 7, 0, len(ports) - number - 1 + 2, port)
    yield instruction(MOVE, 0, value=PASS)
    yield instruction(EXIT)
    yield from drop


def _matching(brokers: Iterable[Peer], action: Collection[bytes]) -> Iterator[bytes]:
    """A program with an action, which ends it, for packets of sockets that are connected to one of these peers.

    A socket of IPv6 that is connected to an IPv4 address, as Java's are, has that address, too.
    """
    yield instruction(COPY, 6, 1)  # register 6: the packet
    yield instruction(LOAD, 8, 6, REMOTE_PORT)
    for address, port in brokers:
        words = len(address) // 4
        first = REMOTE_IPV4 if words == 1 else REMOTE_IPV6
        # To the next peer, over the rest of the comparisons of this one and over the action.
        yield instruction(
            IF_OTHER_32, 8, 0, 2 * words + len(action), struct.unpack("=I", struct.pack("!I", port))[0]
        )
        for number, word in enumerate(struct.unpack(f"={words}I", address)):
            yield instruction(LOAD, 7, 6, first + 4 * number)
            yield instruction(IF_OTHER_32, 7, 0, 2 * (words - number - 1) + len(action), word)
        yield from action
    yield instruction(MOVE, 0, value=PASS)
    yield instruction(EXIT)


def _drop(counter: int) -> Iterator[bytes]:
    yield instruction(STORE, 10, 0, -4)  # the key of the counter, 0, on the stack
    yield instruction(COPY, 2, 10)
    yield instruction(ADD, 2, value=-4)
    yield instruction(LOAD_MAP, 1, 1, value=counter)
    yield instruction(0)  # the second half of the 64 bits
    yield instruction(CALL, value=LOOK_UP)
    yield instruction(IF_ZERO, 0, 0, 2)
    yield instruction(MOVE, 1, value=1)
    yield instruction(ADD_ATOMICALLY, 0, 1)
    yield instruction(MOVE, 0, value=DROP)
    yield instruction(EXIT)


# Programs for the kernel's BPF machine, and the system call that loads them. The instruction set is that of the
# kernel's Documentation/bpf/standardization/instruction-set.rst, the layouts are those of include/uapi/linux/bpf.h.
# Written by hand, because a compiler or a library would be one more dependency for some twenty instructions.

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


def load_program(instructions: Iterable[Instruction]) -> int:
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


def attach_program(program: int, group: int, direction: int) -> int:
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
