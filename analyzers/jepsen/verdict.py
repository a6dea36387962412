"""The answer about a history, made from the errors found in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

SubVia = Literal["assign", "subscribe"]

ALWAYS = {"int-send-skip", "G0", "G0-realtime", "PL-1-cycle-exists", "strong-PL-1-cycle-exists"}
"""Allowed, because Kafka does not isolate the writes of transactions from each other."""

REBALANCED = {"poll-skip", "nonmonotonic-poll"}
"""Allowed if a group can move partitions between polls."""

WITH_WW = {"G1c", "G1c-realtime", "PL-2-cycle-exists", "strong-PL-2-cycle-exists"}
"""Allowed if the order of writes counts as a dependency."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of the reference checker."""

    ww_deps: bool = True
    sub_via: SubVia = "subscribe"

    @property
    def allowed(self) -> frozenset[str]:
        return frozenset(
            ALWAYS
            | (REBALANCED if self.sub_via == "subscribe" else set())
            | (WITH_WW if self.ww_deps else set())
        )


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The answer about one file."""

    file: str
    errors: Mapping[str, Any]
    """By error type, the first errors of it."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """By error type, the number of all errors."""
    bad: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    """Why the history is unknown instead of valid."""
    error: str | None = None
    """Why the file was not judged."""
    warnings: tuple[str, ...] = ()
    """What is strange about the history, and changes nothing."""

    @property
    def valid(self) -> bool | Literal["unknown"]:
        if self.bad:
            return False
        return "unknown" if self.reasons or self.error else True

    def to_json(self) -> dict[str, Any]:
        answer: dict[str, Any] = {
            "file": self.file,
            "valid": self.valid,
            "error-types": sorted(self.errors),
            "bad-error-types": list(self.bad),
            "errors": dict(self.errors),
            "counts": dict(self.counts),
        }
        if self.reasons:
            answer["reasons"] = list(self.reasons)
        if self.error:
            answer["error"] = self.error
        if self.warnings:
            answer["warnings"] = list(self.warnings)
        return answer


def judged(
    file: str,
    errors: Mapping[str, Any],
    counts: Mapping[str, int],
    reasons: Sequence[str],
    options: Options,
    warnings: Sequence[str] = (),
) -> Judged:
    bad = sorted(errors.keys() - options.allowed)
    return Judged(
        file=file,
        errors={kind: errors[kind] for kind in sorted(errors)},
        counts={kind: counts[kind] for kind in sorted(errors)},
        bad=tuple(bad),
        reasons=tuple(reasons),
        warnings=tuple(warnings),
    )
