"""Messages about words that are not known name what was probably meant."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from nemesis.faults.isolate import isolate
from nemesis.generate import Generated
from nemesis.schedule import event_from_json
from nemesis.validation import did_you_mean, seconds


def test_a_near_word_is_suggested_with_what_follows_it() -> None:
    assert did_you_mean("leder:orders-0", ["leader", "follower"]) == "; did you mean 'leader:orders-0'?"
    assert did_you_mean("Leader", ["leader"]) == "; did you mean 'leader'?"
    assert did_you_mean("boss", ["leader"]) == ""
    assert did_you_mean(3, ["leader"]) == ""


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            lambda: isolate("leder", at=1, lasting=1),
            "^no target 'leder'; did you mean 'leader' or 'reader'.$",
        ),
        (lambda: isolate("boss", at=1, lasting=1), "^no target 'boss'; allowed are node ids such as 2"),
        (lambda: isolate("leader:x", at=1, lasting=1), "^no target 'leader:x'; allowed are .*clients$"),
        (lambda: isolate("co-ordinator:billing", at=1, lasting=1), "did you mean 'coordinator:billing'"),
        (lambda: isolate("minorty", at=1, lasting=1), "did you mean 'minority'"),
        (lambda: isolate("one", after="leader-chnge", lasting=1), "trigger .*did you mean 'leader-change'"),
        (lambda: isolate("one", after="ack:100", lasting=1), "did you mean 'acks:100'"),
        (
            lambda: event_from_json({"fault": "isolat", "target": "one", "at": 1}),
            "no fault 'isolat'; did you mean 'isolate' or 'isolate-app'.$",
        ),
        (
            lambda: Generated(length=10, weights={"paus": 1}),
            "no fault 'paus'; did you mean 'pause'.$",
        ),
    ],
)
def test_targets_triggers_and_faults(wrong: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        wrong()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3", "at='3': is text, write 3"),
        ("3s", "at='3s': is text, write 3"),
        (" 2.5 sec ", "is text, write 2.5"),
        ("500ms", "is text, write 0.5"),
        ("2min", "is text, write 120"),
        ("soon", "at='soon': expected seconds, 0 or more"),
        ("1e999", "expected seconds"),
    ],
)
def test_a_time_as_text_is_refused_with_the_number(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        seconds("at", text)
