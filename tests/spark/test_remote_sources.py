"""``kafkacheck analyze`` with URIs. A view of Hadoop represents a file system that only Spark reads."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import analyzers.history.sources
from analyzers.catalogue.bounds import Bounds
from analyzers.history.remote import rows_at
from analyzers.history.sources import sources
from analyzers.judge.analyze import analyze
from analyzers.judge.batch import Case, judge_batch
from pytest_kafkacheck.cli import main as cli
from pytest_kafkacheck.experiment.experiment import Experiment
from tests.support.spark_jobs import jobs
from workloads.append_log import AppendLog

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark_of_tests")]

ONE = 1 << 40

Far = Callable[[Path], str]


@pytest.fixture
def far(spark: Any) -> Far:
    """Mount a folder as ``viewfs://<name>/runs``. Each name is new, because Hadoop caches views."""

    def mount(folder: Path) -> str:
        name = f"far-{folder.parent.name}".replace("_", "-")
        spark.conf.set(f"fs.viewfs.mounttable.{name}.link./runs", folder.as_uri())
        return f"viewfs://{name}/runs"

    return mount


@pytest.fixture
def runs(write: Any, story: Any, tmp_path: Path) -> Path:
    """Three runs: a good one, one that lost a write, and one that is slower than its experiment allows."""
    lost = story().send(ONE, 0).send(ONE + 1, 1).final({1: ONE + 1}, end=2)
    slow = (
        story()
        .phases()
        .send(ONE, 0, at=(0, 1))
        .send(ONE + 1, 1, at=(1, 2 * 10**9))
        .final({0: ONE, 1: ONE + 1}, end=2)
    )
    stories = {"good": story().send(ONE, 0).final({0: ONE}, end=1), "lost": lost, "slow": slow}
    for name, each in stories.items():
        write(tmp_path / "runs" / name, {name: each})
    experiment = Experiment(workload=AppendLog(), bounds=Bounds(unavailable=1), expect="invalid")
    (tmp_path / "runs" / "slow" / "experiment.json").write_text(json.dumps(experiment.to_json()))
    return tmp_path / "runs"


def analyzed(tmp_path: Path, *arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    out = tmp_path / "out.json"
    status = cli.main(["analyze", *arguments, "--json", str(out)])
    return status, {entry["file"]: entry for entry in json.loads(out.read_text())}


def test_a_remote_folder_of_runs_is_judged_like_a_local_one(
    runs: Path, far: Far, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Remote runs are judged by their experiments, with the same exit status. A run named twice counts once."""
    uri = far(runs)
    status, there = analyzed(tmp_path, f"{uri}/", f"{uri}/good")
    said = capsys.readouterr().out
    assert not (runs / "slow" / "verdict.json").exists()
    assert "kafkacheck explain" not in said, "which reads what is here"
    here_status, here = analyzed(tmp_path, str(runs))
    assert status == here_status == cli.NOT_AS_EXPECTED
    assert {file: entry["error-types"] for file, entry in there.items()} == {
        f"{uri}/good": [], f"{uri}/lost": ["lost-write"], f"{uri}/slow": ["unavailable"],
    }  # fmt: skip
    strip = [{**entry, "file": Path(entry["file"]).name} for entry in there.values()]
    assert strip == [{**entry, "file": Path(entry["file"]).name} for entry in here.values()]
    assert cli.main(["analyze", f"{uri}/slow"]) == cli.AS_EXPECTED


@pytest.mark.nightly
def test_remote_and_local_runs_in_one_call(runs: Path, far: Far, tmp_path: Path) -> None:
    uri = far(runs)
    status, entries = analyzed(tmp_path, f"{uri}/good", (runs / "lost").as_uri())
    assert status == cli.NOT_AS_EXPECTED
    assert {file: entry["valid"] for file, entry in entries.items()} == {
        f"{uri}/good": True,
        str(runs / "lost"): False,
    }


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("{far}/none", "/none: no such folder"),
        ("{far}/good/history/records/x", "no such folder"),
        (
            "nosuch://host/runs",
            "cannot be read (org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem",
        ),
        ("file://elsewhere/runs", "expected a file: URI of this machine"),
        ("1://host", "expected a path, or a URI such as file:///runs/one or hdfs://host/runs/one"),
    ],
)
def test_a_missing_location_is_refused(
    runs: Path, far: Far, capsys: pytest.CaptureFixture[str], uri: str, said: str
) -> None:
    assert cli.main(["analyze", uri.format(far=far(runs))]) == cli.USAGE
    assert said in capsys.readouterr().err


def test_a_folder_without_runs_is_refused(runs: Path, far: Far, capsys: pytest.CaptureFixture[str]) -> None:
    for each in runs.iterdir():
        shutil.rmtree(each / "history")
    assert cli.main(["analyze", far(runs)]) == cli.USAGE
    assert (
        "neither a run directory nor a folder of runs: expected history/records/*.parquet"
        in capsys.readouterr().err
    )


def test_only_local_runs_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "hdfs://host/runs/one"]) == cli.USAGE
    assert (
        "hdfs://host/runs/one: expected a path, or a URI such as file:///runs/one; copy"
        in capsys.readouterr().err
    )


def without(table: pa.Table, name: str) -> pa.Table:
    return table.drop_columns([name])


def with_null(table: pa.Table, name: str) -> pa.Table:
    cells = [None, *table[name].to_pylist()[1:]]
    field = table.schema.field(name)
    return table.set_column(table.schema.get_field_index(name), name, pa.array(cells, field.type))


def as_text(table: pa.Table, name: str) -> pa.Table:
    column = table[name].cast(pa.string())
    return table.set_column(table.schema.get_field_index(name), name, column)


def rewritten(change: Callable[[pa.Table, str], pa.Table], column: str) -> Callable[[Path], Any]:
    return lambda file: pq.write_table(change(pq.read_table(file), column), file)


BROKEN: dict[str, tuple[Callable[[Path], Any], str]] = {
    "truncated": (
        lambda file: file.write_bytes(file.read_bytes()[:-9]),
        "is truncated, or not a Parquet file (",
    ),
    "lacking": (rewritten(without, "offset"), "lacks the columns offset of records"),
    "typed": (rewritten(as_text, "op"), "column op is string, expected bigint"),
    "null": (rewritten(with_null, "invoked"), "invoked is null in 1 row"),
    "old": (
        lambda file: (file.parents[1] / "format.json").write_text('{"format": 1}'),
        "history format 1; this",
    ),
    "cut": (
        lambda file: (file.parents[1] / "format.json").write_text("{"),
        "format.json: cannot be read as JSON",
    ),
    "incomplete": (
        lambda file: (file.parents[1] / "format.json").write_text(
            '{"format": 2, "rows": {"records": {"0.parquet": 2, "1.parquet": 7}}}'
        ),
        "records/1.parquet: is missing; compaction wrote 7 rows into it",
    ),
    "vague": (lambda file: (file.parents[2] / "experiment.json").write_text("{}"), "experiment format None"),
}


@pytest.mark.nightly
def test_an_invalid_remote_file_is_named(
    runs: Path, far: Far, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other runs of the call are still judged."""
    for name, (change, _) in BROKEN.items():
        shutil.copytree(runs / "good", runs / name)
        change(runs / name / "history" / "records" / "0.parquet")
    uri = far(runs)
    _, entries = analyzed(tmp_path, uri)
    valid = {file.rpartition("/")[2]: entry["valid"] for file, entry in entries.items()}
    assert valid == {"good": True, "lost": False, "slow": False, **dict.fromkeys(BROKEN, "unknown")}
    errors = capsys.readouterr().err
    for name, (_, said) in BROKEN.items():
        assert said in errors
        assert said in entries[f"{uri}/{name}"]["unknowns"][0]
        assert f"/runs/{name}" in entries[f"{uri}/{name}"]["unknowns"][0]


def test_cut_segments_make_a_remote_run_unknown(spark: Any, runs: Path, far: Far) -> None:
    (runs / "good" / "history" / "format.json").write_text('{"format": 2, "cut": ["records-50-0"]}')
    (judged,) = judge_batch(lambda: spark, [Case(home=f"{far(runs)}/good")])
    assert "records-50-0 end within a batch" in judged.verdicts["good"].unknowns[0]


def test_the_rows_of_all_tables_of_a_remote_run_count(spark: Any, runs: Path, far: Far) -> None:
    files = [*(runs / "good" / "history").glob("*/*.parquet")]
    assert len({file.parent for file in files}) > 1
    assert rows_at(spark, f"{far(runs)}/good") == sum(pq.read_metadata(file).num_rows for file in files)


def test_all_runs_are_listed_in_one_job(spark: Any, runs: Path, far: Far) -> None:
    uris = [f"{far(runs)}/{name}" for name in ("slow", "good", "lost")] + [(runs / "good").as_uri()]
    apart = [source for uri in uris for source in sources(spark, [uri])]
    together: list[Any] = []
    ran = jobs(spark, lambda: together.extend(sources(spark, uris)))
    assert together == apart
    assert len(ran) == 1
    assert [len(source.files["records"]) for source in apart] == [1, 1, 1, 1]


def test_the_run_that_does_not_exist_is_named(spark: Any, runs: Path, far: Far) -> None:
    uri = far(runs)
    with pytest.raises(FileNotFoundError, match="/gone/history does not exist"):
        sources(spark, [f"{uri}/good", f"{uri}/gone"])


@pytest.mark.nightly
def test_empty_runs_among_many_remote_ones(
    spark: Any, runs: Path, far: Far, write: Any, story: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One job tells which of them have rows; only those without are asked one by one."""
    asked: list[str] = []
    has_rows = analyzers.history.sources._has_rows_there
    monkeypatch.setattr(
        "analyzers.history.sources._has_rows_there",
        lambda spark, run: asked.append(run.name) or has_rows(spark, run),
    )
    write(runs / "nothing [1]", {})
    write(runs / "only a sample", {"sampled": story().harness("phase", {"phase": "load"})})
    uri = far(runs)
    verdicts = analyze(spark, [f"{uri}/{name}" for name in ("good", "nothing [1]", "lost", "only a sample")])
    assert {name: one.result for name, one in verdicts.items()} == {
        "good": "valid", "lost": "invalid", "nothing [1]": "unknown", "sampled": "unknown",
    }  # fmt: skip
    assert asked == ["nothing [1]"]
