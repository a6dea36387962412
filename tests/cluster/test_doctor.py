"""The doctor says what is so: on this machine, and where something is missing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from docker.errors import DockerException

from pytest_kafkacheck import cli, doctor
from pytest_kafkacheck.cluster import loop, reaper
from pytest_kafkacheck.cluster.spec import ClusterSpec

pytestmark = pytest.mark.cluster


def states(spec: ClusterSpec | None = None) -> dict[str, str]:
    return {answer.name: answer.state for answer in doctor.examine(spec)}


def test_a_machine_that_runs_our_tests_is_fit(engine: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--json"]) == 0
    answers = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    for name in (
        "engine",
        "broker image",
        "memory",
        "Java for Spark",
        "fault pause",
        "faults isolate, partition",
    ):
        assert answers[name]["state"] == "ok", answers[name]
    assert answers[doctor.DISKS]["state"] in ("ok", "without")
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


def test_what_is_missing_is_named_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    assert states(ClusterSpec(image="kafkacheck/none:0"))["broker image"] == "missing"
    assert states(ClusterSpec(brokers=9, heap_mb=1_000_000))["memory"] == "missing"
    monkeypatch.setattr(doctor, "PROBE", "exit 0")
    monkeypatch.setattr(loop, "SCRIPT", loop.SCRIPT.replace("/host/dev/loop*", "/host/none/loop*"))
    without = states()
    assert without["faults isolate, partition"] == "missing"
    assert without["loss and delay of packets"] == without[doctor.DISKS] == "without"

    def refused(_: Any) -> Any:
        raise DockerException("operation not permitted")

    monkeypatch.setattr(doctor, "_probe", refused)
    assert states()["faults on the network"] == "missing"


def test_without_an_engine_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    assert cli.main(["doctor"]) == cli.INFRASTRUCTURE
    assert "missing engine" in " ".join(capsys.readouterr().out.split())
