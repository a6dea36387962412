"""The marker ``kafkacheck``: what it says of a test, and which tests have it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from pytest_kafkacheck.cluster.spec.spec import ClusterSpec


@dataclass(frozen=True, kw_only=True)
class MarkerOptions:
    """unknown  ``pass`` lets assert_valid() accept a verdict of unknown.
    cluster  the spec of the fixture `kafkacheck_cluster`; None for the default one.
    alone    no other xdist worker uses the cluster meanwhile.
    """

    unknown: Literal["fail", "pass"] = "fail"
    cluster: ClusterSpec | None = None
    alone: bool = False


def register_marker(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "kafkacheck(unknown='fail', cluster=None, alone=False): a test with real Kafka clusters; unknown='pass' "
        "accepts a verdict of unknown in assert_valid(), cluster is the ClusterSpec of the fixture "
        "`kafkacheck_cluster`, alone=True keeps other xdist workers away from it. Every test that uses one of our "
        "fixtures has this marker.",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that uses one of our fixtures, so that ``-m kafkacheck`` selects it."""
    for item in items:
        ours = {"kafkacheck", "kafkacheck_cluster", "kafkacheck_recorder"} & set(
            getattr(item, "fixturenames", ())
        )
        if ours and not item.get_closest_marker("kafkacheck"):
            item.add_marker("kafkacheck")


def marker_options(item: pytest.Item) -> MarkerOptions:
    """What the marker of a test says. Raises pytest.UsageError for a marker that says something else."""
    marker = item.get_closest_marker("kafkacheck")
    if marker is None:
        return MarkerOptions()
    known = {field.name for field in fields(MarkerOptions)}
    if (
        marker.args
        or marker.kwargs.keys() - known
        or marker.kwargs.get("unknown", "fail") not in ("fail", "pass")
        or not isinstance(marker.kwargs.get("alone", False), bool)
        or not _is_spec(marker.kwargs.get("cluster"))
    ):
        raise pytest.UsageError(
            f"{item.nodeid}: marker kafkacheck takes unknown='fail' or unknown='pass', cluster=ClusterSpec(...) and "
            f"alone=True, not {marker.args!r} {marker.kwargs!r}"
        )
    return MarkerOptions(**marker.kwargs)


def _is_spec(cluster: object) -> bool:
    if cluster is None:
        return True
    from pytest_kafkacheck.cluster.spec.spec import ClusterSpec

    return isinstance(cluster, ClusterSpec)
