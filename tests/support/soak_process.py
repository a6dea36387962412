"""The process of a cluster of a soak, without a cluster: ``python -m tests.support.soak_process FOLDER [WHAT]``.

WHAT: ``fails`` where the second cluster cannot be started; ``waits`` where each one waits to be ended, and leaves a
file when it was.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pytest_kafkacheck.soak.limits import Limits
from pytest_kafkacheck.soak.plan import Soak
from pytest_kafkacheck.soak.side_by_side import own_part
from pytest_kafkacheck.soak.soak import soak
from pytest_kafkacheck.soak.state import SoakFolder
from pytest_kafkacheck.termination import terminated_like_interrupted
from tests.support.fake_lab import FakeLab
from workloads.append_log import AppendLog

PLAN = Soak(workloads=[AppendLog()])
CLUSTERS = 2
ROUNDS = 6


def main(folder: Path, what: str = "") -> int:
    part = own_part(CLUSTERS)
    assert part is not None
    if what == "fails" and part.cluster == 2:
        sys.stderr.write("no broker became ready\n")
        return 4
    if what == "waits":
        (folder / f"waits-{part.cluster}").touch()
        try:
            with terminated_like_interrupted():
                time.sleep(60)
        except KeyboardInterrupt:
            (folder / f"ended-{part.cluster}").touch()
        return 130
    soak(PLAN, FakeLab(folder), SoakFolder(folder), Limits(rounds=ROUNDS, keep="all"), seed=1, part=part)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
