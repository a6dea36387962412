"""Plans of statements, kept in a session of Spark for the histories that follow.

Spark plans each statement anew, which takes a third of the processor time of a verdict on an ordinary history. Here
the optimised plan of a statement is kept. It reads a folder of links, to the files of one history after another.

Spark's public interface cannot run a plan again, so this uses its internals: the optimised plan of a DataFrame,
`FileIndex.refresh`, `QueryExecution.prepareExecutedPlan`, which plans the execution of an optimised plan,
and the rule that lets equal subqueries be computed once. They are within reach only where Spark runs on this machine.
The plain way reads the same folder and plans each time.
"""

from __future__ import annotations

import base64
import json
import tempfile
import threading
from collections import namedtuple
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
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

from analyzers.spark.environment import scratch_of
from analyzers.spark.internals.shortcut import Shortcut
from analyzers.spark.settings import sql_settings

KEPT_PLANS = Shortcut("kept plans")

AS_THEY_ARE = (BooleanType, IntegerType, LongType, StringType)
"""Types whose values JSON has."""

_of_sessions: WeakKeyDictionary[SparkSession, KeptPlans] = WeakKeyDictionary()
_lock = threading.Lock()


def kept_plans(spark: SparkSession, schemas: Mapping[str, StructType]) -> KeptPlans | None:
    """Those of this session; None if its Spark was not started by this process, and where none are kept. schemas: of
    the tables, by name."""
    scratch = scratch_of(spark)
    if scratch is None:
        return None

    def known() -> KeptPlans:
        with _lock:
            if spark not in _of_sessions:
                _of_sessions[spark] = KeptPlans(spark, schemas, Path(scratch))
            return _of_sessions[spark]

    return KEPT_PLANS.either(known, lambda: None)


class KeptPlans:
    """Use it between `take` and `give_back`, which may be called from any thread."""

    def __init__(self, spark: SparkSession, schemas: Mapping[str, StructType], scratch: Path) -> None:
        self._spark = spark
        self._folder = Path(tempfile.mkdtemp(prefix="inputs-", dir=scratch))
        self._taken = threading.Lock()
        self._settings: tuple[str | None, ...] = ()
        self._run: str | None = None
        self._plans: dict[tuple[Any, ...], tuple[Callable[[Any], Any], Any]] = {}
        self._tables = {
            name: _StandIn(spark, self._folder / name, schema) for name, schema in schemas.items()
        }
        self._classes = _Classes(spark)

    def take(self, files: Mapping[str, Iterable[str]], *, run: str | None = None) -> bool:
        """Make these local Parquet files, by table, the input of all plans. False if those of another history still
        are, and where no plans are kept. run: the id of all rows, if there is only one."""
        if not self._taken.acquire(blocking=False):
            return False

        def is_ready() -> bool:
            for name, table in self._tables.items():
                table.link(files[name])
                table.refresh()
            # A plan depends on them.
            self._settings = tuple(self._spark.conf.get(key, None) for key in sql_settings(None))
            self._run = run
            return True

        is_taken = False
        try:
            is_taken = KEPT_PLANS.either(is_ready, lambda: False)
        finally:
            if not is_taken:
                self._taken.release()
        return is_taken

    def give_back(self) -> None:
        self._taken.release()

    def rows(self, key: Hashable, build: Callable[[Mapping[str, DataFrame]], DataFrame]) -> list[Row]:
        """The rows of what `build` makes of the tables, by name. It is called once for each key: its plan is kept.

        ``kept.rows("sends", lambda tables: tables["records"].where("f = 'send'"))``

        Columns are of the types in `AS_THEY_ARE`, binary, or lists and structs of these.
        """

        def planned_each_time() -> list[Row]:
            return build({name: table.read() for name, table in self._tables.items()}).collect()

        return KEPT_PLANS.either(lambda: self._kept_rows(key, build), planned_each_time)

    def _kept_rows(self, key: Hashable, build: Callable[[Mapping[str, DataFrame]], DataFrame]) -> list[Row]:
        key = self._settings, self._run is None, key
        if key not in self._plans:
            tables = {name: table.frame(self._run) for name, table in self._tables.items()}
            self._plans[key] = self._planned(build(tables))
        decode, optimised = self._plans[key]
        rows = self._classes.rows_of(optimised)
        values = [value for (value,) in json.loads(rows)]
        if self._run is not None:
            for value in values:
                if "run" in value:
                    value["run"] = self._run
        return [*map(decode, values)]

    def _planned(self, result: DataFrame) -> tuple[Callable[[Any], Any], Any]:
        decode = _struct_decoder(result.schema)
        return decode, _execution(result.selectExpr("to_json(struct(*))")).optimizedPlan()


class _StandIn:
    """A table in plans that are kept: a folder with links to the files of one history after another."""

    def __init__(self, spark: SparkSession, folder: Path, schema: StructType) -> None:
        folder.mkdir()
        self._spark, self._folder, self._schema = spark, folder, schema

    def link(self, files: Iterable[str]) -> None:
        for link in self._folder.iterdir():
            link.unlink()
        for number, file in enumerate(files):
            (self._folder / f"{number}.parquet").symlink_to(Path(file).absolute())

    def read(self) -> DataFrame:
        """The rows of the files that are linked now."""
        return self._spark.read.schema(self._schema).parquet(str(self._folder)).coalesce(1)

    @cached_property
    def _kept(self) -> DataFrame:
        return self.read()

    @cached_property
    def _of_one_run(self) -> DataFrame:
        """A constant in place of the run, so that it is neither read nor grouped by. `KeptPlans.rows` puts the run
        into the result."""
        columns = [F.lit("").alias(name) if name == "run" else name for name in self._kept.columns]
        return self._kept.select(*columns)

    @cached_property
    def _index(self) -> Any:
        return _execution(self._kept).analyzed().child().relation().location()

    def frame(self, run: str | None) -> DataFrame:
        """The same for all histories: rows of the files at the last `refresh`."""
        return self._kept if run is None else self._of_one_run

    def refresh(self) -> None:
        self._index.refresh()


class _Classes:
    """Classes of Spark. Py4J looks for each part of a name in all jars, so they are looked up once."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        sql = jvm.org.apache.spark.sql
        self._session = spark._jsparkSession
        self._sessions = sql.SparkSession
        self._execution = sql.execution.QueryExecution
        self._reuse = sql.execution.reuse.ReuseExchangeAndSubquery
        self._array = jvm.scala.collection.immutable.ArraySeq

    def rows_of(self, optimised: Any) -> str:
        """A list with a list for each row, as JSON. The one column of a row is JSON, too."""
        with _call_site(self._session.sparkContext()):
            # The nodes of a plan belong to the session that is active in this thread when they are made.
            self._sessions.setActiveSession(self._session)
            plan = self._execution.prepareExecutedPlan(self._session, optimised)
            # Plans that are prepared so are taken for subqueries, for which Spark leaves this out.
            plan = self._reuse.apply(plan)
            # One call returns them all: a call for each takes 0.1 ms.
            rows: str = self._array.unsafeWrapArray(plan.executeCollectPublic()).mkString("[", ",", "]")
            return rows


@contextmanager
def _call_site(context: Any) -> Iterator[None]:
    """Spark says of each RDD which part of the program made it. It would take a stack trace each time."""
    forms = ("callSite.short", "callSite.long")
    for form in forms:
        context.setLocalProperty(form, "a kept plan of kafkacheck")
    try:
        yield
    finally:
        for form in forms:
            context.setLocalProperty(form, None)


def _execution(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution()


def _decoder(kind: DataType) -> Callable[[Any], Any] | None:
    """Turns a value of `to_json`, which leaves out what is null, into one of `DataFrame.collect`. The value is not
    None. None: it is the same."""
    match kind:
        case StructType():
            return _struct_decoder(kind)
        case ArrayType():
            decode = _decoder(kind.elementType)
            if decode is None:
                return None
            return lambda values: [None if value is None else decode(value) for value in values]
        case BinaryType():
            return lambda text: bytearray(base64.b64decode(text))
        case _ if isinstance(kind, AS_THEY_ARE):
            return None
    raise TypeError(
        f"a kept plan cannot return {kind.simpleString()}: cast it to boolean, int, bigint, string or binary, "
        f"or to a list or struct of these"
    )


def _struct_decoder(kind: StructType) -> Callable[[Any], Row]:
    names, rows = kind.names, _row_class(kind.names)
    decoders = {at: decode for at, field in enumerate(kind.fields) if (decode := _decoder(field.dataType))}

    if not decoders:  # most structs, of which there are thousands
        return lambda value: tuple.__new__(rows, map(value.get, names))

    def decode_struct(value: Mapping[str, Any]) -> Row:
        values = [*map(value.get, names)]
        for at, decode in decoders.items():
            if values[at] is not None:
                values[at] = decode(values[at])
        return tuple.__new__(rows, values)

    return decode_struct


def _row_class(names: list[str]) -> type[Row]:
    """Rows with these columns. PySpark looks each attribute of a row up in a list; those of a named tuple are found
    in a tenth of the time."""
    return type("Row", (Row, namedtuple("Row", names, rename=True)), {"__fields__": names})
