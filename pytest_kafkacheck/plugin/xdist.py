"""With pytest-xdist: clusters that workers share, and what workers report to their controller.

The controller owns shared clusters and removes them when the workers are gone. It hands each worker the name of the
session and its own process id; workers start clusters on its behalf. Each worker reports the clusters that it kept,
and the controller prints them.
"""

from __future__ import annotations

import os
import secrets
import warnings
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_kafkacheck.plugin.options import share_of
from pytest_kafkacheck.plugin.reporting import announce_kept

if TYPE_CHECKING:
    from pytest_kafkacheck.experiment.clusters.shared import SharedSession

SESSION = pytest.StashKey[str]()
"""In the controller: the name of a session whose workers share clusters."""


def shared_session(config: pytest.Config, folder: Path) -> SharedSession | None:
    """In a worker: the session whose clusters it shares; None when it shares none.

    folder  for locks, the same for all workers.
    """
    handed = getattr(config, "workerinput", {}).get("kafkacheck")
    if handed is None:
        return None
    from pytest_kafkacheck.experiment.clusters.shared import SharedSession

    name, owner = handed
    return SharedSession(folder, name, owner)


def report_kept(config: pytest.Config, text: str) -> None:
    """In a worker: let the controller print how to reach a kept cluster. Without xdist, has no effect."""
    output = getattr(config, "workeroutput", None)
    if output is not None:
        output["kafkacheck"] = [text]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """In the controller, before a worker starts: hand it the session's name and the owner of shared clusters."""
    config: pytest.Config = node.config
    if share_of(config) != "all":
        return
    if SESSION not in config.stash:
        from pytest_kafkacheck.termination import terminated_like_interrupted

        config.stash[SESSION] = secrets.token_hex(3)
        termination = ExitStack()
        termination.enter_context(terminated_like_interrupted())
        config.add_cleanup(termination.close)
        # An error while pytest starts ends the session without pytest_sessionfinish.
        config.add_cleanup(lambda: _end_session(config, keep=False))
    node.workerinput["kafkacheck"] = (config.stash[SESSION], os.getpid())


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """In the controller, when a worker has ended: take what it reported."""
    announce_kept(node.config, *getattr(node, "workeroutput", {}).get("kafkacheck", ()))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """In the controller, when the workers are gone: remove or keep the clusters they shared."""
    config = session.config
    if SESSION in config.stash:
        keep = config.getoption("kafkacheck_keep")
        _end_session(config, keep=keep == "always" or (keep == "failed" and session.testsfailed > 0))


def _end_session(config: pytest.Config, *, keep: bool) -> None:
    from pytest_kafkacheck.cluster.docker.engine import connect
    from pytest_kafkacheck.errors import KafkacheckError
    from pytest_kafkacheck.experiment.clusters.shared import end_session

    try:
        with closing(connect()) as client:
            announce_kept(config, *end_session(client, config.stash[SESSION], keep=keep))
    except KafkacheckError as error:
        warnings.warn(f"kafkacheck: {error}", stacklevel=2)
