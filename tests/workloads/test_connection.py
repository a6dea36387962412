"""Single requests to one broker, side by side."""

from __future__ import annotations

import gc
import itertools
import socketserver
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from workloads.clients.connection import Address, Connection

VERSION = 7
THREADS = 4


class SlowVersions(dict[int, type]):
    """The classes of a message's versions. All threads find one missing; the first that makes it stores it last."""

    def __init__(self) -> None:
        super().__init__()
        self._stored = itertools.count()

    def __contains__(self, version: object) -> bool:
        is_there = super().__contains__(version)
        if not is_there:
            time.sleep(0.2)
        return is_there

    def __setitem__(self, version: int, made: type) -> None:
        time.sleep(0.1 * (THREADS - next(self._stored)))
        super().__setitem__(version, made)


class Broker(socketserver.BaseRequestHandler):
    """Answers one request for metadata: there are no topics."""

    def handle(self) -> None:
        request = self.request.recv(1000)
        answer = MetadataResponse(
            version=VERSION, throttle_time_ms=0, brokers=[], cluster_id="c", controller_id=1, topics=[]
        )
        answer.with_header(correlation_id=int.from_bytes(request[8:12], "big"))
        self.request.sendall(answer.encode(framed=True, header=True))


def test_threads_that_read_the_first_answer_of_a_version_at_once_can_read_later_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """kafka-python refers weakly to a class that it does not keep."""
    monkeypatch.setattr(MetadataResponse, "_VERSIONS", SlowVersions())

    def ask(_: int = 0) -> Any:
        request = MetadataRequest(version=VERSION, topics=[], allow_auto_topic_creation=False)
        with Connection(address, timeout=10) as connection:
            return connection.ask(request)

    with (
        socketserver.ThreadingTCPServer(("127.0.0.1", 0), Broker) as server,
        ThreadPoolExecutor(THREADS) as pool,
    ):
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        address = Address(*server.server_address)
        assert all(each.topics == [] for each in pool.map(ask, range(THREADS)))
        gc.collect()
        assert ask().topics == []
        server.shutdown()
