"""kafkacheck: real Kafka clusters, real faults, and a verdict.

Everything a test needs is importable from here; names load on first use, so that having the
plugin installed costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyzers.verdict import Finding as Finding
    from analyzers.verdict import Verdict as Verdict
    from nemesis.api import isolate as isolate
    from nemesis.api import kill as kill
    from nemesis.api import partition as partition
    from nemesis.api import pause as pause
    from pytest_kafkacheck.cluster.spec import ClusterSpec as ClusterSpec
    from pytest_kafkacheck.errors import InfrastructureError as InfrastructureError
    from pytest_kafkacheck.errors import KafkacheckError as KafkacheckError
    from pytest_kafkacheck.errors import UsageError as UsageError
    from pytest_kafkacheck.errors import VerdictError as VerdictError
    from pytest_kafkacheck.experiment import Experiment as Experiment
    from pytest_kafkacheck.run import Run as Run
    from workloads.log import AppendLog as AppendLog

_HOMES = {
    "AppendLog": "workloads.log",
    "ClusterSpec": "pytest_kafkacheck.cluster.spec",
    "Experiment": "pytest_kafkacheck.experiment",
    "Finding": "analyzers.verdict",
    "InfrastructureError": "pytest_kafkacheck.errors",
    "KafkacheckError": "pytest_kafkacheck.errors",
    "Run": "pytest_kafkacheck.run",
    "UsageError": "pytest_kafkacheck.errors",
    "Verdict": "analyzers.verdict",
    "VerdictError": "pytest_kafkacheck.errors",
    "isolate": "nemesis.api",
    "kill": "nemesis.api",
    "partition": "nemesis.api",
    "pause": "nemesis.api",
}

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("pytest-kafkacheck")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pytest_kafkacheck.guard import check_siblings

    check_siblings()
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
