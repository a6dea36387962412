"""The evidence of a finding in the headline of its explanation. Needs no JVM."""

from __future__ import annotations

from analyzers.catalogue.registry import ANOMALIES
from analyzers.explain.explain import facts

WRITE = (2 << 40) + 7115
EXAMPLE = {"topic": "t", "partition": 0, "time": 5, "process": 2, "op": WRITE, "offset": 3, "value": WRITE}


def test_a_client_and_a_write_have_the_name_of_the_verdict_and_that_of_the_tables() -> None:
    assert facts(ANOMALIES["lost-write"], EXAMPLE, began=0, clients={2: "producer 0"}) == {
        "process": "2 (producer 0)", "op": "2:7115 (producer 0's 7,116th write)", "offset": "3", "value": "2:7115",
    }  # fmt: skip


def test_a_client_of_unknown_role_has_its_number_only() -> None:
    found = facts(ANOMALIES["lost-write"], EXAMPLE, began=0, clients={3: "producer 0"})
    assert (found["process"], found["op"]) == ("2", "2:7115 (process 2's 7,116th write)")


def test_a_second_write_has_its_own_name() -> None:
    both = {"offset": 3, "value": WRITE, "other_value": 3 << 40}
    found = facts(
        ANOMALIES["inconsistent-offsets"], both, began=0, clients={2: "producer 0", 3: "producer 1"}
    )
    assert found["value"] == "2:7115 (producer 0's 7,116th write)"
    assert found["other_value"] == "3:0 (producer 1's 1st write)"


def test_what_is_no_write_or_unknown_has_no_second_name() -> None:
    found = facts(
        ANOMALIES["lost-write"], EXAMPLE | {"op": 7, "value": None, "offset": None}, began=0, clients={}
    )
    assert (found["op"], found["value"], found["offset"]) == ("7", "unknown", "unknown")
    assert "time" not in found
