"""Every fault of the catalogue: done and seen, undone and seen, and never claimed where nothing happened."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import pytest_kafkacheck as api
from nemesis.event import Event
from nemesis.registry import FAULTS
from nemesis.schedule import Schedule
from nemesis.targets import parse
from nemesis.topology import Topology
from tests.support.topologies import GROUNDS

Make = Callable[..., Event]
Break = Callable[[Any], object]


def on_node(*actions: str) -> Break:
    """Every node ignores these."""
    return lambda drama: [node.ignores.update(actions) for node in drama.cluster.nodes.values()]


def on_kafka(*actions: str) -> Break:
    return lambda drama: drama.cluster.kafka.ignores.update(actions)


def on_clients(*actions: str) -> Break:
    return lambda drama: drama.clients.ignores.update(actions)


@dataclass(frozen=True)
class Case:
    """make: takes `at` and, unless momentary, `lasting`. breaks, heal: make the injection, or the heal, vain."""

    make: Make
    breaks: Break
    heal: Break | None = None
    options: tuple[dict[str, Any], ...] = ()
    wrong: tuple[tuple[dict[str, Any], str], ...] = ()


def _unelectable(drama: Any) -> None:
    drama.cluster.kafka.ignores.add("elect")


def _nft_ignored(drama: Any) -> None:
    for node in drama.cluster.nodes.values():
        node.ignores_nft = True


CASES: dict[str, Case] = {
    "kill": Case(lambda **t: api.kill(1, **t), on_node("kill"), on_node("start")),
    "stop": Case(lambda **t: api.stop(1, **t), on_node("stop"), on_node("start")),
    "restart": Case(
        lambda **t: api.restart(1, **t), on_node("start"), on_node("start"),
        ({"clean": False},), (({"clean": 1}, "restart clean=1: expected True or False"),),
    ),
    "rolling-restart": Case(lambda **t: api.rolling_restart(**t), on_node("start"), on_node("start")),
    "pause": Case(lambda **t: api.pause(1, **t), on_node("freeze")),
    "crash-loop": Case(
        lambda **t: api.crash_loop(1, **t), on_node("kill"), on_node("start"),
        ({"every": 3.5},), (({"every": 0}, "crash-loop every=0: expected a number, above 0"),),
    ),
    "oom": Case(lambda **t: api.oom(1, **t), on_node("limit_memory"), on_node("start")),
    "isolate": Case(lambda **t: api.isolate(1, **t), _nft_ignored, _nft_ignored),
    "partition": Case(
        lambda **t: api.partition(1, **t), _nft_ignored, _nft_ignored,
        (
            {"plane": "controller", "one_way": "in"},
            {"ports": frozenset({9092, 9093})},
            {"shape": "majority-ring"},
        ),
        (
            ({"plane": "data"}, "partition plane='data': allowed are None, 'replication', 'controller'"),
            ({"one_way": "up"}, "partition one_way='up': allowed are None, 'in', 'out'"),
            ({"shape": "star"}, "partition shape='star': allowed are 'apart'"),
            ({"ports": [0]}, "partition ports=[0]: expected one or more numbers from 1 to 65535"),
            ({"ports": [1], "plane": "controller"}, "allowed is one of the two"),
        ),
    ),
    "cut-clients": Case(
        lambda **t: api.cut_clients(1, **t), on_node("nft"), on_node("nft"),
        ({"one_way": "in"},), (({"one_way": "up"}, "cut-clients one_way='up': allowed are None, 'in', 'out'"),),
    ),
    "reset": Case(lambda **t: api.reset(1, **t), on_node("nft")),
    "loss": Case(
        lambda **t: api.loss(1, **t), on_node("nft"), on_node("nft"),
        ({"percent": 1.5},), (({"percent": 101}, "loss percent=101: expected a number, above 0, 100 at most"),),
    ),
    "bandwidth": Case(
        lambda **t: api.bandwidth(1, **t), on_node("tc"), on_node("tc"),
        ({"kbit": 64},),
        (({"kbit": 1}, "kbit=1: expected a number, 8 or more, 1e+08 at most"), ({"kbit": 2e8}, "1e+08 at most")),
    ),
    "delay": Case(
        lambda **t: api.delay(1, **t), on_node("tc"), on_node("tc"),
        ({"ms": 5, "jitter_ms": 2},), (({"ms": -1}, "delay ms=-1"), ({"jitter_ms": None}, "delay jitter_ms=None")),
    ),
    "duplicate": Case(
        lambda **t: api.duplicate(1, **t), on_node("tc"), on_node("tc"),
        ({"percent": 3},), (({"percent": 0}, "duplicate percent=0: expected a number, above 0"),),
    ),
    "reorder": Case(
        lambda **t: api.reorder(1, **t), on_node("tc"), on_node("tc"),
        ({"percent": 3, "ms": 4},), (({"percent": "5"}, "reorder percent='5'"), ({"ms": 0}, "reorder ms=0")),
    ),
    "dns": Case(lambda **t: api.dns(1, **t), on_node("nft"), on_node("nft")),
    "cpu": Case(
        lambda **t: api.cpu(1, **t), on_node("limit_cpu"), on_node("limit_cpu"),
        ({"cores": 0.5},), (({"cores": 0}, "cpu cores=0: expected a number, 0.01 or more"),),
    ),
    "memory": Case(
        lambda **t: api.memory(1, **t), on_node("limit_memory"), on_node("limit_memory"),
        ({"spare_mb": 2},), (({"spare_mb": 0.5}, "memory spare_mb=0.5: expected a whole number, 1 or more"),),
    ),
    "disk-full": Case(lambda **t: api.disk_full(1, **t), on_node("fill"), on_node("empty")),
    "disk-stall": Case(lambda **t: api.disk_stall(1, **t), on_node("stall")),
    "power-loss": Case(lambda **t: api.power_loss(1, **t), on_node("shut_down"), on_node("start")),
    "corrupt": Case(
        lambda **t: api.corrupt(1, **t), on_node("damage"), on_node("start"),
        ({"how": "flip", "size": 7},),
        (({"how": "eat"}, "corrupt how='eat': allowed are 'truncate', 'flip'"), ({"size": 0}, "corrupt size=0")),
    ),
    "wipe": Case(lambda **t: api.wipe(1, **t), on_node("wipe"), on_node("start")),
    "log-dir-failure": Case(lambda **t: api.log_dir_failure(1, **t), on_node("shut_down"), on_node("start")),
    "clock": Case(
        lambda **t: api.clock(1, offset=60, **t), on_node("set"), on_node("clear"),
        ({"offset": -60.5, "ppm": 3},),
        (({}, "clock: give it an offset"), ({"offset": float("nan")}, "offset=nan"), ({"ppm": -2e6}, "clock ppm")),
    ),
    "elect": Case(
        lambda **t: api.elect(**t), on_kafka("elect"), None,
        ({"unclean": True},), (({"unclean": "no"}, "elect unclean='no': expected True or False"),),
    ),
    "leader-storm": Case(
        lambda **t: api.leader_storm(**t), on_kafka("elect"), on_kafka("reassign"),
        ({"every": 0.25},), (({"every": -1}, "leader-storm every=-1: expected a number, above 0"),),
    ),
    "reassign": Case(lambda **t: api.reassign(**t), on_kafka("reassign"), on_kafka("reassign")),
    "add-broker": Case(lambda **t: api.add_broker(**t), on_kafka("add_broker"), on_kafka("remove_broker")),
    "remove-broker": Case(lambda **t: api.remove_broker(1, **t), on_kafka("remove_broker"), on_kafka("add_broker")),
    "recreate-topic": Case(lambda **t: api.recreate_topic(**t), on_kafka("recreate")),
    "add-partitions": Case(
        lambda **t: api.add_partitions(**t), on_kafka("add_partitions"), None,
        ({"count": 4},), (({"count": 0}, "add-partitions count=0: expected a whole number, 1 or more"),),
    ),
    "delete-records": Case(
        lambda **t: api.delete_records(**t), on_kafka("delete_records"), None,
        ({"share": 0.25},), (({"share": 2}, "delete-records share=2: expected a number, above 0, 1 at most"),),
    ),
    "configure": Case(
        lambda **t: api.configure({"min.insync.replicas": 1, "retention.ms": 7}, **t),
        on_kafka("configure_topic"), on_kafka("configure_topic"),
        ({"settings": {"a": 1, "b": True}},), (({}, "configure settings={}: expected settings by name"),),
    ),
    "configure-broker": Case(
        lambda **t: api.configure_broker({"log.cleaner.threads": 2}, 1, **t),
        on_kafka("configure_broker"), on_kafka("configure_broker"),
        ({"settings": {"a": "x"}},), (({"settings": {1: 2}}, "configure-broker settings={1: 2}"),),
    ),
    "delete-controller": Case(lambda **t: api.delete_controller(**t), on_kafka("delete_controller")),
    "fence": Case(lambda **t: api.fence("transaction:transfer", **t), on_kafka("fence")),
    "rebalance": Case(lambda **t: api.rebalance("group:readers", **t), on_kafka("rebalance")),
    "kill-client": Case(lambda **t: api.kill_client("client:0", **t), on_clients("kill"), on_clients("replace")),
    "pause-client": Case(lambda **t: api.pause_client("client:0", **t), on_clients("pause"), on_clients("resume")),
    "isolate-client": Case(
        lambda **t: api.isolate_client("client:0", **t), on_clients("isolate"), on_clients("connect")
    ),
}  # fmt: skip

LASTING = sorted(name for name in FAULTS if not FAULTS[name].momentary)
NODES = [name for name in FAULTS if FAULTS[name].target_family == "nodes" and name != "remove-broker"]


def event(name: str, at: float = 1.0, lasting: float = 10.0, **changes: Any) -> Event:
    made = CASES[name].make(at=at) if FAULTS[name].momentary else CASES[name].make(at=at, lasting=lasting)
    return replace(made, **changes)


def test_every_fault_has_a_case_here_a_function_and_a_text() -> None:
    assert set(CASES) == set(FAULTS)
    for name, fault in FAULTS.items():
        assert isinstance(event(name).fault, fault)
        assert name.replace("-", "_") in vars(api), f"{name} has no function"
        own = fault.__doc__ or ""
        assert own, f"{name} has no text"
        assert not own.startswith(f"{fault.__name__}("), f"{name} has only the text that dataclasses give"
        assert sys.modules[fault.__module__].__doc__


def test_every_option_of_a_fault_can_be_given_to_its_function() -> None:
    for name, fault in FAULTS.items():
        function = getattr(api, name.replace("-", "_"))
        missing = set(inspect.signature(fault).parameters) - set(inspect.signature(function).parameters)
        assert missing <= {"shape"}, f"{name}: {missing}"  # shapes have functions of their own


@pytest.mark.parametrize("name", FAULTS)
def test_done_and_seen_then_undone_and_seen(drama, name) -> None:
    before = dict(drama.cluster.kafka.topic_settings), drama.cluster.assignment
    if name == "elect":
        drama.cluster.leaders["log", 0] = 3
    drama.play(event(name))
    id_ = f"{name}-0"
    assert drama.effective() == {(id_, "inject"): True, (id_, "heal"): True}, drama.rows
    assert [row["error"] for row in drama.rows] == [None, None]
    assert drama.cluster.clean()
    assert (drama.cluster.kafka.topic_settings, drama.cluster.assignment) == before
    assert (drama.clients.standing, drama.clients.alone) == (set(), {})
    assert json.loads(json.dumps(drama.rows)) == drama.rows
    possibly, surely = (drama.value(id_, "heal")["active"][which] for which in ("possibly", "surely"))
    assert possibly[0] <= surely[0] <= surely[1] <= possibly[1]
    if not FAULTS[name].momentary:
        assert drama.times("heal")[id_] == pytest.approx(11, abs=0.5)


@pytest.mark.parametrize("name", FAULTS)
def test_what_did_not_happen_is_not_claimed(drama, name) -> None:
    if name == "elect":
        drama.cluster.leaders["log", 0] = 3
    CASES[name].breaks(drama)
    drama.play(event(name))
    assert drama.effective()[f"{name}-0", "inject"] is False
    assert "surely" not in drama.value(f"{name}-0", "heal").get("active", {})


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.heal and name in LASTING])
def test_a_heal_that_did_not_happen_is_not_claimed(drama, name) -> None:
    drama.stop.arrange(5, lambda: CASES[name].heal(drama))  # type: ignore[misc]
    drama.play(event(name))
    assert drama.effective()[f"{name}-0", "inject"] is True
    assert drama.effective()[f"{name}-0", "heal"] is False


def test_a_client_tool_that_is_missing_is_no_proof_of_silence(drama) -> None:
    for node in drama.cluster.nodes.values():
        node.ignores |= {"nft", "getent"}
    drama.play(event("dns"))
    assert drama.effective()["dns-0", "inject"] is False


def test_a_shutdown_that_had_to_be_forced_was_none(drama, monkeypatch) -> None:
    for node in drama.cluster.nodes.values():
        monkeypatch.setattr(node, "stop", node.kill)
    drama.play(event("restart"), event("rolling-restart", at=20), event("stop", at=60))
    assert [drama.effective()[each, "inject"] for each in ("restart-0", "rolling-restart-1", "stop-2")] == [
        False
    ] * 3


# Overlaps at one node


# A crash loop is up half of its time, and a process that is gone cannot be killed for want of memory.
COMPOSE = [
    name
    for name in LASTING
    if FAULTS[name].target_family == "nodes"
    and not FAULTS[name].restores_state
    and name not in ("remove-broker", "crash-loop", "oom")
]


@pytest.mark.parametrize("name", COMPOSE)
def test_two_of_a_kind_at_one_node_compose(drama, name) -> None:
    """The second one, begun later, is at work until its own end."""
    seen: list[bool] = []
    drama.stop.arrange(16, lambda: seen.append(drama.cluster.clean()))
    drama.play(event(name, lasting=10), event(name, at=6, lasting=20))
    assert seen == [False], "the first heal took the second fault away"
    assert drama.effective()[f"{name}-0", "heal"] is True
    assert drama.effective()[f"{name}-1", "heal"] is True
    assert drama.cluster.clean()


def test_wishes_for_a_resource_combine(drama) -> None:
    node, seen = drama.cluster.nodes[1], []
    for moment in (3, 8, 14):
        drama.stop.arrange(moment, lambda: seen.append((node.cores, list(node.qdiscs))))
    drama.play(
        api.cpu(1, cores=0.5, at=0, lasting=20), api.cpu(1, cores=0.2, at=5, lasting=5),
        api.delay(1, ms=100, at=1, lasting=18), api.bandwidth(1, kbit=64, at=6, lasting=5),
    )  # fmt: skip
    assert [cores for cores, _ in seen] == [0.5, 0.2, 0.5]
    assert [len(qdiscs) for _, qdiscs in seen] == [1, 2, 1]
    assert all(drama.effective().values())
    assert drama.cluster.clean()


@pytest.mark.parametrize(
    "name", ["cpu", "memory", "loss", "delay", "cut-clients", "dns", "clock", "disk-stall"]
)
@pytest.mark.parametrize("other", ["kill", "pause"])
def test_a_node_that_dies_or_stands_still_during_a_lighter_fault(drama, name, other) -> None:
    """The lighter fault ends while nobody can be asked, and everything is healed all the same."""
    drama.play(event(name, lasting=10), event(other, at=6, lasting=20))
    assert [row["error"] for row in drama.rows] == [None] * 4
    assert drama.cluster.clean()
    assert drama.effective()[f"{other}-1", "heal"] is True


def test_a_broker_that_the_pressure_killed_is_started_again(drama) -> None:
    node = drama.cluster.nodes[1]
    drama.stop.arrange(6, lambda: node.die(137, of_memory=True))
    drama.play(event("memory"))
    assert drama.cluster.clean()


def test_a_full_disk_is_emptied_before_its_broker_starts_again(drama) -> None:
    node, usual, started_full = drama.cluster.nodes[1], drama.cluster.nodes[1].start, []
    node.start = lambda: (started_full.append(node.disk.full), usual())
    drama.stop.arrange(3, lambda: node.die(1))
    drama.play(event("disk-full"), event("disk-full", at=5, lasting=20))
    assert started_full == [False]
    assert drama.cluster.clean()


def test_an_end_before_the_end_is_told_and_the_window_makes_no_promise(drama) -> None:
    node = drama.cluster.nodes[1]
    drama.stop.arrange(5, node.filters.clear)
    drama.play(event("loss"))
    value = drama.value("loss-0", "heal")
    assert value["effective"] is False
    assert "ended_early" in value["evidence"]
    assert set(value["active"]) == {"possibly"}


# Many nodes


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("target", ["1,2", "all", "majority"])
def test_many_nodes_at_once(drama, name, target) -> None:
    drama.play(event(name, target=parse(target)))
    inject = drama.value(f"{name}-0", "inject")
    assert all(drama.effective().values()), drama.rows
    assert len(inject["nodes"]) == {"1,2": 2, "all": 3, "majority": 2}[target]
    assert drama.value(f"{name}-0", "heal")["nodes"] == inject["nodes"]
    if not FAULTS[name].takes_all_nodes:
        assert set(inject["evidence"]["by_node"]) == {str(node) for node in inject["nodes"]}
    assert drama.cluster.clean()


SINGLY = [name for name in NODES if not FAULTS[name].takes_all_nodes]


@pytest.mark.parametrize("name", [name for name in SINGLY if name != "configure-broker"])
def test_one_node_without_effect_makes_the_whole_without_effect(drama, name) -> None:
    CASES[name].breaks(drama)
    for node in (1, 3):
        drama.cluster.nodes[node].ignores.clear()
    drama.play(event(name, target=parse("1,2,3")))
    assert drama.effective()[f"{name}-0", "inject"] is False
    assert set(drama.value(f"{name}-0", "inject")["evidence"]["by_node"]) == {"1", "2", "3"}
    assert all(node.state() == "running" for node in drama.cluster.nodes.values() if node.id != 2)


@pytest.mark.parametrize(("name", "action"), [
    ("kill", "start"), ("loss", "shell"), ("cpu", "limit_cpu"), ("memory", "limit_memory"), ("clock", "clear"),
    ("disk-full", "empty"), ("disk-stall", "unstall"), ("delay", "tc"), ("cut-clients", "shell"), ("dns", "nft"),
])  # fmt: skip
def test_a_heal_that_fails_at_one_node_heals_the_others_and_is_tried_again(drama, name, action) -> None:
    two = drama.cluster.nodes[2]
    drama.stop.arrange(5, lambda: two.fails.update({action: RuntimeError("the engine is away")}))
    drama.stop.arrange(20, two.fails.clear)
    drama.play(event(name, target=parse("all")), api.pause(3, at=30, lasting=2))
    row = drama.row(f"{name}-0", "heal")
    assert row["error"] == "RuntimeError: the engine is away"
    assert row["value"]["effective"] is False
    assert drama.cluster.clean()
    assert drama.effective()["pause-1", "heal"] is True


@pytest.mark.parametrize("asked", ["paused", "isolated"])
def test_a_client_is_let_go_even_if_nobody_can_say_how_it_is(drama, monkeypatch, asked) -> None:
    name = {"paused": "pause-client", "isolated": "isolate-client"}[asked]

    def fail(_: int) -> bool:
        raise OSError("gone")

    drama.stop.arrange(5, lambda: monkeypatch.setattr(drama.clients, asked, fail))
    drama.play(event(name))
    assert drama.row(f"{name}-0", "heal")["error"]
    assert (drama.clients.standing, drama.clients.alone) == (set(), {})


def test_what_could_not_be_recorded_is_healed_all_the_same(drama) -> None:
    """Also by faults that neither the network nor processes nor resources know of."""

    class Full(list):
        def append(self, row: Any) -> None:
            if row["value"]["stage"] == "heal":
                raise OSError("no space left on device")
            super().append(row)

    drama.rows = Full()
    with pytest.raises(OSError, match="no space left"):
        drama.play(
            event("kill", lasting=5), event("pause-client", lasting=30), event("configure", lasting=30),
            event("reassign", lasting=30), event("isolate-client", lasting=30, target=parse("client:2")),
        )  # fmt: skip
    assert drama.cluster.clean()
    assert (drama.clients.standing, drama.clients.alone) == (set(), {})
    assert drama.cluster.kafka.topic_settings == {"retention.ms": "1000"}
    assert drama.cluster.assignment == (2, 3, 1)


def test_a_heal_of_kafka_that_nobody_answered_is_tried_again_at_the_end(drama) -> None:
    kafka = drama.cluster.kafka
    drama.stop.arrange(5, lambda: kafka.silent.add("configure_topic"))
    drama.stop.arrange(20, kafka.silent.clear)
    drama.play(event("configure"), api.pause(3, at=30, lasting=2))
    assert drama.row("configure-0", "heal")["error"].startswith("OSError")
    assert kafka.topic_settings == {"retention.ms": "1000"}


def test_a_heal_of_kafka_that_nobody_ever_answers_is_told_at_the_end(drama) -> None:
    drama.stop.arrange(5, lambda: drama.cluster.kafka.silent.add("configure_topic"))
    drama.play(event("configure"))
    assert drama.rows[-1]["f"] == "heal-all", "what is left is told"
    assert "configure-0" in drama.rows[-1]["error"]


def test_a_process_that_a_failed_restart_stopped_comes_up_at_once(drama, monkeypatch) -> None:
    node = drama.cluster.nodes[1]
    monkeypatch.setattr(node, "exit_code", lambda: 1 // 0)
    seen: list[str] = []
    drama.stop.arrange(3, lambda: seen.append(node.state()))
    drama.play(event("restart"), event("rolling-restart", at=20), api.pause(2, at=80, lasting=1))
    assert drama.row("restart-0", "inject")["error"].startswith("ZeroDivisionError")
    assert seen == ["running"]
    assert drama.effective()["restart-0", "heal"] is True
    assert drama.effective()["rolling-restart-1", "heal"] is True
    assert drama.effective()["pause-2", "inject"] is True


def test_a_memory_limit_that_was_refused_is_wanted_no_longer(drama) -> None:
    node = drama.cluster.nodes[1]
    node.fails["limit_memory"] = OSError("below use")
    drama.stop.arrange(3, node.fails.clear)
    drama.play(event("oom"), api.loss(2, at=15, lasting=5))
    assert drama.row("oom-0", "inject")["error"] == "OSError: below use"
    assert "not required" not in json.dumps(drama.value("loss-1", "heal")), "the oom still wants something"


# Pulses


def test_a_crash_loop_kills_again_and_again(drama) -> None:
    drama.play(api.crash_loop(1, every=2, at=1, lasting=9))
    node = drama.cluster.nodes[1]
    assert [step for step in node.log if step in ("kill", "start")] == ["kill", "start"] * 3
    assert drama.value("crash-loop-0", "heal")["evidence"]["kills"] == 3
    assert all(drama.effective().values())


def test_a_crash_loop_counts_only_what_it_killed(drama) -> None:
    node = drama.cluster.nodes[1]
    drama.stop.arrange(4, lambda: node.ignores.add("kill"))
    drama.play(api.crash_loop(1, every=2, at=1, lasting=9))
    assert drama.value("crash-loop-0", "heal")["evidence"]["kills"] == 1


def test_a_leader_storm_goes_round_and_ends_where_it_began(drama) -> None:
    seen: set[int | None] = set()
    for tenth in range(10, 60):
        drama.stop.arrange(tenth / 10, lambda: seen.add(drama.cluster.leader("log", 0)))
    drama.play(api.leader_storm(every=0.5, at=1, lasting=5))
    assert seen == {1, 2, 3}
    assert drama.value("leader-storm-0", "heal")["evidence"]["leader_epochs"] >= 9
    assert drama.cluster.assignment == (2, 3, 1)


def test_beats_that_fail_do_not_end_the_run(drama) -> None:
    kafka = drama.cluster.kafka
    drama.stop.arrange(2, lambda: kafka.silent.add("elect"))
    drama.play(api.leader_storm(every=0.5, at=1, lasting=5), api.kill(1, at=3, lasting=1))
    assert all(drama.effective().values())


def test_no_beat_follows_the_heal_that_was_due_at_the_same_time(drama) -> None:
    # The restart ends at a time where began + lasting, rounded, lies between the last beat and the heal.
    drama.play(event("leader-storm", at=1, lasting=1), event("rolling-restart", at=0))
    assert drama.cluster.assignment == (2, 3, 1)


def test_beats_stop_with_the_run(drama) -> None:
    drama.stop.arrange(4, drama.stop.set)
    drama.play(api.crash_loop(1, every=2, at=1, lasting=100))
    assert drama.stop.now < 105
    assert drama.cluster.clean()


# As values


@pytest.mark.parametrize("name", FAULTS)
def test_json_round_trip(name) -> None:
    for options in ({}, *CASES[name].options):
        made = event(name, fault=FAULTS[name](**options)) if options else event(name)
        schedule = Schedule.of([made])
        assert Schedule.from_json(json.loads(json.dumps(schedule.to_json()))) == schedule
        assert hash(made.fault) == hash(FAULTS[name](**made.fault.options()))
        assert {**options, **made.fault.options()}.keys() == made.fault.options().keys()


@pytest.mark.parametrize(
    ("name", "options", "said"), [(name, *wrong) for name, case in CASES.items() for wrong in case.wrong]
)
def test_bad_options_are_refused_by_name_and_value(name, options, said) -> None:
    with pytest.raises(ValueError) as refused:
        FAULTS[name](**options)
    assert said in str(refused.value)


GROUND = Topology(
    brokers=(1, 2, 3), controllers=(101, 102, 103), topics={"log": 3, "more": 1}, replicas=3, disks=True,
    clients={"producer": 2, "reader": 1},
)  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (api.kill(1, at=0, lasting=5), api.pause(1, at=2, lasting=5)),
        (api.kill("all", at=0, lasting=5), api.pause("leader", at=2, lasting=5)),
        (api.disk_stall("1,2", at=0, lasting=5), api.kill("2,3", at=2, lasting=5)),
        (api.kill("controllers", at=0, lasting=5), api.restart(101, at=2)),
        (api.kill_client("client:0", at=0, lasting=5), api.pause_client("client:0", at=2, lasting=5)),
        (api.kill_client("producers", at=0, lasting=5), api.pause_client("producer", at=2, lasting=5)),
        (api.kill_client("clients", at=0, lasting=5), api.pause_client("client:1", at=2, lasting=5)),
        (api.reassign(at=0, lasting=5), api.leader_storm("partition:log-0", at=2, lasting=5)),
        (api.reassign(at=0, lasting=5), api.reassign(at=2, lasting=5)),
        (api.reassign(at=0, lasting=5), api.reassign(after="acks:100", lasting=5)),
        (api.configure({"a": 1}, at=0, lasting=5), api.configure({"b": 1, "a": 2}, at=2, lasting=5)),
        (
            api.configure_broker({"a": 1}, "leader", at=0, lasting=5),
            api.configure_broker({"a": 1}, 2, lasting=9),
        ),
    ],
)
def test_faults_that_would_undo_each_other_are_refused_together(first, second) -> None:
    with pytest.raises(ValueError) as refused:
        Schedule.of([first, second]).check(GROUND)
    assert "-0'" in str(refused.value)
    assert "-1'" in str(refused.value)
    if second.after is None:
        Schedule.of([first, replace(second, at=first.end)]).check(GROUND)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (api.pause(1, at=0, lasting=5), api.kill(1, at=2, lasting=5)),
        (api.kill(1, at=0, lasting=5), api.kill(1, at=2, lasting=5)),
        (api.kill(1, at=0, lasting=5), api.pause(2, at=2, lasting=5)),
        (api.kill("all", at=0, lasting=5), api.pause(101, at=2, lasting=5)),
        (api.kill("all", at=0, lasting=5), api.pause("controller", at=2, lasting=5)),
        (api.kill(1, at=0, lasting=5), api.cpu(1, at=2, lasting=5)),
        (api.kill_client("producers", at=0, lasting=5), api.pause_client("reader", at=2, lasting=5)),
        (api.reassign(at=0, lasting=5), api.reassign("partition:more-0", at=2, lasting=5)),
        (api.configure({"a": 1}, at=0, lasting=5), api.configure({"b": 1}, at=2, lasting=5)),
        (api.configure_broker({"a": 1}, 1, at=0, lasting=5), api.configure_broker({"a": 1}, 2, lasting=9)),
    ],
)
def test_others_may_overlap(first, second) -> None:
    Schedule.of([first, second]).check(GROUND)


# All together

MIXED = st.lists(
    st.builds(
        lambda name, at, lasting, node: event(
            name, at=at, lasting=lasting, **({"target": parse(node)} if name in NODES else {})
        ),
        st.sampled_from(sorted(set(FAULTS) - {"add-broker", "remove-broker", "rebalance"})),
        st.integers(0, 30),
        st.integers(1, 20),
        st.sampled_from(["1", "2", "2,3", "all", "leader"]),
    ),
    max_size=6,
)


@settings(max_examples=150, deadline=None)
@given(MIXED, st.none() | st.integers(1, 45))
def test_any_faults_together_stopped_or_not_leave_nothing(new_drama, events, stopped) -> None:
    schedule = Schedule.of(events)
    try:
        schedule.check(replace(GROUND, brokers=(1, 2, 3), controllers=(1, 2, 3)))
    except ValueError:
        reject()
    drama = new_drama()
    if stopped is not None:
        drama.stop.arrange(stopped, drama.stop.set)
    drama.play(*schedule.events)
    assert drama.cluster.clean()
    assert (drama.clients.standing, drama.clients.alone) == (set(), {})
    assert sorted(drama.clients.running.values()) == ["probe", "producer", "producer", "reader", "session"]
    assert drama.cluster.kafka.topic_settings == {"retention.ms": "1000"}
    assert drama.cluster.kafka.broker_settings.get(1, {}) == {}
    assert drama.cluster.assignment == (2, 3, 1)
    assert "heal-all" not in {row["f"] for row in drama.rows}
    assert set(drama.effective()) == {(e.id, stage) for e in schedule.events for stage in ("inject", "heal")}


@pytest.mark.parametrize("where", ["pause", "isolate", "resume", "connect", "replace"])
def test_an_interrupt_leaves_no_client_behind(drama, monkeypatch, where) -> None:
    usual = getattr(drama.clients, where)
    calls: list[int] = []

    def interrupted(process: int) -> Any:
        if not calls:
            calls.append(1)
            raise KeyboardInterrupt
        return usual(process)

    monkeypatch.setattr(drama.clients, where, interrupted)
    with pytest.raises(KeyboardInterrupt):
        drama.play(
            event("pause-client", target=parse("client:0")), event("isolate-client", target=parse("client:2")),
            event("kill-client", target=parse("client:3")),
        )  # fmt: skip
    assert (drama.clients.standing, drama.clients.alone) == (set(), {})
    assert sorted(drama.clients.running.values()) == ["probe", "producer", "producer", "reader", "session"]


@pytest.mark.parametrize(
    ("event", "where", "said"),
    [
        (api.corrupt(101, lasting=1), "apart", "101 have no partition of a topic; brokers are 1, 2, 3"),
        (api.corrupt("controller", lasting=1), "apart", "the controllers have no partition of a topic"),
        (api.wipe("controllers", lasting=1), "apart", "the controllers have no replicas"),
        (api.wipe(101, lasting=1), "zookeeper", "101 have no replicas"),
        (
            api.configure_broker({"log.cleaner.threads": 2}, "controller", lasting=1),
            "apart",
            "are no brokers",
        ),
        (api.configure_broker({"log.cleaner.threads": 2}, 101, lasting=1), "zookeeper", "101 are no brokers"),
        (api.cut_clients("controllers", lasting=1), "apart", "the controllers have no clients"),
        (api.remove_broker(101, lasting=1), "apart", "101 are no brokers"),
        (api.disk_full(101, lasting=1), "zookeeper", "ZooKeeper nodes 101 have no disks of their own"),
        (api.power_loss("1,102", lasting=1), "zookeeper", "ZooKeeper nodes 102 have no disks of their own"),
        (api.elect(), "one", "a partition with one replica has one leader only"),
    ],
)
def test_what_can_never_be_done_there_is_refused_with_the_event(event, where, said) -> None:
    with pytest.raises(ValueError) as refused:
        Schedule.of([event]).check(GROUNDS[where])
    assert said in str(refused.value)
    assert f"event '{event.fault.name}-0': {event.fault.name}" in str(refused.value)


@pytest.mark.parametrize("option", ["settings", "count", "size", "offset", "percent"])
def test_options_far_from_anything_are_refused(option) -> None:
    name = {"settings": "configure", "count": "add-partitions", "size": "corrupt", "offset": "clock"}
    value = {"settings": {"min.insync.replicas": [1]}}.get(option, 10**400)
    with pytest.raises(ValueError, match="expected"):
        FAULTS[name.get(option, "loss")](**{option: value})
