"""What a list of explained mutants lacks, and what it has in vain, is named in full."""

from __future__ import annotations

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
