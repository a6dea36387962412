"""A plan with what the command line says: other faults, another client library, other releases of Kafka."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nemesis.registry import FAULTS
from nemesis.validation import did_you_mean
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.soak.plan import Soak, fields_of
from workloads.workload import Workload


def with_faults(plan: Soak, names: Sequence[str]) -> Soak:
    """With these faults only. Those that the plan weighs keep their weight. Raises UsageError for an unknown one."""
    for name in names:
        if name not in FAULTS:
            raise UsageError(
                f"--faults: no fault {name!r}; there are {', '.join(FAULTS)}{did_you_mean(name, FAULTS)}"
            )
    weights = plan.faults or {}
    return replace(plan, faults={name: weights.get(name, 1.0) for name in names})


def with_client(plan: Soak, library: str) -> Soak:
    """With another client library. Settings of the producer have its own names, so those of the plan are left out."""
    vary = {name: values for name, values in plan.vary.items() if name != "client"}
    try:
        return replace(plan, workloads=[_with_library(each, library) for each in plan.workloads], vary=vary)
    except ValueError as error:
        raise UsageError(f"--client {library}: {error}") from error


def with_versions(plan: Soak, versions: Sequence[str]) -> Soak:
    """Each cluster of the plan with each of these releases."""
    return replace(
        plan,
        clusters=[replace(each, version=version) for each in plan.clusters for version in versions],
    )


def _with_library(workload: Workload, library: str) -> Workload:
    own = set(fields_of(workload))
    changed = {"library": library} if "library" in own else {}
    return replace(workload, **changed, **({"client": {}} if "client" in own else {}))  # type: ignore[type-var]
