"""Plans of statements, kept in a session of Spark for the histories that follow.

Spark plans each statement anew, which takes a third of the processor time of a verdict on an ordinary history. Here
the optimised plan of a statement is kept. It reads a folder of links, to the files of one history after another.

Spark's public interface cannot run a plan again, so this uses four of its internals: the optimised plan of a
DataFrame, `FileIndex.refresh`, `QueryExecution.prepareExecutedPlan`, which plans the execution of an optimised plan,
and the rule that lets equal subqueries be computed once. They are within reach only where Spark runs on this machine,
in the version that the project pins.
"""

from __future__ import annotations

import base64
import json
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructType,
)

from analyzers.spark.scratch import scratch_of
from analyzers.spark.settings import sql_settings

AS_THEY_ARE = (BooleanType, IntegerType, LongType, StringType)
"""Types whose values JSON has."""

_of_sessions: WeakKeyDictionary[SparkSession, KeptPlans] = WeakKeyDictionary()
_lock = threading.Lock()


def kept_plans(spark: SparkSession, schemas: Mapping[str, StructType]) -> KeptPlans | None:
    """Those of this session; None if its Spark was not started by this process. schemas: of the tables, by name."""
    scratch = scratch_of(spark)
    if scratch is None:
        return None
    with _lock:
        if spark not in _of_sessions:
            _of_sessions[spark] = KeptPlans(spark, schemas, Path(scratch))
        return _of_sessions[spark]


class KeptPlans:
    """Use it between `take` and `give_back`, which may be called from any thread."""

    def __init__(self, spark: SparkSession, schemas: Mapping[str, StructType], scratch: Path) -> None:
        self._spark = spark
        self._folder = Path(tempfile.mkdtemp(prefix="inputs-", dir=scratch))
        self._taken = threading.Lock()
        self._settings: tuple[str | None, ...] = ()
        self._plans: dict[tuple[tuple[str | None, ...], str], tuple[Callable[[Any], Any], Any]] = {}
        self._indexes: list[Any] = []
        self._frames = {name: self._table(name, schema) for name, schema in schemas.items()}

    def take(self, files: Mapping[str, Iterable[str]]) -> bool:
        """Make these local Parquet files, by table, the input of all statements. False if those of
        another history still are."""
        if not self._taken.acquire(blocking=False):
            return False
        try:
            self._link(files)
        except BaseException:
            self._taken.release()
            raise
        # A plan depends on them.
        self._settings = tuple(self._spark.conf.get(key, None) for key in sql_settings(None))
        return True

    def _link(self, files: Mapping[str, Iterable[str]]) -> None:
        for name in self._frames:
            folder = self._folder / name
            for link in folder.iterdir():
                link.unlink()
            for number, file in enumerate(files[name]):
                (folder / f"{number}.parquet").symlink_to(Path(file).absolute())
        for index in self._indexes:
            index.refresh()

    def give_back(self) -> None:
        self._taken.release()

    def rows(self, statement: str) -> list[Row]:
        """The result of a statement over ``{TABLE}``. Raises TypeError for a column of a type that JSON lacks."""
        key = self._settings, statement
        if key not in self._plans:
            self._plans[key] = self._planned(statement)
        decode, optimised = self._plans[key]
        jvm: Any = self._spark._jvm
        # The nodes of a plan belong to the session that is active in this thread when they are made.
        jvm.org.apache.spark.sql.SparkSession.setActiveSession(self._spark._jsparkSession)
        execution = jvm.org.apache.spark.sql.execution.QueryExecution
        plan = execution.prepareExecutedPlan(self._spark._jsparkSession, optimised)
        # Plans that are prepared so are taken for subqueries, for which Spark leaves this out.
        plan = jvm.org.apache.spark.sql.execution.reuse.ReuseExchangeAndSubquery.apply(plan)
        return [decode(json.loads(row.getString(0))) for row in plan.executeCollectPublic()]

    def _planned(self, statement: str) -> tuple[Callable[[Any], Any], Any]:
        named: dict[str, Any] = {
            name: frame for name, frame in self._frames.items() if f"{{{name}}}" in statement
        }
        result = self._spark.sql(statement, **named)
        decode = _decoder(result.schema)
        return decode, _execution(result.selectExpr("to_json(struct(*))")).optimizedPlan()

    def _table(self, name: str, schema: StructType) -> DataFrame:
        folder = self._folder / name
        folder.mkdir()
        read = self._spark.read.schema(schema).parquet(str(folder))
        self._indexes.append(_execution(read).analyzed().relation().location())
        return read.coalesce(1)


def _execution(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution()


def _decoder(kind: DataType) -> Callable[[Any], Any]:
    """Turns a value of `to_json`, which leaves out what is null, into one of `DataFrame.collect`."""
    match kind:
        case StructType():
            make = Row(*kind.names)
            fields = [(field.name, _decoder(field.dataType)) for field in kind.fields]
            return _unless_none(lambda value: make(*(decode(value.get(name)) for name, decode in fields)))
        case ArrayType():
            decode = _decoder(kind.elementType)
            return _unless_none(lambda values: [decode(value) for value in values])
        case BinaryType():
            return _unless_none(lambda text: bytearray(base64.b64decode(text)))
        case _ if isinstance(kind, AS_THEY_ARE):
            return lambda value: value
    raise TypeError(
        f"a kept plan cannot return {kind.simpleString()}: cast it to boolean, int, bigint, string or binary, "
        f"or to a list or struct of these"
    )


def _unless_none(decode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else decode(value)
