"""The definition of a wrong answer to a search by time in plain Python."""

from __future__ import annotations

import json

from tests.support.oracles.rows import Row, Tables, log, polls
from tests.support.random_histories.searches import search_history


def wrong_offset_for_time(tables: Tables) -> int:
    answered = [
        o | json.loads(o["value"])
        for o in tables["operations"]
        if o["f"] == "search" and o["type"] == "ok" and o["end_offset"] is not None
    ]
    return sum(_is_older(each) or _is_skipped(each, tables["records"]) for each in answered)


def _is_older(search: Row) -> bool:
    return search["found"] is not None and search["found"] < search["timestamp"]


def _is_skipped(search: Row, records: list[Row]) -> bool:
    same = [
        p
        for p in polls(records)
        if (log(p), p["offset"], p["value"]) == (log(search), search["start_offset"], search["value"])
    ]
    before = any(p["completed"] < search["invoked"] for p in same)
    after = any(p["final"] and p["invoked"] > search["completed"] for p in same)
    return bool(search["start_offset"] < search["end_offset"] and before and after)


RANDOM = search_history
ORACLES = {"wrong-offset-for-time": wrong_offset_for_time}
