"""One statement over a table, also where the plan of the table is deep and the session is one of Spark Connect."""

from __future__ import annotations

import secrets

from pyspark.sql import DataFrame, Row
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame


def rows_over(table: DataFrame, statement: str) -> list[Row]:
    """The rows of a statement over ``{table}``; other braces are doubled.

    Spark Connect answers a statement with its plan, which contains the plans of the tables that are passed to it, and
    Python's protobuf refuses messages with more than 100 levels. There the table gets a name in Spark instead.
    """
    spark = table.sparkSession
    if isinstance(table, ClassicDataFrame):
        return spark.sql(statement, table=table).collect()
    name = f"kafkacheck_{secrets.token_hex(8)}"
    table.createOrReplaceTempView(name)
    try:
        return spark.sql(statement.format(table=name)).collect()
    finally:
        spark.catalog.dropTempView(name)
