"""The feeder: a producer of records for an application, each with a key, and with an identity in text and header."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from workloads.clients.protocol import Log
from workloads.keys import Keyed
from workloads.roles.context import WorkerContext
from workloads.roles.producer import send_until_stopped
from workloads.roles.sending import Sending
from workloads.tokens import body


def feed(context: WorkerContext) -> None:
    """Send until `context.stop` is set.

    Options: record (the template of `workloads.tokens.body`), keys (number of keys), and those of
    `workloads.roles.producer.produce`; record_size does not apply.
    """
    template: str = context.options["record"]
    number: int = context.options["keys"]
    partitions = len(context.logs_of(context.options["topic"]))
    sending = Sending(
        context, context.records(), body=lambda value, key: body(template, context.run, value, key)
    )
    turns: Counter[int] = Counter()

    def keyed(logs: Sequence[Log]) -> list[Keyed]:
        """Each key has one partition, in which its keys take turns."""
        keys = []
        for _, partition in logs:
            of_partition = range(partition, number, partitions)
            keys.append(Keyed(of_partition[turns[partition] % len(of_partition)]))
            turns[partition] += 1
        return keys

    send_until_stopped(context, sending, keyed)
