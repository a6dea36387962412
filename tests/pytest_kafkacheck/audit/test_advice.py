"""The smallest set of changes, what it leaves, and the diff that makes it."""

from __future__ import annotations

import json
import shutil
import subprocess
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.audit.advice import CHEAPEST_FIRST, advise
from pytest_kafkacheck.audit.assess import all_rules
from pytest_kafkacheck.audit.configuration import Configuration
from pytest_kafkacheck.audit.report import Report, Subject
from pytest_kafkacheck.cli.main import main
from tests.support.configuration_files import COMPOSE_EXTENDS, COMPOSE_ZOOKEEPER, STRIMZI_POOLS


def advice(**settings: Any) -> Any:
    return advise(Report([Subject(name="topic orders", settings=settings)]))


def losses(configuration: Configuration, events: tuple[str, ...]) -> set[str]:
    rules = [rule for rule in all_rules() if rule.effect == "loses"]
    return {event for event in events if any(rule.concerns(configuration, event) for rule in rules)}


def test_the_last_line_says_what_to_set_and_what_is_left() -> None:
    found = advice(replication=3, min_isr=1, acks=1, version="4.1.1", replicas_in_rack=1)
    assert str(found).startswith(
        "Set acks=all (producer), min.insync.replicas=2 (topic): then 1 of 14 events loses, this: power-loss "
        "(only flush.messages=1 prevents it, with which every append waits for the disk)."
    )
    assert {change.cost for change in found.changes} == {
        "an acknowledgement waits until all in-sync replicas have the record: a round trip between brokers more",
        "writes with acks=all are refused while fewer than 2 replicas are in sync",
    }
    safe = advice(replication=3, min_isr=2, flush_messages=1, commit="auto", auto_offset_reset="earliest")
    assert str(safe) == "No event of 14 is known to lose anything. Not known: rack-lost."
    assert str(advice(replication=3, min_isr=2)).startswith(
        "No setting prevents more: 1 of 14 events loses, this: power-loss"
    )


def test_an_upgrade_is_named_and_not_proposed() -> None:
    found = advice(replication=3, min_isr=2, version="3.6.0", mode="zookeeper")
    assert not found.changes
    assert (
        found.after["isr-of-one-wiped"] == "only eligible leader replicas prevent it: an upgrade to Kafka 4.1"
    )
    on = advice(replication=3, min_isr=2, version="4.0.0")
    assert [str(each) for each in on.changes] == ["eligible.leader.replicas.version=1 (cluster)"]


@pytest.mark.parametrize("version", ["3.9.2", "4.1.1"])
def test_no_smaller_set_prevents_as_much(version: str) -> None:
    """By brute force, over everything that the rules propose."""
    for replication, acks, unclean, reset in product((1, 3), ("all", 1), (True, False), ("latest",)):
        settings = {
            "replication": replication, "acks": acks, "unclean": unclean, "auto_offset_reset": reset,
            "version": version,
        }  # fmt: skip
        c = Configuration(**settings)  # type: ignore[arg-type]
        subject = Subject(name="", settings=settings)
        found = advise(Report([subject]))
        assert set(found.before) == losses(c, subject.events)
        mends = [each for each in CHEAPEST_FIRST if each.apply(c).version == version]
        best = {
            size: min(len(losses(_applied(c, those), subject.events)) for those in combinations(mends, size))
            for size in range(5)
        }
        least = min(size for size, left in best.items() if left == min(best.values()))
        assert len(found.after) == best[least]
        # A mend may set two settings.
        assert len({change.cost for change in found.changes}) <= 2 * least


def _applied(configuration: Configuration, mends: Any) -> Configuration:
    for mend in mends:
        configuration = mend.apply(configuration)
    return configuration


PROPERTIES = {
    "server.properties": "node.id=1\nprocess.roles=broker\nlog.dirs=/d\ndefault.replication.factor : 3\n"
    "unclean.leader.election.enable=true",
    "producer.properties": "# ours\nacks=1\nlinger.ms=5\n",
    "consumer.properties": "group.id=g\n",
}
COMPOSE = {
    "compose.yml": COMPOSE_ZOOKEEPER,
    "list.yml": "services:\n  k:\n    image: bitnami/kafka:4.1.0\n    environment:\n      - KAFKA_CFG_NODE_ID=1\n"
    '      - KAFKA_CFG_DEFAULT_REPLICATION_FACTOR=1\n      - "KAFKA_CFG_UNCLEAN_LEADER_ELECTION_ENABLE=true"\n',
}


@pytest.mark.skipif(shutil.which("patch") is None, reason="the program patch is not here")
@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (PROPERTIES, [*PROPERTIES]),
        (COMPOSE, ["compose.yml"]),
        (COMPOSE, ["list.yml"]),
        (COMPOSE_EXTENDS, ["compose.yml"]),
        ({"kafka.yml": STRIMZI_POOLS}, ["kafka.yml"]),
    ],
    ids=["properties", "compose", "list", "anchors", "strimzi"],
)
def test_the_diff_makes_what_is_promised(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    texts: dict[str, str],
    names: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in texts.items():
        Path(name).write_text(text)

    def said() -> Any:
        capsys.readouterr()
        main(["audit", *names, "--json", "-"])
        return json.loads(capsys.readouterr().out)["advice"]

    promised = said()
    assert promised["changes"]
    capsys.readouterr()
    main(["audit", *names, "--fix"])
    printed = capsys.readouterr().out
    without_place = {
        line.split(": no file here")[0] for line in printed.splitlines() if line.startswith("# ")
    }
    subprocess.run(["patch", "-p0"], input=printed, text=True, check=True, capture_output=True)
    now = said()
    # What no file has a place for is proposed again.
    left = {each["setting"] for each in now["changes"]}
    assert all(any(each in line for line in without_place) for each in left), (left, printed)
    if not left:
        assert now["loses_before"] == promised["loses_after"]


def test_a_diff_needs_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--replication", "1", "--fix"]) == 2
    assert "--fix goes with files" in capsys.readouterr().err
