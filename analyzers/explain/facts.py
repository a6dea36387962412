"""The evidence of a finding as text, for the headline of its explanation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analyzers.catalogue.anomaly import Anomaly, Evidence, Value
from analyzers.verdict.names import write_name


def facts(
    anomaly: Anomaly, example: Mapping[str, Any], *, began: int | None, clients: Mapping[int, str]
) -> dict[str, str]:
    """By name. The subject and the time of the finding are shown elsewhere.

    The timeline and the tables name clients by number and writes as writer:sequence, because they name many. Here,
    the name that the verdict uses follows in brackets, once for each.

    began    ns, of the run's first operation. clients  names by process number.
    """
    given: set[str] = set()
    found = {}
    for name, kind in anomaly.evidence.items():
        if name not in example:
            continue
        found[name] = kind.explain(example[name], began)
        usual = _usual_name(name, kind, example[name], clients)
        if usual is not None and usual not in given:
            given.add(usual)
            found[name] += f" ({usual})"
    return found


def _usual_name(name: str, kind: Evidence, value: Any, clients: Mapping[int, str]) -> str | None:
    """As the verdict has it; None where that is the plain number."""
    if name == "process":
        return clients.get(value)
    is_write = isinstance(kind, Value) and value is not None and kind.names_write(value)
    return write_name(value, clients) if is_write else None
