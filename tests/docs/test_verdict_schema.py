"""Verdicts follow the published schema, and other texts do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from analyzers.verdict.verdict import judge
from tests.analyzers.test_verdict import AVAILABLE, FULL
from tests.support.report_runs import RECORDED, unclean_verdict

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "verdict.schema.json").read_text())


def valid(data: Any) -> None:
    jsonschema.validate(data, SCHEMA, cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize("verdict", [judge("r"), FULL, AVAILABLE, unclean_verdict(RECORDED / "unclean")])
def test_verdicts_follow_the_schema(verdict: Any) -> None:
    valid(json.loads(verdict.to_json()))


def test_keys_may_be_added() -> None:
    valid({**json.loads(judge("r").to_json()), "later": 1})


@pytest.mark.parametrize(
    ("key", "value"),
    [("format", 2), ("result", "fine"), ("findings", {}), ("began", "now"), ("run", None), ("causes", [{}])],
)
def test_what_is_no_verdict_does_not_follow_it(key: str, value: Any) -> None:
    data = json.loads(judge("r").to_json())
    with pytest.raises(jsonschema.ValidationError):
        valid({**data, key: value})
    del data[key]
    with pytest.raises(jsonschema.ValidationError, match=key):
        valid(data)
