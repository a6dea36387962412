"""A workload in a file of the user is stored, replayed, shrunk and refused like a built-in one."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analyzers.verdict.promises import ALWAYS_REQUIRED
from pytest_kafkacheck import Bounds, Generated, kill, kill_client
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.replay import replayed
from pytest_kafkacheck.experiment.run_directory import JudgingRules, RunDirectory
from pytest_kafkacheck.experiment.stored_runs import stored_runs
from pytest_kafkacheck.shrink.candidate import ExperimentCandidate
from pytest_kafkacheck.shrink.shrink import shrink
from pytest_kafkacheck.shrink.source import pytest_file
from workloads.history.schema import NEMESIS
from workloads.history.writer import Writer
from workloads.reference import Reference

ROOT = Path(__file__).parents[2]
FILE = ROOT / "examples" / "test_echo.py"
ECHO: Any = Reference(module="test_echo", name="Echo", file=str(FILE)).load()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run whose fault killed node 2."""
    experiment = Experiment(workload=ECHO(clients=2), faults=[kill("leader", at=1, lasting=1)])
    (tmp_path / "experiment.json").write_text(json.dumps(experiment.to_json()))
    (tmp_path / "environment.json").write_text(json.dumps({"layout": {"0": [2, 3, 1]}}))
    value = {"event": "kill-0", "stage": "inject", "effective": True, "nodes": [2]}
    row = {"run": "r", "op": 0, "process": NEMESIS, "invoked": 0, "value": json.dumps(value)}
    writer = Writer(tmp_path / "history", "operations", NEMESIS)
    writer.append(**row)
    writer.close()
    return tmp_path


def test_an_experiment_names_class_and_file(run: Path) -> None:
    data = json.loads((run / "experiment.json").read_text())
    assert data["workload"] == {
        "type": "Echo", "module": "test_echo", "file": str(FILE), "values": {"clients": 2, "layout": None},
        "judging": {
            "allowed": [], "requires": ["acks-after-faults"],
            "settings": {"acks": "all", "enable.idempotence": "true"},
        },
    }  # fmt: skip
    experiment = Experiment.read(run / "experiment.json")
    assert experiment.workload == ECHO(clients=2)
    assert dict(experiment.topology.clients) == {"echo-client": 2}
    assert dict(experiment.topology.topics) == {"echo": 1}


def test_another_process_loads_it(run: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from pytest_kafkacheck import Experiment\n"
        "print(Experiment.read(Path(sys.argv[1]) / 'experiment.json').workload)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(run)], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "Echo(clients=2, layout=None)"


def test_a_file_that_the_command_line_runs_may_define_its_workload(tmp_path: Path) -> None:
    """runpy runs it under a name that no import finds; the experiment names the file all the same."""
    file = tmp_path / "experiments.py"
    file.write_text(FILE.read_text() + "\nEXPERIMENT = Experiment(workload=Echo())\n")
    experiment = runpy.run_path(str(file))["EXPERIMENT"]
    data = json.loads(json.dumps(experiment.to_json()))
    assert (data["workload"]["module"], data["workload"]["file"]) == ("experiments", str(file))
    assert Experiment.from_json(data).to_json() == experiment.to_json()


def test_faults_of_clients_name_its_roles() -> None:
    for target in ("role:echo-client", "roles:echo-client", "clients", "client:1"):
        Experiment(workload=ECHO(clients=2), faults=[kill_client(target, at=1, lasting=1)])
    with pytest.raises(
        UsageError, match=r"the workload has no producer; allowed: clients, or those of echo-client"
    ):
        Experiment(workload=ECHO(), faults=[kill_client("producer", at=1, lasting=1)])
    drawn = Generated(weights={"kill-client": 1}, events=2, length=20)
    experiment = Experiment(workload=ECHO(clients=2), faults=drawn)
    assert {str(event.target) for event in experiment.schedule.events} == {"role:echo-client"}


def test_replay_gives_it_the_layout_of_the_run(run: Path) -> None:
    again = replayed(run, symbolic=False)
    assert again.layout == {0: (2, 3, 1)}
    assert [str(event.target) for event in again.schedule.events] == ["2"]
    assert Experiment.from_json(json.loads(json.dumps(again.to_json()))).layout == {0: (2, 3, 1)}


def test_shrink_tries_what_the_workload_leaves_out(run: Path) -> None:
    start = ExperimentCandidate(replayed(run, symbolic=False))
    assert [why for why, _ in start.simpler()] == ["1 client", "cooldown of 1 s"]
    by_role = replace(start.experiment, faults=[kill("leader", lasting=1)])
    assert next(ExperimentCandidate(by_role).simpler())[0] == "a layout of Kafka's choice"


def test_the_minimal_test_loads_it_from_its_file(run: Path) -> None:
    experiment = Experiment.read(run / "experiment.json")
    text = pytest_file(experiment, about="minimal")
    names: dict[str, Any] = {}
    exec(compile(text, "test_minimal.py", "exec"), names)
    assert names["EXPERIMENT"] == experiment
    assert "workload=Echo(clients=2)" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"file": "/gone/test_echo.py", "module": "gone"}, "/gone/test_echo.py: no such file, and module gone"),
        ({"type": "Echos"}, f"{FILE} defines no Echos"),
        ({"values": {"client": 2}}, "workload Echo: "),
    ],
)  # fmt: skip
def test_what_cannot_be_loaded_is_named_with_the_experiment(
    run: Path, change: dict[str, Any], message: str
) -> None:
    file = run / "experiment.json"
    data = json.loads(file.read_text())
    data["workload"] |= change
    file.write_text(json.dumps(data))
    with pytest.raises(UsageError, match=re.escape(message)) as refused:
        Experiment.read(file)
    assert str(file) in str(refused.value)


def change_workload(run: Path, *without: str, **change: Any) -> None:
    file = run / "experiment.json"
    data = json.loads(file.read_text())
    data["workload"] = {
        name: value for name, value in data["workload"].items() if name not in without
    } | change
    file.write_text(json.dumps(data))


SCHEDULE = {"kill-0": "kill leader"}
GONE = {"file": "/gone/test_echo.py", "module": "gone"}


def test_a_run_is_judged_without_the_file_of_its_workload_but_not_run_again(run: Path) -> None:
    judging = {"allowed": ["lost-write"], "requires": ["session-reads"]}
    change_workload(run, **GONE, judging=judging)
    (stored,) = stored_runs([str(run)])
    assert stored.rules == JudgingRules(
        allowed=frozenset({"lost-write"}),
        requires=frozenset({"session-reads"}) | ALWAYS_REQUIRED,
        schedule=SCHEDULE,
    )
    needs_file = r"/gone/test_echo.py: no such file.*; without it, runs can be judged, but not run again"
    with pytest.raises(UsageError, match=needs_file):
        replayed(run, symbolic=True)
    with pytest.raises(UsageError, match=needs_file):
        shrink(run, execute=lambda _: pytest.fail("nothing may run"), seconds=1)


def test_rules_of_judging_are_read_with_bounds_and_expectation(run: Path) -> None:
    bounds = Bounds(unavailable=2)
    faults = [kill("leader", lasting=1)]
    requires = frozenset({"acks-after-faults"}) | ALWAYS_REQUIRED
    settings = {"acks": "all", "enable.idempotence": "true"}
    rules = JudgingRules(
        expect="invalid", bounds=bounds, requires=requires, schedule=SCHEDULE, settings=settings
    )
    for stated in (None, ["transactions"]):
        RunDirectory(run).write_experiment(
            Experiment(workload=ECHO(), bounds=bounds, expect="invalid", faults=faults, requires=stated)
        )
        change_workload(run, **GONE)
        assert RunDirectory(run).read_judging_rules() == rules
        rules = replace(rules, requires=frozenset({"transactions"}))


def test_an_older_run_is_judged_with_the_file_of_its_workload(run: Path) -> None:
    """Earlier versions did not store what judging needs."""
    by_default = JudgingRules(requires=frozenset({"acks-after-faults"}) | ALWAYS_REQUIRED, schedule=SCHEDULE)
    change_workload(run, "judging")
    settings = {"acks": "all", "enable.idempotence": "true"}
    assert RunDirectory(run).read_judging_rules() == replace(by_default, settings=settings)
    change_workload(run, **GONE)
    (stored,) = stored_runs([str(run)])
    assert stored.rules is None
    assert re.search("Echo.* cannot be loaded: /gone/test_echo.py: no such file", stored.problem or "")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"expect": "fine"}, "expect 'fine': expected one of valid, invalid, unknown"),
        ({"bounds": {"unavailable": -1}}, "Experiment.bounds: unavailable: expected seconds"),
        ({"format": 7}, "experiment format 7"),
        ({"workload": {"type": "Echo", "file": "/gone.py", "judging": {}}}, "judging {}: expected names of allowed"),
    ],
)  # fmt: skip
def test_wrong_rules_of_judging_are_named_with_the_file(
    run: Path, change: dict[str, Any], message: str
) -> None:
    file = run / "experiment.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(UsageError, match=re.escape(message)) as refused:
        RunDirectory(run).read_judging_rules()
    assert str(file) in str(refused.value)


def test_a_workload_that_lacks_something_is_refused_before_anything_starts() -> None:
    class NoWorkers(ECHO):  # type: ignore[misc]
        workers = None

    with pytest.raises(UsageError, match=r"Experiment.workload=.*NoWorkers: TypeError"):
        Experiment(workload=NoWorkers())
    with pytest.raises(UsageError, match="orphaned=3 is about partitions of groups, and Echo has none"):
        Experiment(workload=ECHO(), bounds=Bounds(orphaned=3))
