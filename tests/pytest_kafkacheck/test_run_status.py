"""What is shown while a run goes on, and where it is shown."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from nemesis.faults.isolate import isolate
from nemesis.faults.kill import kill
from nemesis.faults.restart import restart
from pytest_kafkacheck.cli.common.console import StatusLine, say
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.run_status import RunStatus, length_of
from pytest_kafkacheck.experiment.validation import unused_duration
from pytest_kafkacheck.plugin.reporting import progress
from pytest_kafkacheck.shrink.attempts import prospect
from workloads.append_log import AppendLog


def experiment(*faults: Any, **values: Any) -> Experiment:
    return Experiment(workload=AppendLog(), faults=faults, **values)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def row(stage: str, event: str = "kill-0") -> dict[str, Any]:
    return {"f": "kill", "value": {"event": event, "stage": stage, "target": "leader", "nodes": [3]}}


def test_the_line_says_how_far_the_run_is_what_is_broken_and_how_fast_clients_are() -> None:
    clock, shown = Clock(), list[str]()
    status = RunStatus(experiment(kill("leader", at=10, lasting=22), cooldown=3), shown.append, clock)
    status.look(0)
    status.begin("steady")
    status.look(100)
    clock.now += 2
    status.look(2140)
    status.act(row("inject"))
    clock.now += 0.1
    status.look(2200)
    clock.now += 9.9
    status.look(12_140, 2, 3)
    status.act(row("heal"))
    clock.now += 1
    status.look(12_140, 3, 3)
    status.step("final reads")
    assert shown == [
        "waiting for the load",
        "0/35 s  steady",
        "2/35 s  steady  1,020 acks/s",
        "12/35 s  kill leader (nodes 3)  ISR 2/3  1,000 acks/s",
        "13/35 s  steady  ISR 3/3  0 acks/s",
        "13/35 s  final reads",
    ]


@pytest.mark.parametrize(
    ("made", "seconds"),
    [
        (lambda: experiment(duration=5, cooldown=1), 6),
        (lambda: experiment(kill(1, at=2, lasting=3), isolate(2, at=1, lasting=9), cooldown=1), 11),
        (lambda: experiment(restart(1, at=20), cooldown=1), 21),
        (lambda: experiment(kill(1, after="acks:10", lasting=3)), None),
    ],
)
def test_the_length_of_a_run_follows_from_its_schedule(
    made: Callable[[], Experiment], seconds: float | None
) -> None:
    assert length_of(made()) == seconds


def test_a_duration_without_effect_is_explained() -> None:
    fault = kill(1, at=2, lasting=3)
    assert unused_duration(experiment(fault, duration=2)) == (
        "duration=2 has no effect: with faults, the load goes on until the last one has healed"
    )
    assert unused_duration(experiment(isolate("leader", at=300, lasting=8), duration=10)) == (
        "isolate-0 begins at 300 s, after duration=10 s: with faults, the load goes on until the last "
        "one has healed, at about 308 s; leave duration out, or let the fault begin earlier"
    )
    assert unused_duration(experiment(fault)) is None
    assert unused_duration(experiment(duration=2)) is None


@pytest.mark.parametrize(
    ("number", "left", "durations", "said"),
    [
        (3, 80, [12, 13.2], "try 3 of at most 9, 1:20 left"),
        (1, 900, [], "try 1, 15:00 left"),
        (4, 5, [20], "try 4 of at most 4, 0:05 left"),
        (2, float("inf"), [9], "try 2"),
    ],
)
def test_a_try_of_shrink_says_how_many_there_may_be(
    number: int, left: float, durations: list[float], said: str
) -> None:
    assert prospect(number, left, durations) == said


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_status_line_is_for_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, is_shown in ((io.StringIO(), False), (Terminal(), True)):
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys, "stderr", stream)
        line = StatusLine()
        line("12/35 s  steady")
        line("13/35 s  steady")
        # Also where the process is killed now.
        assert stream.getvalue().count("\x1b[?25l") == stream.getvalue().count("\x1b[?25h")
        line("")
        line("")
        assert ("13/35 s" in stream.getvalue()) == is_shown


def test_lines_have_times_where_nobody_watches_them_come(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    say("load is on")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.fullmatch(r"  \d\d:\d\d:\d\d  load is on\n", captured.err)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    say("load is on")
    assert terminal.getvalue() == "  load is on\n"


@pytest.mark.parametrize(
    ("verbosity", "on_terminal", "printed"),
    [
        (1, True, ["kafkacheck: load is on"]),
        (1, False, [r"kafkacheck: \d\d:\d\d:\d\d  load is on"]),
        (0, True, []),
    ],
)
def test_pytest_prints_progress_with_v_and_with_times_in_ci(
    verbosity: int, on_terminal: bool, printed: list[str]
) -> None:
    lines: list[str] = []
    plugins = {
        "terminalreporter": SimpleNamespace(isatty=on_terminal, write_line=lines.append),
        "capturemanager": SimpleNamespace(global_and_fixture_disabled=nullcontext),
    }
    config: Any = SimpleNamespace(
        pluginmanager=SimpleNamespace(getplugin=plugins.get), get_verbosity=lambda: verbosity
    )
    progress(config)("load is on")
    assert len(lines) == len(printed)
    assert all(re.fullmatch(*each) for each in zip(printed, lines, strict=True))
