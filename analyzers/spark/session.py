"""The Spark session: embedded, on a cluster or remote. Prints nothing, fits the history, and ends with the
process."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from pyspark import SparkConf
from pyspark.sql import SparkSession

from analyzers.spark.environment import cores_of, is_embedded, make_scratch, scratch_of
from analyzers.spark.internals.jvm import (
    current_jvm,
    end_jvm,
    forget_dead_jvm,
    has_context,
    is_alive,
    kill_started,
    open_spark,
)
from analyzers.spark.internals.quick_start import launch
from analyzers.spark.internals.shortcut import set_plain
from analyzers.spark.internals.tuning import (
    PREFIX,
    drop_defaults,
    return_class_loader,
    share_class_loader,
)
from analyzers.spark.settings import (
    INTERPRETED,
    LARGE,
    Size,
    core_settings,
    is_connect,
    is_local,
    java_options,
    sql_settings,
)

__all__ = [
    "end_spark",
    "fit",
    "forget_dead_jvm",
    "is_alive",
    "is_embedded",
    "kill_spark",
    "scratch_of",
    "spark_session",
]

FOR_THE_LAUNCHER = {
    "spark.driver.extraClassPath",
    "spark.driver.extraLibraryPath",
    "spark.driver.defaultJavaOptions",
}
"""Settings that Spark's launcher turns into parts of the command line. With one of them the launcher starts the
JVM."""


def spark_session(
    *,
    master: str = "local[*]",
    app: str = "kafkacheck",
    heap: str = "2g",
    java: Path | None = None,
    conf: Mapping[str, str] | None = None,
    size: Size = "small",
    plain: bool = False,
) -> SparkSession:
    """Start Spark in this process, or open a new session in the Spark that already runs in it.

    master  Spark's: ``local[*]`` (embedded), ``spark://host:7077``, ``yarn``, ``k8s://...``, or ``sc://host:15002``
            (Spark Connect, which needs the extra ``connect``).
    heap    of the driver's JVM (``2g``, ``512m``).
    java    path of a ``java`` executable, by default ``JAVA_HOME``'s or the first on ``PATH``.
    conf    any settings of Spark; they come last and replace ours.
    size    of the histories to be judged: decides the flags of the JVM and the plans; `fit` changes the plans later.
    plain   use Spark only through its public interface in this process from now on: the same verdicts, more slowly.
    Prints nothing and writes nothing into the working directory. Raises RuntimeError with the output of the JVM or
    the server if there is no session.
    """
    set_plain(plain)
    conf = conf or {}
    sql = {
        **sql_settings(LARGE if size == "large" else None),
        **{key: value for key, value in conf.items() if key.startswith("spark.sql.")},
    }
    if is_connect(master):
        return _connected(master, app, {**sql, **conf})
    if has_context():
        session = SparkSession.builder.getOrCreate().newSession()
        for key, value in sql.items():
            if session.conf.isModifiable(key):
                session.conf.set(key, value)
        return session
    scratch = make_scratch()
    java = java or _default_java()
    settings = core_settings(master, scratch=scratch, heap=heap) | sql | dict(conf)

    def spark_conf(archive: Path | None = None) -> SparkConf:
        flags = " ".join(java_options(size, scratch=scratch, archive=archive))
        more = conf.get("spark.driver.extraJavaOptions", "")
        options = {**settings, "spark.driver.extraJavaOptions": f"{flags} {more}".strip()}
        return SparkConf(loadDefaults=False).setMaster(master).setAppName(app).setAll([*options.items()])

    # The archive holds the classes of an embedded Spark. The driver of a cluster is started as its site configures
    # it.
    is_quick = is_local(master) and not FOR_THE_LAUNCHER & conf.keys()
    # The JVM outlives its Spark applications: after `stop` the next session starts in the same JVM.
    if (jvm := current_jvm()) is not None:
        return_class_loader(jvm.jvm)
    session = open_spark(
        spark_conf(),
        scratch=scratch,
        java=java,
        launch=lambda: launch(spark_conf, scratch=scratch, java=java, is_quick=is_quick),
    )
    # An application with Hadoop settings of its own may read other file systems without `restore_defaults`.
    if is_local(master) and not any(key.startswith(PREFIX) for key in conf):
        drop_defaults(session, settings)
    return session


def fit(spark: SparkSession, rows: int, *, conf: Mapping[str, str] | None = None) -> None:
    """Change the settings that depend on the number of rows and on the cores of the cluster, except those that
    `conf` sets. An embedded Spark that will generate code for them gets one class loader for it."""
    if is_embedded(spark) and rows > INTERPRETED:
        share_class_loader(spark)
    settings = sql_settings(rows, cores=cores_of(spark), is_cluster=not is_embedded(spark))
    for key, value in settings.items():
        if key not in (conf or {}):
            spark.conf.set(key, value)


def end_spark() -> None:
    """End the Spark of this process and its JVM. The next session starts another JVM, with its own flags."""
    if (jvm := current_jvm()) is not None:
        end_jvm(jvm)


def kill_spark() -> None:
    """Kill the JVM of this process, also one that still starts. What waits for it fails, which is not logged."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    kill_started()
    forget_dead_jvm()


def _connected(master: str, app: str, conf: Mapping[str, str]) -> SparkSession:
    """A session of a Spark Connect server. The server refuses settings that can only be given when it starts."""
    try:
        session: SparkSession = SparkSession.builder.remote(master).appName(app).create()
    except ImportError as error:
        raise RuntimeError(
            f"Spark Connect ({master}) needs more packages: {error}. Install pytest-kafkacheck[connect]"
        ) from error
    for key, value in conf.items():
        session.conf.set(key, value)
    return session


def _default_java() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    found = Path(home) / "bin" / "java" if home else shutil.which("java")
    return None if found is None else Path(found)
