"""Requests that are held back: what the broker's kernel has received, by connection."""

from __future__ import annotations

from pytest_kafkacheck.claims.held_back import received

LISTING = """\
0 0 [::ffff:172.18.0.3]:9094 [::ffff:172.18.0.1]:41234 cubic wscale:10,10 rto:204 bytes_received:38 segs_in:4
0 64 172.18.0.3:9094 172.18.0.1:50112 cubic rto:204 bytes_acked:1 bytes_received:1093 rcv_space:14480
0 0 172.18.0.3:9094 172.18.0.1:50113 cubic rto:204 segs_out:1 segs_in:2
0 0 172.18.0.3:9092 172.18.0.4:50114 cubic bytes_received:7
"""


def test_bytes_are_found_by_the_port_of_the_client() -> None:
    assert received(LISTING) == {41234: 38, 50112: 1093}


def test_nothing_is_received_without_connections() -> None:
    assert received("") == {}
