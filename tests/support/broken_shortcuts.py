"""Judges a run with a broken shortcut of Spark: python broken_shortcuts.py NAME|all|none RUN. Prints JSON."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

from analyzers.checks.durability import DUPLICATE, LOST_WRITE
from analyzers.history import load as loading
from analyzers.judge.analyze import analyze
from analyzers.spark import session
from analyzers.spark.internals import jvm, kept_plans, quick_start, shortcut, tuning
from analyzers.spark.settings import INTERPRETED
from workloads.java_runtime import find_java


def fails(*_: Any, **__: Any) -> Any:
    raise AttributeError("Spark has another name for it")


def main(name: str, run: str) -> None:
    parts: dict[str, tuple[Any, str]] = {
        "kept plans": (kept_plans, "_execution"),
        "quick start": (quick_start, "find_quick_start"),
        tuning.CLASS_LOADER.name: (tuning, "_of_tasks"),
        tuning.HADOOP_DEFAULTS.name: (tuning, "BUFFER"),
        jvm.OWN_JVM.name: (jvm, "open_session"),
    }
    for each, (module, attribute) in parts.items():
        if name in (each, "all"):
            setattr(module, attribute, "renamed" if attribute.isupper() else fails)
    warnings: list[str] = []
    noted = logging.Handler()
    noted.emit = lambda record: warnings.append(record.args[0])  # type: ignore[method-assign,index,arg-type]
    logging.getLogger(shortcut.__name__).addHandler(noted)
    loading.HANDED_OVER = 0
    spark = session.spark_session(java=find_java(), heap="1g")
    session.fit(spark, INTERPRETED + 1)
    (verdict,) = analyze(spark, [Path(run)], checks=[LOST_WRITE, DUPLICATE]).values()
    assert session.is_alive(spark)
    session.end_spark()
    sys.stdout.write(json.dumps({"warnings": warnings, "verdict": verdict.to_json()}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
