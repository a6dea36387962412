"""``kafkacheck explain`` of a run that has no anomaly and no stored verdict. Spark and the checks are replaced."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from analyzers.explain import explain
from analyzers.judge.batch import Judged
from analyzers.verdict.verdict import judge
from pytest_kafkacheck import spark
from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.experiment import judging

RECORDED = Path(__file__).parents[1] / "data" / "runs" / "acks_one"


class NoSpark:
    def __init__(self, **_: Any) -> None:
        pass

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def session(self, **_: Any) -> Any:
        return None


@pytest.mark.parametrize(
    ("unknowns", "lines"),
    [
        ((), ["Nothing to explain: no anomaly was found."]),
        (("One thing.", "Another."), ["No anomaly was found. The verdict is unknown:", "  One thing.", "  Another."]),
    ],
)  # fmt: skip
def test_it_is_judged_for_its_reasons_and_nothing_is_stored(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    unknowns: tuple[str, ...],
    lines: list[str],
) -> None:
    home = tmp_path / "run"
    for name in ("history", "experiment.json"):
        copy = shutil.copytree if (RECORDED / name).is_dir() else shutil.copy
        copy(RECORDED / name, home / name)
    judged = Judged(home=home, verdicts={"r": judge("r", unknowns=unknowns)})
    monkeypatch.setattr(spark, "Spark", NoSpark)
    monkeypatch.setattr(explain, "explanations", lambda *_, **__: iter(()))
    monkeypatch.setattr(judging, "judge_batch", lambda *_, **__: [judged])
    assert cli.main(["explain", str(home)]) == cli.AS_EXPECTED
    assert capsys.readouterr().out.splitlines() == lines
    assert not (home / "verdict.json").exists()
