"""An application in containers: what is refused before anything starts, and what faults and compose are asked for."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError, ImageNotFound

from nemesis.tasks import wait_until
from pytest_kafkacheck import InfrastructureError, Pipeline, UsageError, cpu, isolate, kill, memory
from pytest_kafkacheck.errors import CapabilityError
from pytest_kafkacheck.experiment.applications import instance as contained_clients
from pytest_kafkacheck.experiment.applications.compose_project import ComposeProject, Instance
from pytest_kafkacheck.experiment.applications.containers import (
    as_workers,
    check_containers,
    contained,
    needed_of_engine,
    require_cluster,
)
from pytest_kafkacheck.experiment.applications.instance import AppContainer, ContainedClients
from pytest_kafkacheck.experiment.execution import confining
from pytest_kafkacheck.experiment.experiment import Experiment
from tests.support.compose_project import NEEDS_COMPOSE
from workloads.append_log import AppendLog
from workloads.pipeline import APP
from workloads.workload import WorkerSpec

COMMAND = ["{bootstrap}", "{source}", "{sink}", "{group}"]
ENV = {"BOOTSTRAP": "{bootstrap}", "SOURCE": "{source}", "SINK": "{sink}", "INSTANCE": "{instance}"}

COMPOSE = """
version: "3.4"
services:
  app:
    image: app:1
    command: ["run", "${BOOTSTRAP}", "no ${INSTANCE}", "cost $$5"]
    environment: [MODE=fast, SINK=none]
    container_name: app
    hostname: app
    ports: ["8080:80"]
    restart: always
    depends_on: [database]
    networks: [default, inner]
  database:
    image: database:2
    container_name: database
    ports: ["5432:5432"]
    environment: {TOPIC: "${SOURCE}"}
    networks: [inner]
    volumes: ["data:/data"]
  other:
    image: other:3
networks:
  inner: {}
volumes:
  data: {}
"""


class Engine:
    """base_url: of an engine of this host, unless it is given."""

    def __init__(self, *images: str, base_url: str = "http+docker://localhost") -> None:
        self.images, self._known = self, images
        self.api = SimpleNamespace(base_url=base_url)

    def get(self, image: str) -> None:
        if image not in self._known:
            raise ImageNotFound(image)


def check(workload: Any, *faults: Any, engine: Any = None) -> None:
    events = Experiment(workload=workload, faults=faults).schedule.events
    check_containers(workload, events, lambda: Engine() if engine is None else engine)


def of_image(**values: Any) -> Pipeline:
    return Pipeline(**{"image": "app:1", "command": COMMAND, **values})


def of_file(folder: Path, text: str = COMPOSE, **values: Any) -> Pipeline:
    file = folder / "compose.yml"
    file.write_text(text)
    return Pipeline(**{"compose": file, "service": "app", "env": ENV, **values})


def test_an_image_that_is_not_there_is_refused_before_anything_starts() -> None:
    check(of_image(), engine=Engine("app:1"))
    with pytest.raises(InfrastructureError, match=re.escape(
        "Pipeline.image='app:1': the engine has no image 'app:1', and kafkacheck fetches none; get it with `docker "
        "pull app:1`, or build it"
    )):  # fmt: skip
        check(of_image())


def test_a_workload_without_containers_asks_no_engine() -> None:
    check_containers(AppendLog(), [], lambda: pytest.fail("asked"))
    check_containers(Pipeline(command=["app", *COMMAND]), [], lambda: pytest.fail("asked"))


def test_a_compose_file_that_is_not_there(tmp_path: Path) -> None:
    workload = of_file(tmp_path)
    (tmp_path / "compose.yml").unlink()
    with pytest.raises(UsageError, match=r"Pipeline\.compose='.*compose\.yml': there is no such file"):
        check(workload)


@NEEDS_COMPOSE
@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("services:", "servces:", "cannot be read: "),
        ("  app:\n", "  apps:\n", "Pipeline.service='app': "),
        (
            "    image: app:1\n",
            "    build: .\n",
            "service app has no image; kafkacheck builds none: build it",
        ),
        ("    image: database:2\n", "    build: .\n", "service database has no image"),
        (
            "    networks: [default, inner]\n",
            "    network_mode: host\n",
            "service app has network_mode='host'",
        ),
    ],
)
def test_compose_files_that_cannot_be_used(tmp_path: Path, before: str, after: str, said: str) -> None:
    assert before in COMPOSE
    with pytest.raises(UsageError, match=re.escape(said)) as refused:
        check(of_file(tmp_path, COMPOSE.replace(before, after, 1)))
    assert "\n" not in str(refused.value)


@NEEDS_COMPOSE
def test_the_images_of_a_compose_file_have_to_be_there(tmp_path: Path) -> None:
    check(of_file(tmp_path), engine=Engine("app:1", "database:2"))
    with pytest.raises(InfrastructureError, match="the engine has no image 'database:2'"):
        check(of_file(tmp_path), engine=Engine("app:1"))


@NEEDS_COMPOSE
@pytest.mark.parametrize(
    ("own", "fault", "said"),
    [
        (
            "    cpus: 0.5\n",
            cpu("app", at=1, lasting=1),
            "service app limits its own cpu, which cpu-app would",
        ),
        (
            "    mem_limit: 90m\n",
            memory("app", at=1, lasting=1),
            "limits its own memory, which memory-app would",
        ),
    ],
)
def test_a_fault_does_not_replace_a_limit_of_the_file(
    tmp_path: Path, own: str, fault: Any, said: str
) -> None:
    text = COMPOSE.replace('"3.4"', '"2.4"').replace("    image: app:1\n", f"    image: app:1\n{own}")
    check(of_file(tmp_path, text), engine=Engine("app:1", "database:2"))
    with pytest.raises(UsageError, match=said):
        check(of_file(tmp_path, text), fault)


def test_a_memory_limit_on_another_host_cannot_be_proved() -> None:
    engine = Engine("app:1", base_url="http://elsewhere:2375")
    check(of_image(), kill("app", at=1, lasting=1), engine=engine)
    with pytest.raises(
        CapabilityError, match="this host cannot do memory-app: of a container of an engine on an"
    ):
        check(of_image(), memory("app", at=1, lasting=1), engine=engine)


def test_faults_of_a_container_need_nothing_of_this_host() -> None:
    faults = [isolate("app", at=1, lasting=1), cpu("app", at=3, lasting=1), kill("leader", at=5, lasting=1)]
    names = {"isolate-app", "cpu-app", "kill"}
    assert needed_of_engine(names, of_image()) == {"isolate", "kill"}
    assert needed_of_engine({"cpu-app"}, of_image()) == set()
    command = Pipeline(command=["app", *COMMAND])
    assert needed_of_engine(names, command) == names
    assert confining(Experiment(workload=of_image(), faults=faults)) == frozenset()
    assert confining(Experiment(workload=command, faults=faults)) == {"packets", "cpu"}


@pytest.mark.parametrize("cluster", [SimpleNamespace(run="bootstrap")])
def test_a_cluster_that_somebody_else_runs_is_refused(cluster: Any) -> None:
    with pytest.raises(
        UsageError, match=r"Pipeline\.image and compose need a cluster that kafkacheck starts"
    ):
        require_cluster(cluster)


def test_a_worker_runs_what_stands_for_its_container() -> None:
    workload = of_image(instances=2)
    assert [each.instance for each in contained(workload)] == [0, 1]
    feeder, _, second, *_ = as_workers(workload.workers(), "a1")
    assert feeder == workload.workers()[0]
    assert Path(second.options["command"][-2]).name == "container_program.py"
    assert second.options["command"][-1] == "kafkacheck-app-a1-1"
    assert second.options["called"] == "image app:1: '{bootstrap}' '{source}' '{sink}' '{group}'"
    assert (second.options["kill_signal"], second.options["env"]) == (signal.SIGINT, {})
    assert json.dumps(second.options)


def instance(number: int, command: list[str] | None = None) -> Instance:
    values = {
        "bootstrap": "kafka1:9092",
        "source": "s-r",
        "sink": "o-r",
        "group": "g-r",
        "instance": str(number),
    }
    return Instance(
        number=number, container=f"kafkacheck-app-r-{number}", pod=f"pod{number}", values=values, env=ENV,
        command=command,
    )  # fmt: skip


@NEEDS_COMPOSE
def test_a_project_has_a_service_for_each_instance_and_what_it_depends_on(tmp_path: Path) -> None:
    of_file(tmp_path)
    project = ComposeProject(str(tmp_path / "compose.yml"), "app", project="p", env=ENV)
    assert (project.dependencies, project.images) == (("database",), ("app:1", "database:2"))
    labels = {"kafkacheck.run": "app-r"}
    made = project.document([instance(0), instance(1, ["other", "{instance}"])], labels)
    first, second, database = (made["services"][name] for name in ("app-0", "app-1", "database"))
    assert made["services"].keys() == {"app-0", "app-1", "database"}
    assert first == {
        "image": "app:1",
        "command": ["run", "kafka1:9092", "no 0", "cost $$5"],
        "environment": {
            "MODE": "fast", "SINK": "o-r", "BOOTSTRAP": "kafka1:9092", "SOURCE": "s-r", "INSTANCE": "0",
        },
        "container_name": "kafkacheck-app-r-0",
        "network_mode": "container:pod0",
        "restart": "no",
        "labels": {"kafkacheck.run": "app-r"},
    }  # fmt: skip
    assert (second["command"], second["network_mode"]) == (["other", "1"], "container:pod1")
    assert project.document([instance(1)], labels)["services"]["app-1"]["command"][2] == "no 1"
    assert (database["environment"], database["labels"]) == ({"TOPIC": "s-r"}, {"kafkacheck.run": "app-r"})
    assert not database.keys() & {"container_name", "ports"}, (
        "the user's own project may run at the same time"
    )
    assert (
        made["networks"]["inner"]["labels"]
        == made["volumes"]["data"]["labels"]
        == {"kafkacheck.run": "app-r"}
    )


class FakeContainer:
    def __init__(self) -> None:
        self.done: list[Any] = []
        self.fails = False

    def wait_running(self) -> None:
        self.done.append("runs")

    def kill(self) -> None:
        if self.fails:
            raise OSError("the engine could not kill it")
        self.done.append("killed")

    def lift_limits(self) -> None:
        self.done.append("lifted")


class FakeWorker:
    pid = -1

    def __init__(self, done: list[Any], instance: int | None) -> None:
        self.spec = WorkerSpec(role=APP, process=1, instance=instance)
        self._done = done

    def hold(self) -> None:
        self._done.append("held")

    def resume(self) -> None:
        self._done.append("resumed")

    def kill_by_fault(self) -> None:
        self._done.append("worker killed")


def clients(instance: int | None = 0) -> tuple[Any, FakeContainer]:
    container = FakeContainer()
    worker = FakeWorker(container.done, instance)
    pool: Any = SimpleNamespace(
        workers={1: worker},
        spec=lambda _: worker.spec,
        replace=lambda process: container.done.append("replaced") or process + 1,
    )
    return ContainedClients(pool, dict, containers={0: container}), container


def test_a_kill_lets_no_worker_start_the_container_again(monkeypatch: pytest.MonkeyPatch) -> None:
    states = iter([["T", "S"], ["T", "S"], ["T"]])
    monkeypatch.setattr(contained_clients, "group_states", lambda _: next(states))
    made, container = clients()
    made.kill(1)
    assert container.done == ["runs", "held", "killed", "worker killed"]
    assert list(states) == [], "it waited for the last output"
    assert made.replace(1) == 2
    assert container.done[-2:] == ["lifted", "replaced"]


def test_a_container_that_cannot_be_killed_goes_on() -> None:
    made, container = clients()
    container.fails = True
    with pytest.raises(OSError, match="could not kill it"):
        made.kill(1)
    assert container.done == ["runs", "held", "resumed"]


def test_other_workers_are_hit_as_in_every_run() -> None:
    made, container = clients(instance=None)
    made.kill(1)
    assert container.done == ["worker killed"]
    assert made.replace(1) == 2
    assert container.done == ["worker killed", "replaced"]
    with pytest.raises(LookupError, match="client process 1 is no instance of an application"):
        made.limit_cpu(1, 0.1)


class Api:
    """One container, and its pod at 10.0.0.9."""

    base_url = "http+docker://localhost"

    def __init__(self, **state: Any) -> None:
        self.state = {"Running": True, "Paused": False, "OOMKilled": False, "Pid": 0, **state}
        self.updates: list[dict[str, Any]] = []

    def inspect_container(self, _: str) -> dict[str, Any]:
        networks = {"n": {"IPAddress": "10.0.0.9", "GlobalIPv6Address": ""}}
        return {
            "Id": "c", "State": self.state, "NetworkSettings": {"Networks": networks},
            "HostConfig": {"Memory": 0, "CpuQuota": 0},
        }  # fmt: skip

    def info(self) -> dict[str, int]:
        return {"MemTotal": 1 << 34}

    def kill(self, _: str, signal: str) -> None:
        assert signal == "SIGKILL"
        if not self.state["Running"]:
            raise APIError(
                "gone", response=SimpleNamespace(status_code=409, reason=""), explanation="not running"
            )

    def pause(self, _: str) -> None:
        if not self.state["Running"] or self.state["Paused"]:
            raise APIError(
                "no",
                response=SimpleNamespace(status_code=409, reason=""),
                explanation="paused or not running",
            )
        self.state["Paused"] = True

    def unpause(self, _: str) -> None:
        self.state["Paused"] = False
        if not self.state["Running"]:
            raise APIError(
                "no",
                response=SimpleNamespace(status_code=500, reason=""),
                explanation="cannot resume a stopped container",
            )

    def wait(self, _: str, timeout: int) -> None:
        assert timeout

    def update_container(self, _: str, **values: Any) -> None:
        self.updates.append(values)


class Place:
    """A network namespace. The table is listed with as many packets as were given."""

    addresses = ("10.0.0.1", "fd00::1")

    def __init__(self) -> None:
        self.commands: list[str] = []
        self.packets: int | None = 4

    def shell(self, command: str, *, timeout: float) -> tuple[int, str]:
        assert timeout
        self.commands.append(command)
        if "-j list" not in command:
            return 0, ""
        if self.packets is None:
            return 1, "No such file or directory"
        rule = {"expr": [{"counter": {"packets": self.packets}}]}
        return 0, json.dumps({"nftables": [{"set": {"elem": ["ip"]}}, {"rule": rule}]})


def container(**state: Any) -> tuple[AppContainer, Any, Place, Place]:
    """With the places where packets to it, and to the broker, are dropped."""
    api, broker, pod = Api(**state), Place(), Place()
    client: Any = SimpleNamespace(api=api)
    made = AppContainer(client, instance=2, name="app", pod="p", brokers=lambda: [broker])
    made._agent = pod  # type: ignore[assignment]
    return made, api, pod, broker


def test_a_cut_drops_packets_where_they_arrive() -> None:
    made, _, pod, broker = container()
    assert made.isolated() is None
    made.isolate()
    assert "ip saddr { 10.0.0.1 } counter drop" in pod.commands[0]
    assert "ip6 saddr { fd00::1 } counter drop" in pod.commands[0]
    assert "ip saddr { 10.0.0.9 } counter drop" in broker.commands[0]
    assert "table inet kafkacheck_app_2" in broker.commands[0]
    assert made.isolated() == 8
    broker.packets = None
    assert made.isolated() is None, "one of its cuts has ended"
    made.connect()
    assert "drop" not in pod.commands[-1] + broker.commands[-1]
    assert made.isolated() is None


def test_a_look_and_a_fault_pause_the_container_for_themselves() -> None:
    made, *_ = container()
    assert made.freeze(60)
    assert (made.is_frozen, made.is_paused) == (True, True)
    made.pause()
    made.thaw()
    assert (made.is_frozen, made.is_paused) == (False, True), "the fault goes on"
    assert not made.freeze(60)
    made.resume()
    assert not made.is_paused
    assert made.freeze(0.05)
    assert wait_until(lambda: not made.is_paused, limit=10, interval=0.01), "nothing stays frozen"


def test_a_container_that_was_killed_while_it_was_frozen_is_thawed_without_a_word() -> None:
    made, api, *_ = container()
    assert made.freeze(60)
    api.state["Running"] = False
    made.thaw()
    assert not made.is_frozen


def test_a_container_that_does_not_run_is_not_frozen() -> None:
    made, *_ = container(Running=False)
    assert not made.freeze(60)
    assert not made.is_frozen


def test_limits_are_those_of_the_container() -> None:
    made, api, *_ = container()
    made.limit_cpu(0.25)
    made.limit_memory(4096)
    assert api.updates[0] == {"cpu_period": 100_000, "cpu_quota": 25_000}
    assert api.updates[1]["mem_limit"] == 6 << 20, "the engine takes no less"
    made.limit_memory(None)
    assert api.updates[2]["mem_limit"] == 1 << 34
    assert (made.cpu_limit(), made.memory()) == (None, (0, None))
    made.lift_limits()
    assert len(api.updates) == 3, "there was none"


def test_faults_wait_for_a_container_that_has_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    made, api, *_ = container(Running=False)
    monkeypatch.setattr("pytest_kafkacheck.experiment.applications.instance.START_LIMIT", 0.1)
    for fault in (made.pause, lambda: made.limit_cpu(1), lambda: made.limit_memory(1), made.wait_running):
        with pytest.raises(OSError, match="app was not started within 0 s"):
            fault()
    made.kill()
    made.limit_memory(None)
    assert len(api.updates) == 1, "a limit can be lifted all the same"


def test_a_kill_by_the_kernel_counts_as_memory_that_was_needed() -> None:
    assert container()[0].memory_reached() == 0
    assert container(OOMKilled=True)[0].memory_reached() == 1
