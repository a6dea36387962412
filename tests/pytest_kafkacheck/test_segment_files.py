"""Segments of logs: which are copied where all would be too much, and what happens when the cleaner replaces one."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_kafkacheck.cluster.docker import node as nodes
from pytest_kafkacheck.cluster.nodes.segments import fitting


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (0, ["empty"]),
        (9, ["empty"]),
        (10, ["empty", "small"]),
        (129, ["empty", "small"]),
        (130, ["empty", "small", "middle"]),
        (10_000, ["empty", "small", "middle", "large"]),
    ],
)
def test_the_smallest_fit_first(most: int, expected: list[str]) -> None:
    assert fitting({"large": 5000, "middle": 120, "empty": 0, "small": 10}, most) == expected


LOG = ("t", 0)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a node's data, with two segments of a partition. Commands run on this host."""
    folder = tmp_path / "data" / "t-0"
    folder.mkdir(parents=True)
    (folder / "00.log").write_text("old")
    (folder / "05.log").write_text("newer")
    monkeypatch.setattr(nodes, "DATA", str(folder.parent))
    return folder


def runs(monkeypatch: pytest.MonkeyPatch, *, tool: str) -> None:
    """tool: shell text that replaces a program in the commands."""

    def command(call: list[str]) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([*call[:-1], f"{tool}{call[-1]}"], capture_output=True)

    def execute(_: Any, __: str, call: list[str], **___: Any) -> tuple[int, str]:
        done = command(call)
        return done.returncode, (done.stdout + done.stderr).decode()

    def output_of(_: Any, __: str, call: list[str], **___: Any) -> Iterator[bytes]:
        done = command(call)
        yield done.stdout
        if done.returncode:
            raise OSError(f"{call[-1]}: status {done.returncode}: {done.stderr.decode()}")

    monkeypatch.setattr(nodes, "execute", execute)
    monkeypatch.setattr(nodes, "output_of", output_of)


def test_a_segment_that_goes_while_the_others_are_listed_is_none(
    data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In CI, what stat said of it was taken for its size and name."""
    runs(monkeypatch, tool='stat() { case $3 in *00.log) rm -f "$3";; esac; command stat "$@"; }; ')
    found = nodes.copy_segments(None, "node", [LOG], tmp_path)
    assert [path.read_text() for path in found[LOG]] == ["newer"]  # type: ignore[union-attr]
    assert not (data / "00.log").exists()


@pytest.mark.usefixtures("data")
def test_segments_are_copied_again_where_one_went_before_it_was_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The cleaner replaces it by another one, which the archive does not have."""
    tool = (
        'tar() { case $* in *00.log*) rm -f */00.log; echo again > t-0/07.log;; esac; command tar "$@"; }; '
    )
    runs(monkeypatch, tool=tool)
    found = nodes.copy_segments(None, "node", [LOG], tmp_path)
    assert [path.read_text() for path in found[LOG]] == ["newer", "again\n"]  # type: ignore[union-attr]


@pytest.mark.usefixtures("data")
def test_segments_that_cannot_be_read_are_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runs(monkeypatch, tool='tar() { command tar "$@"; return 2; }; ')
    with pytest.raises(OSError, match="status 2"):
        nodes.copy_segments(None, "node", [LOG], tmp_path)
    runs(monkeypatch, tool='tar() { command tar "$@"; return 1; }; ')
    assert len(nodes.copy_segments(None, "node", [LOG], tmp_path)[LOG]) == 2  # type: ignore[arg-type]
