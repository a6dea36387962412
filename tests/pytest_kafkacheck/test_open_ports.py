"""Which clusters a remote engine may publish."""

from __future__ import annotations

import pytest
import yaml

from pytest_kafkacheck.cli.common.init_files import CI
from pytest_kafkacheck.cluster.docker.engine import ALLOWED, check_ports
from pytest_kafkacheck.cluster.spec.spec import ClusterSpec
from pytest_kafkacheck.errors import UsageError

ANYWHERE = "0.0.0.0"


@pytest.fixture(autouse=True)
def _nothing_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ALLOWED, raising=False)


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        (ClusterSpec(), r"EXTERNAL \(PLAINTEXT\)"),
        (ClusterSpec(security="SSL"), r"EXTERNAL \(SSL\)"),
        (ClusterSpec(security="SASL_PLAINTEXT"), r"EXTERNAL \(SASL_PLAINTEXT\)"),
        (ClusterSpec(security="SASL_SSL", listeners={"OPEN": "PLAINTEXT"}), r"OPEN \(PLAINTEXT\)"),
        (ClusterSpec(version="3.9.2", zookeepers=1, security="SASL_SSL"), r"ZOOKEEPER \(plain text\)"),
    ],
)
def test_listeners_without_tls_and_sasl_are_refused(
    spec: ClusterSpec, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=f"{named}.*{ALLOWED}=yes"):
        check_ports(spec, bind=ANYWHERE)
    check_ports(spec, bind="127.0.0.1")
    monkeypatch.setenv(ALLOWED, "yes")
    check_ports(spec, bind=ANYWHERE)


@pytest.mark.parametrize("controllers", [0, 1])
def test_tls_with_sasl_is_published(controllers: int) -> None:
    check_ports(ClusterSpec(security="SASL_SSL", controllers=controllers), bind=ANYWHERE)


def test_the_file_for_gitlab_allows_the_ports_of_its_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its engine is on another host, and nobody but the job reaches that."""
    variables = yaml.safe_load(CI["gitlab"][1])[".kafkacheck"]["variables"]
    assert variables["DOCKER_HOST"].startswith("tcp://")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    check_ports(ClusterSpec(), bind=ANYWHERE)
