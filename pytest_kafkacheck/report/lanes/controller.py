"""Which controller led the quorum, or the cluster with ZooKeeper, as the brokers saw it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pyarrow.compute as pc

from pytest_kafkacheck.report.changes import SILENT, differs, shifted
from pytest_kafkacheck.report.lane import Row, Span, Strip
from pytest_kafkacheck.report.lanes.replicas import joined, named_once
from pytest_kafkacheck.report.run_data import RunData

ABOUT = "A row for each node that was asked; empty where it did not answer."


def controller(run: RunData) -> tuple[Strip, ...]:
    table = run.observations.filter(pc.equal(run.observations["kind"], "quorum"))
    if not len(table):
        return ()
    table = table.sort_by([("node", "ascending"), ("time", "ascending")])
    times = table["time"].combine_chunks()
    gap = pc.fill_null(pc.greater(pc.subtract(shifted(times, -1), times), 2 * SILENT), False)
    keep = pc.or_(differs(table, ["node", "leader", "leader_epoch"]), differs(table, ["node"], by=-1))
    keep = pc.or_(keep, pc.or_(gap, pc.fill_null(shifted(gap), False)))
    rows: dict[int, list[dict[str, int]]] = {}
    for row in table.append_column("silent", gap).filter(keep).to_pylist():
        rows.setdefault(row["node"], []).append(row)
    lane = tuple(Row(name=_asked(node), spans=tuple(_spans(samples, run))) for node, samples in rows.items())
    return (Strip(title="Controller", about=ABOUT, rows=lane),)


def _asked(node: int | None) -> str:
    return "any node" if node is None else f"node {node}"


def _spans(samples: list[dict[str, int]], run: RunData) -> Iterator[Span]:
    spans = []
    for row, after in pairwise(samples):
        if row["silent"]:
            continue
        leader, epoch = row["leader"], row["leader_epoch"]
        is_known = leader is not None and leader >= 0
        text = f"controller {leader}, epoch {epoch}" if is_known else "no controller"
        look = f"controller c{leader % 2}" if is_known else "out"
        begin, end = run.axis.at(row["time"]), run.axis.at(after["time"])
        title = f"{_asked(row['node'])} sees {text}"
        spans.append(Span(begin=begin, end=end, look=look, text=text, title=title))
    yield from named_once(joined(spans))
