"""Texts for Spark and from it: literals, statements over a table, and errors."""

from __future__ import annotations

import secrets

from pyspark.sql import DataFrame, Row

from analyzers.spark.environment import has_jvm

LONGEST = 300
"""Characters kept of each part of an error."""


def sql_literal(text: str) -> str:
    """A text in a statement or in a condition."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    # Spark replaces ${name}, also within a text.
    return "'" + escaped.replace("$", "\\u0024") + "'"


def rows_over(table: DataFrame, statement: str) -> list[Row]:
    """The rows of a statement over ``{table}``; other braces are doubled.

    Spark Connect answers a statement with its plan, which contains the plans of the tables that are passed to it, and
    Python's protobuf refuses messages with more than 100 levels. There the table gets a name in Spark instead.
    """
    spark = table.sparkSession
    if has_jvm(spark):
        return spark.sql(statement, table=table).collect()
    name = f"kafkacheck_{secrets.token_hex(8)}"
    table.createOrReplaceTempView(name)
    try:
        return spark.sql(statement.format(table=name)).collect()
    finally:
        spark.catalog.dropTempView(name)


def error_summary(text: str) -> str:
    """The first line of an error message and its root cause, joined by ``;``; empty if the text is empty."""
    lines = [line.strip().removeprefix(": ") for line in text.splitlines() if line.strip()]
    # The Py4J frames carry no information; show only Spark's own message.
    messages = [line for line in lines if not line.startswith("An error occurred while calling")]
    causes = [line for line in messages if line.startswith("Caused by: ")]
    return "; ".join(dict.fromkeys(each[:LONGEST].rstrip(".") for each in (*messages[:1], *causes[-1:])))
