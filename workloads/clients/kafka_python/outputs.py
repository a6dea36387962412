"""Reads what an application wrote: key, value and headers as brokers store them, and positions of its group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import KafkaError

from workloads.clients.connection import Address
from workloads.clients.kafka_python.consumer import KafkaPythonConsumer
from workloads.clients.kafka_python.settings import COMMON, access
from workloads.clients.protocol import Batch, Log


class Output(NamedTuple):
    """A record of any program. timestamp: in ms since the epoch, as the program or the broker set it."""

    log: Log
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class OutputConsumer(KafkaPythonConsumer):
    """Reads with isolation.level=read_committed. `outputs` takes the place of `poll`."""

    def __init__(self, *, bootstrap: Iterable[Address], start: Mapping[Log, int]) -> None:
        super().__init__(bootstrap=bootstrap, start=start, committed=True)
        self._outputs: list[Output] = []

    def outputs(self, timeout: float) -> list[Output]:
        """As `Consumer.poll`."""
        self.poll(timeout)
        outputs, self._outputs = self._outputs, []
        return outputs

    def _accept(self, partition: Any, records: list[Any]) -> list[Batch]:
        accepted = super()._accept(partition, records)
        log = (partition.topic, partition.partition)
        self._outputs += (
            Output(
                log, each.offset, each.timestamp, each.key, each.value,
                tuple((str(name), content) for name, content in each.headers or ()),
            )
            for each in records
        )  # fmt: skip
        return accepted


class GroupPositions:
    """The positions that a group has committed, as its coordinator reports them. Makes a client at each question."""

    def __init__(self, bootstrap: Iterable[Address], group: str) -> None:
        self._bootstrap, self._group = tuple(bootstrap), group

    def of(self, logs: Iterable[Log]) -> dict[Log, int]:
        """Those of these logs that have one. Raises OSError when the coordinator does not report them."""
        wanted = {TopicPartition(*log): log for log in logs}
        try:
            admin = KafkaAdminClient(**{**_common(), **access(self._bootstrap)})
            try:
                found = admin.list_group_offsets({self._group: [*wanted]})
            finally:
                admin.close()
        except KafkaError as error:
            raise OSError(f"the positions of group {self._group}: {error!r}") from error
        return {
            wanted[partition]: at.offset
            for partition, at in found.get(self._group, {}).items()
            if partition in wanted and at.offset >= 0
        }


def _common() -> dict[str, Any]:
    return {name: value for name, value in COMMON.items() if name in KafkaAdminClient.DEFAULT_CONFIG}
