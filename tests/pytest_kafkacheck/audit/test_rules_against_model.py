"""The rules say of every combination of settings what a model of Kafka's replication shows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from pytest_kafkacheck.audit.assess import all_rules, outcome
from pytest_kafkacheck.audit.configuration import Configuration
from pytest_kafkacheck.audit.rule import Rule
from tests.support.replication.scripts import SCRIPTS, play

NOT_MODELLED = (
    "no-controller-quorum",
    "voter-down",
    "two-voters-down",
    "only-voter-wiped",
    "restart-empties-the-only-copy",
    "restart-empties-the-only-voter",
    "truncation-to-high-watermark",
    "minimum-above-replication",
)
"""Controllers, disks that go with a pod, replication before leader epochs, a minimum above the replication factor:
other tests have them."""

SECOND_REASONS = {
    ("isr-of-one-wiped", "no-leader"),
    ("isr-of-one-wiped", "unclean-election-ignored"),
    ("last-replica-power-loss", "acknowledged-alone"),
}
"""Rules that apply to an event only together with others of at least the same effect."""

BROKERS: tuple[dict[str, Any], ...] = (
    {"version": "2.8.2"},
    {"version": "3.8.1", "mode": "kraft"},
    {"version": "3.9.2", "mode": "kraft"},
    {"version": "4.1.1"},
    {"version": "4.1.1", "elr": False},
)


def configurations(event: str) -> Iterator[Configuration]:
    for brokers, replication, acks, unclean, flush in product(
        BROKERS, (1, 2, 3, 4), ("all", 1, 0), (False, True), (None, 1)
    ):
        for min_isr in range(1, replication + 1):
            for in_rack in range(1, replication + 1) if event == "rack-lost" else (None,):
                yield Configuration(
                    **brokers,
                    replication=replication,
                    min_isr=min_isr,
                    acks=acks,  # type: ignore[arg-type]
                    unclean=unclean,
                    flush_messages=flush,
                    replicas_in_rack=in_rack,
                )


@pytest.mark.parametrize("event", SCRIPTS)
def test_rules_agree_with_the_model(event: str) -> None:
    wrong = []
    for configuration in configurations(event):
        said, seen = outcome(configuration, event), play(configuration, event)
        # Everything is down in these two, so nothing is said of what is refused.
        is_down = event in ("power-loss", "last-replica-power-loss")
        shown = "loses" if seen.lost else "unavailable" if seen.refused and not is_down else "keeps"
        if said.effect != shown:
            wrong.append(f"{said.effect}, but the model {shown}: {configuration}")
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:10])


@pytest.mark.parametrize("event", SCRIPTS)
def test_what_mends_a_loss_makes_the_model_keep_everything(event: str) -> None:
    mended = 0
    for configuration in configurations(event):
        said = outcome(configuration, event)
        if said.effect != "loses":
            continue
        assert said.mends, f"nothing mends {configuration}"
        for mend in said.mends:
            configuration = mend.apply(configuration)
        if event == "rack-lost" and configuration.replicas_in_rack is None:
            continue
        assert not play(configuration, event).lost, f"still lost: {configuration}"
        mended += 1
    assert mended


@pytest.mark.parametrize("event", SCRIPTS)
def test_no_setting_that_mends_is_superfluous(event: str) -> None:
    for configuration in configurations(event):
        said = outcome(configuration, event)
        if said.effect != "loses" or len(said.mends) < 2:
            continue
        for left_out in said.mends:
            partly = configuration
            for mend in said.mends:
                partly = partly if mend is left_out else mend.apply(partly)
            assert outcome(partly, event).effect == "loses", (
                f"{left_out.setting} is not needed: {configuration}"
            )


@pytest.mark.parametrize(
    ("event", "rule"),
    [
        (event, rule)
        for event in SCRIPTS
        for rule in all_rules()
        if event in rule.events and rule.effect in ("loses", "unavailable") and rule.name not in NOT_MODELLED
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_without_the_rule_an_effect_would_be_missed(event: str, rule: Rule) -> None:
    found = [outcome(configuration, event) for configuration in configurations(event)]
    if (event, rule.name) in SECOND_REASONS:
        assert not any(each.rules == (rule,) for each in found), "it is the only reason somewhere"
        return
    assert any(each.rules == (rule,) for each in found)
