"""`kafkacheck audit` of settings that its options state."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pytest_kafkacheck.cli.main import main

SAFE = (
    "--replication", "3", "--min-isr", "2", "--flush-messages", "1", "--racks", "3",
    "--commit", "after-processing", "--auto-offset-reset", "earliest",
)  # fmt: skip


def test_a_loss_has_exit_status_1_and_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = "--replication 3 --min-isr 1 --acks all --unclean false --version 4.1.1"
    assert main(["audit", *arguments.split()]) == 1
    said = capsys.readouterr().out
    assert "Kafka 4.1.1, replication factor 3, min.insync.replicas=1" in said
    assert "assumed, by default: metadata kraft, enable.idempotence=true" in said
    assert "of 14 events: loses 3, unknown 3, unavailable 1, keeps 7" in said
    last = said.splitlines()[-1]
    assert last.startswith("Set min.insync.replicas=2 (topic): then 1 of 14 events loses, this: power-loss (")


def test_what_keeps_everything_has_exit_status_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", *SAFE]) == 0
    assert "of 14 events: unavailable 3, keeps 11" in capsys.readouterr().out


def test_details_say_what_happens_and_where_it_is_documented(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--replication", "3", "-v"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "source: KIP-966: the last replica standing" in said
    assert "The leader reaches neither brokers nor" in said
    assert "kafkacheck scenarios -k A10" in said


def test_json_and_junit_have_every_event(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "audit.xml"
    assert main(["audit", "--replication", "3", "--acks", "1", "--json", "-", "--junitxml", str(file)]) == 1
    (subject,) = json.loads(capsys.readouterr().out)["subjects"]
    assert subject["origins"] == {"replication": "--replication", "acks": "--acks"}
    by_event = {each["event"]: each for each in subject["outcomes"]}
    assert by_event["leader-killed"]["effect"] == "loses"
    assert by_event["leader-killed"]["mends"][0]["setting"] == "acks=all"
    assert by_event["leader-killed"]["sources"]
    assert [by_event["leader-killed"][by] for by in ("scenario", "claim")] == ["leader-killed", None]
    assert [by_event["consumer-crash"][by] for by in ("scenario", "claim")] == [None, "A10"]
    suites = ElementTree.parse(file).getroot()
    cases = {case.get("name"): case for case in suites.iter("testcase")}
    assert cases.keys() == by_event.keys()
    for name, case in cases.items():
        assert (case.find("failure") is not None) == (by_event[name or ""]["effect"] == "loses")
        assert (case.find("skipped") is not None) == (by_event[name or ""]["effect"] == "unknown")


def test_an_option_wins_over_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "producer.properties"
    file.write_text("acks=1\nenable.idempotence=false\n")
    arguments = ["--producer-config", str(file), "--json", "-"]
    assert main(["audit", *SAFE, *arguments]) == 1
    assert json.loads(capsys.readouterr().out)["subjects"][0]["origins"]["acks"] == str(file)
    assert main(["audit", *SAFE, *arguments, "--acks", "all"]) == 0
    assert json.loads(capsys.readouterr().out)["subjects"][0]["origins"]["acks"] == "--acks"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "expected files, --bootstrap HOST:PORT of a cluster to read, or its settings"),
        ("--replication 0", "replication=0: expected a whole number, 1 or more"),
        ("--replication 3 --racks 0", "--racks 0: expected 1 or more"),
        ("--replication 3 --version four", "version='four': expected a Kafka release, such as 4.1.1"),
        ("--replication 3 --json /nowhere/file", "--json /nowhere/file: its folder does not exist"),
        ("--replication 3 --junitxml /nowhere/file", "--junitxml /nowhere/file: its folder does not exist"),
    ],
)
def test_what_makes_no_sense_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: str, said: str
) -> None:
    assert main(["audit", *arguments.split()]) == 2
    assert said in capsys.readouterr().err


def test_a_cluster_that_does_not_answer_is_an_error_that_says_what_was_tried(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["audit", "--bootstrap", "localhost:1"]) == 4
    said = capsys.readouterr().err
    assert "No broker answers within 1.5 s: localhost:1: " in said
    assert "No cluster is needed where options state its settings: --replication 3" in said


def test_what_the_options_say_is_said_all_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--bootstrap", "localhost:1", *SAFE]) == 3
    said = " ".join(capsys.readouterr().out.split())
    assert "of 14 events: unavailable 3, keeps 11" in said
    assert "Not known --bootstrap localhost:1: No broker answers" in said
    assert main(["audit", "--bootstrap", "localhost:1", "--replication", "1"]) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--topic orders", "--topic goes with --bootstrap only: without it, no cluster is read"),
        ("--replication 3 --prove flood", "--prove: no scenario 'flood'; allowed are leader-killed,"),
        ("--bootstrap localhost", "'localhost' is no address; expected HOST:PORT"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    capsys: pytest.CaptureFixture[str], arguments: str, said: str
) -> None:
    assert main(["audit", *arguments.split()]) == 2
    assert said in capsys.readouterr().err
