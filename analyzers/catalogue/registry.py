"""All checks and anomalies, as the files of `analyzers.checks` declare them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from analyzers.catalogue.anomaly import FAMILIES, Anomaly
from analyzers.catalogue.bounds import Bounds
from analyzers.catalogue.check import Check, CycleCheck
from analyzers.discovery import declared

PACKAGE = "analyzers.checks"


def in_order(anomalies: Iterable[Anomaly]) -> tuple[Anomaly, ...]:
    """By family, rank and name. Raises ValueError where two have the same name."""
    ordered = sorted(anomalies, key=lambda each: (FAMILIES.index(each.family), each.rank, each.name))
    names = [each.name for each in ordered]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"anomalies declared more than once: {', '.join(twice)}")
    return tuple(ordered)


_CHECKS: Mapping[str, Check] = {check.name: check for check in declared(PACKAGE, Check)}
_CYCLES: Mapping[str, CycleCheck] = {check.name: check for check in declared(PACKAGE, CycleCheck)}

CATALOGUE: tuple[Anomaly, ...] = in_order(
    [
        *(check.anomaly for check in declared(PACKAGE, Check)),
        *(check.anomaly for check in declared(PACKAGE, CycleCheck)),
    ]
)

ANOMALIES: Mapping[str, Anomaly] = {anomaly.name: anomaly for anomaly in CATALOGUE}

CHECKS: tuple[Check, ...] = tuple(
    _CHECKS[name] for name in ANOMALIES if name in _CHECKS and _CHECKS[name].bound is None
)
"""Those of what Kafka promises."""

BOUND_CHECKS: Mapping[str, Check] = {
    check.bound: check for name in ANOMALIES if (check := _CHECKS.get(name)) and check.bound is not None
}
"""By field of `Bounds`: those of what an experiment demands."""

CYCLE_CHECKS: tuple[CycleCheck, ...] = tuple(_CYCLES[name] for name in ANOMALIES if name in _CYCLES)


def bound_checks(bounds: Bounds | Mapping[str, Bounds]) -> Iterator[Check]:
    """One check for each bound that any run states.

    With a mapping, each run (by id) is judged by its own bounds, and a run that is not in the mapping by none. The
    runs are judged in one pass all the same.
    """
    for name, check in BOUND_CHECKS.items():
        if isinstance(bounds, Bounds):
            if (limit := bounds.in_ns(name)) is not None:
                yield check.bounded(limit)
            continue
        runs: dict[int, list[str]] = {}
        for run, stated in sorted(bounds.items()):
            if (limit := stated.in_ns(name)) is not None:
                runs.setdefault(limit, []).append(run)
        if runs:
            cases = (
                f"when run in ({', '.join(map(_literal, some))}) then {limit}"
                for limit, some in sorted(runs.items())
            )
            yield check.bounded(f"case {' '.join(cases)} end")


def require_known(names: object) -> frozenset[str]:
    """The names as a set. Raises ValueError for one that is not in the catalogue."""
    if isinstance(names, str) or not hasattr(names, "__iter__"):
        raise ValueError(f"allow: expected a collection of anomaly names, got {names!r}")
    wanted = frozenset(names)
    unknown = sorted(map(str, wanted - ANOMALIES.keys()))
    if unknown:
        raise ValueError(f"allow: no anomaly named {', '.join(unknown)}; there are {', '.join(ANOMALIES)}")
    return wanted


def _literal(text: str) -> str:
    """Of Spark's SQL."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
