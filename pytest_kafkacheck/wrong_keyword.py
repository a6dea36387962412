"""A keyword that a public class or function does not take: what was probably meant, and what it takes.

Python 3.11 says only that the keyword is unexpected.
"""

from __future__ import annotations

import re
from inspect import signature

UNEXPECTED = re.compile(
    r"(?P<name>\w+)(?:\.__init__)?\(\) got an unexpected keyword argument '(?P<keyword>\w+)'"
)


def wrong_keyword(error: BaseException) -> str | None:
    """Such as ``isolate takes no 'lastng'; did you mean 'lasting'? It takes target, at, ...``. None for another
    error, and for a name that is not of `pytest_kafkacheck`."""
    match = UNEXPECTED.match(str(error)) if isinstance(error, TypeError) else None
    if match is None:
        return None
    import pytest_kafkacheck

    if match["name"] not in pytest_kafkacheck.__all__:
        return None
    from nemesis.validation import did_you_mean

    takes = [*signature(getattr(pytest_kafkacheck, match["name"])).parameters]
    if match["keyword"] in takes:
        return None  # another function of that name
    hint = did_you_mean(match["keyword"], takes) or "."
    return f"{match['name']} takes no {match['keyword']!r}{hint} It takes {', '.join(takes)}"
