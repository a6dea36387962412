"""What a soak keeps, and what it says at its end."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analyzers.verdict.exercised import Exercised, FaultExercised
from analyzers.verdict.finding import Cause, Finding
from analyzers.verdict.verdict import Verdict, judge
from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.cluster.docker import engine
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import CapabilityError, InfrastructureError, UsageError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.soak import clusters, side_by_side
from pytest_kafkacheck.soak.junit import junit_xml
from pytest_kafkacheck.soak.limits import Limits, size_of
from pytest_kafkacheck.soak.markdown import markdown
from pytest_kafkacheck.soak.plan import Soak
from pytest_kafkacheck.soak.round import Round, at_work, causes_of
from pytest_kafkacheck.soak.soak import soak
from pytest_kafkacheck.soak.state import SoakFolder, State
from pytest_kafkacheck.soak.summary import summarized
from tests.support.fake_lab import BYTES, FakeLab, at_once, shows
from workloads.append_log import AppendLog

PLAN = Soak(workloads=[AppendLog()])


def mixed(home: Path, **limits: Any) -> State:
    """Six rounds: valid, unknown, invalid, valid, invalid, unknown."""

    def verdict(experiment: Experiment) -> Verdict:
        number = int(experiment.name.removeprefix("round-"))
        reason = f"no final read of log-0123abcd-{number} in {number}.5 s" if number in (2, 6) else None
        return shows(experiment, lost=number in (3, 5), unknown=reason)

    lab = FakeLab(home, verdict=verdict)
    return soak(
        PLAN, lab, SoakFolder(home), Limits(rounds=6, **limits), seed=1, clock=lab.clock, start=at_once
    )


def kept(state: State, home: Path) -> list[int]:
    return [each.number for each in state.rounds if (home / each.path).is_dir()]


@pytest.mark.parametrize(
    ("keep", "numbers"), [("invalid", [3, 5]), ("failed", [2, 3, 5, 6]), ("all", [1, 2, 3, 4, 5, 6])]
)
def test_what_is_kept(tmp_path: Path, keep: Any, numbers: list[int]) -> None:
    assert kept(mixed(tmp_path, keep=keep), tmp_path) == numbers


@pytest.mark.parametrize(
    ("room", "numbers"), [(5.5, [2, 3, 4, 5, 6]), (4.5, [2, 3, 5, 6]), (3.5, [3, 5, 6]), (2.5, [3, 5])]
)
def test_the_oldest_valid_runs_go_first(tmp_path: Path, room: float, numbers: list[int]) -> None:
    everything = tmp_path / "everything"
    mixed(everything, keep="all")
    state_file = size_of(everything) - 6 * BYTES  # with what else a run has, for all six
    home = tmp_path / "limited"
    limit = int(room * BYTES) + state_file
    state = mixed(home, keep="all", most_bytes=limit)
    assert kept(state, home) == numbers
    assert size_of(home) <= limit


def test_the_first_run_of_a_cause_is_never_removed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the first runs of 1 causes take .* --limit-mb allows 0"):
        mixed(tmp_path, keep="invalid", most_bytes=BYTES)
    assert kept(SoakFolder(tmp_path).read(PLAN, 1), tmp_path) == [3]


def test_the_summary(tmp_path: Path) -> None:
    state = mixed(tmp_path)
    summary = summarized(state.rounds, seed=1, seconds=state.seconds)
    assert summary.results == {"valid": 2, "invalid": 2, "unknown": 2}
    planned = sum(sum(each.effective.values()) for each in state.rounds)
    assert sum(effective for effective, _ in summary.faults.values()) == planned > 0
    assert summary.promises["acks-after-faults"] == 6
    assert [(each.cause, each.anomalies, each.rounds) for each in summary.findings] == [
        ("truncation", ("lost-write",), (3, 5))
    ]
    # Reasons that differ only in figures and ids are one.
    assert [each.rounds for each in summary.unknowns] == [(2, 6)]
    assert summary.unknowns[0].reason.startswith("no final read of log-0123abcd-2")
    json.dumps(summary.to_json())

    text = markdown(summary, name="plan", folder=tmp_path)
    assert "6 rounds in 6 min: 2 valid, 2 invalid, 2 unknown." in text
    assert "### Finding 1: truncation: lost-write" in text
    assert f"kafkacheck explain {tmp_path / state.rounds[2].path}" in text
    assert "- 2 × (2, 6): no final read" in text
    for fault, state_of_cluster in summary.pairs:
        assert fault in text
        assert state_of_cluster in text


def test_findings_that_one_change_prevents_are_one_with_its_story(tmp_path: Path) -> None:
    found = {"lost-write": 7, "offset-reuse": 7, "realtime-order": 3}

    def verdict(*names: str, cause: bool = True) -> Verdict:
        return judge(
            "r",
            findings=[Finding(anomaly=name, count=1, summary="") for name in names],
            causes=[
                Cause(
                    kind="truncation",
                    name="acks=1",
                    why="acks=1 answers before a follower has the record",
                    change="acks=all",
                    findings={name: found[name] for name in names},
                )
            ]
            if cause
            else [],
        )

    shown = [
        verdict("lost-write", "offset-reuse"),
        verdict("realtime-order"),
        verdict("lost-write", cause=False),
    ]
    assert [{name: each.anomalies for name, each in causes_of(of).items()} for of in shown] == [
        {"acks=1": ("lost-write", "offset-reuse")},
        {"acks=1": ("realtime-order",)},
        {"lost-write": ("lost-write",)},
    ]
    assert causes_of(judge("r")) == {}
    rounds = [
        replace(each, causes=causes_of(of))
        for each, of in zip(mixed(tmp_path).rounds, shown[:2], strict=False)
    ]
    assert [Round.from_json(json.loads(json.dumps(each.to_json()))) for each in rounds] == rounds
    summary = summarized(rounds, seed=1, seconds=60)
    text = markdown(summary, name="plan", folder=tmp_path)
    assert "### Finding 1: acks=1: lost-write, offset-reuse, realtime-order" in text
    assert "Why: acks=1 answers before a follower has the record\nTry: acks=all\nRounds 1, 2." in text
    assert "Finding 2" not in text
    failure = ElementTree.fromstring(junit_xml([replace(rounds[0], result="invalid")], name="plan"))[0][0][0]
    assert (failure.text or "").splitlines()[:3] == [
        "acks=1: lost-write, offset-reuse", "acks=1 answers before a follower has the record", "acks=all"
    ]  # fmt: skip


def test_a_finding_without_a_cause_says_so_and_names_the_faults_at_work(tmp_path: Path) -> None:
    """Which faults these were differs from round to round, although the reason may be one."""
    fault = FaultExercised(event="e1", fault="isolate", target="leader", effective=True, healed=True)
    verdict = judge(
        "r",
        findings=[Finding(anomaly="lost-write", count=1, summary="")],
        causes=[Cause(kind="unknown", findings={"lost-write": 1}, faults=("e1",))],
        exercised=Exercised(faults=(fault, replace(fault, event="e2", fault="kill"))),
    )
    assert [*causes_of(verdict)] == ["lost-write, cause not determined"]
    assert at_work(verdict) == ("isolate",)
    rounds = [
        replace(each, causes=causes_of(verdict), at_work=(name,))
        for each, name in zip(mixed(tmp_path).rounds[:2], ("kill", "isolate"), strict=True)
    ]
    (found,) = summarized(rounds, seed=1, seconds=60).findings
    assert (found.cause, found.at_work) == ("lost-write, cause not determined", ("isolate", "kill"))
    assert "At work then: isolate, kill." in markdown(
        summarized(rounds, seed=1, seconds=60), name="plan", folder=tmp_path
    )


def test_junit_has_a_case_for_each_round(tmp_path: Path) -> None:
    suite = ElementTree.fromstring(junit_xml(mixed(tmp_path).rounds, name="plan"))[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("6", "2", "2")
    assert [case.get("name") for case in suite if case.find("failure") is not None] == ["round 3", "round 5"]
    assert [case.get("name") for case in suite if case.find("skipped") is not None] == ["round 2", "round 6"]


def test_a_soak_without_a_round_says_that_nothing_is_known() -> None:
    text = markdown(summarized((), seed=1, seconds=0), name="plan", folder=Path("x"))
    assert "Nothing was run, so nothing is known" in text
    assert "|" not in text


@pytest.fixture
def on_the_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., int]:
    """Runs ``kafkacheck soak`` with a lab that shows what `verdict` says."""

    def call(
        *arguments: str,
        verdict: Callable[[Experiment], Verdict] = shows,
        before: Any = None,
        cannot: Exception | None = None,
    ) -> int:
        class Lab(FakeLab):
            def __init__(self, home: Path, **_: object) -> None:
                super().__init__(home, verdict=verdict)
                self.before = before or self.before

            def __enter__(self) -> Lab:
                return self

            def __exit__(self, *_: object) -> None:
                pass

            def fitted(self, plan: Soak) -> tuple[Soak, dict[str, str]]:
                return plan, {}

            def check(self, _: Soak, *, clusters: int = 1) -> None:  # noqa: ARG002
                if cannot is not None:
                    raise cannot

        monkeypatch.setattr(clusters, "Clusters", Lab)
        monkeypatch.chdir(tmp_path)
        return cli.main(["soak", *arguments])

    return call


def test_the_command_writes_its_files_and_goes_on(
    on_the_command_line: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "plan.py").write_text(
        "from pytest_kafkacheck import AppendLog, Soak\nsoak = Soak(workloads=[AppendLog()])\n"
    )
    files = ["--junitxml", "soak.xml", "--markdown", "soak.md", "--json", "soak.json"]
    assert on_the_command_line("plan.py", "--rounds", "2", *files) == cli.AS_EXPECTED
    assert json.loads((tmp_path / "soak.json").read_text())["rounds"] == 2
    assert (tmp_path / "soak.md").read_text() in capsys.readouterr().out
    assert "round 2" in (tmp_path / "soak.xml").read_text()
    lost = on_the_command_line("plan.py", "--rounds", "3", verdict=lambda each: shows(each, lost=True))
    assert lost == cli.NOT_AS_EXPECTED
    assert "going on after 2 rounds" in capsys.readouterr().err
    unknown = on_the_command_line(
        "plan.py", "--rounds", "1", "--seed", "2", verdict=lambda each: shows(each, unknown="no end")
    )
    assert unknown == cli.UNKNOWN


def test_several_clusters_have_one_summary(
    on_the_command_line: Callable[..., int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: list[list[str]] = []

    def one_after_the_other(command: list[str], number: int) -> None:
        asked.append(command)
        for cluster in range(1, number + 1):
            monkeypatch.setenv(side_by_side.CLUSTER, str(cluster))
            monkeypatch.setenv(side_by_side.PARENT, str(os.getppid()))
            assert on_the_command_line(*command[3:]) == cli.AS_EXPECTED
            assert capsys.readouterr().out == "", "the process of a cluster writes no summary"

    monkeypatch.setattr(side_by_side, "run_side_by_side", one_after_the_other)
    monkeypatch.setattr(side_by_side, "end_with_parent", lambda _: None)
    arguments = ("--preset", "safe", "--rounds", "5", "--clusters", "2", "--json", "soak.json")
    assert on_the_command_line(*arguments) == cli.AS_EXPECTED
    assert asked == [["-m", "pytest_kafkacheck", "soak", *arguments]]
    assert json.loads((tmp_path / "soak.json").read_text())["rounds"] == 5
    state = json.loads((tmp_path / ".kafkacheck" / "soak-safe-1" / "soak.json").read_text())
    assert [each["number"] for each in state["rounds"]] == [1, 3, 5, 2, 4]


def test_clusters_that_do_not_fit_into_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "is_local", lambda _: False)
    client: Any = SimpleNamespace(info=lambda: {"MemTotal": 8000 << 20})
    engine.require_memory(client, ClusterSpec(), times=4)
    with pytest.raises(InfrastructureError, match=r"2 clusters of .* need about 8404 MiB; .* fewer clusters"):
        engine.require_memory(client, ClusterSpec(), times=2, beside_mb=2 * clusters.JUDGE_MB)


def test_what_the_machine_cannot_do_is_refused_without_a_summary(
    on_the_command_line: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A summary of an earlier soak stays as it is."""
    (tmp_path / "soak.md").write_text("of yesterday")
    arguments = ("--preset", "safe", "--rounds", "1", "--markdown", "soak.md")
    refused = on_the_command_line(*arguments, cannot=CapabilityError("delay: needs sch_netem"))
    assert refused == cli.INFRASTRUCTURE
    assert capsys.readouterr().out == ""
    assert (tmp_path / "soak.md").read_text() == "of yesterday"


def test_an_interrupted_soak_says_what_it_has(
    on_the_command_line: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(number: int) -> None:
        if number == 2:
            raise KeyboardInterrupt

    assert on_the_command_line("--preset", "safe", "--rounds", "9", before=interrupt) == cli.INTERRUPTED
    assert "2 rounds in " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "safe"], "a soak without an end"),
        (["--rounds", "1"], "either a file that binds a Soak, or --preset safe|unsafe|cycle"),
        (["--preset", "safe", "--rounds", "0"], "--rounds 0: expected a number above 0"),
        (["--preset", "safe", "--rounds", "1", "--clusters", "0"], "--clusters 0: expected a number above 0"),
        (["--preset", "safe", "--rounds", "1", "--faults", "isolat"], "did you mean 'isolate'"),
        (["--preset", "safe", "--rounds", "1", "--client", "nix"], "--client nix"),
        (["--preset", "safe", "--rounds", "1", "--dir", "/proc/none"], "a soak cannot be kept there"),
        (["--preset", "safe", "--rounds", "1", "--markdown", "no/where.md"], "its folder does not exist"),
        (["missing.py", "--rounds", "1"], "no such file"),
        (["empty.py", "--rounds", "1"], "binds no soaks at its top level"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_starts(
    on_the_command_line: Callable[..., int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    (tmp_path / "empty.py").write_text("")
    assert on_the_command_line(*arguments) == cli.USAGE
    assert message in capsys.readouterr().err
    assert not (tmp_path / ".kafkacheck").exists()
