"""The compose files in the project are equal to exports."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.cluster.docker.compose import compose_file
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError

FOLDER = Path(__file__).parents[2] / "compose"

EXPORTS = {
    "combined-3.yml": ClusterSpec(),
    "controllers-3.yml": ClusterSpec(controllers=3),
    "zookeeper.yml": ClusterSpec(version="3.9.2", zookeepers=1),
}


@pytest.mark.parametrize("name", EXPORTS)
def test_a_compose_file_is_what_export_writes(name: str) -> None:
    assert (FOLDER / name).read_text() == compose_file(EXPORTS[name]), (
        f"compose/{name} has drifted: write it anew by `kafkacheck cluster export`"
    )


def test_every_compose_file_is_an_export() -> None:
    assert {file.name for file in FOLDER.glob("*.y*ml")} == set(EXPORTS)


def test_export_takes_the_options_of_a_spec(tmp_path: Path) -> None:
    file = tmp_path / "mine.yml"
    options = [
        "--kafka",
        "4.3.0",
        "--brokers",
        "2",
        "--rack",
        "a",
        "--set",
        "num.io.threads=3",
        "--feature",
        "group.version=0",
    ]
    assert cli.main(["cluster", "export", "-o", str(file), *options]) == 0
    services = yaml.safe_load(file.read_text())["services"]
    assert list(services) == ["kafka1", "kafka2"]
    assert "num.io.threads=3" in services["kafka2"]["environment"]["PROPERTIES"]
    assert "broker.rack=a" in services["kafka2"]["environment"]["PROPERTIES"]
    assert "'--feature' 'group.version=0'" in services["kafka1"]["command"][0]
    assert services["kafka1"]["image"].endswith("apache/kafka:4.3.0}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--security", "SSL"], "private key"),
        (["--kafka", "4.1.1", "--zookeepers", "1"], "removed ZooKeeper mode"),
        (["--set", "num.io.threads"], "--set num.io.threads: expected NAME=VALUE"),
        (["-o", "/nowhere/at/all.yml"], "cannot be written"),
    ],
)
def test_what_cannot_be_exported_is_refused(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["cluster", "export", *options]) == cli.USAGE
    assert message in capsys.readouterr().err


def test_equal_specs_give_equal_files_and_others_have_their_own_cluster_id() -> None:
    one, two = compose_file(ClusterSpec()), compose_file(ClusterSpec(brokers=2))
    assert one == compose_file(ClusterSpec())
    assert one.split("format -t ")[1][:22] != two.split("format -t ")[1][:22]
    with pytest.raises(UsageError, match="cannot make loop devices"):
        compose_file(ClusterSpec(disk_mb=64))
    with pytest.raises(UsageError, match="cannot make its users"):
        compose_file(ClusterSpec(version="3.9.2", zookeepers=1, security="SASL_PLAINTEXT"))
