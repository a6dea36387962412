"""``kafkacheck defects`` on real clusters: an open defect of brokers is found, and one of a client that is mended."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_kafkacheck.cli.exit_status import AS_EXPECTED

pytestmark = [pytest.mark.cluster, pytest.mark.spark, pytest.mark.nightly, pytest.mark.timeout(3600)]


def test_defects_are_found_where_they_are_and_not_where_they_are_mended(tmp_path: Path) -> None:
    command = ["defects", "KAFKA-20554", "KAFKA-19479", "--json", "out.json"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest_kafkacheck", *command], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == AS_EXPECTED, done.stderr
    shown = json.loads((tmp_path / "out.json").read_text())
    assert [(each["defect"], each["release"], each["outcome"]) for each in shown] == [
        ("KAFKA-20554", "4.1.1", "found"),
        ("KAFKA-19479", "4.1.0", "found"),
        ("KAFKA-19479", "4.1.1", "nothing"),
    ]
    assert shown[0]["seen"].startswith("lost-write")
