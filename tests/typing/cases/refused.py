"""Mistakes of users: mypy --strict reports each line with a comment, with this code, and no other line."""

from __future__ import annotations

from pytest_kafkacheck import AppendLog, Experiment, Generated, Kafkacheck, Run, isolate, kil  # attr-defined

AppendLog(partition=3)  # call-arg
AppendLog(partitions="3")  # arg-type
AppendLog(topic_config=["min.insync.replicas"])  # arg-type
Experiment()  # call-arg
Experiment(workload=AppendLog)  # arg-type
Experiment(workload=AppendLog(), faults=isolate("leader"))  # arg-type
isolate("leader", at="3")  # arg-type
isolate("leader", 3)  # call-arg
Generated(seed="7", length=60, events=10)  # arg-type


def test_verdict(kafkacheck: Kafkacheck) -> None:
    run: Run = kafkacheck(AppendLog())  # call-overload
    run.assert_valid("lost-write")  # arg-type, call-arg
    run.is_valid()  # attr-defined
    lost: int = run.verdict.findings  # assignment
