"""Refusing options of faults that make no sense."""

from __future__ import annotations

import math


def number(what: str, value: object, *, above: float | None = None, least: float | None = None,
           most: float = math.inf) -> None:  # fmt: skip
    """Raises ValueError unless it is a finite number in that range."""
    fine = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if fine and (above is None or value > above) and (least is None or value >= least) and value <= most:  # type: ignore[operator]
        return
    low = f"above {above:g}" if above is not None else f"{least:g} or more" if least is not None else "any"
    high = "" if most == math.inf else f", {most:g} at most"
    raise ValueError(f"{what}={value!r}: expected a number, {low}{high}")


def count(what: str, value: object, *, least: int = 1) -> None:
    """Raises ValueError unless it is a whole number, `least` or more."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{what}={value!r}: expected a whole number, {least} or more")


def choice(what: str, value: object, allowed: tuple[object, ...]) -> None:
    """Raises ValueError unless it is one of these."""
    if value not in allowed:
        raise ValueError(f"{what}={value!r}: allowed are {', '.join(map(repr, allowed))}")
