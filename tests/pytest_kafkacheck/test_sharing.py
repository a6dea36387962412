"""Who may use a shared cluster when: together, or alone."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from pytest_kafkacheck.cluster.spec import ClusterSpec
from pytest_kafkacheck.sharing import Shared

SPEC, OTHER = ClusterSpec(), ClusterSpec(brokers=1)


@pytest.mark.parametrize(
    ("first", "second", "spec", "together"),
    [
        (False, False, SPEC, True),
        (True, False, SPEC, False),
        (False, True, SPEC, False),
        (True, True, SPEC, False),
        (True, True, OTHER, True),
    ],
)
def test_faults_are_alone_and_others_together(
    tmp_path: Path, first: bool, second: bool, spec: ClusterSpec, together: bool
) -> None:
    shared = Shared(tmp_path, "s", 1)
    inside = threading.Event()

    def other() -> None:
        with shared.turn(spec, alone=second):
            inside.set()

    worker = threading.Thread(target=other)
    with shared.turn(SPEC, alone=first):
        worker.start()
        assert inside.wait(0.5) is together
    assert inside.wait(10)
    worker.join()
