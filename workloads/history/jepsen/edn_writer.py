"""Writes plain values as EDN."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any


def dumps(value: Any) -> str:
    """A value as EDN on one line. A string that begins with ``:`` becomes a keyword, and so does every key that is a
    string; None, booleans, numbers, lists, tuples and mappings become their counterparts. Raises TypeError for
    others."""
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} {dumps(each)}" for key, each in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + " ".join(map(dumps, value)) + "]"
    if isinstance(value, str):
        return value if value[:1] == ":" and _is_name(value[1:]) else json.dumps(value, ensure_ascii=False)
    raise TypeError(
        f"EDN has no form for a {type(value).__name__}: expected None, a boolean, number, string, list or mapping"
    )


def _key(key: Any) -> str:
    return f":{key}" if isinstance(key, str) and _is_name(key) else dumps(key)


def _is_name(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z*!_?<>=][A-Za-z0-9*+!_?<>=.'-]*", name) is not None
