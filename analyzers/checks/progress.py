"""A reader goes on as long as there is something to read."""

from __future__ import annotations

from analyzers.catalogue.anomaly import Anomaly
from analyzers.catalogue.check import Check
from analyzers.catalogue.evidence import Number, Offset, Span
from analyzers.catalogue.live import NotLive

STALLED_READER = Check(
    anomaly=Anomaly(
        name="stalled-reader",
        family="order",
        rank=45,
        severity="unknown",
        evidence={
            "process": Number("the reader"),
            "offset": Offset("the highest offset that it polled"),
            "reached": Offset("the highest offset that another reader or the final read got"),
            "undisturbed": Span("how long others went on without it, at least, while no fault was active"),
            "allowed": Span("how long that may last"),
        },
        sentence="reader(s) of a partition that stopped for good although others read on",
        definition=(
            "A reader got its last record of a log and was stopped by the run only later, and meanwhile others got "
            "records above every offset that it had polled, for longer without interruption than the limit that the "
            "reader states (`WorkerRole.poll_limit`); counted per reader and log. Until the first fault, the limit "
            "is half of the load at most. Faults, the recovery after them, and times in which nobody else got "
            "anything either interrupt. An acknowledgement counts like a record that another reader got, if the "
            "final read got that far. Of the readers with isolation.level=read_committed, only records that another "
            "such reader got count. Left out are members of groups, readers that state no limit, that crashed or "
            "that a fault killed, and readers that lie below the start of the log."
        ),
        means=(
            "A reader got nothing more of a partition and did not end, while others read on. The time is when it got "
            "its last record."
        ),
        promised=(
            "What others can read, each reader can. Kafka promises no time, so this makes a verdict unknown and "
            "never invalid."
        ),
        causes=(
            "A client that waits for a connection or an answer for ever, or that no longer asks for one partition; "
            "a truncation that the reader did not notice, so that it waits at an offset beyond the end; a broker "
            "that does not answer this client; a machine that is too busy."
        ),
        look_further=(
            "The client's log (`logs/client-N.log`) from that time on; whether it also stopped on other partitions "
            "with the same leader; `offset-reuse` on the log; the broker that served its last poll (`node`)."
        ),
    ),
    over="stalls",
    where="undisturbed > allowed and offset + 1 >= log_start",
    time="last",
    live=NotLive("It may go on, and only its end shows how long it could have."),
)
