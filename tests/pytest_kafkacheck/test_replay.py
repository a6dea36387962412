"""A run is replayed from its folder, with the nodes that its faults hit."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from analyzers.catalogue.bounds import Bounds
from nemesis.event import Event
from pytest_kafkacheck import bridge, corrupt, delete_records, isolate, kill, kill_client, partition, pause
from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment import operations
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.replay import layout, replayed, targets
from workloads.append_log import AppendLog
from workloads.clients.requests import Leadership
from workloads.history.compaction.compact import compact
from workloads.history.schema import HARNESS, NEMESIS
from workloads.history.writer import Writer
from workloads.pipeline import Pipeline
from workloads.workload import Workload

LAYOUT = {0: (2, 3, 1), 1: (3, 1, 2), 2: (1, 2, 3)}


def run_of(
    home: Path,
    faults: Sequence[Event],
    hit: Mapping[str, Mapping[str, Any]],
    *,
    layout: Mapping[int, Sequence[int]] | None = LAYOUT,
    workload: Workload | None = None,
) -> Experiment:
    bounds = Bounds(unavailable=20)
    experiment = Experiment(workload=workload or AppendLog(), faults=faults, seed=5, bounds=bounds)
    (home / "experiment.json").write_text(json.dumps(experiment.to_json()))
    facts = {} if layout is None else {"layout": {str(key): nodes for key, nodes in layout.items()}}
    (home / "environment.json").write_text(json.dumps(facts))
    writer = Writer(home / "history", "operations", NEMESIS)
    for stage in ("inject", "heal"):
        for number, (event, nodes) in enumerate(hit.items()):
            value = {"event": event, "stage": stage, "effective": True, **nodes}
            if stage == "heal":
                value["nodes"] = [9]
            row = {
                "run": "r",
                "op": number,
                "process": NEMESIS,
                "invoked": number,
                "value": json.dumps(value),
            }
            writer.append(**row)
    phase = {"run": "r", "op": -1, "process": HARNESS, "invoked": 0, "value": json.dumps({"phase": "steady"})}
    writer.append(**phase)
    writer.close()
    return experiment


@pytest.mark.parametrize("judged", [False, True])
def test_roles_become_the_nodes_of_the_run(tmp_path: Path, judged: bool) -> None:
    experiment = run_of(
        tmp_path,
        [
            isolate("leader:log-0", at=1, lasting=2),
            pause("minority", at=4, lasting=1),
            kill(3, at=6, lasting=2),
        ],
        {"isolate-0": {"nodes": [2]}, "pause-1": {"nodes": [1]}, "kill-2": {"nodes": [3]}},
    )
    if judged:
        compact(tmp_path)
    assert targets(tmp_path)["pause-1"]["nodes"] == [1]
    again = replayed(tmp_path, symbolic=False)
    assert [str(event.target) for event in again.schedule.events] == ["2", "1", "3"]
    assert [event.id for event in again.schedule.events] == ["isolate-0", "pause-1", "kill-2"]
    assert again.workload.assignment == LAYOUT
    assert replace(again, faults=experiment.faults, workload=experiment.workload) == experiment
    assert replayed(tmp_path, symbolic=True) == experiment


def test_a_target_that_no_id_can_replace_is_kept(tmp_path: Path) -> None:
    faults = [
        partition([[1], [2, 3]], at=1, lasting=1),
        bridge(at=3, lasting=1),
        delete_records("partition:1", at=5),
        corrupt("leader:1", at=6, lasting=1),
        kill("leader", at=20, lasting=1),
        isolate("leader:log-1-0", at=24, lasting=1),
        isolate("coordinator:others", at=26, lasting=1),
    ]
    experiment = run_of(
        tmp_path,
        faults,
        {
            "partition-0": {"nodes": [1, 2, 3]},
            "partition-1": {"nodes": [1, 2, 3]},
            "delete-records-2": {"nodes": [1, 2, 3]},
            "corrupt-3": {"nodes": [3]},
            "kill-4": {"nodes": []},
            "isolate-5": {"nodes": [3]},
            "isolate-6": {"nodes": [1]},
        },
        workload=AppendLog(topics_written=2),
    )
    assert replayed(tmp_path, symbolic=False) == experiment


def test_a_single_client_is_named_by_its_process_and_several_are_not(tmp_path: Path) -> None:
    run_of(
        tmp_path,
        [kill_client("producer", at=1, lasting=1), kill_client("producers", at=3, lasting=1)],
        {
            "kill-client-0": {"nodes": [], "processes": [1]},
            "kill-client-1": {"nodes": [], "processes": [0, 1]},
        },
    )
    events = replayed(tmp_path, symbolic=False).schedule.events
    assert [str(event.target) for event in events] == ["client:1", "producers"]


def test_an_instance_of_an_application_names_its_processes_already(tmp_path: Path) -> None:
    """The process that replaced its first one would have another number in the replay."""
    run_of(
        tmp_path,
        [kill("app:1", at=1, lasting=1), kill("app:1", at=3, lasting=1)],
        {"kill-client-0": {"nodes": [], "processes": [2]}, "kill-client-1": {"nodes": [], "processes": [7]}},
        workload=Pipeline(command=["a", "{bootstrap}", "{source}", "{sink}"], partitions=3, instances=2),
    )
    events = replayed(tmp_path, symbolic=False).schedule.events
    assert [str(event.target) for event in events] == ["app:1", "app:1"]


def test_a_node_that_was_added_and_removed_is_not_named(tmp_path: Path) -> None:
    experiment = run_of(tmp_path, [pause("one", lasting=1)], {"pause-0": {"nodes": [4]}})
    assert replayed(tmp_path, symbolic=False) == experiment


def test_of_two_conflicting_events_one_keeps_its_role(tmp_path: Path) -> None:
    run_of(
        tmp_path,
        [kill("leader", at=0, lasting=5), pause("one", at=2, lasting=1)],
        {"kill-0": {"nodes": [2]}, "pause-1": {"nodes": [2]}},
    )
    events = replayed(tmp_path, symbolic=False).schedule.events
    assert [str(event.target) for event in events] == ["2", "one"]


def test_an_assignment_of_the_user_is_kept(tmp_path: Path) -> None:
    mine = AppendLog(partitions=1, assignment={0: (3, 2, 1)})
    run_of(tmp_path, [kill("leader", lasting=1)], {"kill-0": {"nodes": [3]}}, layout=None, workload=mine)
    assert replayed(tmp_path, symbolic=False).workload == mine


@pytest.mark.parametrize("recorded", [None, {}])
def test_ids_without_the_layout_of_then_are_refused(tmp_path: Path, recorded: Any) -> None:
    run_of(tmp_path, [kill("leader", lasting=1)], {"kill-0": {"nodes": [3]}}, layout=recorded)
    with pytest.raises(UsageError, match=r"does not say on which brokers.*--symbolic"):
        replayed(tmp_path, symbolic=False)
    assert replayed(tmp_path, symbolic=True).faults


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("replay", "shrink"):
        assert cli.main([command, str(tmp_path)]) == cli.USAGE
        assert "not the folder of a run" in capsys.readouterr().err


def test_the_layout_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = {
        ("log-r", partition): Leadership(leader=nodes[0], leader_epoch=0, replicas=nodes, isr=nodes)
        for partition, nodes in LAYOUT.items()
    }
    monkeypatch.setattr(
        operations.metadata_views, "views", lambda _, topics: {1: recorded} if topics == ["log-r"] else {}
    )
    (tmp_path / "environment.json").write_text(json.dumps({"python": "3"}))

    class Cluster:
        brokers: Mapping[int, Any] = {}

    operations.write_layout(tmp_path, Cluster(), "log-r")  # type: ignore[arg-type]
    assert layout(tmp_path) == LAYOUT
    assert json.loads((tmp_path / "environment.json").read_text())["python"] == "3"


@pytest.mark.parametrize(
    "assignment",
    [
        {},
        {0: (1, 2, 3)},
        {0: (1, 2), 1: (2, 3, 1)},
        {0: (1, 2, 2), 1: (2, 3, 1)},
        {0: (1, 2, 3), 2: (2, 3, 1)},
        {0: (1, 2, 3), "0": (1, 2, 3), 1: (2, 3, 1)},
        {0: ("1", 2, 3), 1: (2, 3, 1)},
        {0: 1, 1: 2},
        "1,2,3",
    ],
)
def test_assignments_that_cannot_be(assignment: Any) -> None:
    with pytest.raises(ValueError, match=re.escape("AppendLog.assignment=")):
        AppendLog(partitions=2, assignment=assignment)


def test_an_assignment_survives_json_and_reaches_the_topic() -> None:
    log = AppendLog(partitions=2, replication_factor=2, assignment={1: [2, 1], 0: [1, 3]})
    again = AppendLog.from_json(json.loads(json.dumps(log.to_json())))
    assert again == log
    assert again.topics("r")[0].assignment == {0: (1, 3), 1: (2, 1)}
    assert Experiment(workload=again).workload == log


def test_an_assignment_to_brokers_that_are_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no broker 4; allowed: 1, 2, 3"):
        Experiment(workload=AppendLog(partitions=1, assignment={0: (1, 2, 4)}))


@pytest.mark.parametrize(
    "recorded",
    [
        {0: [1, 2]},
        {0: [7, 8, 9], 1: [1, 2, 3], 2: [1, 2, 3]},
        {0: ["1", "2", "3"], 1: [1, 2, 3], 2: [1, 2, 3]},
    ],
)
def test_a_layout_that_cannot_be_is_refused(tmp_path: Path, recorded: Any) -> None:
    run_of(tmp_path, [kill("leader", lasting=1)], {"kill-0": {"nodes": [3]}}, layout=recorded)
    with pytest.raises(
        UsageError, match=r"environment\.json: its layout of partitions cannot be used again.*--symbolic"
    ):
        replayed(tmp_path, symbolic=False)


@pytest.mark.parametrize("nodes", [3, "one", ["3"], [-1], [None], [[3]], {"3": 1}, [3, 3]])
def test_what_are_no_ids_is_as_if_it_were_not_there(tmp_path: Path, nodes: Any) -> None:
    faults = [kill("leader", lasting=1), kill_client("producer", at=3, lasting=1)]
    hit = {"kill-0": {"nodes": nodes}, "kill-client-1": {"processes": nodes}}
    experiment = run_of(tmp_path, faults, hit)
    assert replayed(tmp_path, symbolic=False) == experiment


@pytest.mark.parametrize("parquet", [True, False])
def test_a_history_that_cannot_be_read_is_refused(tmp_path: Path, parquet: bool) -> None:
    run_of(tmp_path, [kill("leader", lasting=1)], {"kill-0": {"nodes": [3]}})
    shutil.rmtree(tmp_path / "history")
    if parquet:
        (tmp_path / "history" / "operations").mkdir(parents=True)
        (tmp_path / "history" / "operations" / "part.parquet").write_bytes(b"nothing")
    else:
        other = pa.schema([("x", pa.int64())])
        (tmp_path / "history" / "segments").mkdir(parents=True)
        with pa.ipc.new_stream(tmp_path / "history" / "segments" / "operations-0.arrows", other):
            pass
    with pytest.raises(UsageError, match=r"history: cannot be read .*--symbolic"):
        replayed(tmp_path, symbolic=False)
