"""The page of a recorded run: complete, self-contained, readable without JavaScript, and safe with any text."""

from __future__ import annotations

import base64
import html
import json
import re
import zlib
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from analyzers.verdict.finding import Cause, Finding
from analyzers.verdict.verdict import judge
from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.report.markdown import markdown
from pytest_kafkacheck.report.page import also, card, headline, title
from pytest_kafkacheck.report.render import report
from pytest_kafkacheck.report.run_data import read_run
from tests.support.report_runs import LOST, RECORDED, planted, send, step, unclean

HOSTILE = '</script><script>document.title="taken"</script><b>&amp;"\''


class Text(HTMLParser):
    """What a browser without JavaScript shows, and the ids and targets of links."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.shown: list[str] = []
        self.ids: Counter[str] = Counter()
        self.links: set[str] = set()
        self.tags: Counter[str] = Counter()
        self._hidden = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        values = dict(attrs)
        self.ids[values.get("id") or ""] += 1
        if tag == "a":
            self.links.add(values["href"] or "")
        if tag in ("script", "style"):
            self._hidden = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._hidden:
            self._hidden = ""

    def handle_data(self, data: str) -> None:
        if not self._hidden and data.strip():
            self.shown.append(" ".join(data.split()))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    return report(read_run(unclean(tmp_path_factory.mktemp("runs") / "unclean")))


def embedded(page: str) -> dict[str, object]:
    data = re.search(r'<script type="application/octet-stream" id="data">([^<]*)</script>', page)
    assert data is not None
    return json.loads(zlib.decompress(base64.b64decode(data[1])))


def test_without_javascript_the_story_the_lanes_and_the_tables_are_there(page: str) -> None:
    shown = "\n".join(Text(page).shown)
    for text in (
        "✗ invalid",
        "lost-write ×130",
        "broker 3 (leader of log-a291cba7-0, epoch 0) is killed",
        "unclean.leader.election.enable=true lets a replica lead that left the ISR",
        "leads, epoch 0",
        "leads, epoch 1",
        "partition-0 (broker 3)",
        f"{len(LOST)} acknowledged writes to log-a291cba7-0 that are cut away later",
        "log-a291cba7-0: log ends and high watermarks",
        "acknowledged",
    ):
        assert text in shown, text


def test_the_life_of_a_lost_value_goes_from_the_send_to_the_cut(page: str) -> None:
    part = page[page.index('id="finding-lost-write-1"') : page.index('id="finding-lost-write-2"')]
    rows = re.findall(r"<tr><td>.*?</tr>", part)
    story = [html.unescape(" ".join(re.sub(r"<[^>]*>", " ", row).split())) for row in rows]
    assert story == [
        "7.528 session 0 sends session 0's 69th write to log-a291cba7-0",
        "10.362 session 0 it is acknowledged at offset 128 (2,833 ms)",
        "10.362 verdict lost-write is counted here",
        "10.365 reader 0 reads it at offset 128, epoch 0, served by broker 3",
        "10.417 session 0 reads it at offset 128, epoch 0, served by broker 3",
        "43.400 broker 3 cuts its log from 258 to 128: offset 128 is gone there",
        "– – no final read found session 0's 69th write",
    ]


def test_every_link_has_its_target_and_no_id_is_used_twice(page: str) -> None:
    text = Text(page)
    assert {count for each, count in text.ids.items() if each} == {1}
    inside = {link[1:] for link in text.links if link.startswith("#") and not link.startswith("#t=")}
    assert inside == {f"finding-lost-write-{number}" for number in range(1, 6)}
    assert all(link.startswith("#") for link in text.links)


def test_the_file_needs_nothing_from_elsewhere(page: str) -> None:
    assert re.findall(r"""(?:src|href)\s*=\s*["'](?!#)""", page) == []
    assert re.findall(r"@import|url\(|https?://|//cdn", page) == []
    assert Text(page).tags.keys().isdisjoint({"link", "img", "iframe", "object", "embed"})
    assert len(page.encode()) < 300_000


def test_names_and_errors_of_others_stay_text() -> None:
    records = [send(0, 1, topic=HOSTILE), send(1, 2, 0.5, type="fail", error=HOSTILE, topic=HOSTILE)]
    operations = [
        step("worker", 0, role=HOSTILE, process=0, event="started"),
        {"f": "kill", "type": "info", "process": -1, "op": -1, "invoked": 1, "completed": 2,
         "value": {"event": HOSTILE, "stage": "inject", "target": HOSTILE, "nodes": [], "effective": False}},
    ]  # fmt: skip
    run = planted(
        records=records, operations=operations, experiment={"name": HOSTILE, "workload": {"type": HOSTILE}}
    )
    page = report(run)
    text = Text(page)
    assert text.tags["script"] == 2
    assert text.tags["b"] == 0
    assert any(HOSTILE in shown for shown in text.shown)
    assert embedded(page)["logs"] == [f"{HOSTILE}-0"]
    assert "<script" not in markdown(run).replace("\\<script", "")


def test_a_hostile_topic_of_a_finding_stays_text(tmp_path: Path) -> None:
    home = unclean(tmp_path / "unclean", **{"log-a291cba7": HOSTILE})
    page = report(read_run(home))
    assert Text(page).tags["script"] == 2
    assert html.escape(HOSTILE, quote=False).split("&quot;")[0].split('"')[0] in page


def test_a_run_without_a_verdict_shows_its_history() -> None:
    shown = "\n".join(Text(report(read_run(RECORDED / "stale_member"))).shown)
    assert "not judged" in shown
    assert "Judge it with kafkacheck analyze" in shown
    assert "Group workers-1c39754f" in shown


@pytest.mark.parametrize(
    "home", sorted(each for each in RECORDED.iterdir() if each.is_dir()), ids=lambda home: home.name
)
def test_each_recorded_run_has_a_small_report(home: Path) -> None:
    page = report(read_run(home))
    assert 20_000 < len(page.encode()) < 300_000
    assert sum(embedded(page)["cells"]["total"]) > 0  # type: ignore[index]


def test_the_headline_of_a_valid_run_says_what_it_showed_before_what_was_found() -> None:
    found = [
        Finding(anomaly="duplicate", count=12, summary="", examples=(), allowed=True),
        Finding(anomaly="G0", count=2, summary="", examples=()),
    ]
    assert headline(judge("r", findings=found)) == "0 acked, no faults, G0 ×2 (note), duplicate ×12 (allowed)"
    assert headline(judge("r")) == "0 acked, no faults"
    lost = Finding(anomaly="lost-write", count=3, summary="", examples=())
    assert (
        headline(judge("r", findings=[lost, *found]))
        == "lost-write ×3, G0 ×2 (note), duplicate ×12 (allowed)"
    )


def test_the_title_is_a_sentence_and_other_anomalies_are_folded() -> None:
    cause = Cause(
        kind="truncation", name="acks=1", why="acks=1 is answered early", findings={"lost-write": 3}
    )
    found = [
        Finding(anomaly="offset-reuse", count=2, summary="offsets used twice", examples=()),
        Finding(anomaly="lost-write", count=1986, summary="acknowledged writes missing", examples=()),
        Finding(anomaly="duplicate", count=12, summary="", examples=(), allowed=True),
    ]
    assert title(judge("r", findings=found, causes=[cause])) == (
        "1,986 acknowledged writes missing: acks=1 is answered early"
    )
    assert title(judge("r", findings=found)) == "1,986 acknowledged writes missing"
    assert also(judge("r", findings=found)) == ("offset-reuse ×2", "duplicate ×12 (allowed)")
    assert title(judge("r")) == "No promise was found broken"
    assert title(judge("r", unknowns=["Nothing was acknowledged."])) == "Nothing was acknowledged."
    assert also(judge("r")) == ()


def test_the_page_begins_with_the_sentence_and_has_the_card(tmp_path: Path) -> None:
    run = read_run(unclean(tmp_path / "unclean"))
    shown = report(run)
    heading = shown.partition("<h1>")[2].partition("</h1>")[0]
    assert html.unescape(heading).endswith(title(run.verdict))
    assert f'<p class="run">{run.name}</p>' in shown
    text = html.unescape(shown.partition('<details class="card">')[2].partition("</details>")[0])
    assert card(run) in text


def test_findings_that_did_not_decide_are_folded_below_the_one_that_did(tmp_path: Path) -> None:
    run = read_run(unclean(tmp_path / "unclean"))
    assert run.verdict is not None
    (lost,) = run.verdict.findings
    findings = (replace(lost, anomaly="offset-reuse", allowed=True), lost)
    shown = report(replace(run, verdict=replace(run.verdict, findings=findings)))
    first, _, others = shown.partition('<details class="others">')
    assert first.count('<section class="finding"') == 1
    assert 'data-anomaly="lost-write"' in first
    assert others.partition("</summary>")[0].startswith("<summary>also: offset-reuse ×")


def test_the_card_says_what_was_broken_and_what_to_set() -> None:
    cause = Cause(kind="truncation", why="acks=1 is early", change="acks=all", findings={"lost-write": 3})
    lost = Finding(anomaly="lost-write", count=3, summary="writes missing", examples=())
    verdict = judge("r", findings=[lost], causes=[cause], settings={"acks": "1", "linger.ms": "5"})
    lines = card(replace(planted(records=[send(0, 1)]), verdict=verdict)).splitlines()
    assert lines[0] == "### ✗ invalid: 3 writes missing: acks=1 is early"
    assert {"- found: lost-write ×3", "- faults: none", "- with: acks=1", "- set: acks=all"} <= {*lines}


def test_what_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no run \(it has no folder history/\)"):
        read_run(tmp_path)


def test_a_damaged_history_is_named(tmp_path: Path) -> None:
    home = unclean(tmp_path / "unclean")
    (home / "history" / "records" / "part-0.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(UsageError, match=r"unclean: its history cannot be read \(Arrow"):
        read_run(home)


def test_a_run_that_has_only_segments_is_compacted(tmp_path: Path) -> None:
    from workloads.history.writer import Writer

    home = tmp_path / "run"
    (home / "history").mkdir(parents=True)
    writer = Writer(home / "history", "operations", 0)
    writer.append(
        run="r", op=1, process=-2, f="phase", type="ok", invoked=5, completed=5, value='{"phase": "steady"}'
    )
    writer.close()
    assert len(read_run(home).operations) == 1
