"""The doctor is right about this machine, and about machines where something is missing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from docker.errors import DockerException

from nemesis.registry import faults_that_need
from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.cluster.docker import loop_devices, reaper
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.setup import capabilities, doctor

pytestmark = pytest.mark.cluster

NETWORK, DISKS, EMULATED = (
    f"faults {', '.join(faults_that_need(capability))}" for capability in ("nft", "disks", "netem")
)


def states(spec: ClusterSpec | None = None) -> dict[str, str]:
    return {answer.name: answer.state for answer in doctor.examine(spec)}


def test_a_machine_that_runs_these_tests_is_fit(
    engine: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tuple(doctor.examine())
    monkeypatch.setattr(doctor, "examine", lambda: found)  # both commands show the same answers
    assert cli.main(["doctor", "--json"]) == 0
    answers = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    for name in (
        "engine",
        "broker image",
        "memory",
        "Java for Spark",
        "fault pause",
        NETWORK,
        DISKS,
        "fault bandwidth",
        "fault clock",
        "other faults",
    ):
        assert answers[name]["state"] == "ok", answers[name]
    assert answers[EMULATED]["state"] in ("ok", "without")
    assert all(each["remedy"] for each in answers.values() if each["state"] != "ok")
    ours = reaper.labels("doctor")[reaper.OWNER]
    left = [
        part.run
        for parts in reaper.parts_by_run(engine).values()
        for part in parts
        if part.labels[reaper.OWNER] == ours
    ]
    assert not [run for run in left if run.startswith("doctor-")]
    assert cli.main(["doctor"]) == 0
    assert "nftables" in capsys.readouterr().out


@pytest.mark.nightly
def test_what_is_missing_is_named_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    too_large = states(ClusterSpec(image="kafkacheck/none:0", brokers=9, heap_mb=1_000_000))
    assert (too_large["broker image"], too_large["memory"]) == ("missing", "missing")
    for name in capabilities.PROBES:
        monkeypatch.setitem(capabilities.PROBES, name, "echo not here; exit 2")
    monkeypatch.setattr(
        loop_devices, "SCRIPT", loop_devices.SCRIPT.replace("/host/dev/loop*", "/host/none/loop*")
    )
    without = states()
    assert without[NETWORK] == "missing"
    assert {without[name] for name in (DISKS, EMULATED, "fault clock", "fault bandwidth")} == {"without"}

    def refused(*_: Any) -> Any:
        raise DockerException("operation not permitted")

    monkeypatch.setattr(capabilities, "try_in_container", refused)
    assert states()[NETWORK] == "missing"


def test_a_test_whose_fault_is_impossible_on_the_host_is_skipped_with_the_reason(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(capabilities.PROBES, "netem", "echo no such module; exit 2")
    pytester.makepyfile(
        """
        from pytest_kafkacheck import AppendLog, Experiment, delay

        def test_late_packets(kafkacheck):
            kafkacheck(Experiment(workload=AppendLog(), faults=[delay("leader", lasting=1)])).assert_valid()
        """
    )
    result = pytester.runpytest_inprocess("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        ["*cannot do what the experiment asks for: delay: it needs network emulation*"]
    )


def test_without_an_engine_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    assert cli.main(["doctor"]) == cli.INFRASTRUCTURE
    assert "missing engine" in " ".join(capsys.readouterr().out.split())
