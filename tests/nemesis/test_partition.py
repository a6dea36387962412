"""Partitions: what they cut, and that only an observed cut is effective."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from nemesis.effects import network
from nemesis.effects.nft import Cut, ruleset
from nemesis.steps import cut_links
from pytest_kafkacheck import isolate, kill, partition, pause

PAIRS = [(1, 2), (1, 3), (2, 3)]


def connections(cluster, **how) -> set[tuple[int, int]]:
    """Pairs of nodes that reach each other, both ways."""
    return {
        (a, b)
        for a in cluster.nodes
        for b in cluster.nodes
        if a < b and cluster.connects(a, b, **how) and cluster.connects(b, a, **how)
    }


def rules_of(node, cut):
    """The rules that a node would have for a cut; it has them no more when this returns."""
    macs = {cut.sender: f"02:42:ac:12:00:0{cut.sender}"}
    node.shell(f"nft {shlex.quote(ruleset([cut], macs))}")
    table, node.table = node.table, None
    return table


@pytest.mark.parametrize("version", [4, 6])
def test_isolate_cuts_one_node_from_every_peer_and_no_other(new_fake_run, version) -> None:
    fake_run = new_fake_run(size=5)
    seen = []
    fake_run.stop.arrange(4, lambda: seen.append(connections(fake_run.cluster, version=version)))
    fake_run.carry_out(isolate(2, at=1, lasting=5))
    assert seen == [{(1, 3), (1, 4), (1, 5), (3, 4), (3, 5), (4, 5)}]
    assert fake_run.cluster.clean()


def test_rows_have_the_shape_of_the_history(fake_run) -> None:
    fake_run.carry_out(isolate("leader", at=1, lasting=5))
    inject, heal = fake_run.rows
    assert set(inject) == {"f", "type", "invoked", "completed", "value", "error"}
    assert (inject["f"], inject["type"], inject["error"]) == ("isolate", "info", None)
    assert 101 * 10**9 <= inject["invoked"] <= inject["value"]["evidence"]["applied"] <= inject["completed"]
    assert heal["invoked"] == 106 * 10**9
    assert heal["value"]["planned"] == 106 * 10**9
    assert set(inject["value"]) == {"event", "stage", "target", "nodes", "effective", "evidence", "planned"}
    assert {**inject["value"], "evidence": None} == {
        "event": "isolate-0",
        "stage": "inject",
        "target": "leader",
        "nodes": [2],
        "effective": True,
        "evidence": None,
        "planned": 101 * 10**9,
    }


def test_the_proof_is_silence_in_both_directions_on_both_protocols_and_dropped_packets(fake_run) -> None:
    fake_run.carry_out(isolate(2, at=0, lasting=5))
    evidence = fake_run.value("isolate-0", "inject")["evidence"]
    tried = {
        (each["source"], each["destination"], each["address"], each["port"]) for each in evidence["probes"]
    }
    assert {each["answer"] for each in evidence["probes"]} == {"silent"}
    assert tried == {
        (a, b, address, 9093)
        for a, b in [(1, 2), (2, 1), (2, 3), (3, 2)]
        for address in (f"172.18.0.{b}", f"fd00::{b}")
    }
    assert evidence["dropped"] == {"1 to 2": 2, "2 to 1": 2, "2 to 3": 2, "3 to 2": 2}
    healed = fake_run.value("isolate-0", "heal")["evidence"]
    assert {each["answer"] for each in healed["probes"]} == {"open"}
    assert healed["dropped"] == evidence["dropped"]
    assert healed["rules_left"] == []


@pytest.mark.parametrize("deaf", [{1}, {2}, {3}, {1, 2, 3}], ids=str)
def test_a_node_that_ignores_its_rules_makes_the_fault_ineffective(fake_run, deaf) -> None:
    for node in deaf:
        fake_run.cluster.nodes[node].ignores_nft = True
    fake_run.carry_out(isolate(2, at=0, lasting=5))
    value = fake_run.value("isolate-0", "inject")
    assert value["effective"] is False
    assert None in value["evidence"]["dropped"].values()
    # There is nothing left of what never was.
    assert fake_run.value("isolate-0", "heal")["effective"] is True


def test_rules_that_do_not_cut_ipv6_make_the_fault_ineffective(fake_run, monkeypatch) -> None:
    addresses = {node.mac: node.addresses[0] for node in fake_run.cluster.nodes.values()}

    def by_address(cuts, macs):
        text = ruleset(cuts, macs)
        for mac, address in addresses.items():
            text = text.replace(f"ether saddr {mac}", f"ip saddr {address}")
        return text

    monkeypatch.setattr(network, "ruleset", by_address)
    fake_run.carry_out(isolate(2, at=0, lasting=5))
    value = fake_run.value("isolate-0", "inject")
    assert value["effective"] is False
    answers = {":" in each["address"]: each["answer"] for each in value["evidence"]["probes"]}
    assert answers == {False: "silent", True: "open"}


def test_rules_without_effect_in_one_direction_make_the_fault_ineffective(fake_run, monkeypatch) -> None:
    monkeypatch.setattr(
        network, "ruleset", lambda cuts, macs: ruleset([c for c in cuts if c.receiver == 2], macs)
    )
    fake_run.carry_out(isolate(2, at=0, lasting=5))
    assert fake_run.value("isolate-0", "inject")["effective"] is False


def test_a_cut_of_one_plane_leaves_the_other(fake_run) -> None:
    seen = {}
    for port in (9092, 9093):
        fake_run.stop.arrange(
            3, lambda port=port: seen.update({port: connections(fake_run.cluster, port=port)})
        )
    fake_run.carry_out(partition("leader", plane="replication", at=0, lasting=5))
    assert seen == {9092: {(1, 3)}, 9093: set(PAIRS)}
    assert fake_run.effective() == {("partition-0", "inject"): True, ("partition-0", "heal"): True}
    assert {each["port"] for each in fake_run.value("partition-0", "inject")["evidence"]["probes"]} == {9092}


def test_groups_are_cut_from_each_other_and_other_nodes_keep_their_links(new_fake_run) -> None:
    fake_run = new_fake_run(size=5)
    seen = []
    fake_run.stop.arrange(3, lambda: seen.append(connections(fake_run.cluster)))
    fake_run.carry_out(partition([[1, 2], [3], [4]], at=0, lasting=5, ports=[9092, 9093]))
    assert seen == [{(1, 2), (1, 5), (2, 5), (3, 5), (4, 5)}]
    assert fake_run.value("partition-0", "inject")["nodes"] == [1, 2, 3, 4]
    assert fake_run.value("partition-0", "inject")["target"] == [[1, 2], [3], [4]]
    assert all(fake_run.effective().values())


def test_the_heal_of_one_of_two_cuts_leaves_the_other(fake_run) -> None:
    seen = []
    fake_run.stop.arrange(6, lambda: seen.append(connections(fake_run.cluster)))
    fake_run.carry_out(isolate(1, at=0, lasting=5), isolate(2, at=2, lasting=6))
    assert seen == [{(1, 3)}]
    assert connections(fake_run.cluster) == set(PAIRS)
    assert all(fake_run.effective().values())
    healed = fake_run.value("isolate-0", "heal")["evidence"]
    # 1 and 2 stay cut off from each other by the second, so only 1 and 3 are asked to connect.
    assert {(each["source"], each["destination"]) for each in healed["probes"]} == {(1, 3), (3, 1)}
    assert healed["others"] == ["isolate-1"]


def test_a_cut_of_all_ports_over_a_cut_of_one_plane_is_verified_and_counted_separately(fake_run) -> None:
    fake_run.carry_out(
        partition(2, plane="controller", at=0, lasting=9),  # the port that whole cuts are probed on
        isolate(2, at=1, lasting=3),
        partition(2, plane="replication", at=2, lasting=9),
    )
    assert all(fake_run.effective().values())
    assert fake_run.cluster.clean()


@pytest.mark.parametrize("end", [{"table": None}, {"lapsed": True}], ids=["agent", "kernel"])
def test_a_cut_that_ended_by_itself_is_noticed(fake_run, end) -> None:
    def deadman() -> None:
        for node in fake_run.cluster.nodes.values():
            node.__dict__.update(end)

    fake_run.stop.arrange(3, deadman)
    fake_run.carry_out(isolate(2, at=0, lasting=5))
    value = fake_run.value("isolate-0", "heal")
    assert fake_run.value("isolate-0", "inject")["effective"] is True
    assert value["effective"] is False
    assert "gone, or had lapsed, before the fault's end" in value["evidence"]["ended_early"]


def test_a_cut_that_ended_by_itself_is_noticed_although_another_fault_restored_its_rules(fake_run) -> None:
    fake_run.stop.arrange(3, lambda: setattr(fake_run.cluster.nodes[1], "table", None))
    fake_run.carry_out(
        isolate(1, at=0, lasting=8), partition([[1], [3]], plane="controller", at=4, lasting=2)
    )
    assert fake_run.value("isolate-0", "heal")["evidence"]["ended_early"].startswith(
        "the rules of 2 to 1, 3 to 1"
    )
    assert fake_run.effective() == {
        ("isolate-0", "inject"): True,
        ("isolate-0", "heal"): False,
        ("partition-1", "inject"): True,
        ("partition-1", "heal"): True,
    }


def test_unreadable_counters_are_unknown_and_the_heal_continues(fake_run) -> None:
    fake_run.stop.arrange(3, lambda: setattr(fake_run.cluster.nodes[1], "unreadable", 2))
    fake_run.carry_out(isolate(2, at=0, lasting=5))
    value = fake_run.value("isolate-0", "heal")
    assert value["effective"] is False
    assert "busy" in value["evidence"]["dropped"]
    assert {each["answer"] for each in value["evidence"]["probes"]} == {"open"}
    assert fake_run.row("isolate-0", "heal")["error"] is None


def test_a_cut_that_begins_while_another_one_is_proved_to_have_ended_is_none_of_its_rules(
    fake_run, monkeypatch
) -> None:
    """Seen on a real cluster: the second one cut the same link 0.1 s later, between two questions of the proof."""
    looks = []

    def probed(nodes, links):
        looks.append(fake_run.stop.now)
        if len(looks) == 2:  # of the heal, after that of the injection
            fake_run.stop.wait(0.4)
        return probe(nodes, links)

    probe = cut_links.probe
    monkeypatch.setattr(cut_links, "probe", probed)
    fake_run.carry_out(isolate(3, at=0, lasting=5), isolate(1, at=5.2, lasting=20))
    assert all(fake_run.effective().values()), fake_run.rows
    assert fake_run.cluster.clean()


def test_rules_that_remain_after_the_heal_are_noticed(fake_run) -> None:
    fake_run.stop.arrange(3, lambda: setattr(fake_run.cluster.nodes[1], "ignores_nft", True))
    fake_run.carry_out(isolate(2, at=0, lasting=5))
    value = fake_run.value("isolate-0", "heal")
    assert value["effective"] is False
    assert value["evidence"]["rules_left"] == ["2 to 1"]
    assert "silent" in {each["answer"] for each in value["evidence"]["probes"]}


def test_rules_that_remain_are_noticed_although_packets_pass(fake_run) -> None:
    node = fake_run.cluster.nodes[1]
    harmless = [type(rule)(rule.text.replace("drop", "")) for rule in rules_of(node, Cut(1, 2))]
    fake_run.stop.arrange(3, lambda: node.__dict__.update(ignores_nft=True, table=harmless))
    fake_run.carry_out(isolate(2, at=0, lasting=5))
    value = fake_run.value("isolate-0", "heal")
    assert value["effective"] is False
    assert value["evidence"]["rules_left"] == ["2 to 1"]
    assert {each["answer"] for each in value["evidence"]["probes"]} == {"open"}


def test_nodes_that_stay_silent_without_rules_are_noticed(fake_run) -> None:
    fake_run.stop.arrange(3, lambda: setattr(fake_run.cluster.nodes[1], "unplugged", True))
    fake_run.carry_out(isolate(2, at=0, lasting=5))
    value = fake_run.value("isolate-0", "heal")
    assert value["effective"] is False
    assert value["evidence"]["rules_left"] == []


def test_isolating_a_node_without_peers_has_no_effect(new_fake_run) -> None:
    fake_run = new_fake_run(size=1, leaders={("log", 0): 1})
    fake_run.carry_out(isolate("leader", at=0, lasting=5))
    assert fake_run.value("isolate-0", "inject")["effective"] is False


def test_cuts_are_verified_and_healed_although_brokers_are_stopped_or_paused(fake_run) -> None:
    fake_run.carry_out(
        kill(1, at=0, lasting=20),
        pause(3, at=1, lasting=20),
        isolate(2, at=4, lasting=4),
    )
    assert fake_run.effective()[("isolate-2", "inject")] is True
    assert fake_run.effective()[("isolate-2", "heal")] is True
    answers = {
        e["destination"]: e["answer"] for e in fake_run.value("isolate-2", "heal")["evidence"]["probes"]
    }
    assert answers == {1: "refused", 2: "open"}  # a paused broker is not asked: its queue may be full


def test_an_unknown_plane_of_a_cluster_is_recorded(fake_run) -> None:
    fake_run.cluster.planes = {}
    fake_run.carry_out(partition(2, plane="replication", at=0, lasting=5))
    assert (
        "plane 'replication': the cluster has no ports for it"
        in fake_run.row("partition-0", "inject")["error"]
    )
    assert fake_run.effective() == {("partition-0", "inject"): False, ("partition-0", "heal"): True}


@pytest.mark.parametrize("deaf", [set(), {1}], ids=["dropped", "one rule missing"])
def test_dropped_packets_prove_a_cut_whose_probes_had_not_ended_when_it_was_healed(
    fake_run, monkeypatch, deaf
) -> None:
    for node in deaf:
        fake_run.cluster.nodes[node].ignores_nft = True
    tried = cut_links.probe

    def slow(nodes, links):
        answers = tried(nodes, links)
        fake_run.stop.wait(3)
        return answers

    monkeypatch.setattr(cut_links, "probe", slow)
    fake_run.carry_out(isolate(2, at=0, lasting=2))
    inject, heal = (fake_run.value("isolate-0", stage) for stage in ("inject", "heal"))
    assert (inject["effective"], list(inject["evidence"])) == (False, ["proof"])
    assert heal.get("had_effect", False) is not bool(deaf)


def test_dropped_packets_prove_nothing_that_the_probes_denied(fake_run, monkeypatch) -> None:
    tried = cut_links.probe
    monkeypatch.setattr(cut_links, "INJECT_LIMIT", 1.0)
    monkeypatch.setattr(
        cut_links,
        "probe",
        lambda nodes, links: tuple(replace(each, text="open") for each in tried(nodes, links)),
    )
    fake_run.carry_out(isolate(2, at=0, lasting=5))
    assert fake_run.value("isolate-0", "inject")["effective"] is False
    assert all(fake_run.value("isolate-0", "heal")["evidence"]["dropped"].values())
    assert "had_effect" not in fake_run.value("isolate-0", "heal")
