"""Why a node ended, from its log."""

from __future__ import annotations

from pytest_kafkacheck.cluster.nodes.health import ERRORS, LAST, excerpt

SHUTDOWN = [f"2026-11-22T19:59:56,{n:03} INFO  k.s.Server [main] step {n} of the shutdown" for n in range(20)]

FAILED = [
    "2026-11-22T19:59:40,123 ERROR k.s.BrokerServer [main] Fatal error during startup",
    "java.util.concurrent.ExecutionException: it took too long",
    "\tat kafka.server.BrokerServer.startup(BrokerServer.scala:1)",
    "Caused by: java.util.concurrent.TimeoutException",
    "\t... 9 more",
    "2026-11-22T19:59:41,000 INFO  k.s.BrokerServer [main] shutting down",
    "java.lang.RuntimeException: a line that belongs to no error",
]


def log(lines: list[str]) -> bytes:
    return "\n".join(lines).encode()


def test_an_error_before_an_ordered_shutdown_is_shown() -> None:
    shown = excerpt(log(FAILED + SHUTDOWN)).splitlines()
    assert shown == [
        "its last errors:",
        FAILED[0],
        FAILED[1],
        FAILED[3],
        "its last lines:",
        *SHUTDOWN[-LAST:],
    ]


def test_a_log_without_errors_is_shown_from_its_end() -> None:
    assert excerpt(log(SHUTDOWN)).splitlines() == ["its last lines:", *SHUTDOWN[-LAST:]]
    assert excerpt(b"\xff") == "its last lines:\n�"


def test_of_many_errors_the_last_are_shown() -> None:
    many = [f"2026-11-22T19:59:40,{n:03} FATAL k.s.Server [main] error {n}" for n in range(9)]
    shown = excerpt(log(many + SHUTDOWN)).splitlines()
    assert shown[: ERRORS + 1] == ["its last errors:", *many[-ERRORS:]]
