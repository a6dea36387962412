"""The profile jepsen agrees with the reference's own cases, with --ww-deps and with --no-ww-deps."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from analyzers.jepsen.analyze import Judged, Options, analyze, judged

pytestmark = [pytest.mark.spark, pytest.mark.shared]

OTHER = {
    "gen-poll-unseen/without-wrapper": "a generator: it makes histories, and nothing is judged",
    "gen-poll-unseen/with-wrapper": "a generator: it makes histories, and nothing is judged",
    "op-max-offsets": "a helper of the reference's realtime lag, which is not judged here",
    "log-last-index-values/empty": "a helper inside of lost-write; the logs it stands for are judged there",
    "log-last-index-values/standard": "a helper inside of lost-write; the logs it stands for are judged there",
    "log-value-first-index/empty": "a helper inside of lost-write; the logs it stands for are judged there",
    "log-value-first-index/standard": "a helper inside of lost-write; the logs it stands for are judged there",
}
"""Cases without a history that could be judged."""

NO_PROCESS = "version-orders/conflict-from-info-proved-by-read"
"""The operations of this case have no process, on which the reference crashes. Here they get one."""

NOT_PART_OF_ERRORS = {
    "realtime-lag": "the lag makes no history invalid; availability is judged by the native profile",
    "unseen-series": "how many were unseen after each operation is a plot; what is unseen at the end is judged",
}
"""Cases with expectations about parts that our answer does not have. Their errors are compared anyway."""

ROTATED = {"G0", "G1c", "G0-realtime", "G1c-realtime"}
"""Error types whose cycles may begin at any of their operations."""


def cases(shared: Path) -> dict[str, Any]:
    all_cases = json.loads((shared / "conformance" / "jepsen_kafka_cases.json").read_text())["cases"]
    return {case["name"]: case for case in all_cases}


def by_name(kind: Callable[[str], bool]) -> list[str]:
    place = Path(__file__).resolve().parents[3] / "shared"
    return [name for name in cases(place) if kind(name)] if place.is_dir() else []


NAMES = by_name(lambda name: name not in OTHER)


@pytest.fixture(scope="module")
def answers(
    shared: Path, spark: Any, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[bool, Mapping[str, Judged]]:
    files = {}
    for number, (name, case) in enumerate(cases(shared).items()):
        if name in OTHER:
            continue
        history = case["history"]
        if name == NO_PROCESS:
            history = [op | {"process": process} for process, op in enumerate(history)]
        # What a case says is about JSON: one half is read as EDN, where keys are keywords.
        file = tmp_path_factory.mktemp("case") / ("history.edn" if number % 2 else "history.json")
        file.write_text(edn(history) if number % 2 else json.dumps(history))
        files[name] = file
    both = {}
    for ww_deps in (True, False):
        found = analyze(spark, list(files.values()), options=Options(ww_deps=ww_deps, sub_via="assign"))
        both[ww_deps] = dict(zip(files, found, strict=True))
    return both


def edn(value: Any) -> str:
    """EDN as Jepsen writes it: names are keywords, with one operation per line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f":{name} {edn(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        whole = all(isinstance(each, dict) and "type" in each for each in value) and value
        return "\n".join(map(edn, value)) if whole else "[" + " ".join(map(edn, value)) + "]"
    return "nil" if value is None else f":{value}" if isinstance(value, str) else str(value)


def plain(errors: Mapping[str, Any]) -> dict[str, Any]:
    """Errors with all arbitrary orders sorted."""
    return {
        kind: sorted(json.dumps(one, sort_keys=True) for one in map(settled, found))
        if isinstance(found, list)
        else found
        for kind, found in errors.items()
    }


def settled(error: Mapping[str, Any]) -> dict[str, Any]:
    entry = dict(error)
    if "scc" in entry:
        entry["scc"] = sorted(entry["scc"])
    if entry.get("type") in ROTATED:
        cycle, steps = entry["cycle"][:-1], entry["steps"]
        first = cycle.index(min(cycle))
        entry["cycle"], entry["steps"] = cycle[first:] + cycle[:first], steps[first:] + steps[:first]
    return entry


@pytest.mark.parametrize("ww_deps", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_errors_are_those_of_the_reference(answers: Any, shared: Path, name: str, ww_deps: bool) -> None:
    observed = cases(shared)[name]["observed_full_output"][f"ww_deps_{str(ww_deps).lower()}"]
    answer = answers[ww_deps][name]
    assert answer.error is None
    if name == NO_PROCESS:
        assert "exception" in observed
        return
    assert plain(answer.errors) == plain(observed["errors"])


@pytest.mark.parametrize("sub_via", ["assign", "subscribe"])
@pytest.mark.parametrize("ww_deps", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_verdict_is_that_of_the_reference(
    answers: Any, shared: Path, name: str, ww_deps: bool, sub_via: Any
) -> None:
    verdict = cases(shared)[name]["observed_full_output"]["checker_verdict"][
        sub_via + ("+ww_deps" if ww_deps else "")
    ]
    if name == NO_PROCESS:
        assert verdict == {"exception": True}
        return
    found = answers[ww_deps][name]
    options = Options(ww_deps=ww_deps, sub_via=sub_via)
    answer = judged(found.file, found.errors, found.counts, found.reasons, options).to_json()
    assert answer["valid"] == verdict["valid?"]
    assert answer["error-types"] == verdict["error-types"]
    assert answer["bad-error-types"] == verdict["bad-error-types"]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_PART_OF_ERRORS])
def test_the_assertions_of_the_reference_hold(answers: Any, shared: Path, name: str) -> None:
    case = cases(shared)[name]
    expected = case["expected"]
    answer = answers[bool(case["options"].get("ww_deps"))][name]
    if case["kind"] == "version-orders":
        entries = [
            {k: error[k] for k in ("key", "index", "offset", "values")} for error in expected["errors"]
        ]
        assert plain(answer.errors)["inconsistent-offsets"] == plain({"errors": entries})["errors"]
        return
    for one in expected.get("all", [expected]):
        if one["path"] == "valid?":
            assert answer.valid is False
            continue
        assert_equal(one, answer.errors)


def assert_equal(expected: Mapping[str, Any], errors: Mapping[str, Any]) -> None:
    path, _, kind = expected["path"].partition(".")
    assert path == "errors"
    if not kind:
        assert errors == expected["equals"]
    elif "set_equals" in expected:
        kind, _, field = kind.partition("[*].")
        assert sorted(error[field] for error in errors[kind]) == sorted(expected["set_equals"])
    elif expected["equals"] is None:
        assert kind not in errors
    else:
        assert plain({kind: errors[kind]}) == plain({kind: expected["equals"]})


def test_a_history_without_operations_of_kafka_is_unknown(spark: Any, tmp_path: Path) -> None:
    """Beside one whose times go back, which is judged in the order of its rows."""

    def row(f: str, type: str, value: Any, **more: Any) -> dict[str, Any]:
        return {"process": 0, "f": f, "type": type, "value": value, **more}

    register = [
        row("write", "invoke", 5),
        row("write", "ok", 5),
        row("read", "invoke", None),
        row("read", "ok", 5),
    ]
    kafka = [
        row("send", "invoke", [["send", 1, 7]], time=90), row("send", "ok", [["send", 1, [0, 7]]], time=95),
        row("poll", "invoke", [["poll"]], time=40), row("poll", "ok", [["poll", {"1": [[0, 7]]}]], time=99),
    ]  # fmt: skip
    begun = [kafka[0], kafka[2] | {"process": 1}]
    for name, text in (
        ("register.edn", edn(register)),
        ("register.json", json.dumps(register)),
        ("begun.json", json.dumps(begun)),
        ("kafka.edn", edn(kafka)),
    ):
        (tmp_path / name).write_text(text)
    names = ["register.edn", "register.json", "begun.json", "kafka.edn"]
    *nothing, judged_one = analyze(spark, [tmp_path / name for name in names])
    for answer in nothing:
        assert (answer.valid, answer.errors) == ("unknown", {})
    assert [answer.reasons[0].partition("clients are: ")[2] for answer in nothing] == [
        "read (1 invoke, 1 ok), write (1 invoke, 1 ok)"
    ] * 2 + ["poll (1 invoke), send (1 invoke)"]
    assert (judged_one.valid, judged_one.reasons, len(judged_one.warnings)) == (True, (), 1)


def test_every_case_is_compared_or_listed(shared: Path) -> None:
    every = cases(shared)
    assert {
        name for name, case in every.items() if case["kind"] in ("analysis", "checker", "version-orders")
    } == set(NAMES)
    assert set(OTHER) | set(NAMES) == set(every)


def test_no_case_is_unknown(answers: Any) -> None:
    def reasons() -> Iterator[tuple[str, Any]]:
        for name, answer in answers[True].items():
            if answer.reasons:
                yield name, answer.reasons

    # The only case with a polled value that was never sent.
    assert [name for name, _ in reasons()] == [NO_PROCESS]
