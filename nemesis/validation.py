"""Checks of the options of faults and events, and what a user probably meant with a word that is not known."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from typing import TypeGuard

LONGEST = 31_536_000.0
"""Seconds: a year. A longer time is a mistake, and far above it Python cannot wait."""

_UNITS = {"ms": 0.001, "s": 1.0, "sec": 1.0, "seconds": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
"""Seconds of each."""

_TIME = re.compile(rf"([0-9]{{1,9}}(?:\.[0-9]{{1,9}})?)\s*({'|'.join(_UNITS)})?", re.ASCII)


def finite(value: object) -> TypeGuard[float]:
    """Whether it is a number within the range of floats. True and False are not numbers."""
    return _a_number(value) and abs(value) <= sys.float_info.max


def number(what: str, value: object, *, above: float | None = None, least: float | None = None,
           most: float = math.inf) -> None:  # fmt: skip
    """Raises ValueError unless it is a finite number in that range."""
    if (
        finite(value)
        and value <= most
        and (above is None or value > above)
        and (least is None or value >= least)
    ):
        return
    low = f"above {above:g}" if above is not None else f"{least:g} or more" if least is not None else "any"
    high = "" if most == math.inf else f", {most:g} at most"
    raise ValueError(f"{what}={value!r}: expected a number, {low}{high}")


def seconds(what: str, value: object, *, above: float | None = None) -> None:
    """Raises ValueError unless it is a time up to `LONGEST`, and 0 or more, or above the given bound."""
    if finite(value) and (value >= 0 if above is None else value > above) and value <= LONGEST:
        return
    if isinstance(value, str) and (meant := _in_seconds(value)) is not None:
        raise ValueError(f"{what}={value!r}: is text, write {meant:g}")
    low = "0 or more" if above is None else f"more than {above:g}"
    raise ValueError(f"{what}={value!r}: expected seconds, {low}, {LONGEST:.0f} at most")


def _in_seconds(text: str) -> float | None:
    """What a text such as ``3s`` or ``500 ms`` means; None for any other text."""
    if match := _TIME.fullmatch(text.strip()):
        return float(match[1]) * _UNITS[match[2] or "s"]
    return None


def count(what: str, value: object, *, least: int = 1, most: int | None = None) -> None:
    """Raises ValueError unless it is a whole number in that range."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole and value >= least and (most is None or value <= most):  # type: ignore[operator]
        return
    high = "" if most is None else f", {most} at most"
    raise ValueError(f"{what}={value!r}: expected a whole number, {least} or more{high}")


def choice(what: str, value: object, allowed: tuple[object, ...]) -> None:
    """Raises ValueError unless it is one of these."""
    if value not in allowed:
        raise ValueError(f"{what}={value!r}: allowed are {', '.join(map(repr, allowed))}")


def _a_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def did_you_mean(text: object, known: Iterable[str]) -> str:
    """The end of a message, such as ``; did you mean 'leader'?``. Empty where nothing is near.

    Only what is before a colon is compared, since any name may follow it: ``leder:orders-0`` is ``leader:orders-0``.
    """
    names = list(known)
    if not isinstance(text, str):
        return ""
    word, colon, rest = text.partition(":")
    if word in names:  # what follows it is wrong
        return ""
    near = get_close_matches(word.lower(), names, n=2)
    return f"; did you mean {' or '.join(repr(each + colon + rest) for each in near)}?" if near else ""


def near_or_all(text: object, known: Iterable[str], *, allowed: str = "") -> str:
    """The end of a message: what was probably meant, and where nothing is near, all that is known.

    allowed  the text that lists all of it; default: the names themselves.
    """
    names = list(known)
    return did_you_mean(text, names) or f"; allowed are {allowed or ', '.join(names)}"


def first_words(allowed: str) -> tuple[str, ...]:
    """With which the quoted forms in a text begin: ``leader`` of ``'leader:<topic>-<partition>'``."""
    return tuple(dict.fromkeys(re.findall(r"'([a-z-]{3,})[:']", allowed)))
