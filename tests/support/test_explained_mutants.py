"""What a list of explained mutants lacks, and what it has in vain, is named in full."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError

from tests.support.mutation import facts
from tests.support.mutation.explained import differences


def test_mutants_that_are_not_explained_and_explanations_that_are_out_of_date_are_named_in_full() -> None:
    long = "removals._REMOVALS: " + "x" * 500
    assert differences(
        {"facts.a: b -> c", "facts.d: e -> f", long}, {"facts.d: e -> f", "facts.g: h -> i"}
    ) == (
        "unnoticed, so plant a history or explain it: facts.a: b -> c\n"
        f"unnoticed, so plant a history or explain it: {long}\n"
        "noticed, so remove its explanation: facts.g: h -> i"
    )


def test_equal_sets_differ_in_nothing() -> None:
    assert differences({"facts.a: b -> c"}, {"facts.a: b -> c"}) == ""


def test_a_spark_that_is_gone_is_no_sign_of_a_mutant(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(error: Exception) -> Any:
        def raised(*_: object) -> Any:
            raise error

        return raised

    rows: Any = None
    monkeypatch.setattr(facts, "findings", failing(ValueError("refused")))
    assert facts.is_noticed("copies", rows, Counter(), ())
    for lost in (ConnectionRefusedError(), Py4JNetworkError()):
        monkeypatch.setattr(facts, "findings", failing(lost))
        with pytest.raises(type(lost)):
            facts.is_noticed("copies", rows, Counter(), ())
