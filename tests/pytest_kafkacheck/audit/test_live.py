"""The audit of a running cluster, by what its brokers answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.audit.events import CONSUMER_EVENTS
from pytest_kafkacheck.audit.files.read import read_files
from pytest_kafkacheck.audit.live.read import read_report
from pytest_kafkacheck.audit.report import Judged, Report, Subject, junit_xml
from pytest_kafkacheck.cli.audit import status
from pytest_kafkacheck.cli.exit_status import UNKNOWN
from pytest_kafkacheck.errors import UsageError
from tests.support.described_cluster import DescribedCluster

THREE = {0: [1, 2, 3], 1: [2, 3, 1]}
READ_ONLY = {
    "ApiVersions", "DescribeConfigs", "DescribeQuorum", "ListGroups", "Metadata", "OffsetFetch",
}  # fmt: skip


def audit(cluster: DescribedCluster, *, pattern: str = "*", **settings: Any) -> Report:
    origins = {name: f"--{name}" for name in settings}
    return read_report(
        [1, 2, 3], cluster.send, pattern=pattern, settings=settings, origins=origins, unknown={}
    )


def judged(report: Report, name: str) -> Judged:
    return next(each for each in report.judged if each.subject.name.startswith(name))


def effect(report: Report, name: str, event: str) -> str:
    return next(each.effect for each in judged(report, name).outcomes if each.event == event)


def test_settings_of_a_topic_decide_and_say_where_they_come_from() -> None:
    cluster = DescribedCluster(
        topics={"orders": THREE, "logs": THREE},
        settings={
            "orders": {"min.insync.replicas": ("2", 1), "flush.messages": ("1", 3)},
            "logs": {"unclean.leader.election.enable": ("true", 4)},
        },
    )
    report = audit(cluster)
    assert not report.problems
    assert set(cluster.asked) <= READ_ONLY
    orders = judged(report, "topic orders").subject
    assert (orders.configuration.min_isr, orders.origins["min_isr"]) == (2, "topic")
    assert (orders.configuration.flush_messages, orders.origins["flush_messages"]) == (
        1,
        "all brokers, dynamic",
    )
    assert orders.configuration.elr
    assert effect(report, "topic orders", "power-loss") == "keeps"
    assert effect(report, "topic logs", "isr-of-one-killed") == "loses"
    assert "acks" not in orders.origins  # it is assumed


def test_what_the_user_says_of_clients_does_not_touch_internal_topics() -> None:
    cluster = DescribedCluster(topics={"orders": THREE, "__consumer_offsets": THREE})
    report = audit(cluster, acks=1)
    assert effect(report, "topic orders", "leader-killed") == "loses"
    assert effect(report, "__consumer_offsets", "leader-killed") == "keeps"
    assert effect(report, "__consumer_offsets", "isr-of-one-wiped") == "loses"


def test_topics_of_equal_settings_are_one_subject() -> None:
    report = audit(DescribedCluster(topics={f"t{number}": THREE for number in range(8)}))
    (only,) = report.subjects
    assert only.name == "topics t0, t1, t2, t3, t4 and 3 more"


def test_the_partition_with_the_fewest_replicas_and_the_worst_spread_counts() -> None:
    racks = {1: "a", 2: "a", 3: "b", 4: "c"}
    cluster = DescribedCluster(topics={"orders": {0: [1, 3, 4], 1: [1, 2, 3], 2: [3, 4]}}, racks=racks)
    found = audit(cluster).subjects[0]
    assert (found.configuration.replication, found.configuration.replicas_in_rack) == (2, 2)
    assert found.origins["replication"] == "partitions, of which some have 3"


def test_without_a_rack_of_every_replica_racks_are_not_known() -> None:
    report = audit(DescribedCluster(topics={"orders": THREE}, racks={1: "a", 2: "b"}))
    assert effect(report, "topic orders", "rack-lost") == "unknown"


def test_a_pattern_chooses_topics_and_internal_ones_are_always_there() -> None:
    topics = {"orders": THREE, "orders-2": {0: [1]}, "logs": THREE, "__consumer_offsets": THREE}
    names = [subject.name for subject in audit(DescribedCluster(topics=topics), pattern="orders*").subjects]
    assert names == [
        "__consumer_offsets (committed positions of groups)",
        "topic orders",
        "topic orders-2",
    ]


@pytest.mark.parametrize(
    ("topics", "said"),
    [
        ({"orders": THREE}, "--topic x\\*: matches none of orders"),
        ({}, "--topic x\\*: this user sees no topic; leave --topic out to audit"),
    ],
)
def test_a_pattern_that_matches_nothing_is_refused(topics: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        audit(DescribedCluster(topics=topics), pattern="x*")


def test_a_cluster_without_topics_is_judged_by_the_defaults_of_its_brokers() -> None:
    defaults = {"default.replication.factor": ("3", 4), "min.insync.replicas": ("2", 4)}
    report = audit(DescribedCluster(settings={"1": defaults}))
    assert not report.problems
    (only,) = report.subjects
    assert only.name == "topic a new one, with the brokers' defaults"
    assert (only.configuration.replication, only.configuration.min_isr) == (3, 2)
    assert only.origins["replication"] == "broker's file"
    with pytest.raises(UsageError, match=r"the brokers' defaults cannot be read either .*allow Describe on"):
        audit(DescribedCluster(denied=["1"]))


def test_replicas_that_do_not_follow_are_named_and_the_audit_does_not_call_that_safe() -> None:
    alone = {partition: [1] for partition in THREE}
    report = audit(DescribedCluster(topics={"orders": THREE, "logs": THREE}, in_sync={"orders": alone}))
    named = [each for each in report.remarks if "topic orders" in each]
    assert named == list(report.out_of_sync)
    assert named[0].startswith(
        "topic orders has replicas out of sync now: partition 0 has the ISR [1] of [1, 2, 3] and partition 1 "
    )
    assert not report.problems
    assert status(Report([], out_of_sync=report.out_of_sync)) == UNKNOWN
    assert "out of sync now" in junit_xml(report)


def test_a_topic_whose_settings_may_not_be_read_is_judged_by_all_values() -> None:
    report = audit(DescribedCluster(topics={"orders": THREE}, denied=["orders"]), acks="all")
    (problem,) = report.problems
    assert problem.tried == "DescribeConfigs of topic orders"
    assert "min.insync.replicas" in problem.missing
    assert problem.remedy == "allow DescribeConfigs on Topic to this user"
    # With acks=0, or with any minimum, these are certain all the same.
    assert effect(report, "topic orders", "isr-of-one-killed") == "unknown"
    assert effect(report, "topic orders", "leader-killed") == "unknown"  # 3 of 3 would refuse writes
    report = audit(DescribedCluster(topics={"orders": THREE}, denied=["orders"]), acks=1)
    assert effect(report, "topic orders", "leader-isolated") == "loses"


def test_controllers_that_may_not_be_counted_leave_only_a_lost_rack_open() -> None:
    racks = {1: "a", 2: "b", 3: "c"}
    cluster = DescribedCluster(topics={"orders": THREE}, racks=racks, denied=["DescribeQuorum"])
    report = audit(cluster)
    assert [problem.tried for problem in report.problems] == ["DescribeQuorum"]
    assert effect(report, "topic orders", "rack-lost") == "unknown"
    assert effect(report, "topic orders", "leader-killed") == "keeps"


def test_a_request_without_an_answer_is_a_problem_and_no_end() -> None:
    report = audit(DescribedCluster(topics={"orders": THREE}, silent=["ListGroups"]))
    assert len(report.problems) == 3
    assert "no answer within 10 s" in str(report.problems[0])
    assert effect(report, "topic orders", "leader-killed") == "keeps"


def test_zookeeper_mode_and_its_release_are_recognised() -> None:
    report = audit(DescribedCluster(topics={"orders": THREE}, protocol=("2.8-IV1", 5)))
    found = report.subjects[0].configuration
    assert (found.mode, found.version, found.elr) == ("zookeeper", "2.8", False)


def test_an_old_protocol_loses_whatever_the_release() -> None:
    cluster = DescribedCluster(topics={"orders": THREE}, protocol=("0.10.2-IV0", 4))
    report = audit(cluster)
    assert effect(report, "topic orders", "leader-killed") == "loses"
    assert "state it with --version" in str(report.problems[0])
    assert audit(cluster, version="3.9.2").subjects[0].configuration.version == "3.9.2"


def test_the_file_of_separate_controllers_decides_about_unclean_elections() -> None:
    cluster = DescribedCluster(
        topics={"orders": THREE},
        settings={"orders": {"unclean.leader.election.enable": ("false", 4)}},
        voters=[101, 102, 103],
    )
    assert "cannot be read" in audit(cluster).subjects[0].origins["unclean"]


def test_groups_and_what_they_have_not_committed() -> None:
    cluster = DescribedCluster(
        topics={"orders": THREE}, committed={"billing": {"orders": [0]}, "mail": {"orders": [0, 1]}}
    )
    report = audit(cluster, auto_offset_reset="latest", commit="after-processing")
    groups = judged(report, "groups billing, mail")
    assert groups.subject.notes == (
        "group billing has no committed position of orders-1; auto.offset.reset decides where it begins there",
    )
    assert {each.event: each.effect for each in groups.outcomes} == dict.fromkeys(CONSUMER_EVENTS, "loses")
    assert not report.problems


def test_a_group_that_may_not_be_read_is_a_problem() -> None:
    cluster = DescribedCluster(topics={"orders": THREE}, committed={"billing": {}}, denied=["billing"])
    (problem,) = audit(cluster).problems
    assert problem.remedy == "allow Describe on Group to this user"


def test_an_isr_below_the_minimum_is_the_first_line() -> None:
    cluster = DescribedCluster(
        topics={"orders": THREE, "logs": THREE},
        settings={"orders": {"min.insync.replicas": ("2", 1), "flush.messages": ("1", 1)}},
        in_sync={"orders": {1: [2]}, "logs": {0: []}},
    )
    first, second, *_ = sorted(audit(cluster).remarks[:2])
    assert first.startswith("topic logs has no leader now: partition 0")
    assert second.startswith(
        "topic orders is below its minimum (min.insync.replicas=2) now: partition 1 has the ISR [2] of [1, 2, 3]"
    )
    assert not audit(cluster).problems
    assert not any("minimum" in each for each in audit(DescribedCluster(topics={"orders": THREE})).remarks)


@pytest.mark.parametrize(
    ("voters", "effect"), [([1, 2], "unavailable"), ([1, 2, 3], "keeps"), ([101, 102], "keeps")]
)
def test_brokers_that_vote_are_recognised(voters: list[int], effect: str) -> None:
    cluster = DescribedCluster(topics={"orders": THREE}, voters=voters)
    assert (
        effect
        == {each.event: each.effect for each in judged(audit(cluster), "topic orders").outcomes}[
            "leader-killed"
        ]
    )


def test_a_default_that_was_changed_later_leaves_topics_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("node.id=2\nprocess.roles=broker\ndefault.replication.factor=3\nmin.insync.replicas=2\n")
    cluster = DescribedCluster(
        topics={"orders": {0: [1]}, "logs": THREE, "__consumer_offsets": {0: [1]}},
        settings={
            "2": {"default.replication.factor": ("3", 4), "min.insync.replicas": ("1", 5)},
            **{node: {"default.replication.factor": ("3", 4)} for node in "13"},
        },
    )
    files = read_files([str(file)], Subject(name="", settings={})).clusters
    report = read_report(
        [1, 2, 3], cluster.send, pattern="*", settings={}, origins={}, unknown={}, files=files
    )
    said = "\n".join(report.remarks)
    assert "topic orders has 1 replica, made before or without default.replication.factor=3" in said
    assert f"{file}:4: min.insync.replicas=2, but 1 on broker 2 (default)" in said
    assert f"{file}:3" not in said


def test_settings_of_brokers_that_differ_are_named() -> None:
    cluster = DescribedCluster(
        topics={"orders": THREE},
        settings={"1": {"controlled.shutdown.enable": ("false", 4), "log.cleaner.enable": ("false", 4)},
                  "2": {"controlled.shutdown.enable": ("true", 5), "log.cleaner.enable": ("false", 4)}},
    )  # fmt: skip
    report = audit(cluster)
    (problem,) = report.problems
    assert str(problem).startswith(
        "controlled.shutdown.enable: brokers have different values: False on broker 1; True"
    )
    assert any(each.startswith("log.cleaner.enable=false") for each in report.remarks)
