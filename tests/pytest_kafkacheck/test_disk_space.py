"""A full disk is answered by one sentence with the folder and the free space; a load ends while some is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.disk_space import LATER, RESERVE, SpaceWatch, full_disk_said
from pytest_kafkacheck.errors import DiskFullError
from pytest_kafkacheck.experiment.experiment import Experiment
from pytest_kafkacheck.experiment.harness import Harness
from pytest_kafkacheck.kept_runs import run_summary
from tests.support.small_disk import small_disk
from workloads.append_log import AppendLog


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "small", mb=1) as folder:
        yield folder


def test_a_run_is_refused_before_anything_starts(
    disk: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")  # no engine is asked
    said = (
        f"{disk / 'runs'}: 1 MiB are free on its file system, and a run needs 64 MiB or more; make space, or"
    )
    with Harness(disk / "runs") as harness, pytest.raises(DiskFullError) as refused:
        harness.run(Experiment(workload=AppendLog()))
    assert str(refused.value).startswith(said)
    assert cli.main(["demo", "--dir", str(disk / "runs")]) == cli.INFRASTRUCTURE
    assert capsys.readouterr().err.startswith(f"kafkacheck: {said}")
    assert not list(disk.iterdir())


def test_what_cannot_be_written_is_named_with_the_free_space(disk: Path) -> None:
    file = disk / "history"

    def fill() -> None:
        with full_disk_said(disk), file.open("wb", buffering=0) as output:
            while True:
                output.write(bytes(1 << 16))

    with pytest.raises(
        DiskFullError, match=r"small: cannot be written, because its file system has 0 MiB free; "
    ):
        fill()
    assert file.stat().st_size > 1 << 19, "what was written until then is kept"


def test_other_errors_stay_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), full_disk_said(tmp_path):
        (tmp_path / "absent").read_text()


def test_a_full_disk_ends_a_command_in_one_line(
    disk: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever writes: here what looks for the run."""
    monkeypatch.setattr(run_summary, "find", lambda *_: (disk / "file").write_bytes(bytes(2 << 20)))
    assert cli.main(["show", "latest"]) == cli.INFRASTRUCTURE
    (line,) = capsys.readouterr().err.splitlines()
    assert "cannot be written, because its file system has" in line


def test_the_load_ends_while_there_is_space_for_what_follows(tmp_path: Path) -> None:
    free, now = RESERVE, 0.0
    watch = SpaceWatch(tmp_path / "run" / "history", free=lambda _: free, clock=lambda: now)
    (tmp_path / "run" / "history").mkdir(parents=True)
    watch.check()
    (tmp_path / "run" / "history" / "segment").write_bytes(bytes(1 << 20))
    free, now = RESERVE // 2 + LATER * (1 << 20), 2.0
    watch.check()
    free = free - 1
    watch.check()
    assert not watch.is_short, "it looks once a second"
    now = 4.0
    for _ in range(2):
        with pytest.raises(DiskFullError, match=r"run: 34 MiB are free .* the end of the run needs 34 MiB"):
            watch.check()
        assert watch.is_short
        free = 10 * RESERVE  # once short, always: the run is over
