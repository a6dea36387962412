"""One broker in Docker: the broker's container, and the agent's that lends it its network."""

from __future__ import annotations

from typing import Any, Literal

from docker.errors import APIError

from nemesis.cluster import State
from pytest_kafkacheck.cluster.agent import Agent
from pytest_kafkacheck.cluster.properties import CONTROLLER_PORT
from workloads.clients.raw import Address


class DockerNode:
    """Implements ``nemesis.cluster.Node``."""

    def __init__(self, client: Any, *, node: int, container: str, agent: Agent, client_port: int) -> None:
        self.id = node
        self.container = container
        self.agent = agent
        self.client_address: Address = ("127.0.0.1", client_port)
        self.probe_port = CONTROLLER_PORT
        self._api = client.api
        networks = self._api.inspect_container(agent.container)["NetworkSettings"]["Networks"]
        (settings,) = networks.values()
        self.mac: str = settings["MacAddress"]
        self.addresses: tuple[str, ...] = tuple(
            address for address in (settings["IPAddress"], settings["GlobalIPv6Address"]) if address
        )

    def state(self) -> State:
        state = self._api.inspect_container(self.container)["State"]
        if not state["Running"]:
            return "stopped"
        if state["Paused"] or self._stopped_by_signal():
            return "paused"
        return "running"

    def incarnation(self) -> str:
        return str(self._api.inspect_container(self.container)["State"]["StartedAt"])

    def exit_code(self) -> int:
        return int(self._api.inspect_container(self.container)["State"]["ExitCode"])

    def kill(self) -> None:
        try:
            self._api.kill(self.container, signal="SIGKILL")
        except APIError as error:
            if error.status_code != 409:  # not running: it is as dead as it was meant to be
                raise
        self._api.wait(self.container, timeout=30)

    def start(self) -> None:
        self._api.start(self.container)

    def freeze(self) -> None:
        try:
            self._api.pause(self.container)
        except APIError as error:
            raise OSError(
                f"the engine could not freeze {self.container[:12]}: {error.explanation}"
            ) from error

    def thaw(self) -> None:
        if self._api.inspect_container(self.container)["State"]["Paused"]:
            self._api.unpause(self.container)

    def signal(self, name: Literal["STOP", "CONT"]) -> None:
        self._api.kill(self.container, signal=f"SIG{name}")

    def shell(self, command: str, *, timeout: float = 10.0) -> tuple[int, str]:
        return self.agent.shell(command, timeout=timeout)

    def logs(self) -> bytes:
        """Everything the broker printed so far, over all its starts."""
        return bytes(self._api.logs(self.container, stdout=True, stderr=True, timestamps=False))

    def _stopped_by_signal(self) -> bool:
        # The engine knows nothing of SIGSTOP. Its process list shows the state letter of java.
        table = self._api.top(self.container, ps_args="-eo pid,stat,comm")
        column = table["Titles"].index("STAT")
        return any(row[column].startswith("T") for row in table["Processes"])
