"""Spark's settings depend on the size of a history and on the master."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzers.spark.settings import core_settings, is_connect, is_local, size_of, sql_settings

ROOT = Path(__file__).parents[2]


def test_small_plans_are_interpreted_and_large_ones_compiled() -> None:
    sizes = [sql_settings(rows) for rows in (20_000, 20_001, 500_000, 500_001)]
    assert sql_settings(None) == sizes[0]
    for key, by_size in {
        "spark.sql.codegen.wholeStage": ["false", "true", "true", "true"],
        "spark.sql.codegen.factoryMode": ["NO_CODEGEN", "FALLBACK", "FALLBACK", "FALLBACK"],
        "spark.sql.constraintPropagation.enabled": ["false", "true", "true", "true"],
        "spark.sql.optimizer.disableHints": ["true", "true", "true", "false"],
        "spark.sql.autoBroadcastJoinThreshold": ["-1", "-1", "-1", "-1"],
    }.items():
        assert [settings[key] for settings in sizes] == by_size
    assert (size_of(None), size_of(1_000), size_of(10_000_000)) == ("small", "small", "large")


def test_no_fact_demands_a_hash_table_of_shuffled_rows() -> None:
    """It cannot be spilled to disk."""
    facts = [*(ROOT / "analyzers/facts").glob("*.py")]
    assert facts
    assert [fact.name for fact in facts if "SHUFFLE_HASH" in fact.read_text()] == []


@pytest.mark.parametrize(
    ("rows", "cores", "partitions"),
    [
        (1_000, 64, 1),
        (500_000, 64, 1),
        (500_001, 2, 4),
        (600_000, 64, 128),
        (10_000_000, 2, 20),
        (10**9, 2, 200),
        (10**9, 1_600, 3_200),
        (10**11, 1_600, 6_400),
    ],
)
def test_partitions_grow_with_the_rows(rows: int, cores: int, partitions: int) -> None:
    assert sql_settings(rows, cores=cores)["spark.sql.shuffle.partitions"] == str(partitions)


def test_only_large_histories_on_a_cluster_have_adaptive_plans() -> None:
    adaptive = "spark.sql.adaptive.enabled"
    assert sql_settings(500_001, is_cluster=True)[adaptive] == "true"
    assert sql_settings(500_000, is_cluster=True)[adaptive] == "false"
    assert sql_settings(10**9)[adaptive] == "false"
    assert sql_settings(1, is_cluster=True).keys() == sql_settings(10**9, is_cluster=True).keys()


def test_only_an_embedded_spark_binds_to_localhost(tmp_path: Path) -> None:
    assert [is_local(each) for each in ("local[*]", "local", "local-cluster[2,1,1024]", "yarn")] == [
        True, True, False, False,
    ]  # fmt: skip
    assert is_connect("sc://host:15002")
    assert "spark.driver.host" in core_settings("local[2]", scratch=tmp_path, heap="1g")
    assert "spark.driver.host" not in core_settings("spark://host:7077", scratch=tmp_path, heap="1g")
