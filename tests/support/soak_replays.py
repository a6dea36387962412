"""A soak of replays in a process of its own: ``python -m tests.support.soak_replays FOLDER ROUNDS LEAK``.

Its rounds are drawn, judged, reported and pruned as those of any soak, and Spark is replaced as often. In place of
the load on a cluster, each one gets the history of a recorded run. After each round it prints, as JSON, the MB of
resident memory of this process and of Spark's JVM, the blocks that Python has allocated, and the MB of the folder.

LEAK: MB that the lab keeps of each round; 0 for none.
"""

from __future__ import annotations

import json
import shutil
import sys
from itertools import cycle
from pathlib import Path

import psutil

from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.run_directory import RunDirectory
from pytest_kafkacheck.soak.clusters import Clusters
from pytest_kafkacheck.soak.limits import Limits, size_of
from pytest_kafkacheck.soak.plan import PRESETS
from pytest_kafkacheck.soak.soak import soak
from pytest_kafkacheck.soak.state import SoakFolder

RECORDED = Path(__file__).parents[1] / "data" / "runs"
MOST_BYTES = 2_000_000


class Replays(Clusters):
    def __init__(self, directory: Path, *, leak: int) -> None:
        super().__init__(directory, master="local[2]")
        self._folder, self._leak = directory, leak
        self._runs = cycle(sorted(each for each in RECORDED.iterdir() if each.is_dir()))
        self._kept: list[bytes] = []

    def record(self, experiment: Experiment, *, name: str) -> Path:  # noqa: ARG002
        home = RunDirectory.create(self._folder, name=name, run="01234567").path
        shutil.copytree(next(self._runs), home, dirs_exist_ok=True)
        self._kept.append(bytes(range(256)) * (self._leak << 12))
        return home


def sample(folder: Path) -> dict[str, float]:
    own = psutil.Process()
    jvm = sum(each.memory_info().rss for each in own.children(recursive=True) if each.name() == "java")
    return {
        "python": own.memory_info().rss / 1e6,
        "blocks": sys.getallocatedblocks(),
        "jvm": jvm / 1e6,
        "folder": size_of(folder) / 1e6,
    }


def main(folder: Path, rounds: int, leak: int) -> int:
    def say(line: str) -> None:
        if "VALID" in line or "UNKNOWN" in line:  # also INVALID
            print(json.dumps(sample(folder)), flush=True)  # noqa: T201

    limits = Limits(rounds=rounds, keep="all", most_bytes=MOST_BYTES)
    with Replays(folder, leak=leak) as lab:
        soak(PRESETS["safe"].plan(), lab, SoakFolder(folder), limits, seed=1, say=say)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
