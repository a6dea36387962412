"""What is kept of the cluster of a test that failed: its nodes' logs, its topics, and this process's stacks."""

from __future__ import annotations

import faulthandler
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_kafkacheck.plugin.options import directory_of

if TYPE_CHECKING:
    from pytest_kafkacheck.cluster.nodes.cluster import AnyCluster
    from pytest_kafkacheck.recorder.session import Recording

CLUSTER: pytest.StashKey[AnyCluster] = pytest.StashKey()
"""Of a test: the cluster of the fixture `kafkacheck_cluster`."""

OUTPUT = pytest.StashKey[Path]()
"""Of a test: the folder with what its own processes printed."""

RECORDING: pytest.StashKey[Recording] = pytest.StashKey()
"""Of a test: what it recorded. Its folder has the evidence, too, so that a failure names one folder."""

ENDED = pytest.StashKey[bool]()
"""Of a test: whether it has passed, been skipped, or its evidence has been kept."""


def keep_evidence(item: pytest.Item) -> str | None:
    """Keep it under the directory of runs, once. Returns where; None for a test without such a cluster.

    Never raises: the test has failed already.
    """
    cluster = item.stash.get(CLUSTER, None)
    if cluster is None or item.stash.get(ENDED, False):
        return None
    item.stash[ENDED] = True
    try:
        folder = _kept(item, cluster)
        recording = item.stash.get(RECORDING, None)
        is_named = recording is not None and any(run.path == folder for run in recording.runs)
        return f"logs, topics and stacks: {'in the folder of the run' if is_named else folder}"
    except Exception as error:
        return f"logs, topics and stacks could not be kept: {error!r}"


def _kept(item: pytest.Item, cluster: AnyCluster) -> Path:
    from pytest_kafkacheck.experiment.run_directory import RunDirectory

    recording = item.stash.get(RECORDING, None)
    if recording is None or recording.is_empty:
        folder = RunDirectory.create(directory_of(item.config), name=item.name, run=secrets.token_hex(4)).path
    else:
        folder = recording.path
    with (folder / "stacks.txt").open("w") as file:
        faulthandler.dump_traceback(file, all_threads=True)
    cluster.save_evidence(folder)
    if (output := item.stash.get(OUTPUT, None)) is not None and output.is_dir():
        shutil.copytree(output, folder / "processes")
    return folder
