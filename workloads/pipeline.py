"""Pipeline: an application of the user's own, as a command or a container, between an input and an output topic."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, Self, get_args

from workloads.clients.security import SETTINGS
from workloads.declaration import Declaration
from workloads.load import Rate
from workloads.reference import NotLoadable, Reference
from workloads.values import (
    BuiltIn,
    check_choice,
    check_common_fields,
    check_seconds,
    check_whole_number,
    make_topic,
)
from workloads.workload import DEFAULT_LIBRARY, PROBE, Topic, WorkerRole, WorkerSpec

Guarantee = Literal["at-least-once", "at-most-once", "exactly-once", "order-per-key"]

FEEDER = WorkerRole("producer", "workloads.roles.producer:feed")
APP = WorkerRole("app", "workloads.roles.application:run_application")
WATCHER = WorkerRole("output-watcher", "workloads.roles.application_output:wait_for_outputs", observes=True)
AUDITOR = WorkerRole("output-auditor", "workloads.roles.output_audit:record_outputs", observes=True)

RECORD = '{"id": "{token}", "customer": "{key}", "number": {number}}'

PLACEHOLDERS = ("bootstrap", "source", "sink", "group", "instance", "client")
NEEDED = ("bootstrap", "source", "sink")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

SLACK = 30.0
"""Seconds beyond `settle` for a process to end."""


@dataclass(frozen=True, kw_only=True)
class Pipeline(BuiltIn):
    """A producer writes known records to the topic `source`; an application, of which kafkacheck knows nothing but
    its command, writes what it makes of them to the topic `sink`.

    Each input has an identity: a token such as ``kc-7b29cd07-0-15`` in its value, and the header ``kafkacheck``. An
    output belongs to the inputs whose token is in its key, its value or a header, or whose header it has. Faults of
    the application have the targets ``app`` (all instances) and ``app:1``, as in ``kill("app:1")``, ``pause("app")``
    and ``stop("app:0")``. When the load ends, kafkacheck waits until the output is quiet, ends the application with
    SIGTERM, and reads the output once more.

    source, sink    short names of the topics; their names in a run have the run's id behind them, such as
                    ``orders-7b29cd07``. Schedules name the short ones.
    command         program and arguments, without a shell. Placeholders, also in `env`: {bootstrap} (host:port,...),
                    {source}, {sink} (names of the topics in the run), {group} (name of its consumer group in the
                    run), {instance} (0, 1, ...). The first three are needed.
    env             environment variables, in addition to those of the test. Placeholders besides: settings of Kafka's
                    clients for the connection, such as {security.protocol}, {sasl.username}, {sasl.password} and
                    {ssl.truststore.certificates}; empty where the cluster does not need them.
    group           short name of its consumer group. It is known only if {group} is used; the positions that the
                    group has committed then show which inputs it has passed
    instances       number of processes with this command
    guarantee       "at-least-once": each input has an output. "at-most-once": none has two. "exactly-once": both.
                    "order-per-key": as at-least-once, and the first outputs of a key's inputs are in their order
    record          value of the inputs. {token}, {key} and {number} stand for the record's token, its key, which
                    the record has as its key as well, and its number. The token is needed
    keys            number of different keys, at least as many as partitions
    identify        function of an output's key, value (bytes or None) and headers (pairs) that returns the tokens
                    of the inputs it was made from; none for a record that is no output. At the top level of a file.
                    With `aggregate`, it returns the keys of the inputs instead
    aggregate       function of a key, its inputs and its outputs, in their order: True if these outputs are right for
                    these inputs, else False or text that says what is wrong. It takes the place of `guarantee` for an
                    application whose outputs do not belong to single inputs. An output belongs to the inputs that
                    have its key, or a key that `identify` returns. Needs {group}. At the top level of a file
    rate            inputs per second; None for no limit; or by phase, see `Rate`
    restarts        how often an instance that ended by itself is started again; a run in which it ends more often is
                    not valid
    quiet           seconds without an output after which nothing more is expected; longer than the application needs
                    to go on after a fault, such as its session timeout
    settle          seconds to become quiet, and to read the output; also the longest transaction that it leaves open
    stop_timeout    seconds for an instance to end after SIGTERM
    partitions, replication_factor, topic_config, assignment   of both topics, as in `Copy`
    """

    declaration = Declaration(
        name="pipeline",
        does="your own application, as a command or a container, reads one topic and writes another",
        page="pipeline.md",
        judged_by=("applications", "log"),
        example={"command": ("app", "{bootstrap}", "{source}", "{sink}")},
        fixed_partitions="the inputs of a key stay in their partition; your application may use others",
    )

    source: str = "source"
    sink: str = "sink"
    command: Sequence[str] | None = None
    image: str | None = None
    compose: str | Path | None = None
    service: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    group: str = "application"
    instances: int = 1
    guarantee: Guarantee = "at-least-once"
    record: str = RECORD
    keys: int = 20
    identify: Callable[..., Any] | Mapping[str, str] | None = None
    aggregate: Callable[..., Any] | Mapping[str, str] | None = None
    rate: Rate = 100
    restarts: int = 3
    quiet: float = 15.0
    settle: float = 60.0
    stop_timeout: float = 10.0
    partitions: int = 4
    replication_factor: int = 3
    topic_config: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    assignment: Mapping[int, Sequence[int]] | None = None

    def __post_init__(self) -> None:
        check_common_fields(self)
        for name in ("source", "sink", "group"):
            value = getattr(self, name)
            if not isinstance(value, str) or not _NAME.fullmatch(value):
                raise ValueError(
                    f"Pipeline.{name}={value!r}: expected letters, digits, dots, hyphens and underscores"
                )
        if self.source == self.sink:
            raise ValueError(f"Pipeline.sink={self.sink!r}: expected another topic than source")
        check_whole_number("Pipeline.instances", self.instances, 1, 50)
        check_whole_number("Pipeline.restarts", self.restarts, 0, 1000)
        check_whole_number("Pipeline.keys", self.keys, self.partitions, 1_000_000)
        check_choice("Pipeline.guarantee", self.guarantee, *get_args(Guarantee))
        check_seconds("Pipeline.quiet", self.quiet, 1, 600)
        check_seconds("Pipeline.settle", self.settle, 5, 3600)
        check_seconds("Pipeline.stop_timeout", self.stop_timeout, 0.1, 600)
        if self.quiet >= self.settle:
            raise ValueError(f"Pipeline.quiet={self.quiet!r}: expected less than settle, {self.settle:g} s")
        self._check_command()
        if not isinstance(self.record, str) or "{token}" not in self.record:
            raise ValueError(f"Pipeline.record={self.record!r}: expected text with {{token}}")
        for name, takes in (("identify", "key, value and headers"), ("aggregate", "key, inputs and outputs")):
            object.__setattr__(self, name, _reference(name, takes, getattr(self, name)))
        if self.aggregate is not None:
            self._check_aggregate()

    def _check_aggregate(self) -> None:
        if self.guarantee != "at-least-once":
            raise ValueError(
                f"Pipeline.guarantee={self.guarantee!r}: with aggregate, that function says which outputs are right; "
                f"leave guarantee out"
            )
        if not self._uses("group"):
            raise ValueError(
                "Pipeline.aggregate: expected the placeholder {group} in the command or in env: only the positions "
                "that the group has committed show that all inputs are in the aggregate"
            )

    def _check_command(self) -> None:
        self._check_container()
        command = self.command
        is_list = isinstance(command, (list, tuple)) and bool(command)
        is_own = command is None and self.container is not None
        if not is_own and not (is_list and all(isinstance(each, str) and each for each in command or ())):
            raise ValueError(
                f"Pipeline.command={command!r}: expected program and arguments as a list of texts, such as "
                f"['python', 'copier.py', '{{bootstrap}}', '{{source}}', '{{sink}}']; no shell reads them"
            )
        env = self.env
        if not isinstance(env, Mapping) or not all(
            isinstance(part, str) for each in env.items() for part in each
        ):
            raise ValueError(f"Pipeline.env={env!r}: expected texts by name")
        if shown := [name for name in SETTINGS for each in command or () if f"{{{name}}}" in each]:
            raise ValueError(
                f"Pipeline.command: {{{shown[0]}}} is allowed only in env, because commands are shown and recorded; "
                f"expected it as in env={{'VARIABLE': '{{{shown[0]}}}'}}"
            )
        object.__setattr__(self, "command", None if command is None else tuple(command))
        if missing := [name for name in NEEDED if not self._uses(name)]:
            raise ValueError(
                f"Pipeline.command={None if command is None else list(command)!r}: expected the placeholders "
                f"{', '.join(f'{{{name}}}' for name in missing)} in the command or in env, because each run has "
                f"topics of its own; allowed are {', '.join(f'{{{name}}}' for name in PLACEHOLDERS)}"
            )

    def _check_container(self) -> None:
        for name in ("image", "service"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value.strip()):
                raise ValueError(f"Pipeline.{name}={value!r}: expected a name, or None")
        if self.compose is not None and (not isinstance(self.compose, (str, Path)) or not str(self.compose)):
            raise ValueError(
                f"Pipeline.compose={self.compose!r}: expected the path of a compose file, or None"
            )
        if self.image is not None and self.compose is not None:
            raise ValueError(
                f"Pipeline.image={self.image!r} and compose={str(self.compose)!r}: expected one of them"
            )
        if (self.compose is None) != (self.service is None):
            raise ValueError(
                f"Pipeline.compose={self.compose and str(self.compose)!r} and service={self.service!r}: expected "
                f"both, a compose file and the name of a service in it, or neither"
            )
        if self.compose is not None:
            # Another process, such as that of a replay, may have another working directory.
            object.__setattr__(self, "compose", str(Path(self.compose).absolute()))

    @property
    def container(self) -> dict[str, str] | None:
        """As which container it runs: its image, or its compose file and service. None for a command."""
        if self.image is not None:
            return {"image": self.image}
        if self.compose is not None and self.service is not None:
            return {"compose": str(self.compose), "service": self.service}
        return None

    def _uses(self, placeholder: str) -> bool:
        return any(f"{{{placeholder}}}" in each for each in (*(self.command or ()), *self.env.values()))

    def topics(self, run: str) -> tuple[Topic, ...]:
        return tuple(make_topic(self, f"{name}-{run}") for name in (self.source, self.sink))

    def topics_of_others(self, run: str) -> frozenset[str]:
        return frozenset({f"{self.sink}-{run}"})

    def workers(self) -> tuple[WorkerSpec, ...]:
        place = {"source": self.source, "sink": self.sink}
        feeding = {
            "acks": "all",
            "idempotence": True,
            "record_size": 0,
            "client": {},
            "rate": self.rate,
            "topic": self.source,
            "record": self.record,
            "keys": self.keys,
        }
        running = {
            **place,
            "command": None if self.command is None else list(self.command),
            "container": self.container,
            "env": dict(self.env),
            "group": self.group,
            "restarts": self.restarts,
            "stop_limit": self.stop_timeout,
        }
        reading = {
            **place,
            "group": self.group if self._uses("group") else None,
            "identify": self.identify,
            "aggregate": self.aggregate,
            "quiet": self.quiet,
            "settle": self.settle,
            "guarantee": self.guarantee if self.aggregate is None else "aggregate",
            "instances": self.instances,
        }
        shapes: list[tuple[WorkerRole, dict[str, Any]]] = [
            (FEEDER, feeding),
            *((APP, {**running, "instance": number}) for number in range(self.instances)),
            (WATCHER, reading),
            (AUDITOR, reading),
            (PROBE, {}),
        ]
        return tuple(
            WorkerSpec(role=role, process=process, options=options, instance=options.get("instance"))
            for process, (role, options) in enumerate(shapes)
        )

    def aliases(self, run: str) -> Mapping[str, str]:
        return {self.group: f"{self.group}-{run}"} if self._uses("group") else {}

    @property
    def library(self) -> str:
        return DEFAULT_LIBRARY

    @property
    def stop_order(self) -> tuple[tuple[str, ...], ...]:
        """The application ends once its output is quiet. Then nobody writes any more."""
        return ((FEEDER.name,), (WATCHER.name,), (APP.name,), (AUDITOR.name,))

    @property
    def stop_limit(self) -> float:
        return max(2 * self.settle, self.stop_timeout) + SLACK

    @property
    def requires(self) -> frozenset[str]:
        return frozenset({"acks-after-faults", "outputs"})

    def smaller(self) -> Iterator[tuple[str, Self]]:
        if self.instances > 1:
            yield "one instance", replace(self, instances=1)
        if self.partitions > 1 and self.assignment is None:
            yield "one partition", replace(self, partitions=1)

    def to_json(self) -> dict[str, Any]:
        return {each.name: _plain(getattr(self, each.name)) for each in fields(self)}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value


def _reference(name: str, takes: str, function: Any) -> dict[str, str] | None:
    """As JSON, which the worker process loads."""
    if function is None or isinstance(function, Mapping):
        return None if function is None else dict(function)
    if not callable(function):
        raise ValueError(f"Pipeline.{name}={function!r}: expected a function of {takes}, or None")
    try:
        return Reference.to(function).to_json()
    except (NotLoadable, AttributeError) as error:
        raise ValueError(f"Pipeline.{name}={function!r}: {error}") from error
