"""The experiment of a run, with the nodes that its faults hit in place of roles such as ``leader``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from nemesis.event import Event
from nemesis.faults.corrupt import Corrupt
from nemesis.faults.partition import Partition
from nemesis.schedule import conflict
from nemesis.targets import Groups, Target
from nemesis.topology import APP, Topology
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from workloads.history.schema import NEMESIS, OPERATIONS
from workloads.history.segments import read, segments


def replayed(run: Path, *, symbolic: bool) -> Experiment:
    """The experiment of a run's folder, to be run again.

    symbolic  keep the targets, so that roles are resolved again.
    Otherwise nodes and single client processes are named by id, and the main topic's replicas are placed as in the
    run. A target is kept where no id can replace it: topics, partitions, groups and the cluster; groups of nodes;
    partitions by a shape ("halves", "bridge", "majority-ring"), whose nodes the seed orders; damage to another
    partition than 0, which only the target names; roles of another topic than the main one; coordinators, which
    depend on the run's id; several clients; a target that was never resolved; and one that would conflict with
    another event when both are named by id.
    Raises UsageError for a folder that is no run, and for a run without the recordings that this needs.
    """
    experiment = read_experiment(run)
    if symbolic:
        return experiment
    hit = targets(run)
    if experiment.faults and not hit:
        raise UsageError(
            f"{run}: its history does not say which nodes the faults hit; let roles be resolved again: "
            f"kafkacheck replay --symbolic {run}"
        )
    events: list[Event] = []
    for position, event in enumerate(experiment.schedule.events):
        others = (*events, *experiment.schedule.events[position + 1 :])
        events.append(_named(event, hit.get(event.id, {}), others, experiment))
    if tuple(events) == experiment.schedule.events:
        return experiment
    workload = experiment.workload
    if experiment.layout is None:
        recorded = layout(run)
        try:
            workload = workload.with_layout(recorded)
            replace(experiment, workload=workload)
        except ValueError as error:
            raise UsageError(
                f"{RunDirectory(run).environment}: its layout of partitions cannot be used again: {error}; let "
                f"roles be resolved again: kafkacheck replay --symbolic {run}"
            ) from error
    return replace(experiment, faults=events, workload=workload)


def read_experiment(run: Path) -> Experiment:
    """Raises UsageError for a folder that is no run."""
    directory = RunDirectory(run)
    if not directory.experiment.is_file():
        why = "it is a file" if run.is_file() else "it has no experiment.json"
        raise UsageError(
            f"{run}: not the folder of a run, {why}. Runs are kept below .kafkacheck/, and the text of a failed test "
            f"names its folder"
        )
    return directory.read_experiment()


def layout(run: Path) -> Mapping[int, tuple[int, ...]]:
    """Partition to node ids, as recorded when the run began. Raises UsageError when it was not."""
    file = RunDirectory(run).environment
    try:
        found = json.loads(file.read_text())["layout"]
        nodes_of = {int(partition): tuple(nodes) for partition, nodes in found.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        nodes_of, why = {}, f" ({type(error).__name__}: {error})"
    else:
        why = ""
    if not nodes_of:
        raise UsageError(
            f"{file}: does not say on which brokers the partitions were{why}, without which the ids of nodes mean "
            f"nothing; let roles be resolved again: kafkacheck replay --symbolic {run}"
        )
    return nodes_of


def targets(run: Path) -> dict[str, Mapping[str, Any]]:
    """By event, the value that the nemesis recorded on injection; keys nodes, and processes for client targets.

    Raises UsageError for a history that cannot be read.
    """
    found: dict[str, Mapping[str, Any]] = {}
    history = RunDirectory(run).history
    try:
        for value in _injected(history):
            found.setdefault(str(value.get("event")), value)
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise UsageError(
            f"{history}: cannot be read ({type(error).__name__}: {error}), and only it says which nodes "
            f"the faults hit; let roles be resolved again: kafkacheck replay --symbolic {run}"
        ) from error
    return found


def _injected(history: Path) -> Iterator[Mapping[str, Any]]:
    for table in _operations(history):
        for process, text in zip(table["process"].to_pylist(), table["value"].to_pylist(), strict=True):
            if process != NEMESIS or text is None:
                continue
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict) and value.get("stage") == "inject":
                yield value


def _operations(history: Path) -> Iterator[pa.Table]:
    """The segments of an interrupted run, or the Parquet files of a judged one."""
    paths = segments(history, "operations")
    for path in paths:
        yield read(path, OPERATIONS)
    if not paths:
        for part in sorted((history / "operations").glob("*.parquet")):
            yield pq.read_table(part, columns=["process", "value"])


def _named(event: Event, hit: Mapping[str, Any], others: tuple[Event, ...], experiment: Experiment) -> Event:
    if (target := _by_id(event, hit, experiment.topology)) is None:
        return event
    try:
        named = replace(event, target=target)
        named.check(experiment.topology)
    except ValueError:  # such as a broker that was added and removed
        return event
    return event if any(conflict(named, other, experiment.topology) for other in others) else named


def _by_id(event: Event, hit: Mapping[str, Any], topology: Topology) -> Target | None:
    target, fault = event.target, event.fault
    if isinstance(target, Groups):
        return None
    if target.kind == APP:  # it names its processes already, also those that replaced others
        return None
    if target.family == "clients":
        processes = _ids(hit.get("processes"))
        return Target(kind="client", nodes=processes) if len(processes) == 1 else None
    nodes = _ids(hit.get("nodes"))
    if target.family != "nodes" or not nodes:
        return None
    if target.topic not in (None, next(iter(topology.topics), None)) or "coordinator" in target.kind:
        return None
    if isinstance(fault, Partition) and fault.shape != "apart":
        return None
    if isinstance(fault, Corrupt) and (target.topic is not None or target.partition):
        return None
    return Target(kind="node", nodes=nodes)


def _ids(value: object) -> tuple[int, ...]:
    """Empty for a value that is not a list of different ids."""
    if not isinstance(value, list) or any(type(each) is not int or each < 0 for each in value):
        return ()
    return tuple(value) if len(set(value)) == len(value) else ()
