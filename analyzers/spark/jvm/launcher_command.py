"""The command line that Spark's launcher works out to start a JVM."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pyspark

SUBMIT = "org.apache.spark.deploy.SparkSubmit"
"""The class that every Spark application starts with."""

LIMIT = 60
"""Seconds for the launcher to answer."""


def launcher_command(java: Path) -> tuple[str, ...]:
    """The java program, class path and module options, without any settings and without the class.

    Raises RuntimeError with the launcher's output if it gives no command.
    """
    home = Path(pyspark.__file__).parent
    call = [str(java), "-cp", f"{home / 'jars'}/*", "org.apache.spark.launcher.Main", SUBMIT, "pyspark-shell"]
    (core,) = (home / "jars").glob("spark-core_*.jar")
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "JAVA_HOME": str(java.resolve().parent.parent),
        "SPARK_SCALA_VERSION": core.name.split("_")[1].partition("-")[0],
    }
    done = subprocess.run(call, env=environment, capture_output=True, text=True, timeout=LIMIT)
    parts = [part.strip() for part in done.stdout.split("\0") if part.strip()]
    if done.returncode or SUBMIT not in parts:
        raise RuntimeError(
            f"Spark's launcher gave no command (exit status {done.returncode}): its output was "
            f"{json.dumps(done.stdout)}, its errors {done.stderr.strip()[-1000:]!r}"
        )
    command = parts[: parts.index(SUBMIT)]
    # The heap is a setting, and of two -Xmx the later one would win. Only linear algebra uses the vector module.
    return tuple(
        part for part in command if not part.startswith(("-Xmx", "--add-modules=jdk.incubator.vector"))
    )
