"""``kafkacheck explain`` without a FINDING answers from the stored verdict, and starts no Spark."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from analyzers.verdict.finding import Cause, Finding, Step
from analyzers.verdict.verdict import judge

RECORDED = Path(__file__).parents[1] / "data" / "runs" / "acks_one"
BEGAN = 2_955_165_300_327
"""Of the recorded run, CLOCK_MONOTONIC in ns."""

CODE = """
import sys
from pytest_kafkacheck.cli.main import main
status = main(["explain", sys.argv[1]])
assert "analyzers.spark.session" not in sys.modules, "which starts the JVM"
sys.exit(status)
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    home = tmp_path / "run"
    for name in ("history", "logs"):
        shutil.copytree(RECORDED / name, home / name)
    shutil.copy(RECORDED / "environment.json", home)
    return home


def test_the_time_line_has_the_brokers_own_lines_between_the_steps(run: Path) -> None:
    steps = (
        Step(time=6.0, text="broker 1 is cut off"),
        Step(time=14.0, text="broker 1 has cut its log back"),
    )
    cause = Cause(kind="truncation", logs=("log-ce5c4ffd-0",), findings={"lost-write": 215}, steps=steps)
    lost = Finding(anomaly="lost-write", count=215, summary="acknowledged writes missing")
    verdict = judge("ce5c4ffd", findings=[lost], causes=[cause], settings={"acks": "1"}, began=BEGAN)
    (run / "verdict.json").write_text(verdict.to_json())
    done = subprocess.run([sys.executable, "-c", CODE, str(run)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("INVALID  lost-write ×215   run ce5c4ffd")
    line = done.stdout[done.stdout.index("Time line: truncation of log-ce5c4ffd-0") :]
    moments = re.findall(r"^ +([\d.]+) +(history|kafka\d) +(.{14})", line, re.MULTILINE)
    assert moments == [
        ("6.0", "history", "broker 1 is cu"),
        ("9.9", "kafka3", "Fencing broker"),
        ("9.9", "kafka3", "Follower log-c"),
        ("10.0", "kafka2", "Leader log-ce5"),
        ("14.0", "history", "broker 1 has c"),
        ("15.2", "kafka3", "The request fr"),
        ("15.2", "kafka1", "Follower log-c"),
        ("15.4", "kafka1", "Truncating par"),
    ]
    assert "kafkacheck explain" in done.stdout.splitlines()[-1]


def test_a_valid_verdict_has_nothing_to_explain(run: Path) -> None:
    (run / "verdict.json").write_text(judge("ce5c4ffd", began=BEGAN).to_json())
    done = subprocess.run([sys.executable, "-c", CODE, str(run)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "Nothing to explain: no anomaly was found.\n")


def test_an_unknown_verdict_without_findings_gives_all_its_reasons(run: Path) -> None:
    reasons = [f"Reason {number}." for number in range(7)]
    (run / "verdict.json").write_text(judge("ce5c4ffd", unknowns=reasons, began=BEGAN).to_json())
    done = subprocess.run([sys.executable, "-c", CODE, str(run)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "No anomaly was found. The verdict is unknown:",
        *(f"  {reason}" for reason in reasons),
    ]
