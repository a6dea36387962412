"""Claims: the contract, the discovery, and what a showing gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import KafkaTimeoutError

from pytest_kafkacheck import HOMES, ClusterSpec
from pytest_kafkacheck.claims import run
from pytest_kafkacheck.claims.claim import (
    SECTIONS,
    Answer,
    Case,
    Claim,
    Scenario,
    all_scenarios,
)
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import NotExercised, exercised
from pytest_kafkacheck.errors import InfrastructureError, UsageError

CLAIMS = Path(run.__file__).parent / "claims"


def claim(show: Callable[[Any], Answer] = lambda _: Answer(holds=True, seen="so"), **changed: Any) -> Claim:
    given = {"id": "B3", "title": "reads", "text": "Reads.", "source": "https://example.org", "show": show}
    return Claim(**{**given, "cases": (Case(name="4.1.1", cluster=ClusterSpec()),), **changed})


def test_every_file_is_found_and_named_by_its_claim() -> None:
    files = {path.stem.partition("_")[0] for path in CLAIMS.glob("[a-z]*.py")}
    found = {each.claim.id for each in all_scenarios()}
    assert {f"{id_[0].lower()}{int(id_[1:]):02}" for id_ in found} == files
    assert {id_[0] for id_ in found} == set(SECTIONS), "every section has a claim"


def test_names_are_different_and_ids_are_in_order() -> None:
    names = [each.name for each in all_scenarios()]
    assert len(set(names)) == len(names)
    orders = [each.claim.order for each in all_scenarios()]
    assert orders == sorted(orders)


def test_every_file_says_what_proves_that_it_was_exercised() -> None:
    assert not [path.name for path in CLAIMS.glob("[a-z]*.py") if "\nExercised: " not in path.read_text()]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"id": "G1"}, "Claim.id='G1': expected a section"),
        ({"id": "B0"}, "Claim.id='B0'"),
        ({"cases": ()}, "Claim.cases of B3"),
        ({"cases": (Case(name="a", cluster=ClusterSpec()),) * 2}, "with different names"),
        ({"source": ""}, "Claim.source of B3"),
    ],
)
def test_a_claim_is_checked(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        claim(**changed)


@pytest.mark.parametrize("given", [{"expected": "refuted"}, {"why": "because"}])
def test_a_refutation_has_a_reason_and_nothing_else_has(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="expected the reason"):
        Case(name="a", cluster=ClusterSpec(), **given)


def raising(error: Exception) -> Callable[[Any], Answer]:
    def show(_: object) -> Answer:
        raise error

    return show


@pytest.fixture(autouse=True)
def no_context(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def context(_: object, **__: object) -> Iterator[None]:
        yield

    monkeypatch.setattr(run, "ScenarioContext", context)


def outcome(show: Callable[[Any], Answer]) -> tuple[str, str]:
    shown = run.show(claim(show), None, run=None)  # type: ignore[arg-type]
    return shown.outcome, shown.seen


def test_an_answer_confirms_or_refutes() -> None:
    assert outcome(lambda _: Answer(holds=True, seen="so")) == ("confirmed", "so")
    assert outcome(lambda _: Answer(holds=False, seen="not so")) == ("refuted", "not so")


@pytest.mark.parametrize(
    ("error", "seen"),
    [
        (NotExercised("no election"), "no election"),
        (InfrastructureError("the fault had no effect"), "the fault had no effect"),
        (KafkaTimeoutError("late"), "KafkaTimeoutError"),
        (ConnectionError("refused"), "ConnectionError('refused')"),
    ],
)
def test_what_did_not_happen_is_not_exercised(error: Exception, seen: str) -> None:
    found, why = outcome(raising(error))
    assert found == "not exercised"
    assert seen in why


@pytest.mark.parametrize("mistake", [ZeroDivisionError("x"), UsageError("x")], ids=repr)
def test_a_mistake_in_a_program_is_an_outcome_of_its_own(mistake: Exception) -> None:
    shown = run.show(claim(raising(mistake)), None, run=None)  # type: ignore[arg-type]
    assert (shown.outcome, shown.seen, shown.error) == ("error", repr(mistake), mistake)
    assert "error" not in shown.to_json()


def test_an_interrupt_is_no_outcome_whatever_its_clean_up_raises() -> None:
    def show(_: object) -> Answer:
        try:
            raise KeyboardInterrupt
        finally:
            raise ConnectionError("a broker is gone already")

    with pytest.raises(KeyboardInterrupt):
        outcome(show)


def test_the_clean_up_hides_no_mistake() -> None:
    def unsettled() -> None:
        raise InfrastructureError("a replica is not in sync")

    cluster: Any = SimpleNamespace(brokers={}, wait_settled=unsettled)
    run_nothing: Any = None
    with pytest.raises(ZeroDivisionError), ScenarioContext(cluster, run=run_nothing):
        raise ZeroDivisionError
    with (
        pytest.raises(InfrastructureError, match="not in sync"),
        ScenarioContext(cluster, run=run_nothing),
    ):
        pass


def test_exercised_raises_only_where_the_condition_does_not_hold() -> None:
    exercised(True, "no election")
    with pytest.raises(NotExercised, match="no election"):
        exercised(False, "no election")


def test_scenarios_of_equal_specs_follow_one_another() -> None:
    kraft, zookeeper = ClusterSpec(), ClusterSpec(version="3.9.2", zookeepers=1)
    cases = [Case(name=str(number), cluster=spec) for number, spec in enumerate([kraft, zookeeper, kraft])]
    ordered = run.by_cluster(Scenario(claim(), case) for case in cases)
    assert [each.case.name for each in ordered] == ["0", "2", "1"]


def test_no_package_hides_a_public_name() -> None:
    """An import of ``pytest_kafkacheck.scenarios`` as a package would replace the public function of that name."""
    root = Path(run.__file__).parents[1]
    assert not {name for name in HOMES if (root / name).is_dir() or (root / f"{name}.py").is_file()}
