"""A call of a public class or function that Python refuses: what was probably meant, and what it takes.

Python 3.11 says only that a keyword is unexpected, or how many arguments there were.
"""

from __future__ import annotations

import re
from inspect import Parameter, signature

CALL = r"(?P<name>\w+)(?:\.__init__)?\(\) "
UNEXPECTED = re.compile(rf"{CALL}got an unexpected keyword argument '(?P<keyword>\w+)'")
UNNAMED = re.compile(rf"{CALL}takes (?:from \d+ to )?\d+ positional arguments? but \d+")


def wrong_call(error: BaseException) -> str | None:
    """Such as ``isolate takes no 'lastng'; did you mean 'lasting'? It takes target, at, ...``. None for another
    error, and for a name that is not of `pytest_kafkacheck`."""
    text = str(error) if isinstance(error, TypeError) else ""
    match = UNEXPECTED.match(text) or UNNAMED.match(text)
    if match is None:
        return None
    import pytest_kafkacheck

    if match["name"] not in pytest_kafkacheck.__all__:
        return None
    takes = signature(getattr(pytest_kafkacheck, match["name"])).parameters
    if "keyword" not in match.groupdict():
        named = [name for name, each in takes.items() if each.kind is Parameter.KEYWORD_ONLY]
        if not named:
            return None
        example = f"{match['name']}({named[0]}=...)"
        return f"{match['name']} takes its values by name, such as {example}; these are {', '.join(named)}"
    if match["keyword"] in takes:
        return None  # another function of that name
    from nemesis.validation import did_you_mean

    hint = did_you_mean(match["keyword"], takes) or "."
    return f"{match['name']} takes no {match['keyword']!r}{hint} It takes {', '.join(takes)}"
