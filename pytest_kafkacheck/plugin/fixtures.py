"""The fixtures `kafkacheck`, `kafkacheck_cluster` and `kafkacheck_recorder`, and the harness behind them."""

from __future__ import annotations

import json
import secrets
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_kafkacheck.plugin.cells import RESULT
from pytest_kafkacheck.plugin.evidence import CLUSTER, OUTPUT, RECORDING, keep_evidence
from pytest_kafkacheck.plugin.interrupts import announce
from pytest_kafkacheck.plugin.marker import marker_options
from pytest_kafkacheck.plugin.options import directory_of, harness_options, scope_of
from pytest_kafkacheck.plugin.own_processes import OwnProcesses
from pytest_kafkacheck.plugin.reporting import RUNS, announce_evidence, announce_kept, progress
from pytest_kafkacheck.plugin.runner import Kafkacheck, skipped_where_impossible
from pytest_kafkacheck.plugin.xdist import report_kept, shared_session

if TYPE_CHECKING:
    from pytest_kafkacheck.cluster.nodes.cluster import AnyCluster
    from pytest_kafkacheck.experiment.harness import Harness
    from pytest_kafkacheck.recorder.session import Recording


@pytest.fixture(scope="session")
def _kafkacheck_harness(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Harness]:
    from pytest_kafkacheck.guard import check_siblings
    from pytest_kafkacheck.termination import announced_by

    check_siblings()
    shared = shared_session(pytestconfig, tmp_path_factory.getbasetemp().parent)
    if attach := pytestconfig.getoption("kafkacheck_attach"):
        with skipped_where_impossible():
            _require_free(attach, session=None if shared is None else shared.owner)
    with warnings.catch_warnings():
        # kafka-python warns at import on Python 3.11, which must not fail a project that runs with -W error.
        warnings.simplefilter("ignore", DeprecationWarning)
        from pytest_kafkacheck.experiment.harness import Harness

    harness = Harness(
        directory_of(pytestconfig),
        say=progress(pytestconfig),
        shared=shared,
        **harness_options(pytestconfig),
    )
    # A second Ctrl-C can end the teardown of this fixture early.
    pytestconfig.add_cleanup(harness.close)
    with announced_by(announce(pytestconfig)), harness:
        yield harness
    if harness.kept:
        announce_kept(pytestconfig, harness.kept)
        report_kept(pytestconfig, harness.kept)


def _require_free(attach: str, *, session: int | None) -> None:
    """Raises an error of the session's cluster while another session has it, before what takes long is loaded."""
    from contextlib import closing

    from pytest_kafkacheck.cluster.docker.attach_lease import require_free
    from pytest_kafkacheck.cluster.docker.engine import connect
    from pytest_kafkacheck.errors import KafkacheckError

    try:
        with closing(connect()) as client:
            require_free(client, attach, session=session)
    except KafkacheckError as error:
        error.is_of_cluster = True
        raise


@pytest.fixture(scope=lambda fixture_name, config: scope_of(config))  # noqa: ARG005
def _kafkacheck_scope(_kafkacheck_harness: Harness, pytestconfig: pytest.Config) -> Iterator[None]:
    """Ends the cluster with its scope. At the end of the session the harness does it, and may keep the cluster."""
    yield
    if scope_of(pytestconfig) != "session":
        _kafkacheck_harness.drop_cluster()


@pytest.fixture
def kafkacheck_cluster(
    request: pytest.FixtureRequest,
    pytestconfig: pytest.Config,
    _kafkacheck_harness: Harness,
    _kafkacheck_scope: None,
    kafkacheck_seed: int,  # noqa: ARG001 - each repetition has one
    tmp_path: Path,
) -> Iterator[AnyCluster]:
    """A running cluster of the spec that the marker's `cluster` says: for tests with clients of their own."""
    from pytest_kafkacheck.cluster.spec.spec import ClusterSpec

    options = marker_options(request.node)
    spec = options.cluster or ClusterSpec()
    with ExitStack() as stack:
        with skipped_where_impossible():
            cluster = stack.enter_context(
                _kafkacheck_harness.cluster(spec, logs=tmp_path / "logs", alone=options.alone)
            )
        output = tmp_path / "processes"
        own = OwnProcesses(output)
        # The cluster outlives the test, what belongs to the test does not.
        patch = pytest.MonkeyPatch()
        require_faults = skipped_where_impossible()(_kafkacheck_harness.require_faults)
        patch.setattr(cluster, "require_faults", require_faults, raising=False)
        patch.setattr(cluster, "start_process", own.start, raising=False)
        request.node.stash[CLUSTER], request.node.stash[OUTPUT] = cluster, output
        try:
            yield cluster
        finally:
            patch.undo()
            own.close()
            kept = keep_evidence(request.node)
            if kept is not None:  # the test was interrupted: it has no report
                announce_evidence(pytestconfig, kept)
            del request.node.stash[CLUSTER]


@pytest.fixture
def kafkacheck_recorder(
    request: pytest.FixtureRequest,
    _kafkacheck_harness: Harness,
    kafkacheck_cluster: AnyCluster,
) -> Iterator[Recording]:
    """Record the test's own clients, and judge them: ``kafkacheck_recorder.judge().assert_valid()``."""
    from pytest_kafkacheck.experiment.run_directory import RunDirectory
    from pytest_kafkacheck.recorder.session import Recording

    run = secrets.token_hex(4)
    home = RunDirectory.create(_kafkacheck_harness.directory, name=request.node.name, run=run)
    recording = Recording(
        home,
        kafkacheck_cluster,
        _kafkacheck_harness,
        run=run,
        test=request.node.nodeid,
        unknown=marker_options(request.node).unknown == "pass",
    )
    request.node.stash[RUNS], request.node.stash[RECORDING] = recording.runs, recording
    patch = pytest.MonkeyPatch()
    patch.setattr(kafkacheck_cluster, "fault_rows", recording.fault_rows, raising=False)
    try:
        yield recording
        recording.check_looked_at()
    finally:
        patch.undo()
        recording.leave()


@pytest.fixture
def kafkacheck(
    request: pytest.FixtureRequest,
    _kafkacheck_harness: Harness,
    _kafkacheck_scope: None,
    kafkacheck_seed: int,
) -> Iterator[Kafkacheck]:
    """Run experiments on real Kafka clusters: ``kafkacheck(Experiment(...)).assert_valid()``."""
    unknown = marker_options(request.node).unknown == "pass"
    value = Kafkacheck(
        _kafkacheck_harness,
        name=request.node.name,
        unknown=unknown,
        seed=kafkacheck_seed,
        is_repeated=kafkacheck_seed != request.config.getoption("kafkacheck_seed"),
        cells=lambda: request.getfixturevalue("_kafkacheck_cells"),
        record=lambda result: request.node.user_properties.append((RESULT, json.dumps(result.to_json()))),
    )
    request.node.stash[RUNS] = value.runs
    yield value
    value.check_looked_at()
