"""Judges runs on a given Spark master: python judge_on_master.py MASTER SETTINGS OUT RUN..."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from analyzers.history.gather import row_counts
from analyzers.history.sources import local_files
from analyzers.judge.analyze import analyze
from analyzers.spark.session import fit, spark_session


def main(master: str, conf: str, out: str, *runs: str) -> None:
    spark = spark_session(master=master, conf=json.loads(conf))
    homes = [Path(run) for run in runs]
    files = [str(file) for home in homes for file in local_files(home, "records")]
    fit(spark, sum(row_counts(files).values()), conf=json.loads(conf))
    verdicts = analyze(spark, homes)
    answer = {run: verdict.to_json() for run, verdict in verdicts.items()}
    Path(out).write_text(json.dumps(answer))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
