"""Counters of control groups, in both versions of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_kafkacheck.cluster.docker.containers import Memory, memory, throttled_periods

STAT = "nr_periods 40\nnr_throttled 7\nthrottled_time 90\n"


@pytest.mark.parametrize(
    ("lines", "file"),
    [
        ("9:memory:/docker/c1\n3:cpu,cpuacct:/docker/c1\n", "cpu/docker/c1/cpu.stat"),
        ("2:cpuset:/docker/c1\n4:cpu:/docker/c1\n", "cpu/docker/c1/cpu.stat"),
        ("0::/system.slice/docker-c1.scope\n", "system.slice/docker-c1.scope/cpu.stat"),
    ],
)
def test_both_versions(tmp_path: Path, lines: str, file: str) -> None:
    (tmp_path / "proc" / "5").mkdir(parents=True)
    (tmp_path / "proc" / "5" / "cgroup").write_text(lines)
    counters = tmp_path / "groups" / file
    counters.parent.mkdir(parents=True)
    counters.write_text(STAT)
    where = {"processes": tmp_path / "proc", "groups": tmp_path / "groups"}
    assert throttled_periods(5, "c1", **where) == 7
    assert throttled_periods(5, "c2", **where) is None, "the process of another container, or of another host"
    assert throttled_periods(6, "c1", **where) is None
    counters.write_text("usage_usec 3\n")
    assert throttled_periods(5, "c1", **where) is None


@pytest.mark.parametrize(
    ("lines", "files"),
    [
        (
            "9:memory:/docker/c1\n3:cpu,cpuacct:/docker/c1\n0::/docker/c1\n",
            {"memory/docker/c1/memory.usage_in_bytes": "8192\n", "memory/docker/c1/memory.failcnt": "3\n"},
        ),
        (
            "0::/system.slice/docker-c1.scope\n",
            {
                "system.slice/docker-c1.scope/memory.current": "8192\n",
                "system.slice/docker-c1.scope/memory.events": "low 0\nhigh 9\nmax 3\noom 1\n",
            },
        ),
    ],
)
def test_memory_in_both_versions(tmp_path: Path, lines: str, files: dict[str, str]) -> None:
    (tmp_path / "proc" / "5").mkdir(parents=True)
    (tmp_path / "proc" / "5" / "cgroup").write_text(lines)
    where = {"processes": tmp_path / "proc", "groups": tmp_path / "groups"}
    assert memory(5, "c1", **where) is None, "its files are gone"
    for name, text in files.items():
        (tmp_path / "groups" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "groups" / name).write_text(text)
    assert memory(5, "c1", **where) == Memory(used=8192, reached=3)
    assert memory(5, "c2", **where) is None, "the process of another container, or of another host"
    assert memory(6, "c1", **where) is None
