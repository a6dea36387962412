"""The options ``--kafkacheck-*`` and ini settings: their declaration, their check, and what they mean together."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

Scope = Literal["function", "class", "module", "package", "session"]
SCOPES = ("function", "class", "module", "package", "session")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kafkacheck", "real Kafka clusters under faults")
    group.addoption(
        "--kafkacheck-dir",
        metavar="DIR",
        help="Keep each run's history, logs and verdict in DIR, relative to the current folder. Default: ini "
        "kafkacheck_dir, relative to rootdir, else .kafkacheck there",
    )
    group.addoption(
        "--kafkacheck-fresh",
        action="store_true",
        help="Start a new cluster for every experiment, also where a running one has the same spec",
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
        help="Leave the cluster of the last failed test running (failed, the default), or also the last cluster "
        "of the session (always), and print how to reach it",
    )
    group.addoption(
        "--kafkacheck-reuse",
        action="store_true",
        help="Use a kept cluster of equal spec instead of starting one",
    )
    group.addoption(
        "--kafkacheck-attach",
        metavar="WHAT",
        help="Use a running cluster: compose:PROJECT, or names of containers, separated by commas",
    )
    group.addoption(
        "--kafkacheck-attach-config",
        metavar="FILE",
        help="Settings of clients for a running cluster with TLS or SASL, as Kafka's own tools take them with "
        "--command-config",
    )
    group.addoption(
        "--kafkacheck-attach-map",
        metavar="NODE=HOST:PORT,...",
        help="Where this host reaches the brokers of a running cluster, such as behind a proxy or NAT",
    )
    group.addoption(
        "--kafkacheck-attach-wait",
        metavar="SECONDS",
        type=float,
        help="Limit of each wait for a running cluster, at the begin and the end. Default: 30",
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
        help="A setting of Spark; may be repeated. Overrides ini kafkacheck_spark_conf",
    )
    group.addoption(
        "--kafkacheck-plain-spark",
        action="store_true",
        help="Use Spark only through its public interface, without the shortcuts that make verdicts quick: the same "
        "verdicts, more slowly. Default: ini kafkacheck_plain_spark, else false",
    )
    group.addoption(
        "--kafkacheck-matrix",
        metavar="FILE",
        help="Write the results of the cells of matrices into this file: .md, .json or .csv",
    )
    group.addoption(
        "--kafkacheck-report",
        choices=("always", "failed", "never"),
        default="failed",
        help="Write report.html into the folder of each run: of failed tests (failed, the default), of all (always), "
        "or never",
    )
    group.addoption(
        "--kafkacheck-retain",
        choices=("all", "failed"),
        default="all",
        help="Which runs stay in DIR: all (the default), or only those of tests that did not pass (failed)",
    )
    group.addoption(
        "--kafkacheck-summary",
        metavar="FILE",
        help="Write the tests and what their runs showed into this file as Markdown, such as $GITHUB_STEP_SUMMARY",
    )
    group.addoption(
        "--kafkacheck-repeat",
        metavar="N",
        type=int,
        help="Run each test with a Kafka cluster N times, with the seeds S, S+1, ... of --kafkacheck-seed",
    )
    group.addoption(
        "--kafkacheck-seed",
        metavar="S",
        type=int,
        default=0,
        help="Add S to the seed of every experiment, and draw Generated schedules anew. Default: 0",
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
        "kafkacheck_spark_conf", "Settings of Spark, one KEY=VALUE on each line", type="linelist", default=[]
    )
    parser.addini("kafkacheck_plain_spark", "See --kafkacheck-plain-spark", type="bool", default=False)


def check_options(config: pytest.Config) -> None:
    """Refuse wrong ini settings, and options that exclude each other. Raises pytest.UsageError."""
    if (share := share_of(config)) not in ("worker", "all"):
        raise pytest.UsageError(f"ini kafkacheck_share={share!r}: expected worker or all")
    if (scope := scope_of(config)) not in SCOPES:
        raise pytest.UsageError(f"ini kafkacheck_scope={scope!r}: expected one of {', '.join(SCOPES)}")
    if (times := config.getoption("kafkacheck_repeat")) is not None and times < 1:
        raise pytest.UsageError(f"--kafkacheck-repeat {times}: expected 1 or more")
    for option in ("config", "map", "wait"):
        if config.getoption(f"kafkacheck_attach_{option}") is None or config.getoption("kafkacheck_attach"):
            continue
        raise pytest.UsageError(
            f"--kafkacheck-attach-{option} is for a cluster that somebody else runs: name it with --kafkacheck-attach"
        )
    if share == "all" and getattr(config.option, "dist", "no") != "no":
        for option in ("fresh", "reuse"):
            if config.getoption(f"kafkacheck_{option}"):
                raise pytest.UsageError(
                    f"--kafkacheck-{option} does not go with --kafkacheck-share=all: leave one of them out"
                )


def share_of(config: pytest.Config) -> str:
    """``worker`` or ``all``."""
    return str(_either(config, "share"))


def scope_of(config: pytest.Config) -> Scope:
    scope: Scope = _either(config, "scope")
    return scope


def directory_of(config: pytest.Config) -> Path:
    """Where runs are kept. What is typed counts from the current folder, and what the ini file says from its own."""
    if typed := config.getoption("kafkacheck_dir"):
        return config.invocation_params.dir / str(typed)
    return config.rootpath / str(config.getini("kafkacheck_dir"))


def harness_options(config: pytest.Config) -> dict[str, Any]:
    """Arguments of a `Harness` that options and ini settings decide. Raises UsageError for a wrong Spark setting, and
    for settings of clients that cannot be used."""
    from pytest_kafkacheck.cluster.spec.client_settings import parse_addresses, read_client_settings
    from pytest_kafkacheck.spark import parse_settings

    file = config.getoption("kafkacheck_attach_config")
    security = read_client_settings(config.invocation_params.dir / file) if file else None
    return {
        "fresh": config.getoption("kafkacheck_fresh"),
        "keep": config.getoption("kafkacheck_keep") or "never",
        "reuse": config.getoption("kafkacheck_reuse"),
        "attach": config.getoption("kafkacheck_attach"),
        "security": security,
        "attach_map": parse_addresses(config.getoption("kafkacheck_attach_map") or "", security),
        "attach_wait": config.getoption("kafkacheck_attach_wait"),
        "master": _either(config, "spark_master"),
        "spark_conf": parse_settings(
            [*config.getini("kafkacheck_spark_conf"), *config.getoption("kafkacheck_spark_conf")]
        ),
        "plain_spark": _either(config, "plain_spark"),
    }


def _either(config: pytest.Config, name: str) -> Any:
    """The option of that name, or the ini setting where the option was not given."""
    return config.getoption(f"kafkacheck_{name}", None) or config.getini(f"kafkacheck_{name}")
