"""Histories in which brokers do not agree who leads at the end, and near misses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.support.stories.followers import S
from tests.support.stories.replication import reported, written


def agreeing(s: Any, *, late: int = 14, node: int = 2, epoch: int = 4, until: int = 14) -> Any:
    """Broker 1 names epoch 5 from 3 s on, each second until 14 s; the other broker names its own until `until`."""
    reported(s, 20)
    for second in range(3, late + 1):
        reported(s, second * S, epoch=5)
    for second in range(2, until + 1):
        reported(s, second * S, node=node, leader=1, epoch=epoch)
    return written(s)


def brokers_that_never_agree(s: Any) -> Any:
    return agreeing(s)


def brokers_of_which_one_was_asked_last_at_the_limit(s: Any) -> Any:
    """Exactly 2 s before the other one."""
    return agreeing(s, late=16, until=14)


def brokers_that_never_agree_while_a_group_is_watched(s: Any) -> Any:
    s.observations.append(
        {"process": 900, "kind": "group", "node": 0, "asked": 14 * S, "time": 14 * S + 5, "topic": "t",
         "partition": 0, "value": json.dumps({"owner": "a", "position": 1})}
    )  # fmt: skip
    return agreeing(s)


def brokers_that_never_agree_beside_another_topic(s: Any) -> Any:
    """Both know its leader, and are asked for longer."""
    for second in range(2, 21):
        for node in (1, 2):
            reported(s, second * S + node * 300_000_000, node=node, leader=1, epoch=9, topic="u")
    return agreeing(s)


def brokers_that_agree(s: Any) -> Any:
    """Also where one of them learns of it at last."""
    return agreeing(reported(s, 15 * S, node=2, leader=1, epoch=5))


def brokers_that_agree_for_long(s: Any) -> Any:
    return agreeing(s, epoch=5)


def brokers_that_disagree_for_exactly_the_limit(s: Any) -> Any:
    return reported(agreeing(s, until=12), 13 * S + 5, node=2, leader=1)


def brokers_that_disagree_for_a_while(s: Any) -> Any:
    return agreeing(s, late=12, until=12)


def brokers_of_which_one_is_away_at_the_end(s: Any) -> Any:
    return agreeing(s, late=20)


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    brokers_that_never_agree: {"metadata-disagreement": 1},
    brokers_of_which_one_was_asked_last_at_the_limit: {"metadata-disagreement": 1},
    brokers_that_never_agree_while_a_group_is_watched: {"metadata-disagreement": 1},
    brokers_that_never_agree_beside_another_topic: {"metadata-disagreement": 1},
    brokers_that_agree: {},
    brokers_that_agree_for_long: {},
    brokers_that_disagree_for_exactly_the_limit: {},
    brokers_that_disagree_for_a_while: {},
    brokers_of_which_one_is_away_at_the_end: {},
}
