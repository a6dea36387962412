"""What is derived from a condition is true at least where the condition is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzers.catalogue.check import Check
from analyzers.catalogue.condition import names, weakened
from analyzers.catalogue.registry import CHECKS
from analyzers.facts.registry import FACTS

KNOWN = {"a": "a", "b": "x + 1"}


@pytest.mark.parametrize(
    ("where", "derived"),
    [
        ("a", "a"),
        ("a and unknown", "a"),
        ("a or unknown", "true"),
        ("unknown", "true"),
        ("not (a and unknown)", "true"),
        ("a and (unknown or b > 1)", "a"),
        ("a and (unknown and b > 1 or not a)", "(a) and (((x + 1) > 1) or (not a))"),
        ("a and a", "a"),
        ("a = 'b and unknown'", "a = 'b and unknown'"),
        ("a = 'it\\'s or' and unknown", "a = 'it\\'s or'"),
        ("a between 1 and 2 and unknown", "a between 1 and 2"),
        ("a between 1 and unknown and b", "(x + 1)"),
        ('a = "b or unknown" and unknown', 'a = "b or unknown"'),
        ("a > 10L and unknown", "a > 10L"),
        ("a in ('and', 'or')", "a in ('and', 'or')"),
        ("a is not null and coalesce(b, unknown, false)", "a is not null"),
        ("coalesce(b < 1, false)", "coalesce((x + 1) < 1, false)"),
        ("b.process > a.op", "(x + 1).process > a.op"),
        ("exists(a, each -> each.op = 1)", "true"),
        ("`b` > 3 and `unknown`", "(x + 1) > 3"),
        ("(a) or (b)", "(a) or ((x + 1))"),
        ("true", "true"),
        ("a AND unknown OR a", "a"),
    ],
)
def test_terms_that_are_not_known_count_as_true(where: str, derived: str) -> None:
    assert weakened(where, KNOWN) == derived


@pytest.mark.parametrize(
    ("where", "derived"),
    [
        ("high", "h"),
        ("not high", "true"),
        ("a < high", "a < (h)"),
        ("high > a", "(h) > a"),
        ("a > high", "true"),
        ("low <= high", "(l) <= (h)"),
        ("low >= a", "true"),
        ("high = a", "true"),
        ("a < high + 1", "true"),
        ("high > 7", "(h) > 7"),
        ("high>7", "(h)>7"),
        ("a < `high`", "a < (h)"),
        ("`high`", "(h)"),
        ("high < high", "true"),
    ],
)
def test_bounds_decide_only_comparisons_that_they_make_weaker(where: str, derived: str) -> None:
    found = weakened(where, {"a": "a"}, upper={"high": "h"}, lower={"low": "l"})
    assert found in (derived, f"({derived})")


def test_the_branches_of_a_case_are_not_looked_into() -> None:
    with pytest.raises(ValueError, match="must not have a case: 'case when a then b end'"):
        weakened("case when a then b end", KNOWN)


def test_names_are_columns_and_no_functions_fields_or_texts() -> None:
    assert names("size(a) > 0 and b.op is null and not `group` = 'text' and c in (1, 2)") == {
        "a",
        "b",
        "group",
        "c",
    }


@pytest.mark.parametrize(
    "check", [check for check in CHECKS if FACTS[check.over].looks], ids=lambda check: check.name
)
def test_the_first_look_decides_something_of_each_condition(check: Check) -> None:
    """Otherwise the fact of the check would be computed in full for each healthy run."""
    assert FACTS[check.over].look(check.where).condition(check.where) != "true"


COLUMNS = ("a", "b", "c", "d")

terms = st.one_of(
    st.sampled_from(COLUMNS).map(lambda name: f"{name} > 1"),
    st.tuples(
        st.sampled_from(COLUMNS), st.sampled_from(["<", "<=", ">", ">="]), st.sampled_from(COLUMNS)
    ).map(" ".join),
)
conditions = st.recursive(
    terms,
    lambda some: st.one_of(
        some.map(lambda each: f"not ({each})"),
        st.tuples(some, some).map(lambda both: f"({both[0]}) and ({both[1]})"),
        st.tuples(some, some).map(lambda both: f"{both[0]} and {both[1]}"),
        st.tuples(some, some).map(lambda both: f"{both[0]} or {both[1]}"),
        st.tuples(some, some).map(lambda both: f"({both[0]} or {both[1]})"),
    ),
    max_leaves=8,
)
values = st.integers(0, 3)


@given(
    where=conditions,
    row=st.fixed_dictionaries(dict.fromkeys(COLUMNS, values)),
    ways=st.fixed_dictionaries(
        {name: st.sampled_from(["known", "upper", "lower", "unknown"]) for name in COLUMNS}
    ),
    by=st.fixed_dictionaries(dict.fromkeys(COLUMNS, values)),
)
def test_it_is_true_wherever_the_condition_is(
    where: str, row: dict[str, int], ways: dict[str, str], by: dict[str, int]
) -> None:
    """Of any row, with any bounds that are `by` too great or too small. SQL and Python have the same operators."""
    known: dict[str, dict[str, str]] = {way: {} for way in ("known", "upper", "lower", "unknown")}
    shown: dict[str, Any] = {"true": True, "false": False}
    for name, way in ways.items():
        known[way][name] = f"_{name}"
        shown[f"_{name}"] = row[name] + {"upper": 1, "lower": -1}.get(way, 0) * by[name]
    derived = weakened(where, known["known"], upper=known["upper"], lower=known["lower"])
    assert not _holds(where, row) or _holds(derived, shown)


def _holds(where: str, row: dict[str, Any]) -> bool:
    return bool(eval(where, {}, row))
