"""``kafkacheck cluster down --all`` asks before it removes what living sessions use. No engine is asked."""

from __future__ import annotations

import io
import json
import sys
from types import SimpleNamespace

import pytest

from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.cluster.docker import engine, reaper

OURS = reaper.labels("living")
DEAD = {**OURS, reaper.OWNER: "1@-1"}
KEPT = {**DEAD, reaper.KEPT: "yes"}
FOREIGN = {**DEAD, reaper.HOST: "elsewhere"}


def volume(labels: dict[str, str], *, created: float = 9e9) -> reaper.Part:
    return reaper.Part("volume", "v", labels, created)


@pytest.mark.parametrize(
    ("labels", "used"),
    [
        ([OURS], [f"process {OURS[reaper.OWNER].partition('@')[0]} on {OURS[reaper.HOST]}"]),
        ([DEAD], []),
        ([FOREIGN], ["process 1 on elsewhere"]),
        ([OURS, {**OURS, reaper.KEPT: "yes"}], []),
        ([KEPT, {**OURS, reaper.CLAIM: "living"}], [f"process {OURS[reaper.OWNER].partition('@')[0]} on "]),
        ([KEPT, {**DEAD, reaper.CLAIM: "living"}], []),
    ],
)
def test_who_uses_a_run(labels: list[dict[str, str]], used: list[str]) -> None:
    found = reaper.users([volume(each) for each in labels])
    assert len(found) == len(used)
    assert all(text.startswith(start) for text, start in zip(found, used, strict=True))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def removed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs that were removed. There are two: one in use, one that is kept and not used."""
    runs = {"living": [volume(OURS)], "kept": [volume(KEPT)]}
    gone: list[str] = []
    monkeypatch.setattr(engine, "connect", lambda: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(engine, "is_local", lambda _: True)
    monkeypatch.setattr(reaper, "parts_by_run", lambda _: runs)
    monkeypatch.setattr(reaper, "remove_all", lambda _: gone.extend(sorted(runs)) or sorted(runs))
    return gone


def down(monkeypatch: pytest.MonkeyPatch, stdin: io.StringIO, *options: str) -> int:
    monkeypatch.setattr(sys, "stdin", stdin)
    return cli.main(["cluster", "down", "--all", *options])


def test_without_a_terminal_it_refuses_and_names_the_option(
    removed: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert down(monkeypatch, io.StringIO("y\n")) == cli.USAGE
    assert removed == []
    told = capsys.readouterr().err
    assert "living by process" in told
    assert "--yes" in told
    assert "kept by" not in told


@pytest.mark.parametrize(("answer", "gone"), [("y\n", True), ("yes\n", True), ("\n", False), ("n\n", False)])
def test_on_a_terminal_it_asks(
    removed: list[str], monkeypatch: pytest.MonkeyPatch, answer: str, gone: bool
) -> None:
    assert down(monkeypatch, Terminal(answer)) == (0 if gone else cli.USAGE)
    assert bool(removed) is gone


def test_yes_does_not_ask(removed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert down(monkeypatch, io.StringIO(), "--yes") == 0
    assert removed == ["kept", "living"]


def test_where_nothing_is_in_use_it_does_not_ask(removed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaper, "parts_by_run", lambda _: {"kept": [volume(KEPT)]})
    assert down(monkeypatch, io.StringIO()) == 0
    assert removed


def test_the_list_names_an_application_with_its_cluster(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    api = SimpleNamespace(containers=lambda **_: [])
    monkeypatch.setattr(engine, "connect", lambda: SimpleNamespace(close=lambda: None, api=api))
    monkeypatch.setattr(engine, "is_local", lambda _: True)
    runs = {"app-1": [volume({**OURS, reaper.USES: "living"})], "living": [volume(OURS)]}
    monkeypatch.setattr(reaper, "parts_by_run", lambda _: runs)
    assert cli.main(["cluster", "ls", "--json"]) == 0
    assert [row["cluster"] for row in json.loads(capsys.readouterr().out)] == [
        "(an application on living)",
        "(is being created or removed)",
    ]
