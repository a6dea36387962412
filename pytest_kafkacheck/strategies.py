"""Strategies of hypothesis: a property test draws schedules, configurations, workloads or whole experiments, and
hypothesis shrinks what fails. It needs the extra ``hypothesis``: ``pip install 'pytest-kafkacheck[hypothesis]'``.

Every example is a run of half a minute, so let `settings` allow few of them, without a deadline::

    @settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(experiment=experiments(workloads=workloads(configurations=configurations(acks=["all"]))))
    def test_acknowledged_writes_survive(kafkacheck, experiment):
        kafkacheck(experiment).assert_valid()

Values that come first are those to which hypothesis shrinks: few events, early and short, and the safest settings. So
what is left in a shrunk example is what the failure needs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

try:
    from hypothesis import assume
    from hypothesis import strategies as st
except ImportError as error:
    raise ImportError(
        "pytest_kafkacheck.strategies needs hypothesis: pip install 'pytest-kafkacheck[hypothesis]'"
    ) from error

from nemesis.budget import Budget
from nemesis.event import Event
from nemesis.generate import Generated, drawn_targets, fits, weights_on
from nemesis.registry import FAULTS
from nemesis.schedule import Schedule
from nemesis.targets import Target
from nemesis.topology import Topology
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.experiment.experiment import Experiment
from workloads.append_log import AppendLog
from workloads.workload import Workload

TENTH = 10
"""Times are drawn in tenths of a second."""

MINORITY = Budget(brokers="minority", controllers="minority")


def schedules(
    topology: Topology,
    *,
    faults: Sequence[str] | None = None,
    clients: bool = False,
    budget: Budget = MINORITY,
    events: int = 5,
    length: float = 25.0,
    lasting: tuple[float, float] = (2.0, 6.0),
) -> st.SearchStrategy[Schedule]:
    """Schedules with at least one event and at most `events`, within the budget.

    topology  of the cluster and the workload: ``Experiment(...).topology``.
    faults    names; None for those that `Generated` draws without weights.
    clients   whether they also hit what belongs to the workload, see `Generated`.
    Raises ValueError as `Generated` does.
    """
    wanted = Generated(
        length=length,
        events=events,
        weights=None if faults is None else dict.fromkeys(faults, 1.0),
        lasting=lasting,
        budget=budget,
        clients=clients,
    )
    return (
        st.lists(_events(wanted, topology), min_size=1, max_size=events)
        .map(lambda found: _fitting(found, wanted, topology))
        .filter(lambda schedule: bool(schedule.events))
    )


def configurations(
    *,
    acks: Sequence[Any] = ("all", 1),
    min_isr: Sequence[int] = (2, 1),
    unclean: Sequence[bool] = (False, True),
) -> st.SearchStrategy[dict[str, Any]]:
    """Settings of a workload's producers and topics, as keyword arguments of it. Put the safest values first."""
    return st.fixed_dictionaries(
        {
            "acks": st.sampled_from(list(acks)),
            "topic_config": st.fixed_dictionaries(
                {
                    "min.insync.replicas": st.sampled_from(list(min_isr)),
                    "unclean.leader.election.enable": st.sampled_from(list(unclean)),
                }
            ),
        }
    )


def workloads(
    *kinds: type[Workload], configurations: st.SearchStrategy[Mapping[str, Any]] | None = None
) -> st.SearchStrategy[Workload]:
    """Workloads of these classes, `AppendLog` by default, each with the settings that it has a field for."""
    settings = st.just({}) if configurations is None else configurations
    return st.builds(_made, st.sampled_from(kinds or (AppendLog,)), settings)


@st.composite
def experiments(
    draw: st.DrawFn,
    /,
    *,
    workloads: st.SearchStrategy[Workload] | None = None,
    cluster: ClusterSpec | None = None,
    cooldown: float = 14.0,
    **schedule: Any,
) -> Experiment:
    """Experiments with a schedule that fits the drawn workload. schedule: arguments of `schedules`."""
    workload = draw(st.just(AppendLog()) if workloads is None else workloads)
    spec = cluster or ClusterSpec()
    topology = Experiment(workload=workload, cluster=spec).topology
    faults = draw(schedules(topology, **schedule)).events
    return Experiment(workload=workload, cluster=spec, faults=faults, cooldown=cooldown)


@st.composite
def _events(draw: st.DrawFn, /, wanted: Generated, topology: Topology) -> Event:
    """Events that the topology allows, without ids."""
    fault = FAULTS[draw(st.sampled_from(sorted(weights_on(wanted, topology))))]
    targets = drawn_targets(fault, wanted, topology)
    assume(targets)
    target = draw(st.sampled_from(list(targets)))
    options = draw(st.sampled_from(list(fault.draw.options)))
    lasting = 0.0 if fault.momentary else draw(_seconds(*wanted.lasting))
    at = draw(_seconds(0.0, wanted.length - lasting))
    event = Event(fault=fault(**options), target=Target.parse(target), at=at, lasting=lasting)
    try:
        event.check(topology)
    except ValueError:
        assume(False)
    return event


def _seconds(least: float, most: float) -> st.SearchStrategy[float]:
    whole = st.integers(0, int((most - least) * TENTH))
    return whole.map(lambda tenths: round(least + tenths / TENTH, 1))


def _fitting(events: Sequence[Event], wanted: Generated, topology: Topology) -> Schedule:
    """Those for which the budget has room, in the order in which they were drawn."""
    taken: list[Event] = []
    for number, event in enumerate(events):
        named = event.named(f"{event.fault.name}-{number}")
        if fits(named, taken, wanted, topology):
            taken.append(named)
    return Schedule(tuple(sorted(taken, key=lambda event: (event.at, event.id))))


def _made(kind: type[Workload], settings: Mapping[str, Any]) -> Workload:
    own = {each.name for each in dataclasses.fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in settings.items() if name in own})
