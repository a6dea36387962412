"""An image that is missing when a cluster starts is built once, or the start is refused in one line."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import ImageNotFound

from pytest_kafkacheck.cluster.docker.images import agent_image, local_image
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import InfrastructureError, MissingImageError
from pytest_kafkacheck.setup import image_build

SPEC = ClusterSpec(version="3.7.0")


class Engine:
    """An engine without a registry, with images by name."""

    def __init__(self, *images: str) -> None:
        self.present, self.images = set(images), self

    def get(self, name: str) -> Any:
        if name not in self.present:
            raise ImageNotFound(name)
        return SimpleNamespace(id=name)


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Releases that were built."""
    built: list[str] = []

    def build(client: Engine, version: str, _: object) -> None:
        built.append(version)
        # Time for the other process to come.
        threading.Event().wait(0.3)
        client.present.add(local_image(version))

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(image_build, "pulled", lambda *_: False)
    monkeypatch.setattr(image_build, "build_broker", build)
    monkeypatch.setattr(image_build, "ensure_class_archives", lambda *_: None)
    return built


def test_it_is_built_once_however_many_start(builds: list[str]) -> None:
    engine, lines = Engine(agent_image()), list[str]()
    threads = [
        threading.Thread(target=image_build.prepare, args=(engine, SPEC, lines.append)) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert builds == ["3.7.0"]
    assert lines.count("waiting until another process has built the image of Kafka 3.7.0") == 2


def test_a_start_is_refused_where_nothing_may_be_built(
    builds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(image_build.BUILD, "no")
    with pytest.raises(MissingImageError) as refused:
        image_build.prepare(Engine(agent_image()), SPEC, print)
    assert str(refused.value) == (
        f"The engine has no image {local_image('3.7.0')!r}. Run: kafkacheck image build 3.7.0"
    )
    assert not builds
    image_build.prepare(Engine(agent_image(), local_image("3.7.0")), SPEC, print)


def test_an_image_of_the_user_is_never_built(builds: list[str]) -> None:
    with pytest.raises(InfrastructureError, match=r"no image 'mine:1'\. Run: docker pull mine:1"):
        image_build.prepare(Engine(agent_image()), ClusterSpec(image="mine:1"), print)
    assert not builds


def test_one_line_says_that_a_release_is_newer_than_the_known_ones(builds: list[str]) -> None:
    engine, lines = Engine(agent_image()), list[str]()
    for _ in range(2):
        image_build.prepare(engine, ClusterSpec(version="4.9.0"), lines.append)
    assert builds == ["4.9.0"]
    assert [line for line in lines if "newer" in line] == [
        "Kafka 4.9.0 is newer than 4.4, the newest line that this kafkacheck knows: it gets the settings and "
        "features of 4.4"
    ]


def test_a_release_that_does_not_exist_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: object, **__: object) -> None:
        raise InfrastructureError("[ERROR] Could not find artifact org.apache.kafka:kafka_2.13:jar:4.1.9")

    monkeypatch.setattr(image_build.debian, "run", fail)
    with pytest.raises(InfrastructureError, match=r"^Maven finds no Kafka 4\.1\.9: .* such as 4\.1\.2$"):
        image_build.fetch_jars("4.1.9", tmp_path)


@pytest.mark.parametrize("fixture", ["kafkacheck", "kafkacheck_cluster"])
def test_a_test_without_its_image_fails_in_one_line(pytester: pytest.Pytester, fixture: str) -> None:
    pytester.makeconftest(
        """
        from contextlib import contextmanager
        import pytest
        from pytest_kafkacheck.errors import MissingImageError

        @pytest.fixture(scope="session")
        def _kafkacheck_harness(tmp_path_factory):
            class Harness:
                directory = tmp_path_factory.mktemp("runs")
                has_failed = False

                def run(self, *_, **__):
                    raise MissingImageError("there is no image")

                @contextmanager
                def cluster(self, *_, **__):
                    raise MissingImageError("there is no image")
                    yield

            return Harness()
        """
    )
    pytester.makepyfile(
        f"""
        import pytest_kafkacheck as api

        def test_it({fixture}):
            {fixture}(api.Experiment(workload=api.AppendLog(), duration=1))
        """
    )
    shown = pytester.runpytest_subprocess("-p", "no:cacheprovider").stdout.str()
    assert "there is no image" in shown
    assert "raise MissingImageError" not in shown
    assert "During handling" not in shown
    assert "runner.py" not in shown
