"""``kafkacheck doctor`` on a terminal of 80 characters, with planted answers."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.setup.doctor import REMEDIES, Diagnosis

LONG = Diagnosis(
    "faults partition, isolate, cut-clients, bridge, halves",
    "missing",
    "no packet filter: the engine is rootless",
    REMEDIES["nft"],
)


@pytest.fixture(autouse=True)
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Diagnosis]:
    found = [Diagnosis("engine", "ok", "28.1 on this host, cgroup v2"), LONG]

    def examine() -> Iterator[Diagnosis]:
        return iter(found)

    monkeypatch.setattr("pytest_kafkacheck.setup.doctor.examine", examine)
    monkeypatch.setattr("pytest_kafkacheck.cli.common.console.WIDTH", 80)
    return found


def test_it_fits_and_breaks_no_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor"]) == cli.INFRASTRUCTURE
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    words = set(text.split())
    for said in (LONG.name, LONG.what, LONG.remedy, "to do:"):
        assert set(said.split()) <= words


def test_json_is_a_list_and_the_status_says_whether_experiments_can_run(
    answers: list[Diagnosis], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["doctor", "--json"]) == cli.INFRASTRUCTURE
    assert [each["state"] for each in json.loads(capsys.readouterr().out)] == ["ok", "missing"]
    answers.pop()
    assert cli.main(["doctor"]) == cli.AS_EXPECTED
