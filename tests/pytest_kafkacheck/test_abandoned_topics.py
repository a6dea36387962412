"""Which topics on a cluster belong to runs that were killed."""

from __future__ import annotations

from pathlib import Path

from pytest_kafkacheck.experiment.run_directory import RunDirectory
from pytest_kafkacheck.experiment.run_topics import abandoned


def test_topics_that_contain_the_id_of_another_run_of_the_directory(tmp_path: Path) -> None:
    RunDirectory.create(tmp_path, name="killed", run="0a1b2c3d")
    now = RunDirectory.create(tmp_path, name="now", run="44444444")
    (tmp_path / "file-55555555").touch()
    names = [
        "log-0a1b2c3d",
        "orders",
        "kafkacheck-clock-1",
        "watched-0a1b2c3d-2",
        "log-44444444",
        "log-55555555",
        "__consumer_offsets",
    ]
    assert abandoned(names, home=now.path) == ["kafkacheck-clock-1", "log-0a1b2c3d", "watched-0a1b2c3d-2"]
