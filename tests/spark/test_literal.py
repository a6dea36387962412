"""A text in SQL is the text itself."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from analyzers.spark.statements import sql_literal

pytestmark = pytest.mark.spark

TEXTS = ["it's", "a\\b\\", 'a "b" `c`', "${x}", "\\u0024", "{x} %s :rows", "größe\n", ""]


@pytest.mark.parametrize("text", TEXTS)
def test_spark_reads_the_text(spark: SparkSession, text: str) -> None:
    (by_statement,) = spark.sql(f"select {sql_literal(text)} as text").collect()
    (by_condition,) = (
        spark.createDataFrame([(text,)], "text string").where(f"text = {sql_literal(text)}").collect()
    )
    assert (by_statement.text, by_condition.text) == (text, text)
