"""Whether the client processes that a workload names can be used: each is started once, before anything else."""

from __future__ import annotations

from pytest_kafkacheck.errors import UsageError
from workloads.clients.command.library import introduce
from workloads.clients.command.process import ClientFailure
from workloads.clients.library import PREFIX
from workloads.declaration import Declaration
from workloads.workload import Workload


def check_client_commands(workload: Workload) -> None:
    """Raises UsageError for one that cannot be started, that speaks another version of the protocol, or that has not
    the capabilities that the workload needs."""
    declaration = getattr(type(workload), "declaration", Declaration())
    names = {workload.library, *(worker.library for worker in workload.workers())}
    for name in sorted(each for each in names if each.startswith(PREFIX)):
        try:
            hello = introduce(name)
        except ClientFailure as failure:
            raise UsageError(f"{type(workload).__name__}: {failure}") from None
        if missing := hello.missing(declaration.capabilities(workload)):
            raise UsageError(
                f"{type(workload).__name__} needs {', '.join(missing)} of its clients, and {name!r} ({hello}) states "
                f"{', '.join(sorted(hello.capabilities)) or 'no capability'}; use another library or workload"
            )
