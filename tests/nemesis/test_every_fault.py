"""Every fault, on the fake cluster: its injection and its heal are proved if, and only if, they had an effect.

Each file in ``tests/nemesis/faults`` contributes the cases of its faults.
"""

from __future__ import annotations

import inspect
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from nemesis.registry import DECLARATIONS, FAULTS
from nemesis.schedule import Schedule
from nemesis.targets import parse
from pytest_kafkacheck import pause
from tests.support.fault_cases import Case
from tests.support.repetitions import repetitions
from tests.support.topologies import TOPOLOGIES

CASES: dict[str, Case] = {}
for path in sorted((Path(__file__).parent / "faults").glob("test_*.py")):
    CASES |= import_module(f"tests.nemesis.faults.{path.stem}").CASES

LASTING = sorted(name for name in FAULTS if not FAULTS[name].momentary)
NODES = [name for name in FAULTS if FAULTS[name].target_family == "nodes" and name != "remove-broker"]


def test_every_fault_has_a_case_and_texts() -> None:
    assert set(CASES) == set(FAULTS)
    for name, fault in FAULTS.items():
        assert isinstance(CASES[name].event().fault, fault)
        text = fault.__doc__ or ""
        assert text, f"{name} has no docstring"
        assert not text.startswith(f"{fault.__name__}("), (
            f"{name} has only the docstring that dataclasses generate"
        )
        assert sys.modules[fault.__module__].__doc__
        assert all(function.__doc__ for function in DECLARATIONS[name].functions.values())


def test_every_option_of_a_fault_can_be_given_to_a_function() -> None:
    for name, declared in DECLARATIONS.items():
        options = set(inspect.signature(declared.fault).parameters)
        accepted = {key for each in declared.functions.values() for key in inspect.signature(each).parameters}
        assert options - accepted <= {"shape"}, name  # each shape of a partition has a function of its own


@pytest.mark.parametrize("name", FAULTS)
def test_an_injection_and_a_heal_are_proved(fake_run, name) -> None:
    before = dict(fake_run.cluster.kafka.topic_settings), fake_run.cluster.assignment
    if name == "elect":
        fake_run.cluster.leaders["log", 0] = 3
    fake_run.carry_out(CASES[name].event())
    id_ = f"{name}-0"
    assert fake_run.effective() == {(id_, "inject"): True, (id_, "heal"): True}, fake_run.rows
    assert [row["error"] for row in fake_run.rows] == [None, None]
    assert fake_run.cluster.clean()
    assert (fake_run.cluster.kafka.topic_settings, fake_run.cluster.assignment) == before
    assert (fake_run.clients.standing, fake_run.clients.alone) == (set(), {})
    assert json.loads(json.dumps(fake_run.rows)) == fake_run.rows
    active = fake_run.value(id_, "heal")["active"]
    if FAULTS[name].momentary or name in ("crash-loop", "leader-storm"):
        assert [*active] == ["possibly"], "it was at work from time to time only"
    else:
        (began, ended), (applied, lifted) = active["possibly"], active["surely"]
        assert began <= applied <= lifted <= ended
    if not FAULTS[name].momentary:
        assert fake_run.times("heal")[id_] == pytest.approx(11, abs=0.5)


@pytest.mark.parametrize("name", FAULTS)
def test_an_injection_without_effect_is_not_proved(fake_run, name) -> None:
    if name == "elect":
        fake_run.cluster.leaders["log", 0] = 3
    CASES[name].breaks(fake_run)
    fake_run.carry_out(CASES[name].event())
    assert fake_run.effective()[f"{name}-0", "inject"] is False
    assert "surely" not in fake_run.value(f"{name}-0", "heal").get("active", {})


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.heal and name in LASTING])
def test_a_heal_without_effect_is_not_proved(fake_run, name) -> None:
    fake_run.stop.arrange(5, lambda: CASES[name].heal(fake_run))  # type: ignore[misc]
    fake_run.carry_out(CASES[name].event())
    assert fake_run.effective()[f"{name}-0", "inject"] is True
    assert fake_run.effective()[f"{name}-0", "heal"] is False


COMPOSE = [
    name for name in LASTING if name in NODES and CASES[name].lasts and not FAULTS[name].restores_state
]


@pytest.mark.parametrize("name", COMPOSE)
def test_the_same_fault_twice_at_one_node_lasts_until_the_second_heal(fake_run, name) -> None:
    """The second one, begun later, is at work until its own end."""
    seen: list[bool] = []
    fake_run.stop.arrange(16, lambda: seen.append(fake_run.cluster.clean()))
    fake_run.carry_out(CASES[name].event(lasting=10), CASES[name].event(at=6, lasting=20))
    assert seen == [False], "the first heal took the second fault away"
    assert fake_run.effective()[f"{name}-0", "heal"] is True
    assert fake_run.effective()[f"{name}-1", "heal"] is True
    assert fake_run.cluster.clean()


@pytest.mark.parametrize(
    "name", ["cpu", "memory", "loss", "delay", "cut-clients", "dns", "clock", "disk-stall"]
)
@pytest.mark.parametrize("other", ["kill", "pause"])
def test_a_node_that_is_killed_or_paused_during_another_fault_is_healed(fake_run, name, other) -> None:
    """The first fault ends while the process cannot answer, and everything is healed nevertheless."""
    fake_run.carry_out(CASES[name].event(lasting=10), CASES[other].event(at=6, lasting=20))
    assert [row["error"] for row in fake_run.rows] == [None] * 4
    assert fake_run.cluster.clean()
    assert fake_run.effective()[f"{other}-1", "heal"] is True


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("target", ["1,2", "all", "majority"])
def test_several_nodes_at_once(fake_run, name, target) -> None:
    fake_run.carry_out(CASES[name].event(target=parse(target)))
    inject = fake_run.value(f"{name}-0", "inject")
    assert all(fake_run.effective().values()), fake_run.rows
    assert len(inject["nodes"]) == {"1,2": 2, "all": 3, "majority": 2}[target]
    assert fake_run.value(f"{name}-0", "heal")["nodes"] == inject["nodes"]
    if not FAULTS[name].takes_all_nodes:
        assert set(inject["evidence"]["by_node"]) == {str(node) for node in inject["nodes"]}
    assert fake_run.cluster.clean()


SINGLY = [name for name in NODES if not FAULTS[name].takes_all_nodes]


@pytest.mark.parametrize("name", [name for name in SINGLY if name != "configure-broker"])
def test_a_fault_without_effect_at_one_node_is_not_proved(fake_run, name) -> None:
    CASES[name].breaks(fake_run)
    for node in (1, 3):
        fake_run.cluster.nodes[node].ignores.clear()
    fake_run.carry_out(CASES[name].event(target=parse("1,2,3")))
    assert fake_run.effective()[f"{name}-0", "inject"] is False
    assert set(fake_run.value(f"{name}-0", "inject")["evidence"]["by_node"]) == {"1", "2", "3"}
    assert all(node.state() == "running" for node in fake_run.cluster.nodes.values() if node.id != 2)


@pytest.mark.parametrize(("name", "action"), [
    ("kill", "start"), ("loss", "shell"), ("cpu", "limit_cpu"), ("memory", "limit_memory"), ("clock", "clear"),
    ("disk-full", "empty"), ("disk-stall", "unstall"), ("delay", "tc"), ("cut-clients", "shell"), ("dns", "nft"),
])  # fmt: skip
def test_a_heal_that_fails_at_one_node_heals_the_others_and_is_repeated(fake_run, name, action) -> None:
    two = fake_run.cluster.nodes[2]
    fake_run.stop.arrange(5, lambda: two.fails.update({action: RuntimeError("the engine is away")}))
    fake_run.stop.arrange(20, two.fails.clear)
    fake_run.carry_out(CASES[name].event(target=parse("all")), pause(3, at=30, lasting=2))
    row = fake_run.row(f"{name}-0", "heal")
    assert row["error"] == "RuntimeError: the engine is away"
    assert row["value"]["effective"] is False
    assert fake_run.cluster.clean()
    assert fake_run.effective()["pause-1", "heal"] is True


def test_faults_are_healed_although_their_heals_cannot_be_recorded(fake_run) -> None:
    """Also by faults that neither the network nor processes nor resources know of."""

    class Full(list):
        def append(self, row: Any) -> None:
            if row["value"]["stage"] == "heal":
                raise OSError("no space left on device")
            super().append(row)

    fake_run.rows = Full()
    with pytest.raises(OSError, match="no space left"):
        fake_run.carry_out(
            CASES["kill"].event(lasting=5),
            CASES["pause-client"].event(lasting=30),
            CASES["configure"].event(lasting=30),
            CASES["reassign"].event(lasting=30),
            CASES["isolate-client"].event(lasting=30, target=parse("client:2")),
        )
    assert fake_run.cluster.clean()
    assert (fake_run.clients.standing, fake_run.clients.alone) == (set(), {})
    assert fake_run.cluster.kafka.topic_settings == {"retention.ms": "1000"}
    assert fake_run.cluster.assignment == (2, 3, 1)


@pytest.mark.parametrize("name", FAULTS)
def test_json_round_trip(name) -> None:
    for options in ({}, *CASES[name].valid):
        made = CASES[name].event(fault=FAULTS[name](**options)) if options else CASES[name].event()
        schedule = Schedule.of([made])
        assert Schedule.from_json(json.loads(json.dumps(schedule.to_json()))) == schedule
        assert hash(made.fault) == hash(FAULTS[name](**made.fault.options()))
        assert {**options, **made.fault.options()}.keys() == made.fault.options().keys()


@pytest.mark.parametrize(
    ("name", "options", "said"), [(name, *wrong) for name, case in CASES.items() for wrong in case.wrong]
)
def test_bad_options_are_refused_with_name_and_value(name, options, said) -> None:
    with pytest.raises(ValueError) as refused:
        FAULTS[name](**options)
    assert said in str(refused.value)


@pytest.mark.parametrize("option", ["settings", "count", "size", "offset", "percent"])
def test_options_out_of_any_range_are_refused(option) -> None:
    name = {"settings": "configure", "count": "add-partitions", "size": "corrupt", "offset": "clock"}
    value = {"settings": {"min.insync.replicas": [1]}}.get(option, 10**400)
    with pytest.raises(ValueError, match="expected"):
        FAULTS[name.get(option, "loss")](**{option: value})


MIXED = st.lists(
    st.builds(
        lambda name, at, lasting, node: CASES[name].event(
            at=at, lasting=lasting, **({"target": parse(node)} if name in NODES else {})
        ),
        st.sampled_from(sorted(set(FAULTS) - {"add-broker", "remove-broker", "rebalance"})),
        st.integers(0, 30),
        st.integers(1, 20),
        st.sampled_from(["1", "2", "2,3", "all", "leader"]),
    ),
    max_size=6,
)


@settings(max_examples=repetitions(150, shorter=50), deadline=None)
@given(MIXED, st.none() | st.integers(1, 45))
def test_any_combination_of_faults_leaves_nothing_behind_stopped_or_not(
    new_fake_run, events, stopped
) -> None:
    schedule = Schedule.of(events)
    try:
        schedule.check(TOPOLOGIES["three"])
    except ValueError:
        reject()
    fake_run = new_fake_run()
    if stopped is not None:
        fake_run.stop.arrange(stopped, fake_run.stop.set)
    fake_run.carry_out(*schedule.events)
    assert fake_run.cluster.clean()
    assert (fake_run.clients.standing, fake_run.clients.alone) == (set(), {})
    assert sorted(fake_run.clients.running.values()) == ["producer", "producer", "reader", "session"]
    assert fake_run.cluster.kafka.topic_settings == {"retention.ms": "1000"}
    assert fake_run.cluster.kafka.broker_settings.get(1, {}) == {}
    assert fake_run.cluster.assignment == (2, 3, 1)
    assert "heal-all" not in {row["f"] for row in fake_run.rows}
    assert set(fake_run.effective()) == {
        (e.id, stage) for e in schedule.events for stage in ("inject", "heal")
    }
