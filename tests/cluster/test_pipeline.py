"""Applications that are not set up as they should be, on real brokers: never valid, and said in one line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck import Bounds, InfrastructureError, Pipeline, kill
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.run import Run

pytestmark = [pytest.mark.cluster, pytest.mark.nightly, pytest.mark.timeout(300)]

SUPPORT = Path(__file__).parents[1] / "support"

COUNTER = str(Path(__file__).parents[2] / "examples" / "applications" / "counter.py")

COPIER = Path(__file__).parents[2] / "examples" / "applications" / "copier.py"

BAD = str(SUPPORT / "bad_application.py")

Execute = Callable[[Experiment], Run]


def names_no_input(*_: Any) -> Iterable[str]:
    return []


def fails(*_: Any) -> Iterable[str]:
    raise KeyError("id")


def experiment(flaw: str, **values: Any) -> Experiment:
    command = [sys.executable, BAD, flaw, "{bootstrap}", "{source}", "{sink}", "{group}"]
    few: dict[str, Any] = {"quiet": 4.0, "settle": 12.0, "restarts": 1, "command": command}
    return Experiment(workload=Pipeline(**few | values), duration=2, cooldown=0.5, expect="unknown")


def is_count(key: str, inputs: list[Any], outputs: list[Any]) -> bool | str:
    """Each output is one more than the one before, and the last one is the number of the inputs."""
    counts = [int(each.value) for each in outputs]
    return counts == list(range(1, len(inputs) + 1)) or f"{counts[-3:]} at the end, of {len(inputs)} of {key}"


def no_answer(*_: Any) -> None:
    pass


def counting(*more: str, **values: Any) -> Experiment:
    """An application with one instance, killed in the middle of its work."""
    pytest.importorskip("confluent_kafka")
    command = [sys.executable, COUNTER, "{bootstrap}", "{source}", "{sink}", "{group}", "{client}", *more]
    workload = Pipeline(**{"command": command, "aggregate": is_count, "restarts": 20, **values})
    return Experiment(workload=workload, faults=[kill("app", at=8, lasting=1)])


def doubt(run: Run, *parts: str) -> str:
    """The one reason that has these parts."""
    assert run.result == "unknown"
    (found,) = (each for each in run.verdict.unknowns if all(part in each for part in parts))
    assert "\n" not in found
    assert "Traceback" not in run.text()
    return found


def test_an_application_that_cannot_be_started(kafkacheck: Execute) -> None:
    command = ["no-such-program", "{bootstrap}", "{source}", "{sink}"]
    with pytest.raises(InfrastructureError, match="there is no program 'no-such-program'"):
        kafkacheck(experiment("", command=command))


def test_an_application_that_ends_at_once(kafkacheck: Execute) -> None:
    run = kafkacheck(experiment("ends at once"))
    doubt(run, "app:0", "ended by itself with status 1, and was started 2 times; its last output: no licence")


def test_an_application_that_writes_garbage(kafkacheck: Execute) -> None:
    run = kafkacheck(experiment("writes garbage"))
    doubt(run, "The outputs cannot be judged: none of the", "names an input", "value b'\\xff\\x00{'")


def test_an_application_that_writes_elsewhere(kafkacheck: Execute) -> None:
    run = kafkacheck(experiment("writes elsewhere"))
    assert run.result != "valid"
    (found,) = (each for each in run.verdict.unknowns if "the application wrote nothing to sink-" in each)
    assert "Traceback" not in run.text()
    assert "\n" not in found


def test_an_application_that_is_never_quiet(kafkacheck: Execute) -> None:
    doubt(kafkacheck(experiment("never quiet")), "was not quiet 12 s after the last input")


def test_an_application_that_stops_working(kafkacheck: Execute) -> None:
    run = kafkacheck(experiment("stops working"))
    assert run.result == "unknown"
    assert "unprocessed-input" in {finding.anomaly for finding in run.verdict.findings}


def test_an_application_that_writes_something_else(kafkacheck: Execute) -> None:
    run = kafkacheck(experiment("writes something else"))
    run.assert_invalid("invented-output")
    assert {finding.anomaly for finding in run.verdict.findings} == {"invented-output"}


@pytest.mark.parametrize(
    ("identify", "said"),
    [(names_no_input, "identify found nothing"), (fails, "identify raised KeyError ('id') for offset")],
)
def test_a_function_that_does_not_identify(
    kafkacheck: Execute, identify: Callable[..., Iterable[str]], said: str
) -> None:
    doubt(kafkacheck(experiment("none", identify=identify)), "The outputs cannot be judged", said)


def test_members_of_the_next_generation_protocol_are_owners(kafkacheck: Execute) -> None:
    pytest.importorskip("confluent_kafka")
    program = [sys.executable, str(SUPPORT / "skipping_application.py")]
    command = [*program, "{bootstrap}", "{source}", "{sink}", "{group}", "{client}"]
    workload = Pipeline(command=command, instances=2, rate=50)
    run = kafkacheck(Experiment(workload=workload, duration=12, expect="invalid"))
    run.assert_invalid("missing-output")
    (finding,) = run.verdict.findings
    assert {example["owner"] for example in finding.examples} <= {"app:0", "app:1"}


def test_a_count_that_is_right_after_a_crash(kafkacheck: Execute) -> None:
    kafkacheck(counting()).assert_valid()


def test_a_count_that_is_wrong_after_a_crash(kafkacheck: Execute) -> None:
    """It begins with 0 after the crash, although the group goes on where it was."""
    run = kafkacheck(counting("forgetful"))
    run.assert_invalid("wrong-aggregate")
    (finding,) = run.verdict.findings
    assert finding.count == 20, "each key"
    example = finding.examples[0]
    assert f"of {example['inputs']} of {example['key']}" in example["wrong"]
    assert [fault.partition(" (")[0] for fault in example["faults"]] == ["kill app"]


def test_a_function_that_does_not_judge(kafkacheck: Execute) -> None:
    run = kafkacheck(counting(aggregate=no_answer))
    doubt(
        run,
        "The outputs cannot be judged",
        "aggregate returned None for key-0 with",
        "expected True, False, or",
    )


def copying(session_timeout: int, folder: Path, **values: Any) -> Pipeline:
    """One instance of the copier, with this session timeout in ms."""
    program, source = folder / "copier.py", COPIER.read_text()
    setting = "session_timeout_ms=6000"
    assert setting in source
    program.write_text(source.replace(setting, f"session_timeout_ms={session_timeout}"))
    command = [
        sys.executable,
        str(program),
        "{bootstrap}",
        "{source}",
        "{sink}",
        "{group}",
        "{client}",
        "0.3",
    ]
    return Pipeline(command=command, restarts=20, **values)


def test_a_kill_of_an_instance_that_owns_nothing_makes_a_run_unknown(
    kafkacheck: Execute, tmp_path: Path
) -> None:
    """The second and the third one hit it while its group waits for the session of the first process."""
    workload = copying(45000, tmp_path, quiet=55, settle=120)
    kills = [kill("app", at=at, lasting=1) for at in (4, 8, 12)]
    run = kafkacheck(Experiment(workload=workload, faults=kills, expect="unknown"))
    said = doubt(
        run, "Not exercised, but required (work-at-faults): 2 faults met no work: kill app (kill-client-1): "
    )
    for part in (
        "app:0 owned no partition from ",
        "session.timeout.ms=45000; set 6000 in the application, or gap=",
    ):
        assert said.count(part) == 2
    assert [fault.met_work for fault in run.verdict.exercised.faults] == [True, False, False]
    assert "kill ✗ met no work  kill ✗ met no work" in run.one_line()
    assert run.verdict.settings["session.timeout.ms"] == "45000"
    assert "acks" not in run.verdict.settings, "of the worker that feeds it"
    still = run.verdict.availability.standstill
    assert still is not None
    assert still.lasted > 30, "for as long as the session lasted"


def test_kills_that_are_far_enough_apart_meet_work(kafkacheck: Execute, tmp_path: Path) -> None:
    kills = [kill("app", at=at, lasting=1) for at in (4, 19)]
    bounds = Bounds(standstill=60)
    run = kafkacheck(Experiment(workload=copying(6000, tmp_path), faults=kills, bounds=bounds, cooldown=8))
    run.assert_valid()
    assert all(fault.in_flight for fault in run.verdict.exercised.faults)
    assert run.verdict.exercised.faults[0].name == "kill app"


def test_a_standstill_beyond_its_bound_is_found(kafkacheck: Execute, tmp_path: Path) -> None:
    workload = copying(6000, tmp_path)
    faults = [kill("app", at=4, lasting=5)]
    run = kafkacheck(
        Experiment(
            workload=workload, faults=faults, bounds=Bounds(standstill=3), cooldown=8, expect="invalid"
        )
    )
    run.assert_invalid("standstill")
    assert {finding.anomaly for finding in run.verdict.findings} == {"standstill"}
    assert run.verdict.findings[0].examples[0]["faults"] == ["kill app (app:0)"]
