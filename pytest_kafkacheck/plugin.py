"""The pytest plugin. Loaded in every session where the package is installed: imports pytest, nothing heavier."""

from __future__ import annotations

import os
import secrets
import warnings
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
    from pytest_kafkacheck.experiment.experiment import Experiment
    from pytest_kafkacheck.experiment.harness import Harness
    from pytest_kafkacheck.run import Run

RUNS = pytest.StashKey[list["Run"]]()
KEPT = pytest.StashKey[list[str]]()
SESSION = pytest.StashKey[str]()

Scope = Literal["function", "class", "module", "package", "session"]
SCOPES = ("function", "class", "module", "package", "session")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kafkacheck", "real Kafka clusters under faults")
    group.addoption(
        "--kafkacheck-dir",
        metavar="DIR",
        help="Keep each run's history, logs and verdict in DIR. Default: ini kafkacheck_dir, else .kafkacheck",
    )
    group.addoption(
        "--kafkacheck-fresh",
        action="store_true",
        help="Start a new cluster for every experiment instead of using one of equal spec again",
    )
    group.addoption(
        "--kafkacheck-scope",
        choices=SCOPES,
        help="How long a cluster may serve: every test of equal spec within one of these uses it again. "
        "Default: ini kafkacheck_scope, else session",
    )
    group.addoption(
        "--kafkacheck-keep",
        nargs="?",
        const="failed",
        choices=("failed", "always"),
        help="Leave the cluster of the last failed test running (the default when no word follows), or always the "
        "last one too, and say how to reach it",
    )
    group.addoption(
        "--kafkacheck-reuse",
        action="store_true",
        help="Use a kept cluster of equal spec instead of starting one",
    )
    group.addoption(
        "--kafkacheck-attach",
        metavar="WHAT",
        help="Run on a cluster that is running already: compose:PROJECT, or names of containers with commas between",
    )
    group.addoption(
        "--kafkacheck-share",
        choices=("worker", "all"),
        help="With xdist: a cluster per worker, or one that all workers share. Default: ini kafkacheck_share, else "
        "worker",
    )
    group.addoption(
        "--kafkacheck-spark-master",
        metavar="URL",
        help="Judge on this Spark: local[N], spark://HOST:PORT, yarn, k8s://..., or sc://HOST:PORT (Connect). "
        "Default: ini kafkacheck_spark_master, else local[*], embedded",
    )
    group.addoption(
        "--kafkacheck-spark-conf",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="A setting of Spark; may be given again. Comes after those of ini kafkacheck_spark_conf",
    )
    parser.addini(
        "kafkacheck_dir", "Folder in which runs are kept, relative to rootdir", default=".kafkacheck"
    )
    parser.addini(
        "kafkacheck_scope", "How long a cluster may serve, see --kafkacheck-scope", default="session"
    )
    parser.addini("kafkacheck_share", "With xdist, see --kafkacheck-share", default="worker")
    parser.addini("kafkacheck_spark_master", "See --kafkacheck-spark-master", default="local[*]")
    parser.addini(
        "kafkacheck_spark_conf", "Settings of Spark, KEY=VALUE on a line each", type="linelist", default=[]
    )


def pytest_configure(config: pytest.Config) -> None:
    if (share := _share(config)) not in ("worker", "all"):
        raise pytest.UsageError(f"ini kafkacheck_share={share!r}: expected worker or all")
    if (scope := _scope(config)) not in SCOPES:
        raise pytest.UsageError(f"ini kafkacheck_scope={scope!r}: expected one of {', '.join(SCOPES)}")
    if share == "all" and getattr(config.option, "dist", "no") != "no":
        for option in ("fresh", "reuse"):
            if config.getoption(f"kafkacheck_{option}"):
                raise pytest.UsageError(
                    f"--kafkacheck-{option} does not go with --kafkacheck-share=all: leave one of them out"
                )
    config.addinivalue_line(
        "markers",
        "kafkacheck(unknown='fail', cluster=None, alone=False): a test with real Kafka clusters; unknown='pass' "
        "accepts a verdict of unknown in assert_valid(), cluster is the ClusterSpec of the fixture "
        "`kafkacheck_cluster`, alone=True keeps other xdist workers away from it. Every test that uses one of our "
        "fixtures has this marker.",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        ours = {"kafkacheck", "kafkacheck_cluster"} & set(getattr(item, "fixturenames", ()))
        if ours and not item.get_closest_marker("kafkacheck"):
            item.add_marker("kafkacheck")


def _share(config: pytest.Config) -> str:
    return str(config.getoption("kafkacheck_share", None) or config.getini("kafkacheck_share"))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """In xdist's controller, for each worker: which session it belongs to, and who owns what it shares."""
    config: pytest.Config = node.config
    if _share(config) != "all":
        return
    if SESSION not in config.stash:
        from pytest_kafkacheck.termination import terminated_like_interrupted

        config.stash[SESSION] = secrets.token_hex(3)
        termination = ExitStack()
        termination.enter_context(terminated_like_interrupted())
        config.add_cleanup(termination.close)
        # Also when pytest gets no further than its own start.
        config.add_cleanup(lambda: _end_shared(config, keep=False))
    node.workerinput["kafkacheck"] = (config.stash[SESSION], os.getpid())


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """In xdist's controller: what a worker kept."""
    _announce(node.config, *getattr(node, "workeroutput", {}).get("kafkacheck", ()))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """In xdist's controller, when the workers are gone."""
    config = session.config
    if SESSION in config.stash:
        keep = config.getoption("kafkacheck_keep")
        _end_shared(config, keep=keep == "always" or (keep == "failed" and session.testsfailed > 0))


def _end_shared(config: pytest.Config, *, keep: bool) -> None:
    from pytest_kafkacheck.cluster.docker.engine import connect
    from pytest_kafkacheck.errors import KafkacheckError
    from pytest_kafkacheck.experiment.clusters.shared_session import end_session

    try:
        with closing(connect()) as client:
            _announce(config, *end_session(client, config.stash[SESSION], keep=keep))
    except KafkacheckError as error:
        warnings.warn(f"kafkacheck: {error}", stacklevel=2)


def _announce(config: pytest.Config, *kept: str) -> None:
    config.stash.setdefault(KEPT, []).extend(kept)


@pytest.fixture(scope="session")
def _kafkacheck_harness(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Harness]:
    from pytest_kafkacheck.guard import check_siblings

    check_siblings()
    with warnings.catch_warnings():
        # kafka-python 3.0.12 warns at import on Python 3.11; a project with -W error shall not trip over it.
        warnings.simplefilter("ignore", DeprecationWarning)
        from pytest_kafkacheck.experiment.clusters.shared_session import SharedSession
        from pytest_kafkacheck.experiment.harness import Harness
        from pytest_kafkacheck.spark import parse_settings

    directory = pytestconfig.getoption("kafkacheck_dir") or pytestconfig.getini("kafkacheck_dir")
    reporter = pytestconfig.pluginmanager.getplugin("terminalreporter")

    def say(line: str) -> None:
        if reporter is not None and pytestconfig.get_verbosity() > 0:
            capture = pytestconfig.pluginmanager.getplugin("capturemanager")
            with capture.global_and_fixture_disabled():
                reporter.write_line(f"kafkacheck: {line}")

    shared = None
    if (told := getattr(pytestconfig, "workerinput", {}).get("kafkacheck")) is not None:
        shared = SharedSession(tmp_path_factory.getbasetemp().parent, *told)
    harness = Harness(
        pytestconfig.rootpath / Path(directory),
        say=say,
        fresh=pytestconfig.getoption("kafkacheck_fresh"),
        keep=pytestconfig.getoption("kafkacheck_keep") or "never",
        reuse=pytestconfig.getoption("kafkacheck_reuse"),
        attach=pytestconfig.getoption("kafkacheck_attach"),
        shared=shared,
        master=pytestconfig.getoption("kafkacheck_spark_master")
        or pytestconfig.getini("kafkacheck_spark_master"),
        spark_conf=parse_settings(
            [
                *pytestconfig.getini("kafkacheck_spark_conf"),
                *pytestconfig.getoption("kafkacheck_spark_conf"),
            ]
        ),
    )
    # Also when a second Ctrl-C cuts the fixture's own teardown short.
    pytestconfig.add_cleanup(harness.close)
    with harness:
        yield harness
    if harness.kept:
        _announce(pytestconfig, harness.kept)
        if (output := getattr(pytestconfig, "workeroutput", None)) is not None:
            output["kafkacheck"] = [harness.kept]


def _scope(config: pytest.Config) -> Scope:
    scope: Scope = config.getoption("kafkacheck_scope", None) or config.getini("kafkacheck_scope")
    return scope


@pytest.fixture(scope=lambda fixture_name, config: _scope(config))  # noqa: ARG005
def _kafkacheck_scope(_kafkacheck_harness: Harness, pytestconfig: pytest.Config) -> Iterator[None]:
    """Ends the cluster with the scope; that of the session is ended with the harness, which may keep it."""
    yield
    if _scope(pytestconfig) != "session":
        _kafkacheck_harness.drop_cluster()


@pytest.fixture
def kafkacheck_cluster(
    request: pytest.FixtureRequest, _kafkacheck_harness: Harness, _kafkacheck_scope: None, tmp_path: Path
) -> Iterator[DockerCluster]:
    """A running cluster, of the spec that the marker's `cluster` says: for tests with clients of their own."""
    from pytest_kafkacheck.cluster.spec.spec import ClusterSpec

    marked = _marked(request.node)
    spec = marked["cluster"] or ClusterSpec()
    with _kafkacheck_harness.cluster(spec, logs=tmp_path / "logs", alone=marked["alone"]) as cluster:
        yield cluster


class Kafkacheck:
    """The fixture's value: call it with an experiment, get a `Run`."""

    def __init__(self, harness: Harness, *, name: str, unknown: bool) -> None:
        self.runs: list[Run] = []
        self._harness = harness
        self._name = name
        self._unknown = unknown

    def __call__(self, experiment: Experiment) -> Run:
        """Run an experiment on a real cluster and judge it; skip the test where the host cannot do a fault.

        Raises InfrastructureError when it could not be carried out, UsageError when it makes no sense.
        """
        __tracebackhide__ = True
        from pytest_kafkacheck.errors import CapabilityError

        try:
            run = self._harness.run(experiment, name=experiment.name or self._name)
        except CapabilityError as error:
            pytest.skip(str(error))
        run.accept_unknown = self._unknown
        self.runs.append(run)
        return run


@pytest.fixture
def kafkacheck(
    request: pytest.FixtureRequest, _kafkacheck_harness: Harness, _kafkacheck_scope: None
) -> Iterator[Kafkacheck]:
    """Run experiments on real Kafka clusters: ``kafkacheck(Experiment(...)).assert_valid()``."""
    value = Kafkacheck(
        _kafkacheck_harness, name=request.node.name, unknown=_marked(request.node)["unknown"] == "pass"
    )
    request.node.stash[RUNS] = value.runs
    yield value
    for run in value.runs:
        # An experiment nobody judged must not turn a broken promise green.
        if not run.looked_at and run.result != "valid":
            _kafkacheck_harness.has_failed = True
            pytest.fail(
                f"the test looked at no verdict, and this one is not valid\n{run.text()}", pytrace=False
            )


def _marked(item: pytest.Item) -> dict[str, Any]:
    """The marker's options: unknown, cluster, alone."""
    marker = item.get_closest_marker("kafkacheck")
    defaults = {"unknown": "fail", "cluster": None, "alone": False}
    options: dict[str, Any] = {**defaults, **(marker.kwargs if marker else {})}
    if (
        options.keys() != defaults.keys()
        or (marker and marker.args)
        or options["unknown"] not in ("fail", "pass")
        or not isinstance(options["alone"], bool)
    ):
        raise pytest.UsageError(
            f"{item.nodeid}: marker kafkacheck takes unknown='fail' or unknown='pass', cluster=ClusterSpec(...) and "
            f"alone=True, not {(marker.args if marker else ())!r} {(marker.kwargs if marker else {})!r}"
        )
    return options


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    runs = item.stash.get(RUNS, None)
    harness = getattr(item, "funcargs", {}).get("_kafkacheck_harness")
    if harness is not None and report.failed:
        harness.has_failed = True
    if runs and call.when == "call":
        for run in runs:
            item.user_properties.append(("kafkacheck", f"{run.result} {run.path}"))
            report.sections.append((f"kafkacheck {run.result}", run.text()))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if kept := config.stash.get(KEPT, []):
        terminalreporter.section("kafkacheck: still running")
        for text in kept:
            terminalreporter.line(text)
        terminalreporter.line("again:  pytest --kafkacheck-reuse --kafkacheck-keep")
