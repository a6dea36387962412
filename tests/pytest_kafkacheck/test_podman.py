"""Podman is recognised by its answer to `version`, and gets requests that its API understands."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError, NotFound

from pytest_kafkacheck.cluster.docker import engine, reaper
from pytest_kafkacheck.cluster.docker.containers import is_stopped_by_signal
from pytest_kafkacheck.cluster.docker.podman import device_rights, is_podman, recognise
from pytest_kafkacheck.setup.capabilities import missing_capabilities

DOCKER = {"Components": [{"Name": "Engine", "Version": "20.10.24"}]}
PODMAN = {"Components": [{"Name": "Podman Engine"}, {"Name": "Conmon"}, {"Name": "OCI Runtime (runc)"}]}


class Api:
    """Of an engine in which one process is stopped. Podman knows no options of ps, and no changes of a container."""

    def __init__(self, version: dict[str, Any]) -> None:
        self.is_docker = version is DOCKER
        recognise(self, version)

    def top(self, _: str, *, ps_args: str) -> dict[str, Any]:
        assert ps_args.startswith("-") is self.is_docker
        return {"Titles": ["PID", "S"], "Processes": [["1", "S"], ["7", "T"]]}

    def update_container(self, name: str, **_: Any) -> None:
        raise NotFound("404", explanation=f"No such container: {name}" if self.is_docker else "Not Found")


def test_each_engine_gets_its_own_requests() -> None:
    docker, podman = Api(DOCKER), Api(PODMAN)
    assert (is_podman(docker), is_podman(podman)) == (False, True)
    assert is_stopped_by_signal(docker, "c")
    assert is_stopped_by_signal(podman, "c")
    assert device_rights(docker, ["b 7:* rw"]) == {"device_cgroup_rules": ["b 7:* rw"]}
    assert device_rights(podman, ["b 7:* rw"]) == {"privileged": True}


def test_an_engine_that_cannot_change_limits_is_found_without_a_container() -> None:
    docker, podman = (SimpleNamespace(api=Api(each)) for each in (DOCKER, PODMAN))
    assert missing_capabilities(docker, ["limits"]) == {"limits": None}
    assert missing_capabilities(podman, ["limits"]) == {
        "limits": "the engine's API has no request for them (Not Found)"
    }


def test_a_session_recognises_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    client = SimpleNamespace(api=SimpleNamespace(), version=lambda: PODMAN)
    monkeypatch.setattr(engine.docker, "from_env", lambda **_: client)
    assert is_podman(engine.connect().api)


def test_a_pod_is_removed_after_the_containers_in_its_network() -> None:
    there = ["pod", "node"]

    def remove_container(name: str, **_: Any) -> None:
        if name == "pod" and "node" in there:
            there.remove("node")  # as its own removal does meanwhile
            raise APIError(
                "500", explanation="container pod has dependent containers which must be removed before it"
            )
        there.remove(name)

    part = reaper.Part("container", "pod", {}, 0.0)
    reaper.remove_parts(SimpleNamespace(remove_container=remove_container), [part])
    assert there == []
