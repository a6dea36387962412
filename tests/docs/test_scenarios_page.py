"""docs/scenarios.md: its tables have what was shown, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "generate"))
    import scenarios

    yield scenarios
    for name in ("scenarios", "_blocks"):
        sys.modules.pop(name, None)


def result(id_: str, *outcomes: str, **changed: Any) -> dict[str, Any]:
    tries = [{"outcome": outcome, "figures": {"lost": 3}} for outcome in outcomes]
    given = {
        "id": id_,
        "title": "so it is",
        "case": "4.1.1",
        "claim": "It is so.",
        "source": "https://example.org",
        "why": "",
    }
    return {**given, "tries": tries, **changed}


def test_tries_of_several_files_add_up_and_rows_follow_the_ids(page: Any) -> None:
    files = [[result("B10", "confirmed"), result("B9", "refuted")], [result("B10", "not exercised")]]
    merged = page.merged(iter(files))
    assert [(each["id"], len(each["tries"])) for each in merged] == [("B9", 1), ("B10", 2)]


def test_what_was_never_exercised_has_no_row(page: Any) -> None:
    merged = page.merged(iter([[result("A1", "not exercised", "not exercised"), result("A2", "confirmed")]]))
    assert [each["id"] for each in merged] == ["A2"]


def test_a_row_has_the_rate_the_figures_and_the_reason(page: Any) -> None:
    body = page.body([result("C9", "refuted", "refuted", why="a known defect")])
    assert "### C. " in body
    assert "| C9 | It is so. ([source](<https://example.org>)) | 4.1.1 |" in body
    assert "| refuted 2 of 2; expected: a known defect | lost: 3 |" in body


def test_a_claim_with_several_cases_is_named_once(page: Any) -> None:
    body = page.body([result("C9", "confirmed"), result("C9", "refuted", case="4.0.0", why="a defect")])
    assert body.count("It is so.") == 1
    assert "|  |  | 4.0.0 | refuted 1 of 1; expected: a defect | lost: 3 |" in body


def test_a_picture_is_shown_for_each_result_that_has_one(page: Any) -> None:
    results = [result("C9", "confirmed"), result("C9", "confirmed", case="4.0.0")]
    body = page.pictures(results, {"C9-so-it-is-4.0.0", "C8-another-4.0.0"})
    assert body == ("### C9: so it is, 4.0.0\n\n![It is so.](images/scenarios/C9-so-it-is-4.0.0.svg)")
