"""The containers of a user's application: each instance has one, and a pod with its network, for a whole run.

The worker process of an instance runs `container_program`, which stands for the container as a command does for a
program. So what starts an instance again, ends it and reports its last output is the same for both. All parts carry
the labels of a run of their own, which names this process as its owner: after a SIGKILL of it, the next session
removes them, as it removes clusters.
"""

from __future__ import annotations

import logging
import shlex
import signal
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from docker.errors import APIError, DockerException

from nemesis.event import Event
from nemesis.registry import FAULTS, OF_APPLICATIONS
from pytest_kafkacheck.cluster.docker import container_program, reaper
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.engine import is_local
from pytest_kafkacheck.cluster.docker.images import is_present
from pytest_kafkacheck.cluster.docker.node import DockerNode
from pytest_kafkacheck.cluster.docker.plan import create_pod
from pytest_kafkacheck.cluster.spec.member import INTERNAL, PORTS
from pytest_kafkacheck.errors import CapabilityError, InfrastructureError, UsageError
from pytest_kafkacheck.experiment.applications.compose_project import ComposeProject, Instance
from pytest_kafkacheck.experiment.applications.instance import AppContainer
from pytest_kafkacheck.experiment.recovery import UsedCluster
from workloads.roles.application import connection_settings, filled, placeholders
from workloads.workload import WorkerSpec, Workload

log = logging.getLogger(__name__)

PROGRAM = str(Path(container_program.__file__))


def contained(workload: Workload) -> tuple[WorkerSpec, ...]:
    """The instances of an application that runs in containers."""
    return tuple(each for each in workload.workers() if each.options.get("container") is not None)


def owner(run: str) -> str:
    """The run by which the parts of the application are labelled."""
    return f"app-{run}"


def as_workers(workers: Iterable[WorkerSpec], run: str) -> tuple[WorkerSpec, ...]:
    """The same workers, with what stands for its container as the command of each contained instance."""
    return tuple(each if each.options.get("container") is None else _as_worker(each, run) for each in workers)


def require_cluster(cluster: UsedCluster) -> DockerCluster:
    """Raises UsageError for a cluster whose network is not that of kafkacheck."""
    if not isinstance(cluster, DockerCluster) or cluster.spec.attached is not None:
        raise UsageError(
            "Pipeline.image and compose need a cluster that kafkacheck starts: the containers are on its network, "
            "and brokers that somebody else runs say nothing of their listeners there. Use command here"
        )
    return cluster


@contextmanager
def containers(
    cluster: DockerCluster, workers: Collection[WorkerSpec], *, run: str, home: Path
) -> Iterator[Mapping[int, AppContainer]]:
    """The containers of these instances, by their number, made and not started. They are removed at the end.

    Raises UsageError and InfrastructureError where they cannot be made.
    """
    client, found = cluster.client, {}
    labels = {**reaper.labels(owner(run)), reaper.USES: cluster.run}
    with ExitStack() as stack:
        stack.callback(_remove, client, run)
        try:
            instances = [_instance(cluster, each, run, labels) for each in workers]
            _create(stack, client, next(iter(workers)), instances, labels, run, home)
        except APIError as error:
            raise InfrastructureError(
                f"The engine could not make a container of the application: {error.explanation or error}"
            ) from error
        for each in instances:
            found[each.number] = AppContainer(
                client,
                instance=each.number,
                name=each.container,
                pod=each.pod,
                brokers=partial(_brokers, cluster),
            )
            stack.callback(found[each.number].close)
        yield found


def _remove(client: Any, run: str) -> None:
    """What is left does not spoil a run that is recorded: the next session removes it."""
    try:
        reaper.remove_run(client, owner(run))
    except (InfrastructureError, DockerException, OSError) as error:
        log.warning("%s", error)


def _create(
    stack: ExitStack, client: Any, worker: WorkerSpec, instances: list[Instance], labels: Mapping[str, str],
    run: str, home: Path,
) -> None:  # fmt: skip
    container, env = worker.options["container"], worker.options["env"]
    if "image" in container:
        for each in instances:
            _create_container(client.api, container["image"], each, labels)
        return
    project = ComposeProject(container["compose"], container["service"], project=f"kafkacheck{run}", env=env)
    stack.callback(_save_logs, client.api, project, home / "logs")
    project.create(client.api, instances, labels)


def _create_container(api: Any, image: str, instance: Instance, labels: Mapping[str, str]) -> None:
    values = instance.values
    api.create_container(
        image=image,
        name=instance.container,
        command=None if instance.command is None else [filled(each, values) for each in instance.command],
        environment={name: filled(text, values) for name, text in instance.env.items()},
        labels=dict(labels),
        host_config=api.create_host_config(network_mode=f"container:{instance.pod}"),
    )


def _instance(cluster: DockerCluster, worker: WorkerSpec, run: str, labels: Mapping[str, str]) -> Instance:
    options, number = worker.options, worker.options["instance"]
    name = _name(run, number)
    pod = create_pod(
        cluster.client.api,
        name=f"{name}-pod",
        host=name,
        network=cluster.plan.network,
        ports={},
        labels=labels,
    )
    cluster.client.api.start(pod)
    bootstrap = [f"{node.host}:{PORTS[INTERNAL]}" for node in _brokers(cluster)]
    return Instance(
        number=number,
        container=name,
        pod=pod,
        values={
            **placeholders(options, run=run, bootstrap=bootstrap),
            **connection_settings(cluster.plan.securities.get(INTERNAL)),
        },
        env=options["env"],
        command=options["command"],
    )


def _as_worker(worker: WorkerSpec, run: str) -> WorkerSpec:
    container, command = worker.options["container"], worker.options["command"]
    called = (
        f"image {container['image']}" if "image" in container else f"service {container['service']}"
    ) + (f": {shlex.join(command)}" if command else "")
    options = {
        **worker.options,
        "command": [sys.executable, "-P", PROGRAM, _name(run, worker.options["instance"])],
        "env": {},
        "called": called,
        "kill_signal": int(signal.SIGINT),
    }
    return replace(worker, options=options)


def _name(run: str, instance: int) -> str:
    return f"kafkacheck-app-{run}-{instance}"


def _brokers(cluster: DockerCluster) -> list[DockerNode]:
    return [node for node in tuple(cluster.nodes.values()) if node.member.is_broker]


def _save_logs(api: Any, project: ComposeProject, folder: Path) -> None:
    try:
        for name, output in project.logs(api):
            with suppress(OSError):
                (folder / f"client-app-{name}.log").write_bytes(output)
    except (DockerException, OSError) as error:
        log.warning("the output of what the application depends on is not saved: %s", error)


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
