"""Arrow schemas as Spark schemas."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import types as T


def spark_schema(schema: pa.Schema) -> T.StructType:
    """Raises TypeError for a type that the history does not use."""
    return T.StructType([T.StructField(field.name, _spark_type(field.type)) for field in schema])


def _spark_type(kind: pa.DataType) -> T.DataType:
    if pa.types.is_list(kind):
        return T.ArrayType(_spark_type(kind.value_type))
    simple = {
        pa.string(): T.StringType(),
        pa.int64(): T.LongType(),
        pa.int32(): T.IntegerType(),
        pa.bool_(): T.BooleanType(),
    }
    if kind not in simple:
        raise TypeError(
            f"no Spark type for the Arrow type {kind}: expected one of {', '.join(map(str, simple))} or a list"
        )
    return simple[kind]
