"""How a run went, from the operations of the harness. Needs no JVM."""

from __future__ import annotations

import json
from typing import Any

import pytest

from analyzers.history.run_progress import PHASES, RunProgress, no_phases, parse

Noted = tuple[str, dict[str, Any]]


def progress(*rows: Noted, topic: str | None = None) -> RunProgress:
    of_run = RunProgress()
    for f, value in rows:
        of_run.note(f, json.dumps(value), (topic, None))
    return of_run


def phases(*names: str) -> list[Noted]:
    return [("phase", {"phase": name}) for name in names]


def doubts(*rows: Noted, topic: str | None = None) -> list[str]:
    """Of a run that has all of its phases."""
    return [*progress(*phases(*PHASES), *rows, topic=topic).doubts()]


def topic(event: str, number: str | None) -> Noted:
    return "topic", {"event": event, "id": number, "config": {}}


def test_settings_of_topics_in_an_imported_history_promise_no_phases() -> None:
    """Unlike any row of a run that a harness recorded, before or after them."""
    settings: Noted = ("topic", {"event": "created", "config": {}, "imported": True})
    assert [*progress(settings, topic="t").doubts()] == []
    for rows in ([settings, *phases("end")], [*phases("end"), settings]):
        assert [*progress(*rows, topic="t").doubts()] == [no_phases(["steady", "recovery", "final"])]


@pytest.mark.parametrize(
    ("ids", "is_replaced"),
    [
        ([("created", "A"), ("deleted", "B")], True),
        ([("created", "A"), ("deleted", "A")], False),
        ([("created", "A")], False),
        ([("created", None), ("deleted", "B")], False),
        ([("created", "A"), ("deleted", None)], False),
        ([("created", ""), ("deleted", "B")], False),
        ([("created", "A"), ("deleted", "")], False),
        ([("created", "A"), ("deleted", "A"), ("recreated", "B"), ("deleted", "B")], False),
        # A broker that lags may have described the old topic.
        ([("created", "A"), ("deleted", "A"), ("recreated", "A"), ("deleted", "B")], False),
        ([("created", "A"), ("deleted", "A"), ("created", "B"), ("deleted", "B")], False),
        ([("created", "A"), ("recreated", "B")], False),
    ],
)  # fmt: skip
def test_a_topic_with_another_id_was_made_again_by_another_program(
    ids: list[tuple[str, str | None]], is_replaced: bool
) -> None:
    sentence = (
        "Topic t has the id B at the end, and had A when the run created it: another program deleted it and created "
        "it again, so records of two topics may be mixed."
    )
    found = doubts(*(topic(event, number) for event, number in ids), topic="t")
    assert found == ([sentence] if is_replaced else [])


def test_settings_of_producers() -> None:
    def started(**values: Any) -> Noted:
        return "worker", {"event": "started", "process": values.pop("process"), "role": "client", **values}

    found = progress(
        started(process=1, acks="1"),
        started(process=2, config={"retries": 3, "acks": "all"}),
        started(process=3, config={"retries": 3}, acks="0"),
        started(process=4),
        started(process=5, config="unknown"),
    ).producers
    assert found == {1: {"acks": "1"}, 2: {"retries": "3", "acks": "all"}, 3: {"retries": "3", "acks": "0"}}


def test_topics_are_told_apart_by_their_names() -> None:
    of_run = progress(*phases(*PHASES))
    for name, event, number in (("t", "created", "A"), ("u", "created", "B"), ("u", "deleted", "B")):
        f, value = topic(event, number)
        of_run.note(f, json.dumps(value), (name, None))
    assert not [*of_run.doubts()]


def test_a_run_with_all_of_its_phases_is_free_of_doubt() -> None:
    of_run = progress(*phases(*PHASES))
    assert (of_run.phase, of_run.is_recorded) == ("end", True)
    assert not [*of_run.doubts()]


def test_a_history_that_no_harness_recorded_is_free_of_doubt() -> None:
    assert (RunProgress().phase, RunProgress().is_recorded) == (None, False)
    assert not [*RunProgress().doubts()]


def test_a_run_that_was_interrupted_names_its_phase() -> None:
    assert [*progress(*phases("steady", "recovery")).doubts()] == [
        "The run was interrupted in its phase recovery: the history ends there."
    ]


def test_missing_phases_are_named() -> None:
    sentence = "The history has no record that these phases of the run began: "
    assert [*progress(*phases("steady", "end")).doubts()] == [f"{sentence}recovery, final."]
    assert [*progress(("topic", {"event": "created"})).doubts()] == [f"{sentence}{', '.join(PHASES)}."]
    assert no_phases() == f"{sentence}steady, recovery, final, end."


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (("problem", {"step": "load", "error": "no disk."}), "The load did not run to its end: no disk."),
        (("problem", {"step": "new", "error": "no disk"}), "The step new of the run failed: no disk."),
        (("recovery", {"problem": "t-0 has no leader.", "limit": 60.0}),
         "The cluster had not recovered after 60 s: t-0 has no leader."),
        (("recovery", {"problem": "t-0 has no leader"}),
         "The cluster had not recovered after ? s: t-0 has no leader."),
        (("worker", {"event": "crashed", "process": 3, "trouble": "out of memory"}),
         "A client process ended early: out of memory. Records that it would have seen are missing."),
        (("worker", {"event": "crashed", "process": 3}),
         "A client process ended early: no reason was reported. Records that it would have seen are missing."),
        (("worker", {"event": "stopped", "process": 3, "problem": "app:0 ended by itself."}),
         "app:0 ended by itself."),
        (("worker", {"event": "killed", "process": 3, "problem": "app:0 is stuck"}), "app:0 is stuck."),
    ],
)  # fmt: skip
def test_each_failure_of_a_run_is_a_doubt(row: Noted, sentence: str) -> None:
    assert doubts(row) == [sentence]


@pytest.mark.parametrize(
    "row",
    [
        ("recovery", {"problem": None, "limit": 60.0}),
        ("worker", {"event": "stopped", "process": 3}),
        ("worker", {"event": "killed", "process": 3}),
        ("unread", {"reason": "no leader"}),
        ("other", {}),
    ],
)
def test_other_rows_are_no_doubt(row: Noted) -> None:
    assert doubts(row) == []


def started(process: int | None, role: str | None = "reader", **more: Any) -> Noted:
    named = {} if role is None else {"role": role}
    return "worker", {"event": "started", "process": process, **named, **more}


def test_clients_without_an_end_are_named_in_the_order_of_their_numbers() -> None:
    ended = ("worker", {"event": "stopped", "process": 4})
    found = doubts(started(7, "copier"), started(None), started(1), started(0, None), started(4), ended)
    assert found == [
        "The history does not say how clients ended (client 0, reader 1, copier 7, reader ?): their last operations "
        "may be missing."
    ]


def test_clients_are_known_by_number_and_role() -> None:
    of_run = progress(started(3), started(4, "copier", poll_limit=2.0), started(None, poll_limit=2.0))
    assert (of_run.roles, of_run.following) == ({3: "reader", 4: "copier"}, {4})
    of_run.note("worker", '{"event": "killed", "process": 3}')
    of_run.note("worker", '{"event": "stopped", "process": 4}')
    assert (of_run.killed, of_run.crashed, of_run.running) == ({3}, [], {None: "reader"})


def test_a_partition_that_could_not_be_read_has_its_reason() -> None:
    of_run = RunProgress()
    of_run.note("unread", '{"reason": "no leader"}', ("t", 3))
    of_run.note("unread", '{"reason": "deleted"}', ("t", None))
    assert of_run.unread == {("t", 3): "no leader", ("t", 0): "deleted"}


def test_settings_are_those_that_all_topics_have_in_common() -> None:
    assert RunProgress().settings == {}
    configs: list[dict[str, Any]] = [
        {"a": "1", "b": 2, "c": "3"},
        {"a": "1", "b": "2", "c": "4"},
        {"a": "1", "b": 2},
    ]
    of_run = progress(*(("topic", {"event": "created", "config": each}) for each in configs))
    assert of_run.settings == {"a": "1", "b": "2"}
    of_run.note("topic", '{"event": "deleted", "config": {}}')
    of_run.note("topic", '{"event": "created", "config": null}')
    assert of_run.settings == {"a": "1", "b": "2"}
    assert progress(("topic", {"event": "created", "config": configs[0]})).settings == {
        "a": "1",
        "b": "2",
        "c": "3",
    }


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (None, "value None is not JSON (Expecting value: line 1 column 1 (char 0))"),
        ("{", "value '{' is not JSON ("),
        ("[]", "value '[]': expected a JSON object"),
    ],
)
def test_a_value_that_is_no_object_is_named(value: str | None, problem: str) -> None:
    with pytest.raises(ValueError, match=r"^value ") as error:
        parse(value)
    assert str(error.value).startswith(problem)


def test_settings_of_the_worker_that_feeds_an_application_are_not_its_own() -> None:
    progress = RunProgress()
    progress.note("worker", '{"event": "started", "process": 1, "role": "producer", "acks": "all"}')
    assert progress.settings == {"acks": "all"}
    progress.note("worker", '{"event": "started", "process": 2, "role": "app", "instance": 0}')
    assert (progress.settings, progress.instances) == ({}, {2: 0})
