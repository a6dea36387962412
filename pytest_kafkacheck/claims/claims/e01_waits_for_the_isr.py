"""acks=all requests go to a leader whose ISR lacks the record. One may wait for less time than the ISR needs to
shrink. While another one waits, leadership moves. While a third one waits, the leader is cut off and replaced.

Exercised: each time the leader had appended the record, and the ISR was still full; leadership moved before the time
of the second and of the third request was over.
"""

from __future__ import annotations

from nemesis.faults.isolate import isolate
from nemesis.faults.pause import pause
from nemesis.tasks import Task, in_thread
from pytest_kafkacheck.claims.claim import Answer, Claim, Picture
from pytest_kafkacheck.claims.clusters import CURRENT
from pytest_kafkacheck.claims.context import ScenarioContext
from pytest_kafkacheck.claims.exercising import exercised
from pytest_kafkacheck.claims.produce import NOT_LEADER, TIMED_OUT
from pytest_kafkacheck.claims.steps import another_leader, elect_preferred
from pytest_kafkacheck.report.lane import Group, Row, Span, Strip

WAIT = 0.8
"""Seconds that the leader may wait: less than the ISR needs to shrink, which ends the wait as well."""

LONG = 6.0
"""Seconds that the leader may wait while another one is elected; it takes about 3 s where the leader is cut off."""


def show(context: ScenarioContext) -> Answer:
    topic = context.topic()
    leader, follower, other = context.view(topic).replicas  # the last one is the active controller
    exercised(
        context.produce(topic, leader, "before", limit=10)[0] == 0, "acks=all was refused with all followers"
    )
    _, with_all = context.produce(topic, leader, "before", limit=WAIT)
    with context.cluster.fault(pause(follower)):
        late, waited = _waiting(context, topic, leader, "waits", limit=WAIT).result()
        exercised(len(context.view(topic, at=leader).isr) == 3, "the ISR shrank meanwhile")
    moved, move_seconds = _while_leadership_moves(context, topic, leader, other, follower)
    context.cluster.wait_settled()
    second = context.topic()
    cut, cut_seconds = _while_the_leader_is_cut_off(context, second, leader, follower)
    kept = {*context.read(topic).values(), *context.read(second).values()} & {"waits", "moves", "cut off"}
    outcomes = {
        "all followers": (with_all, "in-sync", ""),
        "one stands still": (waited, "out", "timed out"),
        "leadership moves": (move_seconds, "leads", "not leader"),
        "leader cut off": (cut_seconds, "out", "timed out"),
    }
    rows = tuple(
        Row(name=name, spans=(Span(begin=0, end=round(each * 1000), look=look, text=text),))
        for name, (each, look, text) in outcomes.items()
    )
    codes = (late, moved, cut)
    in_time = waited >= WAIT and move_seconds < LONG / 2 and cut_seconds >= LONG
    return Answer(
        holds=codes == (TIMED_OUT, NOT_LEADER, TIMED_OUT) and in_time and "waits" in kept,
        seen=f"with a follower standing still the answer was error {late} after {waited:.2f} s; when leadership "
        f"moved meanwhile, error {moved} after {move_seconds:.2f} s; when the leader was cut off and replaced, error "
        f"{cut} after {cut_seconds:.2f} s; {len(kept)} of the 3 records are in the log: {', '.join(sorted(kept))}",
        figures={
            "with all followers (ms)": round(with_all * 1000),
            "without one (ms)": round(waited * 1000),
            "until the leader changed (ms)": round(move_seconds * 1000),
            "leader cut off (ms)": round(cut_seconds * 1000),
        },
        picture=Picture(
            groups=(
                Group(
                    title=f"From an acks=all request to its answer; the leader may wait for {WAIT:g} s, and for "
                    f"{LONG:g} s where it changes",
                    lanes=(Strip(title="", about="", rows=rows),),
                ),
            ),
            span=round(LONG * 1000) + 1000,
        ),
    )


def _waiting(
    context: ScenarioContext, topic: str, leader: int, value: str, *, limit: float
) -> Task[tuple[int, float]]:
    """Send a record, and return when the leader has appended it. The task gives (error code, seconds)."""
    end = context.end(topic, leader)
    sending = in_thread(
        lambda: context.produce(topic, leader, value, limit=limit), f"kafkacheck-{value.replace(' ', '-')}"
    )
    context.require(
        lambda: context.end(topic, leader) == end + 1, limit, "the leader has appended the record"
    )
    return sending


def _while_leadership_moves(
    context: ScenarioContext, topic: str, leader: int, other: int, follower: int
) -> tuple[int, float]:
    context.cluster.kafka.reassign(topic, 0, (other, leader, follower))
    context.require(lambda: context.view(topic).replicas[0] == other, 10, "the order of replicas has changed")
    context.cluster.wait_settled()
    with context.cluster.fault(pause(follower)):
        sending = _waiting(context, topic, leader, "moves", limit=LONG)
        elect_preferred(context, topic, at=other)
        another_leader(context, topic, leader, at=other)
        exercised(len(context.view(topic, at=other).isr) == 3, "the ISR shrank before leadership moved")
        return sending.result()


def _while_the_leader_is_cut_off(
    context: ScenarioContext, topic: str, leader: int, other: int
) -> tuple[int, float]:
    with context.cluster.fault(isolate(leader)):
        sending = _waiting(context, topic, leader, "cut off", limit=LONG)
        another_leader(context, topic, leader, at=other)
        exercised(not sending.done(), "the request was answered before another leader was elected")
        return sending.result()


CLAIM = Claim(
    id="E1",
    title="acks=all waits for the ISR",
    text="An acks=all request waits until the whole ISR has the record, its time is over, or the leader learns that "
    "it is replaced. In the last two cases the client gets an error, and the record may be in the log or not.",
    source="https://kafka.apache.org/documentation/#producerconfigs_acks",
    cases=CURRENT,
    show=show,
)
