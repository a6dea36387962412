"""Judges runs on a given Spark master: python judge_on_master.py MASTER SETTINGS OUT RUN..."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from analyzers.judge.analyze import analyze
from analyzers.spark.session import spark_session


def main(master: str, conf: str, out: str, *runs: str) -> None:
    spark = spark_session(master=master, conf=json.loads(conf))
    verdicts = analyze(spark, [Path(run) for run in runs])
    answer = {run: verdict.to_json() for run, verdict in verdicts.items()}
    Path(out).write_text(json.dumps(answer))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
