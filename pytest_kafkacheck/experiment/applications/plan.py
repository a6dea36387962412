"""What has to be known of an application before one can see from outside what its instances do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from workloads.pipeline import APP, AUDITOR
from workloads.workload import Workload


@dataclass(frozen=True, kw_only=True)
class ApplicationPlan:
    """Of one run.

    source, sink, group  their names on the brokers.
    identify  reference to the function that says what an output names; None: its tokens and headers do.
    clients   the client ids of the instances, by number.
    """

    run: str
    source: str
    sink: str
    group: str
    identify: Mapping[str, str] | None
    clients: Mapping[int, str]

    @classmethod
    def of(cls, workload: Workload, run: str) -> Self | None:
        """None for a workload whose instances cannot be seen, see `unseen`."""
        options = _auditing(workload)
        if options is None or unseen(workload) is not None:
            return None
        # An experiment is made where tests are collected, and this loads kafka-python.
        from workloads.roles.application import client_id

        group = options["group"]
        return cls(
            run=run,
            source=f"{options['source']}-{run}",
            sink=f"{options['sink']}-{run}",
            group=f"{group}-{run}",
            identify=options["identify"],
            clients={number: client_id(group, run, number) for number in range(options["instances"])},
        )


def unseen(workload: Workload) -> str | None:
    """Why nobody can see from outside what an instance does at a moment; None where one can."""
    options = _auditing(workload)
    if options is None:
        return f"{type(workload).__name__} runs no application; only Pipeline does"
    if options["group"] is None:
        return (
            "the application does not use the placeholder {group}, and only the positions that its group commits "
            "show where an instance is; give it {group} in the command or in env"
        )
    if options["aggregate"] is not None:
        return "with aggregate, outputs name no single inputs, so that nobody sees where an instance is"
    if options["instances"] > 1 and not any("{client}" in text for text in _texts(workload)):
        return (
            "with several instances, only their client.id says which of them has a partition; give the application "
            "{client} in the command or in env, as its client.id"
        )
    return None


def group_of(workload: Workload) -> str | None:
    """The short name of the application's group; None where there is none, or nobody knows it."""
    options = _auditing(workload)
    return None if options is None else options["group"]


def _auditing(workload: Workload) -> Mapping[str, Any] | None:
    return next((spec.options for spec in workload.workers() if spec.role == AUDITOR), None)


def _texts(workload: Workload) -> list[str]:
    """The command and the environment of an instance."""
    options = next(spec.options for spec in workload.workers() if spec.role == APP)
    return [*(options["command"] or ()), *options["env"].values()]
