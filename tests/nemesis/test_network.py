"""The text of nft rules, and the union of the cuts that several owners want."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nemesis.effects.network import Network, NetworkError
from nemesis.effects.nft import LIST, Cut, Rule, packets, ruleset

MACS = {1: "02:42:ac:12:00:01", 2: "02:42:ac:12:00:02", 3: "02:42:ac:12:00:03"}
REPLICATION = frozenset({9092})


def test_a_ruleset_is_one_transaction_that_replaces_only_our_table() -> None:
    assert ruleset([Cut(1, 3), Cut(1, 2, frozenset({9092, 9093})), Cut(1, 2, REPLICATION)], MACS) == (
        "table inet kafkacheck\n"
        "delete table inet kafkacheck\n"
        "table inet kafkacheck {\n"
        " set lease { type ether_type; flags timeout; elements = { ip timeout 30s, ip6 timeout 30s }; }\n"
        " chain input {\n"
        "  type filter hook input priority -300; policy accept;\n"
        "  meta protocol != @lease accept\n"
        '  ether saddr 02:42:ac:12:00:02 tcp dport 9092 counter drop comment "2:9092"\n'
        '  ether saddr 02:42:ac:12:00:02 tcp sport 9092 counter drop comment "2:9092"\n'
        '  ether saddr 02:42:ac:12:00:02 tcp dport 9093 counter drop comment "2:9093"\n'
        '  ether saddr 02:42:ac:12:00:02 tcp sport 9093 counter drop comment "2:9093"\n'
        '  ether saddr 02:42:ac:12:00:03 counter drop comment "3"\n'
        " }\n"
        "}\n"
    )


def test_without_cuts_there_is_no_table() -> None:
    assert ruleset([], MACS) == "table inet kafkacheck\ndelete table inet kafkacheck\n"


def test_packets_of_both_directions_of_a_port_count_for_one_rule(cluster) -> None:
    network = Network(cluster.nodes)
    network.cut("a", [Cut(1, 2, REPLICATION)])
    cluster.nodes[1].shell("timeout 1 bash -c '</dev/tcp/172.18.0.2/9092'")  # 2's answer is dropped
    cluster.nodes[2].shell("timeout 1 bash -c '</dev/tcp/172.18.0.1/9092'")
    cluster.nodes[2].shell("timeout 1 bash -c '</dev/tcp/172.18.0.1/9093'")  # another port
    assert network.dropped([1]) == {Rule(1, 2, 9092): 2}
    assert packets(cluster.nodes[1].shell(LIST)[1], 1) == {Rule(1, 2, 9092): 2}


def test_a_rule_of_a_cut_that_begins_or_ends_during_the_look_is_wanted(cluster, monkeypatch) -> None:
    network = Network(cluster.nodes)
    network.cut("ends", [Cut(1, 2)])
    cluster.nodes[3].shell(f"nft {shlex.quote(ruleset([Cut(3, 1)], {1: MACS[1]}))}")
    look = network.dropped

    def meanwhile(nodes):
        network.cut("begins", [Cut(1, 3)])
        found = look(nodes)
        network.heal("ends")
        return found

    monkeypatch.setattr(network, "dropped", meanwhile)
    assert network.unwanted([1, 2, 3]) == {Rule(3, 1, None)}, "which no fault ever wanted"


CUTS = st.builds(
    Cut,
    st.integers(1, 3),
    st.integers(1, 3),
    st.none() | st.frozensets(st.sampled_from([9092, 9093]), min_size=1),
).filter(lambda cut: cut.receiver != cut.sender)
STEPS = st.lists(st.tuples(st.sampled_from("abcd"), st.frozensets(CUTS, max_size=5) | st.none()), max_size=12)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_cuts_are_the_union_of_what_all_owners_want(new_cluster, steps) -> None:
    """Any order of faults beginning (a set of cuts) and ending (None): the packets tell what is cut."""
    cluster = new_cluster()
    network = Network(cluster.nodes)
    living: dict[str, frozenset[Cut]] = {}
    for owner, cuts in steps:
        if cuts is None:
            living.pop(owner, None)
            network.heal(owner)
        else:
            living[owner] = cuts
            network.cut(owner, cuts)
        union = [cut for each in living.values() for cut in each]
        assert network.cuts == frozenset(union)
        for receiver, sender in [(1, 2), (2, 1), (1, 3), (3, 1), (2, 3), (3, 2)]:
            for port in (9092, 9093):
                cut = any(
                    {each.receiver, each.sender} == {receiver, sender}
                    and (not each.ports or port in each.ports)
                    for each in union
                )
                for version in (4, 6):
                    assert cluster.connects(sender, receiver, port=port, version=version) is not cut
    network.heal_all()
    assert cluster.clean()


def test_only_nodes_whose_cuts_change_get_new_rules(cluster) -> None:
    network = Network(cluster.nodes)
    cluster.nodes[3].nft_error = "must not be called"
    network.cut("a", [Cut(1, 2), Cut(2, 1)])
    network.heal("a")
    assert cluster.clean()


def test_counts_survive_the_injection_and_heal_of_another_fault(cluster) -> None:
    network = Network(cluster.nodes)
    network.cut("a", [Cut(1, 2)])
    for _ in range(3):
        cluster.nodes[2].shell("timeout 1 bash -c '</dev/tcp/172.18.0.1/9092'")
    network.cut("b", [Cut(1, 3)])
    network.heal("b")
    cluster.nodes[2].shell("timeout 1 bash -c '</dev/tcp/172.18.0.1/9092'")
    assert network.dropped([1]) == {Rule(1, 2, None): 4}


def test_refused_rules_do_not_double_counts(cluster) -> None:
    network = Network(cluster.nodes)
    network.cut("a", [Cut(1, 2)])
    cluster.nodes[2].shell("timeout 1 bash -c '</dev/tcp/172.18.0.1/9092'")
    cluster.nodes[1].nft_error = "busy"
    with pytest.raises(NetworkError):
        network.cut("b", [Cut(1, 3)])
    assert network.dropped([1]) == {Rule(1, 2, None): 1}


def test_lapsed_rules_are_not_reported(cluster) -> None:
    network = Network(cluster.nodes)
    network.cut("a", [Cut(1, 2)])
    cluster.nodes[1].lapsed = True
    assert cluster.connects(1, 2)
    assert network.dropped([1]) == {}
    network.cut("b", [Cut(1, 3)])
    assert not cluster.connects(1, 2)
    assert network.dropped([1]) == {Rule(1, 3, None): 0}, "the other one had not lasted"


def test_vanished_rules_count_again_after_they_are_wanted_again(cluster) -> None:
    network = Network(cluster.nodes)
    network.cut("a", [Cut(1, 2)])
    cluster.nodes[1].table = None
    network.cut("b", [Cut(1, 3)])
    assert network.dropped([1]) == {Rule(1, 3, None): 0}
    network.heal("a")
    network.cut("c", [Cut(1, 2)])
    assert network.dropped([1]) == {Rule(1, 2, None): 0, Rule(1, 3, None): 0}


def test_a_failing_node_is_named_after_all_were_tried_and_gets_its_rules_later(cluster) -> None:
    network = Network(cluster.nodes)
    cluster.nodes[1].nft_error = "Operation not permitted"
    with pytest.raises(NetworkError, match=r"node 1: nft exited with status 1: Operation not permitted"):
        network.cut("a", [Cut(1, 2), Cut(2, 1)])
    assert cluster.nodes[2].table
    cluster.nodes[1].nft_error = None
    network.cut("b", [Cut(3, 1)])
    assert cluster.nodes[1].table, "what failed before was not tried again"


def test_the_state_of_a_node_that_raised_is_unknown(cluster, monkeypatch) -> None:
    network = Network(cluster.nodes)
    node = cluster.nodes[1]
    usual = node.shell

    def lost(command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        answer = usual(command, timeout=timeout)
        if command.startswith("nft "):
            raise OSError("the connection was lost after the command was done")
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(node, "shell", lost)
        with pytest.raises(NetworkError, match="node 1: the connection was lost"):
            network.cut("a", [Cut(1, 2)])
    assert node.table
    network.cut("a", [])
    assert cluster.clean(), "it was believed to have no rules"


def test_heal_all_removes_rules_from_every_node(cluster) -> None:
    network = Network(cluster.nodes)
    cluster.nodes[3].shell(f"nft '{ruleset([Cut(3, 1)], MACS)}'")
    assert not cluster.connects(3, 1)
    network.heal_all()
    assert cluster.clean()


def test_unreadable_counters_are_an_error(cluster) -> None:
    network = Network(cluster.nodes)
    cluster.nodes[1].answer = (0, "not JSON")
    with pytest.raises(NetworkError, match=r"node 1: .*cannot be parsed"):
        network.dropped([1])
    cluster.nodes[1].answer = (127, "nft: not found")
    with pytest.raises(NetworkError, match="status 127: nft: not found"):
        network.dropped([1])
