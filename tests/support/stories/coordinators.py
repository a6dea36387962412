"""Histories in which coordinators contradict what they reported of groups and transactions, and near misses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.support.stories.followers import created
from tests.support.stories.replication import fault, reported, written, written_again


def coordinated(s: Any, at: int, kind: str, value: dict[str, Any], **more: Any) -> Any:
    """Broker 1 was asked at this time and had answered 5 ns later."""
    reported(s, 1) if not s.observations else None
    s.observations.append(
        {"process": 900, "asked": at, "time": at + 5, "kind": kind, "node": 1, "connection": 0,
         "value": json.dumps(value)} | more
    )  # fmt: skip
    return s


def group(
    s: Any, at: int, state: str = "Stable", members: Any = ("a",), *, node: Any = None, **more: Any
) -> Any:
    value = {
        "group": "g", "type": "consumer", "state": state, "protocol": "range", "epoch": 4, "assigned_epoch": 4,
        "members": {member: ["t-0"] for member in members}, "positions": {},
    }  # fmt: skip
    connection = {"connection": more.pop("connection")} if "connection" in more else {}
    return coordinated(s, at, "group_state", value | more, **({"node": node} if node else {}), **connection)


def empty_with_members(s: Any) -> Any:
    group(s, 20, "Empty")
    return written(group(s, 40, "Dead", type="classic", epoch=None, assigned_epoch=None))


def stable_without_members(s: Any) -> Any:
    group(s, 20, "Stable", ())
    group(s, 40, "Reconciling", ())
    return written(group(s, 60, "Assigning", (), epoch=5))


def empty_groups(s: Any) -> Any:
    """A group of the classic protocol may wait for its first member."""
    group(s, 20, "Empty", ())
    group(s, 40, "PreparingRebalance", (), type="classic", epoch=None, assigned_epoch=None)
    return written(group(s, 60, "Dead", ()))


def stable_without_its_assignment(s: Any) -> Any:
    group(s, 20, "Stable", epoch=5)
    return written(group(s, 40, "Reconciling", epoch=5))


def assigning_with_its_assignment(s: Any) -> Any:
    group(s, 20, "Assigning", epoch=5)
    return written(group(s, 40, "Assigning", epoch=5, assigned_epoch=5))


def share_group_before_its_assignment(s: Any) -> Any:
    """Its states do not depend on the assignment."""
    return written(group(s, 20, "Stable", type="share", epoch=5))


def assignment_beyond_the_group(s: Any) -> Any:
    return written(group(s, 20, "Empty", (), type="share", assigned_epoch=5))


def groups_in_all_their_states(s: Any) -> Any:
    group(s, 20, "Assigning", epoch=5)
    group(s, 40, "Reconciling", epoch=5, assigned_epoch=5)
    group(s, 60, "Stable", epoch=5, assigned_epoch=5)
    group(s, 80, "PreparingRebalance", group="h", type="classic", epoch=None, assigned_epoch=None)
    return written(
        group(s, 100, "CompletingRebalance", group="h", type="classic", epoch=None, assigned_epoch=None)
    )


def group_epoch_that_went_back(s: Any) -> Any:
    group(group(s, 20, epoch=5, assigned_epoch=5), 40)
    return written(group(s, 60, epoch=5, assigned_epoch=5))


def group_epoch_of_another_group_process_and_time(s: Any) -> Any:
    group(s, 20, epoch=5, assigned_epoch=5)
    group(s, 25)
    group(s, 40, group="h")
    group(s, 60, node=2)
    return written(group(s, 80, connection=1))


def group_epoch_of_an_unknown_process(s: Any) -> Any:
    group(s, 20, epoch=5, assigned_epoch=5, connection=None)
    return written(group(s, 40, connection=None))


def classic(s: Any, at: int, generation: int | None, members: Any = ("a", "b"), **more: Any) -> Any:
    return group(s, at, members=members, type="classic", epoch=generation, assigned_epoch=None, **more)


def generation_that_went_back(s: Any) -> Any:
    classic(classic(s, 20, 5), 40, None)
    return written(classic(s, 60, 4))


def rebalance_without_a_cause(s: Any) -> Any:
    """A sample without a generation does not count, nor do the creation of a topic and a fault that begins later."""
    classic(classic(classic(created(s), 20, 4), 40, None, ("a",)), 60, 5)
    return written_again(classic(fault(s, "kill", 66), 80, 5))


def rebalance_when_a_fault_began(s: Any) -> Any:
    """At the nanosecond of the answer."""
    classic(classic(classic(created(s), 20, 4), 40, None, ("a",)), 60, 5)
    return written_again(classic(fault(s, "kill", 65), 80, 5))


def rebalance_after_a_fault(s: Any) -> Any:
    classic(fault(classic(s, 20, 4), "kill", 30), 60, 5)
    return written_again(fault(s, "pause", 75))


def rebalance_after_more_partitions(s: Any) -> Any:
    s.operation("alter", at=(30, 40), topic="t", partition=None, value=json.dumps({"partitions": 2}))
    return written_again(classic(classic(s, 20, 4), 60, 5))


def rebalances_with_a_cause(s: Any) -> Any:
    """Members changed, or they changed and changed again. A cooperative assignor moves partitions in two steps."""
    classic(classic(s, 20, 4), 40, 5, ("a", "c"))
    classic(classic(s, 60, 5), 80, 7)
    classic(s, 100, 4, group="h", protocol="cooperative-sticky")
    classic(s, 120, 5, group="h", protocol="cooperative-sticky")
    classic(s, 140, 4, group="i")
    classic(s, 160, 5, group="j")
    group(group(s, 180, group="k"), 200, group="k", epoch=5, assigned_epoch=5)
    classic(classic(s, 220, 4, group="l"), 240, 5, group="l", node=2)
    return written(classic(s, 260, 5, group="i", connection=1))


def position_that_went_back(s: Any) -> Any:
    group(s, 20, positions={"t-0": 7, "t-1": 3})
    group(s, 40, positions={"t-0": 6, "t-1": 3})
    group(s, 60, positions={"t-0": 8})
    return written(group(s, 80, positions={"t-0": 7}))


def position_that_went_back_in_another_generation(s: Any) -> Any:
    group(s, 20, members=("a", "b"), positions={"t-0": 7})
    group(s, 25, members=("a", "b"), positions={"t-0": 6})
    group(s, 40, positions={"t-0": 6})
    group(s, 60, positions={"t-0": 5}, epoch=5, assigned_epoch=5)
    group(s, 80, positions={"t-0": 4}, connection=1)
    return written(group(s, 100, positions={"t-0": 3}, node=2))


def transaction(s: Any, at: int, state: str, *, connection: Any = 0, node: int = 1, **more: Any) -> Any:
    value = {
        "transactional_id": "x",
        "state": state,
        "producer_id": 7,
        "epoch": 2,
        "started": 1000,
        "partitions": [],
    }
    return coordinated(s, at, "transaction", value | more, connection=connection, node=node)


def transaction_that_is_open_again(s: Any) -> Any:
    transaction(s, 20, "PrepareCommit")
    transaction(s, 40, "Ongoing")
    return written(transaction(s, 60, "CompleteCommit"))


def transaction_that_ends_again(s: Any) -> Any:
    return written(transaction(transaction(s, 20, "CompleteAbort"), 40, "PrepareAbort"))


def transaction_that_ends_otherwise(s: Any) -> Any:
    return written(transaction(transaction(s, 20, "PrepareCommit"), 40, "CompleteAbort"))


def transactions_one_after_another(s: Any) -> Any:
    for at, state, started in (
        (20, "Empty", -1), (40, "Ongoing", 1000), (50, "Ongoing", 1000), (60, "PrepareCommit", 1000),
        (80, "CompleteCommit", 1000),
        (100, "Ongoing", 1001), (120, "PrepareAbort", 1001), (140, "CompleteAbort", 1001), (160, "Dead", -1),
        (180, "Ongoing", -1), (200, "CompleteCommit", -1), (220, "Ongoing", -1),
    ):  # fmt: skip
        transaction(s, at, state, started=started)
    return written(s)


def transactions_of_others(s: Any) -> Any:
    """Of another id, producer, process or coordinator, or asked at the nanosecond of the answer."""
    transaction(s, 20, "CompleteCommit")
    transaction(s, 25, "Ongoing")
    transaction(s, 40, "Ongoing", transactional_id="y")
    transaction(s, 60, "Ongoing", producer_id=8)
    transaction(s, 80, "Ongoing", node=2)
    return written(transaction(s, 100, "Ongoing", connection=1))


def producer_epoch_that_went_back(s: Any) -> Any:
    """The start differs, so that the state is that of another transaction."""
    transaction(s, 20, "CompleteCommit")
    transaction(s, 40, "Ongoing", epoch=1, started=1001)
    return written(transaction(s, 60, "Ongoing", epoch=1, started=1001, producer_id=8))


PLANTED: dict[Callable[[Any], Any], dict[str, int]] = {
    empty_with_members: {"group-state-conflict": 2},
    stable_without_members: {"group-state-conflict": 3},
    empty_groups: {},
    stable_without_its_assignment: {"group-state-conflict": 2},
    assigning_with_its_assignment: {"group-state-conflict": 1},
    share_group_before_its_assignment: {},
    assignment_beyond_the_group: {"group-state-conflict": 1},
    groups_in_all_their_states: {},
    group_epoch_that_went_back: {"group-epoch-regression": 1},
    group_epoch_of_another_group_process_and_time: {},
    group_epoch_of_an_unknown_process: {},
    generation_that_went_back: {"group-epoch-regression": 1},
    rebalance_without_a_cause: {"unexplained-rebalance": 1},
    rebalance_when_a_fault_began: {},
    rebalance_after_a_fault: {},
    rebalance_after_more_partitions: {},
    rebalances_with_a_cause: {},
    position_that_went_back: {"position-regression": 2},
    position_that_went_back_in_another_generation: {},
    transaction_that_is_open_again: {"transaction-state-regression": 1},
    transaction_that_ends_again: {"transaction-state-regression": 1},
    transaction_that_ends_otherwise: {"transaction-state-regression": 1},
    transactions_one_after_another: {},
    transactions_of_others: {},
    producer_epoch_that_went_back: {"producer-epoch-regression": 1},
}
