"""Arguments and files at random: each ends with a documented status and a sentence, and nothing is left running.

`make nightly` tries 10,000 of them, `make test` 200.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nemesis.faults.isolate import isolate
from nemesis.faults.partition import partition
from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.cli.command import CommandGroup, discover
from pytest_kafkacheck.cli.exit_status import MEANING_OF
from pytest_kafkacheck.cli.run import load
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.imported_lines import import_run
from pytest_kafkacheck.experiment.run_directory import JudgingRules
from pytest_kafkacheck.soak.plan import PRESETS
from pytest_kafkacheck.soak.round import Round
from pytest_kafkacheck.soak.state import SoakFolder, State
from tests.support.json_lines import HEADER, poll, send
from tests.support.mutated import JUNK, damaged, mutated
from tests.support.repetitions import repetitions
from workloads.append_log import AppendLog
from workloads.clients.command.library import introduce
from workloads.clients.command.process import ClientFailure


def tried(full: int) -> settings:
    return settings(
        max_examples=repetitions(full, shorter=25),
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


@pytest.fixture(autouse=True)
def nothing_left_running() -> Iterator[None]:
    before = {each.pid for each in psutil.Process().children(recursive=True)}
    yield
    assert {each.pid for each in psutil.Process().children(recursive=True)} <= before


READING = ("ls", "show", "compare", "trend", "report", "pack", "export", "completion", "image", "cluster")
"""Commands that are carried out with random arguments. Without an engine, `image` and `cluster` change nothing."""

EXPERIMENT = Experiment(
    workload=AppendLog(
        topic_config={"min.insync.replicas": 2}, assignment={0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]}
    ),
    faults=[isolate("leader", at=3, lasting=8), partition([[1], [2, 3]], at=20, lasting=2)],
    cluster=ClusterSpec(config={"num.io.threads": "4"}),
).to_json()  # fmt: skip


def _words() -> list[str]:
    words = [
        "latest",
        "latest~1",
        "run",
        "junk",
        "none",
        "--",
        "-",
        "",
        "-1",
        "0",
        "99999999999",
        "x=1",
        "é",
        "a b",
    ]
    commands = discover("pytest_kafkacheck.cli")
    for command in commands:
        words.append(command.name)
        if isinstance(command, CommandGroup):
            words += [each.name for each in discover(command.package)]
    for action in cli.parser()._actions:
        words += [
            option for each in (action.choices or {}).values() for option in each._option_string_actions
        ]  # type: ignore[union-attr]
    return sorted(set(words))


ARGUMENTS = st.lists(st.sampled_from(_words()) | st.text(max_size=6), max_size=6)


def ended(arguments: list[str]) -> None:
    try:
        status = cli.main(arguments)
    except SystemExit as end:
        status = int(end.code or 0)
        assert status in (cli.AS_EXPECTED, cli.USAGE)
    assert status in MEANING_OF


@given(arguments=ARGUMENTS)
@tried(2000)
def test_arguments_are_parsed_or_refused(arguments: list[str]) -> None:
    with suppress(SystemExit):
        assert cli.parser().parse_args(arguments).command


@given(command=st.sampled_from(READING), rest=ARGUMENTS, experiment=mutated(EXPERIMENT))
@tried(2000)
def test_commands_that_read_runs(
    command: str, rest: list[str], experiment: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / secrets.token_hex(4)
    run = here / ".kafkacheck" / "20260101-000000-run-0123abcd"
    run.mkdir(parents=True)
    (run / "experiment.json").write_text(json.dumps(experiment))
    (here / "junk").write_bytes(b"\xff\x00")
    monkeypatch.chdir(here)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{here}/none.sock")
    ended([command, *rest])


@given(data=mutated(EXPERIMENT))
@tried(2000)
def test_experiments(data: Any) -> None:
    for read in (Experiment.parse, JudgingRules.parse):
        with suppress(UsageError):
            read(json.dumps(data), "experiment.json")


@given(content=damaged(json.dumps(EXPERIMENT, indent=2)))
@tried(1000)
def test_damaged_experiments(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "experiment.json"
    file.write_bytes(content)
    with suppress(UsageError):
        Experiment.read(file)


LINES = [HEADER, send("a", 1, 0), send("b", 2, 1), poll(3, "a", "b")]


@given(rows=mutated(LINES), content=damaged("\n".join(map(json.dumps, LINES))), is_damaged=st.booleans())
@tried(1500)
def test_histories(rows: Any, content: bytes, is_damaged: bool, tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    if is_damaged:
        file.write_bytes(content)
    else:
        file.write_text("\n".join(map(json.dumps, rows if isinstance(rows, list) else [rows])))
    with suppress(UsageError):
        import_run(file, tmp_path / secrets.token_hex(4))


PLAN = PRESETS["safe"].plan()

ROUND = Round(
    number=1, draw=0, workload="AppendLog", version="4.1.1", result="valid", headline="valid", seconds=3.0
)


@given(data=mutated(State(plan=PLAN.digest, seed=1, seconds=3.0, rounds=(ROUND,)).to_json()))
@tried(1000)
def test_states_of_soaks(data: Any, tmp_path: Path) -> None:
    folder = SoakFolder(tmp_path)
    folder.file.write_text(json.dumps(data))
    with suppress(UsageError):
        state = folder.read(PLAN, 1)
        assert state.seen is not None


@given(
    name=st.sampled_from(["workloads", "vary", "clusters", "faults", "events", "length", "lasting"]),
    value=JUNK,
)
@tried(300)
def test_plans(name: str, value: Any, tmp_path: Path) -> None:
    file = tmp_path / "plan.py"
    file.write_text(
        "from pytest_kafkacheck import AppendLog, Soak\nnan, inf = float('nan'), float('inf')\n"
        f"soak = Soak(**{{'workloads': [AppendLog()], {name!r}: {value!r}}})\n"
    )
    with suppress(UsageError):
        load(file)


HELLO = {"protocol": 2, "client": "mine", "version": "1.0", "capabilities": ["produce"], "clock": 0}


@given(
    content=damaged(json.dumps(HELLO) + "\n")
    | mutated(HELLO).map(lambda data: json.dumps(data).encode() + b"\n")
)
@tried(200)
def test_first_lines_of_client_processes(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / secrets.token_hex(4)
    file.write_bytes(content)
    with suppress(ClientFailure, ValueError):
        introduce(f"command:cat {os.fspath(file)}")
