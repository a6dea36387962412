"""``kafkacheck cluster fault``: which event its arguments name."""

from __future__ import annotations

import math

import pytest

from pytest_kafkacheck.cli.cluster.fault import parse_event
from pytest_kafkacheck.errors import UsageError


def test_arguments_name_an_event() -> None:
    event = parse_event("cut_clients", "leader:orders-0", ['one_way="out"'], 3.5)
    assert event.to_json() == {
        "id": "", "at": 0, "lasting": 3.5, "fault": "cut-clients", "target": "leader:orders-0",
        "options": {"one_way": "out"},
    }  # fmt: skip
    assert parse_event("cut-clients", "1", ["one_way=in"], None).fault.options() == {"one_way": "in"}
    assert parse_event("partition", "[[1], [2, 3]]", [], None).target.to_json() == [[1], [2, 3]]
    assert parse_event("kill", "2", [], None).lasting == math.inf
    assert parse_event("reset", "one", [], None).lasting == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("explode", "1", [], None), r"fault 'explode'; allowed are .*isolate"),
        (("cpu", "1", ["cores"], None), r"--option cores: expected NAME=VALUE"),
        (("cpu", "1", ["cores=many"], None), r"cores='many': expected a number"),
        (("cpu", "1", ["colour=red"], None), r"colour"),
        (("reset", "one", [], 3.0), r"--lasting 3: reset is momentary; leave it out"),
        (("kill", "the boss", [], None), r"target 'the boss'; allowed are"),
        (("kill", "1", [], -1.0), r"Event.lasting=-1.0: expected seconds, more than 0"),
        (("partition", "[[1]]", [], None), r"expected two or more disjoint groups"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(
    arguments: tuple[str, str, list[str], float | None], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        parse_event(*arguments)
