"""One run of the model, drawn from a seed: load, faults, recovery and final reads.

Clients, replication, elections, the ends of transactions and rebalances are generators that take turns by the clock.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from typing import Any

from tests.support.miniature import background
from tests.support.miniature.client import Positions
from tests.support.miniature.faults import inject_faults
from tests.support.miniature.group_member import GroupMember
from tests.support.miniature.partition import TOPIC
from tests.support.miniature.producers import Producer, Session
from tests.support.miniature.reader import Reader
from tests.support.miniature.scheduler import MS
from tests.support.miniature.state import TRANSACTIONAL_IDS, State
from tests.support.miniature.transactional_producer import TransactionalProducer
from workloads.history.schema import VALUE_BITS


class Cluster:
    """`run` fills `story`; `counts` says what the run exercised."""

    def __init__(self, story: Any, seed: int, *, flaws: Collection[str] = ()) -> None:
        self.story = story
        self._state = State(story, seed, flaws)

    @property
    def counts(self) -> Counter[str]:
        return self._state.counts

    def run(self) -> Any:
        """The whole story: all faults are healed, all clients have ended, and all logs are read."""
        state = self._state
        state.rows.topic(TOPIC, "created", state.topic_id, state.settings.config, invoked=state.now)
        state.rows.phase("steady")
        background.start(state)
        self._start_clients()
        nemesis = state.scheduler.start(inject_faults(state))
        state.scheduler.run_until(lambda: not nemesis.is_alive)
        state.rows.phase("recovery")
        recovered = state.now + 100 * MS
        state.scheduler.run_until(lambda: state.now > recovered)
        state.is_loaded = False
        state.scheduler.run_until(lambda: state.is_idle)
        state.rows.phase("final")
        self._read_finally()
        state.rows.phase("end")
        self._compact()
        return self.story

    def _start_clients(self) -> None:
        state = self._state
        for _ in range(state.random.randint(1, 2)):
            state.start_client(Producer(state, state.next_process()))
        for number, committed in enumerate((False, True)):
            state.start_client(Session(state, state.next_process(), number, Positions(), committed=committed))
        state.start_client(Reader(state, state.next_process(), committed=False))
        state.start_client(Reader(state, state.next_process(), committed=True))
        for name in TRANSACTIONAL_IDS[: state.random.randint(1, 2)]:
            state.start_client(TransactionalProducer(state, state.next_process(), name))
        for number in range(state.random.randint(2, 3)):
            # A static member that is replaced leaves its generation to the next one.
            is_static = state.random.random() < 0.5 and "fenced" not in state.flaws
            instance = f"i{number}" if is_static else None
            state.start_client(GroupMember(state, state.next_process(), state.groups[0], instance))

    def _read_finally(self) -> None:
        """All reads share one time, because nothing changes any more."""
        state = self._state
        for partition in state.partitions:
            process = background.PROBE + 1 + partition.number
            op = process << VALUE_BITS
            columns = {
                "process": process, "topic": TOPIC, "partition": partition.number, "type": "ok",
                "invoked": state.now + 1, "completed": state.now + MS,
            }  # fmt: skip
            fetched, end = partition.fetch(partition.log_start, len(partition.entries), committed=True)
            for offset, entry in fetched:
                self.story.records.append({
                    "f": "poll", "op": op + 1, "value": entry.value, "offset": offset, "leader_epoch": entry.epoch,
                    "assignment": 1, "final": True, "key": entry.key,
                    "tombstone": entry.tombstone, "committed": True, **columns,
                })  # fmt: skip
            self.story.operations.append(
                {
                    "f": "final-read",
                    "op": op,
                    "start_offset": partition.log_start,
                    "end_offset": end,
                    **columns,
                }
            )
        state.scheduler.now += 2 * MS

    def _compact(self) -> None:
        """As compaction leaves a history: the rows of a process together, values as JSON."""
        self.story.records.sort(key=lambda row: row["process"])
        self.counts["unknown"] = sum(row["completed"] is None for row in self.story.records)
        for row in self.story.operations:
            if "value" in row:
                row["value"] = json.dumps(row["value"])
