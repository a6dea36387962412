"""Settings of clients in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.audit.client_files import read_consumer, read_producer
from pytest_kafkacheck.errors import UsageError

BY_PROGRAM = {"commit": ("after-processing", "before-processing")}
BY_POLL = {"commit": ("auto", "auto-asynchronous")}


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("", {}),
        ("acks=-1\nenable.idempotence=false\nlinger.ms=5", {"acks": "all", "idempotence": False}),
        ("request.required.acks: 1", {"acks": 1}),
        ("acks = 0", {"acks": 0}),
    ],
)
def test_a_producer(tmp_path: Path, text: str, known: dict[str, Any]) -> None:
    (tmp_path / "file").write_text(text)
    assert read_producer(tmp_path / "file") == (known, {})


@pytest.mark.parametrize(
    ("text", "reset", "commit", "unknown"),
    [
        ("", "latest", None, BY_POLL),
        ("enable.auto.commit=false\nauto.offset.reset=earliest", "earliest", None, BY_PROGRAM),
        ("enable.auto.offset.store=true\nauto.offset.reset=smallest", "earliest", "auto-asynchronous", {}),
        ("enable.auto.offset.store=false\nauto.offset.reset=error", "none", None, BY_PROGRAM),
    ],
)
def test_a_consumer(
    tmp_path: Path, text: str, reset: str, commit: str | None, unknown: dict[str, Any]
) -> None:
    (tmp_path / "file").write_text(text)
    read = read_consumer(tmp_path / "file")
    assert read.known["auto_offset_reset"] == reset
    assert read.known.get("commit") == commit
    assert read.unknown == unknown


def test_what_makes_no_sense_names_the_file_and_the_setting(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("acks=2")
    with pytest.raises(UsageError, match="file: acks=2: expected all, -1, 1, 0"):
        read_producer(tmp_path / "file")
    with pytest.raises(UsageError, match="gone: cannot be read: No such file"):
        read_consumer(tmp_path / "gone")
