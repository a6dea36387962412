"""Random histories of logs that elections truncate, with producers, readers and sessions that read to the end."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.support.stories import removals

FEW = st.integers(0, 3)
SELDOM = st.sampled_from([False] * 5 + [True])
PRODUCERS, READERS, SESSION = (1, 2), (10, 11), 3


@st.composite
def truncated_history(draw: st.DrawFn, story: Any) -> Any:
    """A log that a new leader may truncate, or bring back as it was before. Acknowledgements may come late or not at
    all, readers may skip a record, and the session's reads may fall short."""
    s = story()
    if not draw(SELDOM):
        removals.created(s, at=(0, 0), **draw(st.sampled_from([{}, {}, {}, {"cleanup_policy": "compact"}])))
    log: list[tuple[int, int]] = []
    lost: list[list[tuple[int, int]]] = []
    epoch, now, written, positions = 1, 10, 0, dict.fromkeys((*READERS, SESSION), 0)

    def send(process: int) -> None:
        nonlocal written, now
        written += 1
        value = process << 40 | written
        late = draw(st.sampled_from([1, 1, 1, 9]))
        kind = draw(st.sampled_from(["ok"] * 6 + ["info"]))
        s.send(value, len(log) if kind == "ok" else None, at=(now, now + late), type=kind)
        log.append((value, epoch))
        now += 2 if late == 1 else draw(FEW)

    def poll(process: int, op: int, began: int, **more: Any) -> None:
        at = positions[process]
        if at > len(log) or (process, at) == (process, len(log)):
            positions[process] = min(at, len(log))
            return
        value, of = log[at]
        s.poll(value, at, process=process, op=op, at=(began, now), leader_epoch=of, committed=False, **more)
        positions[process] = at + 1 + draw(SELDOM)

    for number in range(draw(st.integers(6, 16))):
        now += 3
        match draw(st.sampled_from(["send"] * 5 + ["poll"] * 4 + ["session"] * 3 + ["truncate", "return"])):
            case "send":
                send(draw(st.sampled_from(PRODUCERS)))
            case "poll":
                reader, began = draw(st.sampled_from(READERS)), now
                now += 1
                for _ in range(draw(st.integers(1, 4))):
                    poll(reader, 1000 + number, began)
            case "session":
                send(SESSION)
                began, now = now, now + 2
                end = max(0, len(log) - draw(st.sampled_from([0, 0, 0, 1])))
                start = min(positions[SESSION], end)
                positions[SESSION] = start
                while positions[SESSION] < end:
                    poll(SESSION, 1000 + number, began)
                s.operation(
                    "read",
                    op=1000 + number,
                    process=SESSION,
                    at=(began, now),
                    start_offset=start,
                    end_offset=end,
                )
            case "truncate":
                lost.append([*log])
                del log[max(0, len(log) - draw(FEW)) :]
                epoch += 1
            case "return":
                if lost:
                    log[:] = lost.pop()
                    epoch += 1
    now += 20
    if not draw(SELDOM):
        s.now = now
        s.final({offset: value for offset, (value, _) in enumerate(log)}, end=len(log), committed=False)
    return s
