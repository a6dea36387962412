"""Which controller led the quorum, or the cluster with ZooKeeper, as the brokers saw it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pytest_kafkacheck.report.lane import Row, Span, Strip
from pytest_kafkacheck.report.lanes.replicas import SILENT, differs, joined, named_once, shifted
from pytest_kafkacheck.report.run_data import RunData

KINDS = pa.array(["quorum", "controller", "controller_view"])
"""Of observations that name the controller."""

ABOUT = "A row for each node that was asked, and for ZooKeeper; empty where it did not answer."


def controller(run: RunData) -> tuple[Strip, ...]:
    table = run.observations.filter(pc.is_in(run.observations["kind"], KINDS))
    if not len(table):
        return ()
    table = table.sort_by([("node", "ascending"), ("time", "ascending")])
    times = table["time"].combine_chunks()
    gap = pc.fill_null(pc.greater(pc.subtract(shifted(times, -1), times), 2 * SILENT), False)
    keep = pc.or_(differs(table, ["node", "leader", "leader_epoch"]), differs(table, ["node"], by=-1))
    keep = pc.or_(keep, pc.or_(gap, pc.fill_null(shifted(gap), False)))
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in table.append_column("silent", gap).filter(keep).to_pylist():
        rows.setdefault(_asked(row), []).append(row)
    lane = tuple(Row(name=name, spans=tuple(_spans(samples, run))) for name, samples in rows.items())
    return (Strip(title="Controller", about=ABOUT, rows=lane),)


def _asked(row: Mapping[str, Any]) -> str:
    if row["kind"] == "controller":
        return "ZooKeeper"
    return "any node" if row["node"] is None else f"node {row['node']}"


def _spans(samples: Sequence[Mapping[str, Any]], run: RunData) -> Iterator[Span]:
    spans = []
    for row, after in pairwise(samples):
        if row["silent"]:
            continue
        leader, epoch = row["leader"], row["leader_epoch"]
        is_known = leader is not None and leader >= 0
        known = f"controller {leader}" if epoch is None else f"controller {leader}, epoch {epoch}"
        text = known if is_known else "no controller"
        look = f"controller c{leader % 2}" if is_known else "out"
        begin, end = run.axis.at(row["time"]), run.axis.at(after["time"])
        title = f"{_asked(row)} sees {text}"
        spans.append(Span(begin=begin, end=end, look=look, text=text, title=title))
    yield from named_once(joined(spans))
