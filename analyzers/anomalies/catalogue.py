"""The anomalies: each one's entry, by its stable name."""

from __future__ import annotations

from collections.abc import Mapping

from analyzers.anomalies.anomaly import POLLER, SESSION, WRITER, Anomaly, Severity
from analyzers.anomalies.availability import AVAILABILITY
from analyzers.anomalies.groups import GROUPS
from analyzers.anomalies.log import LOG
from analyzers.anomalies.order import ORDER
from analyzers.anomalies.sessions import SESSIONS
from analyzers.anomalies.transactions import TRANSACTIONS

__all__ = ["ANOMALIES", "CATALOGUE", "POLLER", "SESSION", "WRITER", "Anomaly", "Severity", "require_known"]

CATALOGUE: tuple[Anomaly, ...] = (*LOG, *SESSIONS, *ORDER, *TRANSACTIONS, *GROUPS, *AVAILABILITY)

ANOMALIES: Mapping[str, Anomaly] = {anomaly.name: anomaly for anomaly in CATALOGUE}


def require_known(names: object) -> frozenset[str]:
    """The names as a set. Raises ValueError for one that is not in the catalogue."""
    if isinstance(names, str) or not hasattr(names, "__iter__"):
        raise ValueError(f"allow: expected a collection of anomaly names, got {names!r}")
    wanted = frozenset(names)
    unknown = sorted(map(str, wanted - ANOMALIES.keys()))
    if unknown:
        raise ValueError(f"allow: no anomaly named {', '.join(unknown)}; there are {', '.join(ANOMALIES)}")
    return wanted
