"""A run can be judged for some anomalies only, up to the first that it shows."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_kafkacheck.experiment.judging import judge_until_found
from pytest_kafkacheck.experiment.stored_runs import StoredRun
from pytest_kafkacheck.spark import Spark
from tests.support.analyzed_runs import ONE, Runs, good, lost

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_of_tests")]


def lost_and_twice(s: Any) -> Any:
    for sequence in range(4):
        s.send(ONE + sequence, sequence)
    return s.final({0: ONE, 1: ONE, 3: ONE + 3}, end=4)


def test_a_run_is_judged_up_to_the_first_anomaly_that_it_shows(runs: Runs) -> None:
    place = runs({"good": good, "lost": lost, "both": lost_and_twice})

    def judged(name: str, *anomalies: str) -> tuple[str, list[str], str]:
        run = StoredRun(home=place / name)
        (verdict,) = judge_until_found(Spark(), run, anomalies, examples=1).verdicts
        (sentence,) = (each for each in verdict.unknowns if "judged only for" in each)
        return verdict.result, [each.anomaly for each in verdict.findings], sentence

    result, found, sentence = judged("both", "lost-write", "duplicate")
    assert (result, found) == ("invalid", ["lost-write"])
    assert "judged only for lost-write." in sentence
    assert judged("lost", "duplicate", "lost-write")[:2] == ("invalid", ["lost-write"])
    result, found, sentence = judged("good", "lost-write", "duplicate")
    assert (result, found) == ("unknown", []), "what was not looked for is unknown"
    assert "judged only for duplicate, lost-write." in sentence
