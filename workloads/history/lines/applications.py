"""The kinds of lines about an application of the user, see `workloads.pipeline`."""

from __future__ import annotations

from workloads.history.lines.fields import LOG, OF_CLIENTS, Kind, field, inside, needed
from workloads.history.lines.types import COUNT, ISOLATION, NAME, OFFSET, TEXT, TIME, TOKEN, choice

APPLICATIONS = (
    Kind(
        f="output",
        means=(
            "A committed record that an application wrote, read after it had ended; one line for each input that it "
            "was made from."
        ),
        fields=(
            *OF_CLIENTS,
            *LOG,
            needed("start_offset", OFFSET, "the offset of the output"),
            inside("source", TOKEN, "the value of the input; absent: of none that is known", refers="value"),
            inside("written", TIME, "its timestamp; absent: it has none"),
        ),
    ),
    Kind(
        f="pipeline",
        means=(
            "What is known of an application at the end, for a partition of its input. info: not all of its outputs "
            "are known."
        ),
        needs="an output line, or the verdict is unknown",
        fields=(
            *OF_CLIENTS,
            *LOG,
            inside("sink", NAME, "the topic of its outputs", required=True),
            inside(
                "guarantee",
                choice("at-least-once", "at-most-once", "exactly-once", "order-per-key", "aggregate"),
                "what it promises",
                required=True,
            ),
            inside(
                "isolation",
                ISOLATION,
                "isolation.level of its consumers; with read_committed it never gets records of transactions that "
                "were aborted; absent: unknown",
            ),
            field("end_offset", OFFSET, "the position that its group had committed; absent: unknown"),
            field("group", NAME, "its group; absent: unknown"),
        ),
    ),
    Kind(
        f="aggregate",
        means=(
            "What an application made of all inputs of a key, judged at the end by a function of its user. The "
            "partition is that of the inputs."
        ),
        fields=(
            *OF_CLIENTS,
            *LOG,
            inside("sink", NAME, "the topic of the outputs", required=True),
            inside("of_key", TEXT, "the key of the inputs", required=True),
            inside("inputs", COUNT, "the number of inputs", required=True),
            inside("outputs", COUNT, "the number of outputs", required=True),
            inside("wrong", TEXT, "what is wrong with them; absent: nothing"),
            inside("fed", TIME, "the timestamp of the first input; absent: it has none"),
            inside("last", TEXT, "partition and offset of the last output; absent: there is none"),
            inside("written", TIME, "its timestamp; absent: it has none"),
        ),
    ),
)
