"""Compares the replicas of each partition after the load: what is acknowledged is the same on all of them."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka.errors import KafkaError

from analyzers.verdict.wording import count
from pytest_kafkacheck.cluster.kafka import metadata_views
from pytest_kafkacheck.cluster.kafka.replica_comparison import (
    Comparison,
    Record,
    batches_of,
    compare,
    copy_replica,
    first_offset,
)
from pytest_kafkacheck.cluster.kafka.topics import topic_state
from pytest_kafkacheck.cluster.nodes.cluster import AnyCluster, KafkaCluster
from pytest_kafkacheck.experiment.operations import OperationLog
from pytest_kafkacheck.experiment.recovery import UsedCluster
from workloads.clients.protocol import Log
from workloads.clients.requests import EARLIEST, LATEST, metadata, offsets
from workloads.payload import decode

METADATA: Log = ("__cluster_metadata", 0)
INTERNAL = "__"
"""How the names of internal topics begin. They are all compacted."""

POLICY, COMPACT = "cleanup.policy", "compact"

Copies = dict[tuple[int, Log], Sequence[Path] | Exception]
"""By node and partition: files with its batches, in order, or why it could not be read."""


@dataclass(frozen=True, kw_only=True)
class Replicated:
    """A partition to compare, from offset `begin` to its high watermark, `end`. nodes: those in sync."""

    log: Log
    nodes: Sequence[int]
    begin: int
    end: int
    is_compacted: bool = False
    unknown: Exception | None = None
    """Why the offsets are not known."""


def compare_replicas(
    cluster: UsedCluster, topics: Iterable[str], operations: OperationLog, *, run: str
) -> tuple[int, list[str]]:
    """Compare the in-sync replicas of these topics, and record one row for each partition.

    In a cluster of ours, the nodes' segments are read, also those of internal topics and of the metadata log. Of
    other brokers, each is asked for its own replica.
    Returns how many partitions were compared, a line for each with a difference, and one about those that could not
    be compared.
    """
    ours = cluster if isinstance(cluster, KafkaCluster) and cluster.spec.attached is None else None
    began = time.monotonic_ns()
    names = [*topics]
    found = [*_of_topics(cluster, names if ours is None else None, names)]
    if ours is not None:
        found += _of_metadata(ours)
    compared, lines, left_out = 0, [], []
    with tempfile.TemporaryDirectory(prefix="kafkacheck-replicas-") as home:
        folder, to_read = Path(home), [each for each in found if each.unknown is None]
        copies = _fetched(cluster, to_read, folder) if ours is None else _read(ours, to_read, folder)
        for each in found:
            problems, begin, comparison = _compared(each, copies)
            value: dict[str, Any] = {"nodes": [*each.nodes]}
            if comparison is not None:
                compared += 1
                value |= {"equal": comparison.records, "bytes": comparison.compared}
            error = "; ".join(problems) or None
            operations.comparison(each.log, value, begin=begin, end=each.end, error=error, invoked=began)
            name = f"{each.log[0]}-{each.log[1]}"
            left_out += [f"{name}: {problem}" for problem in problems[:1]]
            if comparison is None or comparison.first is None:
                continue
            offset, found_there = comparison.first
            shown = {str(node): _described(copy, each.log, run) for node, copy in found_there.items()}
            value = {"different": comparison.different, "copies": shown}
            operations.divergence(each.log, value, offset=offset, invoked=began)
            lines.append(
                f"replicas of {name} differ at {comparison.different:,} offsets, the first is {offset}"
            )
    if left_out:
        left = count(len(left_out), "partition")
        lines.append(f"not compared: the replicas of {left}, such as {left_out[0]}")
    return compared, lines


def _compared(each: Replicated, copies: Copies) -> tuple[list[str], int, Comparison | None]:
    """Why it could not be compared, the first offset that was, and what was found."""
    if each.unknown is not None:
        return [str(each.unknown)], each.begin, None
    known = {node: copies[node, each.log] for node in each.nodes}
    paths = {node: of for node, of in known.items() if not isinstance(of, Exception)}
    # Each replica removes old segments by itself, and a snapshot may stand for the first metadata.
    begin = max([each.begin, *map(first_offset, paths.values())])
    if problems := [f"broker {node}: {why}" for node, why in known.items() if node not in paths]:
        return problems, begin, None
    batches = {node: batches_of(of) for node, of in paths.items()}
    return [], begin, compare(batches, begin=begin, end=each.end, is_compacted=each.is_compacted)


def _of_topics(
    cluster: UsedCluster, wanted: Iterable[str] | None, of_run: Iterable[str]
) -> Iterator[Replicated]:
    """wanted: None for those of the run and the internal ones. Partitions without records are left out."""
    names = {*of_run}
    views = metadata_views.ask_each(cluster.brokers, lambda ask: metadata(ask, wanted))
    for log in sorted({log for view in views.values() for log in view}):
        is_internal = log[0].startswith(INTERNAL)
        view = metadata_views.newest(views, log)
        if (log[0] not in names and not is_internal) or view is None or len(view.isr) < 2:
            continue
        try:
            begin, end = _range(cluster, view.leader, log)
        except OSError as error:
            yield Replicated(log=log, nodes=view.isr, begin=0, end=0, unknown=error)
            continue
        if begin < end:
            # A log of an unknown policy may be compacted.
            policy = (
                COMPACT if is_internal else topic_state(cluster.brokers, log[0]).config.get(POLICY, COMPACT)
            )
            yield Replicated(log=log, nodes=view.isr, begin=begin, end=end, is_compacted=COMPACT in policy)


def _range(cluster: UsedCluster, leader: int, log: Log) -> tuple[int, int]:
    """The start of the log and its high watermark. Raises OSError where its leader does not say."""
    if leader not in cluster.brokers:
        raise ConnectionError("it has no leader")
    ask = metadata_views.asking(cluster.brokers[leader])
    found = [offsets(ask, {log: -1}, at=at)[log] for at in (EARLIEST, LATEST)]
    if errors := [code for code, _ in found if code]:
        raise ConnectionError(f"its leader, broker {leader}, answers with error {errors[0]}")
    (_, begin), (_, end) = found
    return begin, end


def _of_metadata(cluster: AnyCluster) -> list[Replicated]:
    """The metadata log, up to where every voter has it: the others may lag behind."""
    quorum = metadata_views.quorum(cluster.brokers)
    if quorum is None or len(quorum.ends) < 2:
        return []
    end = min(quorum.high_watermark, *quorum.ends.values())
    return [Replicated(log=METADATA, nodes=sorted(quorum.ends), begin=0, end=end)]


def _read(cluster: AnyCluster, found: Sequence[Replicated], folder: Path) -> Copies:
    copies: Copies = {}
    for node in sorted({node for each in found for node in each.nodes}):
        logs = [each.log for each in found if node in each.nodes]
        home = folder / str(node)
        home.mkdir()
        try:
            copies |= {(node, log): paths for log, paths in cluster.nodes[node].segments(logs, home).items()}
        except OSError as error:
            copies |= dict.fromkeys([(node, log) for log in logs], error)
    return copies


def _fetched(cluster: UsedCluster, found: Sequence[Replicated], folder: Path) -> Copies:
    copies: Copies = {}
    for each in found:
        for node in each.nodes:
            home = folder / str(node)
            home.mkdir(exist_ok=True)
            try:
                copies[node, each.log] = [
                    copy_replica(cluster.brokers[node], each.log, home, begin=each.begin, end=each.end)
                ]
            except (OSError, KafkaError) as error:
                copies[node, each.log] = error
    return copies


def _described(copy: Record | None, log: Log, run: str) -> dict[str, Any] | None:
    if copy is None:
        return None
    value, _ = decode(copy.value, run, *log)
    return {
        "epoch": copy.epoch,
        "timestamp": copy.timestamp,
        "size": copy.size,
        "digest": copy.digest,
        **({} if value is None else {"value": value}),
    }
