"""The rules of the protocol for clients: one that keeps them passes, and each way to break one is noticed."""

from __future__ import annotations

import sys
from base64 import b64decode
from pathlib import Path
from types import ModuleType

import pytest

from pytest_kafkacheck.cli.main import parser
from pytest_kafkacheck.client_test import bench, group_rules, share_rules
from pytest_kafkacheck.client_test.bench import Stored
from pytest_kafkacheck.client_test.run import RULES, run_rules
from tests.support import fake_client
from tests.support.fake_client import FLAWS, Logs
from workloads.clients.command import process
from workloads.clients.connection import Address


class Files:
    """Brokers of the fake client."""

    bootstrap = (Address("files", 1),)

    def __init__(self, folder: Path) -> None:
        self._logs = Logs(folder)

    release = (4, 2)

    def create(self, topic: str, partitions: int) -> None:
        assert topic.endswith(f"-{partitions}")

    def stored(self, topic: str, partition: int) -> list[Stored]:
        found, _ = self._logs.readable(topic, partition, 0, committed=True)
        return [
            Stored(
                offset,
                _bytes(line["key"]),
                _bytes(line["value"]),
                [(name, _bytes(content)) for name, content in line["headers"] or ()],
            )
            for offset, line in found
        ]


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)


def results(folder: Path, *options: str) -> tuple[int, list[str]]:
    """How many rules are broken, and the lines about them."""
    lines: list[str] = []
    command = [sys.executable, "-I", "-S", str(Path(fake_client.__file__)), str(folder), *options]
    broken = run_rules(command, Files(folder), run="r", log=folder / "client.log", say=lines.append)
    return broken, lines


def test_a_client_that_keeps_to_the_protocol_passes(tmp_path: Path) -> None:
    broken, lines = results(tmp_path)
    assert broken == 0, "\n".join(lines)
    states = [line.split()[:2] for line in lines[:-1]]
    assert states == [["skip" if rule.name.startswith("consumer-") else "pass", rule.name] for rule in RULES]
    assert lines[-1] == "fake 1.0: 32 rules kept, 0 broken, 3 not applicable"


BREAKS = {
    "wrong-version": ({"hello"}, "speaks version 1, and kafkacheck speaks version 2"),
    "no-hello": ({"hello"}, "ended by itself with status 3; its last output: Exception in thread main"),
    "garbage-hello": ({"hello"}, "wrote a line that is no JSON object: Picked up JAVA_TOOL_OPTIONS"),
    "garbage": ({"send", "poll", "unknown-request"}, "wrote a line that is no JSON object: [main] WARN"),
    "out-of-turn": ({"wrong-state", "seek", "classic-member"}, "answered out of turn"),
    "dies": ({"unknown-request", "poll", "transactions"}, "its last output: fatal: out of memory"),
    "silent": ({"unknown-request"}, "has not written its answer to"),
    "no-position": ({"poll", "markers"}, "KeyError: 'positions'"),
    "acks-twice": ({"send"}, "it completed record 1, which was not sent or is completed already"),
    "ignores-seek": ({"seek", "out-of-range", "classic-seek"}, "after a seek to offset"),
    "never-acks": (
        {"send", "flush", "close"},
        "0 of 400 records were completed before the answer to 'close'",
    ),
    "accepts-everything": ({"send-error", "no-partition"}, "a record of 5,000 bytes was acknowledged"),
    "unknown-error": ({"send", "send-error"}, "it is SOMETHING_NEW; expected MESSAGE_TOO_LARGE"),
    "no-fence": ({"fenced"}, "it answered 'end' with"),
    "unasked": ({"unknown-request"}, "it completed record 999999, which was not sent"),
    "foreign-record": ({"poll", "classic-member"}, "from offset 10 it returned 291 records"),
    "shares-locks": ({"share-lock"}, "both got the offsets"),
    "loses-released": ({"share-acknowledge"}, "it did not get the released record again"),
    "no-lag": ({"share-progress"}, "expected a lag of 0"),
    "acknowledges-anything": ({"share-unknown"}, "it answered 'acknowledge' with"),
    "closes-output": ({"unknown-request"}, "has closed its output"),
    "stale-end": ({"reported-ends"}, "expected the end of"),
}
"""Flaw to some of the rules that it breaks, and what one of them says."""

LATE_ANSWER = ((process, "GRACE", 2), (process, "END_LIMIT", 0.5))
EMPTY_POLLS = tuple((rules, "LIMIT", 1) for rules in (bench, group_rules, share_rules))
LIMITS: dict[str, tuple[tuple[ModuleType, str, float], ...]] = {
    "silent": LATE_ANSWER,
    # That it goes on has to be known before its answer is late.
    "closes-output": LATE_ANSWER,
    "never-acks": ((bench, "COMPLETION_LIMIT", 1),),
    "ignores-seek": EMPTY_POLLS,
    "loses-released": EMPTY_POLLS,
    "no-lag": EMPTY_POLLS,
}
"""Flaws of which a rule waits for what never comes, and how long it waits for that here, in seconds. Other waits are
not shortened: on a busy machine even what does come may take seconds."""


def test_rules_about_share_groups_need_brokers_that_have_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Files, "release", (4, 1))
    some = [rule for rule in RULES if rule.name == "hello" or rule.name.startswith("share-")]
    monkeypatch.setattr("pytest_kafkacheck.client_test.run.RULES", some)
    _, lines = results(tmp_path)
    assert lines[-1] == "fake 1.0: 1 rules kept, 0 broken, 4 not applicable"
    (line,) = [each for each in lines if "share-lock" in each]
    assert line.split()[0] == "skip"
    assert "needs brokers of Kafka 4.2 or later" in line


def test_every_flaw_has_a_rule() -> None:
    assert set(BREAKS) == set(FLAWS)


@pytest.mark.parametrize("flaw", BREAKS)
def test_a_client_that_breaks_a_rule_is_named_with_it(
    tmp_path: Path, flaw: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, limit, seconds in LIMITS.get(flaw, ()):
        monkeypatch.setattr(module, limit, seconds)
    wanted, said = BREAKS[flaw]
    monkeypatch.setattr(
        "pytest_kafkacheck.client_test.run.RULES", [r for r in RULES if r.name in {"hello", *wanted}]
    )
    broken, lines = results(tmp_path, "--flaw", flaw)
    failed = {line.split()[1] for line in lines if line.startswith("FAIL")}
    assert failed == wanted, "\n".join(lines)
    assert broken == len(failed)
    assert any(said in line for line in lines), "\n".join(lines)
    assert not any("\n" in line for line in lines)


def test_the_command_stands_behind_two_dashes() -> None:
    options = parser().parse_args(["client-test", "--kafka", "4.1.1", "--", "./client", "--quiet"])
    assert (options.command_line, options.kafka) == (["./client", "--quiet"], "4.1.1")
    with pytest.raises(SystemExit):
        parser().parse_args(["client-test"])
