"""What is known of a user's application: its inputs and their outputs, the commits of its group, who had which
partition, and what became of its instances."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from statistics import mode
from typing import NamedTuple, TypeVar


class Output(NamedTuple):
    """A record of the sink. time: its timestamp, ns. producer, transactional: None where the headers were not read,
    and the producer also where it has no id."""

    partition: int
    offset: int
    time: int | None
    producer: int | None = None
    transactional: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Input:
    """A record of the source. `outputs` by time, and those of an unknown time last; `fed` in ns."""

    log: str
    offset: int
    fed: int | None = None
    key: int | None = None
    outputs: tuple[Output, ...] = ()


class Commit(NamedTuple):
    """ns. is_exact: as the coordinator wrote it down; otherwise the first sample that shows the position, of which
    nothing else is known. transaction: the id of its producer; None outside of transactions."""

    time: int
    position: int
    is_exact: bool = True
    transaction: int | None = None


class Turn(NamedTuple):
    """From then on, ns, a member of an instance has a partition. owner: ``app:0``, or the id of the member."""

    time: int
    owner: str
    member: str | None = None


class Event(NamedTuple):
    """Of an instance: ``started``, ``ended`` by itself, or ``printed`` an error of Kafka. Time in ns."""

    time: int
    instance: str
    event: str
    status: int | None = None
    line: str | None = None


E = TypeVar("E", Commit, Turn)


@dataclass(frozen=True, kw_only=True)
class Application:
    """Everything by log, in order of offset or time. Commits are all exact, or all samples."""

    sink: str = ""
    inputs: Mapping[str, Sequence[Input]] = field(default_factory=dict)
    commits: Mapping[str, Sequence[Commit]] = field(default_factory=dict)
    turns: Mapping[str, Sequence[Turn]] = field(default_factory=dict)
    events: Sequence[Event] = ()

    def passing(self, one: Input) -> Commit | None:
        """The first commit of a position behind the input."""
        at = bisect_right(self._reaches.get(one.log, ()), one.offset)
        commits = self.commits.get(one.log, ())
        return commits[at] if at < len(commits) else None

    def position(self, log: str, time: int) -> int | None:
        """That was committed last by then; None for none yet, and where no commit is known."""
        commit = _last_by(time, self.commits.get(log, ()))
        return None if commit is None else commit.position

    def owner(self, log: str, time: int) -> Turn | None:
        """Who had the partition then, or last before a rebalance."""
        return _last_by(time, self.turns.get(log, ()))

    def next_turn(self, log: str, time: int) -> Turn | None:
        turns = self.turns.get(log, ())
        at = bisect_right(turns, time, key=lambda each: each.time)
        return turns[at] if at < len(turns) else None

    @cached_property
    def _reaches(self) -> Mapping[str, Sequence[int]]:
        """By log and commit, the highest position up to there: a group may go back."""
        return {
            log: [*accumulate((each.position for each in commits), max)]
            for log, commits in self.commits.items()
        }

    @cached_property
    def is_exact(self) -> bool:
        """Whether the times of commits are known to the millisecond."""
        return any(each.is_exact for of_log in self.commits.values() for each in of_log)

    @cached_property
    def writers(self) -> Mapping[int | None, str]:
        """By id of a producer, the instance that had the partitions of most inputs when it wrote their outputs.
        It has no entry for None, a producer without an id."""
        owners: dict[int | None, list[str]] = defaultdict(list)
        for one in self.every_input():
            for made in one.outputs:
                if made.producer is not None and made.time is not None:
                    turn = self.owner(one.log, made.time)
                    if turn is not None:
                        owners[made.producer].append(turn.owner)
        return {producer: mode(found) for producer, found in owners.items()}

    @cached_property
    def _sink_partitions(self) -> frozenset[int]:
        """That have outputs."""
        return frozenset(made.partition for one in self.every_input() for made in one.outputs)

    @cached_property
    def _partitions_of_keys(self) -> Mapping[int | None, frozenset[int]]:
        """Inputs without a key have none."""
        found: dict[int | None, set[int]] = {}
        for one in self.every_input():
            if one.key is not None:
                found.setdefault(one.key, set()).update(made.partition for made in one.outputs)
        return {key: frozenset(partitions) for key, partitions in found.items()}

    def sink_partitions_of(self, one: Input) -> frozenset[int]:
        """Where an output of the input may belong: where those of its key are, or in any partition."""
        return self._partitions_of_keys.get(one.key) or self._sink_partitions

    @cached_property
    def positions_are_inside(self) -> bool:
        """Whether positions are committed in transactions: they take effect with the outputs, or not at all."""
        return any(each.transaction is not None for of_log in self.commits.values() for each in of_log)

    @cached_property
    def positions_are_outside(self) -> bool:
        """Whether outputs are written in transactions, and no position is committed in one."""
        made = [each for one in self.every_input() for each in one.outputs]
        return (
            self.is_exact
            and not self.positions_are_inside
            and bool(made)
            and all(each.transactional for each in made)
        )

    def every_input(self) -> Iterator[Input]:
        for of_log in self.inputs.values():
            yield from of_log

    def instances(self) -> Mapping[str, list[int]]:
        """By owner the times of its commits, each once: a client commits all of its partitions at the same time."""
        found: dict[str, set[int]] = {}
        for log, of_log in self.commits.items():
            for each in of_log:
                turn = self.owner(log, each.time)
                if turn is not None:
                    found.setdefault(turn.owner, set()).add(each.time)
        return {owner: sorted(times) for owner, times in found.items()}


def _last_by(time: int, events: Sequence[E]) -> E | None:
    """The last of these, in order of time, that is not later (ns)."""
    at = bisect_right(events, time, key=lambda each: each.time)
    return events[at - 1] if at else None


class Habit(NamedTuple):
    """How the application commits while nothing disturbs it, as far as its outputs show.

    late      share of outputs that were sent after the position behind their input was committed.
    behind    s between commit and output, the median of those that were late; 0 without any.
    bunched   share of outputs that were sent within the last quarter of the time between two commits.
    across    share of outputs that were sent after the following commit.
    interval  s between two commits, where that is always the same; otherwise None.
    """

    late: float
    behind: float
    bunched: float
    across: float
    interval: float | None

    @property
    def is_timer(self) -> bool:
        """Whether commits come at regular times, whatever outputs there are."""
        is_first = self.late > 0.9 and self.across < 0.05
        return self.interval is not None and not is_first and self.bunched < 0.6

    @property
    def is_before_work(self) -> bool:
        return self.late > 0.6


SHORTEST_INTERVAL = 0.4
"""s of a timer. Shorter ones are the time of a batch."""

LEAST = 5
"""Commits, and outputs, from which something is concluded."""

TOLERANCE = 0.12
"""s by which the intervals of a timer differ, and a twentieth of it: clients look at their timers when they poll."""


def habit(application: Application) -> Habit | None:
    """None where commits are not known to the millisecond, or are too few."""
    if not application.is_exact:
        return None
    gaps, bunched, across, total, spans = [], 0, 0, 0, 0
    for log, inputs in application.inputs.items():
        times = [each.time for each in application.commits.get(log, ())]
        following = dict(pairwise(times))
        before = {two: one for one, two in pairwise(times)}
        for one in inputs:
            commit = application.passing(one)
            if commit is None or len(one.outputs) != 1 or (sent := one.outputs[0].time) is None:
                continue
            if application.owner(log, sent) != application.owner(log, commit.time):
                continue  # made by another owner than the one that committed
            total += 1
            if sent > commit.time:
                gaps.append((sent - commit.time) / 1e9)
                across += sent > following.get(commit.time, sent)
            elif commit.time in before:
                spans += 1
                bunched += sent > commit.time - (commit.time - before[commit.time]) / 4
    if total < LEAST:
        return None
    gaps.sort()
    return Habit(
        late=len(gaps) / total,
        behind=gaps[len(gaps) // 2] if gaps else 0.0,
        bunched=bunched / max(spans, 1),
        across=across / total,
        interval=_interval(application),
    )


def _interval(application: Application) -> float | None:
    """The most frequent time between two commits of an instance, if most of them are it, or multiples of it: a timer
    commits nothing where nothing is new."""
    every = sorted(
        (two - one) / 1e9 for times in application.instances().values() for one, two in pairwise(times)
    )
    apart = [each for each in every if each > 0.05]  # several partitions are written one after another
    if len(apart) < LEAST:
        return None
    usual = apart[len(apart) // 4]
    near = [each for each in apart if _is_near(each, usual)]
    usual = near[len(near) // 2]
    is_regular = sum(any(_is_near(each, usual * times) for times in (1, 2, 3)) for each in apart)
    return usual if usual >= SHORTEST_INTERVAL and is_regular >= 0.7 * len(apart) else None


def _is_near(one: float, other: float) -> bool:
    return abs(one - other) <= TOLERANCE + 0.05 * other
