"""Whether an application can run in containers here, and its faults be carried out, before anything starts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from nemesis.event import Event
from nemesis.registry import FAULTS, OF_APPLICATIONS
from pytest_kafkacheck.cluster.docker.engine import is_local
from pytest_kafkacheck.cluster.docker.images import is_present
from pytest_kafkacheck.errors import CapabilityError, InfrastructureError, UsageError
from pytest_kafkacheck.experiment.applications.compose_project import ComposeProject
from pytest_kafkacheck.experiment.applications.containers import contained
from workloads.workload import Workload

LIMITS = {"cpu-app": "cpu", "memory-app": "memory"}
"""What a service of a compose file may limit itself, by the fault that would replace it."""


def check_containers(workload: Workload, events: Iterable[Event], engine: Callable[[], Any]) -> None:
    """Raises UsageError, InfrastructureError for an image that the engine does not have, and CapabilityError.

    engine  gives a client of the engine.
    """
    instances = contained(workload)
    if not instances:
        return
    options, faults = instances[0].options, {event.fault.name for event in events}
    container = options["container"]
    if "image" in container:
        images: tuple[str, ...] = (container["image"],)
        where = f"Pipeline.image={container['image']!r}"
    else:
        project = ComposeProject(
            container["compose"], container["service"], project="kafkacheckcheck", env=options["env"]
        )
        images, where = project.images, f"Pipeline.compose={container['compose']!r}"
        for fault in sorted(faults & LIMITS.keys()):
            if (what := LIMITS[fault]) in project.limits():
                raise UsageError(
                    f"{where}: service {container['service']} limits its own {what}, which {fault} would replace; "
                    f"leave one of them out"
                )
    client = engine()
    for image in images:
        if not is_present(client, image):
            raise InfrastructureError(
                f"{where}: the engine has no image {image!r}, and kafkacheck fetches none; get it with `docker pull "
                f"{image}`, or build it with `docker build -t {image} .`"
            )
    if "memory-app" in faults and not is_local(client):
        raise CapabilityError(
            "this host cannot do memory-app: of a container of an engine on another host, nothing shows that it "
            "needed more memory than was allowed"
        )


def needed_of_engine(faults: Collection[str], workload: Workload) -> set[str]:
    """The faults whose needs have to be looked at. Those of an application in containers need nothing of this host's
    control groups; a cut needs what a cut between nodes does."""
    if not contained(workload):
        return set(faults)
    others = {name for name in faults if not FAULTS[name].needs & OF_APPLICATIONS}
    return others | ({"isolate"} if "isolate-app" in faults else set())
