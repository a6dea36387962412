"""What faults have changed at topics is known to the next process, and only what a fault left counts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_kafkacheck.cluster.docker.registers import ValueRegister
from pytest_kafkacheck.cluster.kafka import former_values
from pytest_kafkacheck.cluster.kafka.former_values import Key, Value, differences, written_down

SETTING = Key("setting", "orders", "retention.ms")
REPLICAS = Key("replicas", "orders", "0")

CHILD = """
import sys
from pathlib import Path
from pytest_kafkacheck.cluster.docker.registers import ValueRegister
from pytest_kafkacheck.cluster.kafka.former_values import Key
register = ValueRegister("c1", cache=Path(sys.argv[1]))
register.changing(Key("setting", "orders", "retention.ms"), former=None, made="7")
print("made", flush=True)
sys.stdin.read()
"""


class Topics:
    """Values that a change really has, and the register that it goes through."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, now: Mapping[Key, Value]) -> None:
        self.now = dict(now)
        self.reads = 0
        self.register = ValueRegister("c1", cache=folder)
        monkeypatch.setattr(
            former_values,
            "present_values",
            lambda _, keys: {key: self.now[key] for key in keys if key in self.now},
        )

    def change(self, **wanted: Value) -> None:
        by_key = {REPLICAS if name == "replicas" else SETTING: value for name, value in wanted.items()}

        def read() -> Mapping[Key, Value]:
            self.reads += 1
            return self.now

        with written_down(self.register, by_key, read):
            if "bad" in wanted.values():
                raise ValueError("Kafka refused")
            self.now |= by_key

    def left(self) -> dict[Key, tuple[Value, Value]]:
        found = differences({}, self.register)
        return {each.key: (each.former, now) for each, now in found.items()}


@pytest.fixture
def topics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Topics:
    return Topics(tmp_path, monkeypatch, {SETTING: None, REPLICAS: "1,2,3"})


def test_a_change_is_left_when_its_process_has_ended(tmp_path: Path) -> None:
    register = ValueRegister("c1", cache=tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"made\n"
        assert register.left() == [], "a fault of another session is at work"
        child.kill()
    (left,) = register.left()
    assert (left.key, left.former, left.made) == (SETTING, None, {"7"})
    assert register.own(SETTING) is None
    assert ValueRegister("c2", cache=tmp_path).left() == [], "of another cluster"
    register.restored([SETTING])
    assert register.left() == []


def test_it_is_written_down_before_the_change(topics: Topics) -> None:
    with written_down(topics.register, {SETTING: "7"}, dict):
        topics.now[SETTING] = "7"
        assert topics.left() == {SETTING: (None, "7")}


def test_a_heal_drops_what_was_written_down_and_reads_nothing(topics: Topics) -> None:
    topics.now[SETTING] = "5"
    topics.change(setting="7")
    assert topics.left() == {SETTING: ("5", "7")}
    topics.change(setting="5")
    assert (topics.register.left(), topics.reads) == ([], 1)


def test_a_refused_change_leaves_nothing(topics: Topics) -> None:
    with pytest.raises(ValueError, match="refused"):
        topics.change(setting="bad")
    assert topics.register.left() == []


def test_a_refused_second_change_does_not_hide_the_first(topics: Topics) -> None:
    topics.change(setting="7")
    with pytest.raises(ValueError, match="refused"):
        topics.change(setting="bad")
    assert topics.left() == {SETTING: (None, "7")}


def test_every_step_of_a_storm_leads_back_to_the_first_replicas(topics: Topics) -> None:
    for replicas in ("2,3,1", "3,1,2"):
        topics.change(replicas=replicas)
        assert topics.left() == {REPLICAS: ("1,2,3", replicas)}


def test_replicas_that_move_back_are_left_until_they_are_there(topics: Topics) -> None:
    topics.change(replicas="1,2,4")
    topics.change(replicas="1,2,3")
    for under_way in ("1,2,4", "1,2,3,4"):  # killed before Kafka began, and before it was complete
        topics.now[REPLICAS] = under_way
        assert topics.left() == {REPLICAS: ("1,2,3", under_way)}
    topics.now[REPLICAS] = "1,2,3"
    assert topics.left() == {}
    assert topics.register.left() == []


def test_what_somebody_else_has_set_since_stays(topics: Topics) -> None:
    topics.change(setting="7", replicas="1,2,4")
    topics.now |= {SETTING: "9", REPLICAS: "4,5"}
    assert topics.left() == {}
    topics.change(setting="7", replicas="1,2,4")
    assert topics.left() == {SETTING: ("9", "7"), REPLICAS: ("4,5", "1,2,4")}


def test_nothing_is_left_of_a_topic_that_is_gone(topics: Topics) -> None:
    topics.change(setting="7", replicas="1,2,4")
    topics.now.clear()
    assert topics.left() == {}
    assert topics.register.left() == []


def test_without_a_register_nothing_is_read(topics: Topics) -> None:
    with written_down(None, {SETTING: "7"}, lambda: pytest.fail("asked")):
        topics.now[SETTING] = "7"
    assert topics.left() == {}


def test_a_description_names_both_values(topics: Topics) -> None:
    topics.change(setting="7", replicas="1,2,4")
    assert sorted(each.describe(now) for each, now in differences({}, topics.register).items()) == [
        "orders-0: a fault has moved its replicas from 1,2,3 to 1,2,4",
        "topic orders: a fault has set retention.ms=7; before, it was not set",
    ]
