"""Addresses of ``kafkacheck serve``, and what their pages show."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path

import pytest

from pytest_kafkacheck.serve.pages import page
from tests.support.kept_run import kept_run
from tests.support.report_runs import unclean


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    folder = tmp_path / "runs"
    kept_run(folder, time="20261125-060000", name="orders", run="aaaa0001")
    kept_run(
        folder, time="20261125-070000", name="<b>", run="aaaa0002", result="invalid", causes=["truncation"]
    )
    unclean(folder / "unclean")
    return folder


def test_the_list_shows_what_ls_shows_and_the_latest_run_first(runs: Path) -> None:
    html = page("/", runs).html
    assert html.index("aaaa0002") < html.index("aaaa0001")
    for text in (
        "2026-11-25 06:00:00",
        "orders",
        "truncation",
        'href="/run/unclean"',
        'href="/trend?test=orders"',
    ):
        assert text in html
    assert "<b>" not in html, "names are text"


def test_the_list_can_be_confined_to_bad_runs(runs: Path) -> None:
    html = page("/?failed=1", runs).html
    assert "aaaa0002" in html
    assert "aaaa0001" not in html


def test_a_new_run_is_shown_at_the_next_look(runs: Path) -> None:
    assert "bbbb" not in page("/", runs).html
    kept_run(runs, run="bbbb0001")
    assert "bbbb0001" in page("/", runs).html


def test_a_report_is_made_on_demand_and_nothing_is_written(runs: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in runs.rglob("*")}
    found = page("/run/unclean", runs)
    assert found.status == HTTPStatus.OK
    assert "lost-write" in found.html
    assert {file: file.stat().st_mtime_ns for file in runs.rglob("*")} == before


def test_runs_are_compared(runs: Path) -> None:
    assert "2 runs compared" in page("/compare?run=unclean&run=unclean", runs).html
    assert page("/compare?run=unclean", runs).status == HTTPStatus.UNPROCESSABLE_ENTITY


def test_a_test_is_shown_over_its_runs(runs: Path) -> None:
    kept_run(runs, time="20261125-080000", name="orders", run="aaaa0003", result="invalid")
    html = page("/trend?test=orders", runs).html
    assert "bad 1 of 2 judged runs" in html
    assert html.rindex("aaaa0001") < html.rindex("aaaa0003")


def test_a_run_that_goes_on_is_left_alone(runs: Path) -> None:
    segments = runs / "unclean" / "history" / "segments"
    segments.mkdir()
    found = page("/run/unclean", runs)
    assert found.status == HTTPStatus.UNPROCESSABLE_ENTITY
    assert "goes on, or was interrupted" in found.html
    assert segments.is_dir()


@pytest.mark.parametrize(
    "address",
    [
        "/run/../../etc/passwd",
        "/run/..",
        "/run/%2e%2e",
        "/run/%2e%2e%2fsecret",
        "/run/..%2fsecret",
        "/run//etc/passwd",
        "/run/",
        "/run/missing",
        "/run/unclean/verdict.json",
        "/compare?run=../secret&run=unclean",
        "/compare?run=%2e%2e%2fsecret&run=unclean",
        "/trend?test=missing",
        "/secret",
    ],
)
def test_nothing_but_runs_can_be_had(runs: Path, address: str) -> None:
    unclean(runs.parent / "secret")
    found = page(address, runs)
    assert found.status == HTTPStatus.NOT_FOUND
    assert "lost-write" not in found.html
