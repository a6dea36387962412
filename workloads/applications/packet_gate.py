"""A gate between the processes of an application and the brokers: while it is closed, no packet passes either way.

We cannot let a program wait at `workloads.clients.network_gate`, and brokers cannot tell its packets from those of
other clients on this host. But the kernel can: a socket belongs to the control group of the process that opened it.
So the processes have a control group, and a program in the kernel drops the packets of its sockets whose peers are
brokers. Everything else that the application talks to stays reachable. Kubernetes network policies (Cilium) use the
same hook. A filter of the host (nft, iptables) could do it as well, but would stay if we were killed; this one goes
with our process.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from workloads.applications import bpf
from workloads.applications.bpf import instruction

REMOTE_IPV4, REMOTE_IPV6, REMOTE_PORT = 92, 100, 132
"""Offsets in struct __sk_buff: the peer to which the socket is connected, also where the packet has another address
because of NAT."""

Peer = tuple[bytes, int]
"""4 or 16 bytes of an address, and a port."""

MOVE, LOAD, STORE, LOAD_MAP = 0xB7, 0x61, 0x62, 0x18
COPY, ADD, ADD_ATOMICALLY = 0xBF, 0x07, 0xDB
IF_ZERO, IF_OTHER_32, CALL, EXIT = 0x15, 0x56, 0x85, 0x95
"""Codes of instructions."""

LOOK_UP = 1
"""Number of the helper function bpf_map_lookup_elem."""

DROP, PASS = 0, 1


class PacketGate:
    """Of one control group, a folder of the hierarchy of version 2. Closed until `open` is called, or until this
    process ends. Safe for use by several threads.
    """

    def __init__(self, group: Path, brokers: Iterable[tuple[str, int]]) -> None:
        self._group, self._brokers = group, tuple(brokers)
        self._held: list[int] = []
        self._counter: int | None = None
        self._lock = threading.Lock()

    @property
    def is_closed(self) -> bool:
        return self._counter is not None

    @property
    def tried(self) -> int:
        """Packets that were dropped since it was closed."""
        with self._lock:
            return 0 if self._counter is None else bpf.read_counter(self._counter)

    def close(self) -> None:
        """Raises OSError."""
        with self._lock:
            if self._counter is not None:
                return
            group = os.open(self._group, os.O_RDONLY | os.O_DIRECTORY)
            held: list[int] = [group]
            try:
                held.append(counter := bpf.create_counter())
                held.append(program := bpf.load(dropping(peers(self._brokers), counter)))
                held += [bpf.attach(program, group, way) for way in (bpf.INGRESS, bpf.EGRESS)]
            except OSError:
                _close(held)
                raise
            self._held, self._counter = held, counter

    def open(self) -> None:
        with self._lock:
            _close(self._held)
            self._held, self._counter = [], None


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
    """The program: it drops and counts the packets of sockets that are connected to one of these peers.

    A socket of IPv6 that is connected to an IPv4 address, as Java's are, has that address, too.
    """
    yield instruction(COPY, 6, 1)  # register 6: the packet
    yield instruction(LOAD, 8, 6, REMOTE_PORT)
    drop = list(_drop(counter))
    for address, port in brokers:
        words = len(address) // 4
        first = REMOTE_IPV4 if words == 1 else REMOTE_IPV6
        # To the next peer, over the rest of the comparisons of this one and over what drops the packet.
        yield instruction(
            IF_OTHER_32, 8, 0, 2 * words + len(drop), struct.unpack("=I", struct.pack("!I", port))[0]
        )
        for number, word in enumerate(struct.unpack(f"={words}I", address)):
            yield instruction(LOAD, 7, 6, first + 4 * number)
            yield instruction(IF_OTHER_32, 7, 0, 2 * (words - number - 1) + len(drop), word)
        yield from drop
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
