"""Subjects of an audit: settings that could not be read."""

from __future__ import annotations

from pytest_kafkacheck.audit.report import Subject


def effects(subject: Subject) -> dict[str, str]:
    return {each.event: each.effect for each in subject.outcomes}


def test_what_holds_for_every_value_of_an_unknown_setting_is_said() -> None:
    unknown = {"min_isr": (1, 2, 3), "unclean": (False, True)}
    certain = Subject(
        name="orders", settings={"replication": 3, "acks": 0}, unknown=unknown, events=("leader-killed",)
    )
    assert effects(certain) == {"leader-killed": "loses"}
    uncertain = Subject(
        name="orders",
        settings={"replication": 3, "acks": "all"},
        unknown=unknown,
        events=("isr-of-one-killed",),
    )
    assert effects(uncertain) == {"isr-of-one-killed": "unknown"}


def test_the_reason_names_the_settings_that_decide_and_no_others() -> None:
    subject = Subject(
        name="orders",
        settings={"replication": 3, "acks": "all"},
        unknown={"min_isr": (2, 3), "unclean": (False, True)},
        events=("leader-killed",),
    )
    (found,) = subject.outcomes
    assert found.why == (
        "it depends on min.insync.replicas: keeps with min.insync.replicas=2; unavailable with min.insync.replicas=3",
    )


def test_settings_that_decide_together_are_named_together() -> None:
    subject = Subject(
        name="group",
        settings={"replication": 3, "auto_offset_reset": "earliest"},
        unknown={"commit": ("auto", "auto-asynchronous")},
        events=("consumer-crash",),
    )
    (found,) = subject.outcomes
    assert found.effect == "unknown"
    assert found.why[0].endswith("keeps with commit=auto; loses with commit=auto-asynchronous")
