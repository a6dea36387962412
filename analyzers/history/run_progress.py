"""The progress of a run: its phases, the steps that failed, and how its client processes ended."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PHASES = ("steady", "recovery", "final", "end")
"""Those that every run has. The phase of faults is not recorded as one."""

FAILED: Mapping[str, str] = {
    "load": "The load did not run to its end",
    "faults": "Not every fault was carried out and recorded",
    "recovery": "It is unknown whether the cluster recovered",
    "stop": "Not every client ended as it should",
    "final-read": "Not every partition was read at the end",
    "delete-topics": "The topics of the run could not be deleted",
}
"""What it means that a step of the run failed."""

Log = tuple[str, int]


@dataclass(kw_only=True)
class RunProgress:
    phases: list[str] = field(default_factory=list)
    """Those that began, in order of time."""
    is_recorded: bool = False
    """Whether a harness recorded the run."""
    failed: list[tuple[str, str]] = field(default_factory=list)
    """Step and error, of each step of the run that failed."""
    unrecovered: list[str] = field(default_factory=list)
    """The reasons why the cluster counts as not recovered."""
    unread: dict[Log, str] = field(default_factory=dict)
    """The partitions whose final read could not begin, with the reason."""
    crashed: list[str] = field(default_factory=list)
    """The reason for each client process that ended unexpectedly."""
    problems: list[str] = field(default_factory=list)
    """What client processes report about their work."""
    running: dict[int | None, str] = field(default_factory=dict)
    """Client process to role, of processes without a recorded end."""
    killed: set[int | None] = field(default_factory=set)
    """Client processes that a fault killed."""
    roles: dict[int, str] = field(default_factory=dict)
    """By process number, of every client that was started."""
    instances: dict[int, int] = field(default_factory=dict)
    """By process number, of those that are an instance of a user's application: its number."""
    following: set[int] = field(default_factory=set)
    """Client processes that poll all logs until they are stopped: they state a `poll_limit`."""
    topic_configs: list[dict[str, str]] = field(default_factory=list)
    """The settings of each topic that the run created."""
    producers: dict[int, dict[str, str]] = field(default_factory=dict)
    """By process number, the settings with which a client sends, of those that record any."""
    topic_ids: dict[str, str] = field(default_factory=dict)
    """By name, of each topic that the run created and did not create again."""
    replaced: list[tuple[str, str, str]] = field(default_factory=list)
    """Topics that had another id when the run deleted them: name, first id, last id."""

    @property
    def settings(self) -> dict[str, str]:
        """The settings that all topics of the run have in common, and those that all its producers have. Beside an
        application of the user, the only producer is the one that feeds it, whose settings are not the application's.
        """
        producers = [] if self.instances else [*self.producers.values()]
        return {**common(producers), **common(self.topic_configs)}

    @property
    def phase(self) -> str | None:
        """The last phase that began; None if none is recorded."""
        return self.phases[-1] if self.phases else None

    def note(self, f: str, value: str | None, log: tuple[str | None, int | None] = (None, None)) -> None:
        """Take the next operation of the harness, in order of time. Raises ValueError if its value is not an
        object."""
        fields = parse(value)
        # A history of another program may say how its clients ended or what its topics are, and has no phases.
        self.is_recorded = self.is_recorded or not fields.get("imported")
        match f, fields.get("event"):
            case "phase", _:
                self.phases.append(str(fields.get("phase")))
            case "problem", _:
                self.failed.append((str(fields.get("step")), str(fields.get("error"))))
            case "recovery", _ if problem := fields.get("problem"):
                limit = fields.get("limit")
                seconds = f"{limit:g}" if isinstance(limit, int | float) else "?"
                self.unrecovered.append(f"after {seconds} s: {problem}")
            case "unread", _:
                topic, partition = log
                self.unread[str(topic), partition or 0] = str(fields.get("reason"))
            case "topic", event:
                self._note_topic(str(log[0]), event, fields)
            case "worker", "started":
                process, role = fields.get("process"), str(fields.get("role", "client"))
                self.running[process] = role
                if isinstance(process, int):
                    self.roles[process] = role
                    if isinstance(instance := fields.get("instance"), int):
                        self.instances[process] = instance
                    if fields.get("poll_limit") is not None:
                        self.following.add(process)
                    if sending := _sending(fields):
                        self.producers[process] = sending
            case "worker", event:
                process = fields.get("process")
                self.running.pop(process, None)
                if event == "crashed":
                    self.crashed.append(str(fields.get("trouble", "no reason was reported")))
                if problem := fields.get("problem"):
                    self.problems.append(str(problem))
                if event == "killed":
                    self.killed.add(process)

    def _note_topic(self, name: str, event: object, fields: Mapping[str, Any]) -> None:
        known, now = self.topic_ids.pop(name, None), fields.get("id")
        if event == "created":
            if isinstance(config := fields.get("config"), dict):
                self.topic_configs.append({str(key): str(value) for key, value in config.items()})
            if now:
                self.topic_ids[name] = str(now)
        if event == "deleted" and known and now and known != now:
            self.replaced.append((name, known, str(now)))

    def doubts(self) -> Iterator[str]:
        """Reasons why the history may be incomplete, one sentence each."""
        for step, error in self.failed:
            yield f"{FAILED.get(step, f'The step {step} of the run failed')}: {_unstopped(error)}."
        for reason in self.unrecovered:
            yield f"The cluster had not recovered {_unstopped(reason)}."
        for name, first, last in self.replaced:
            yield (
                f"Topic {name} has the id {last} at the end, and had {first} when the run created it: another "
                f"program deleted it and created it again, so records of two topics may be mixed."
            )
        for trouble in self.crashed:
            yield f"A client process ended early: {trouble}. Records that it would have seen are missing."
        for problem in self.problems:
            yield f"{_unstopped(problem)}."
        if self.phase not in (None, "end"):
            yield f"The run was interrupted in its phase {self.phase}: the history ends there."
        elif self.is_recorded and (missing := [each for each in PHASES if each not in self.phases]):
            yield no_phases(missing)
        if self.running:
            names = ", ".join(f"{role} {'?' if p is None else p}" for p, role in sorted(
                self.running.items(), key=lambda item: (item[0] is None, item[0] or 0)))  # fmt: skip
            yield f"The history does not say how clients ended ({names}): their last operations may be missing."


def common(settings: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The settings that are the same in all of these."""
    if not settings:
        return {}
    first, *others = settings
    return {name: value for name, value in first.items() if all(each.get(name) == value for each in others)}


def _sending(fields: Mapping[str, Any]) -> dict[str, str]:
    """The settings of a client that was started, as Kafka spells them."""
    config = fields.get("config")
    found = {str(name): str(value) for name, value in config.items()} if isinstance(config, dict) else {}
    if (acks := fields.get("acks")) is not None:
        found["acks"] = str(acks)
    return found


def no_phases(missing: Sequence[str] = PHASES) -> str:
    """The reason for doubt about a recorded run whose history lacks these phases."""
    return f"The history has no record that these phases of the run began: {', '.join(missing)}."


def _unstopped(text: str) -> str:
    return text.rstrip(". ")


def parse(value: str | None) -> dict[str, Any]:
    """The fields of a value. Raises ValueError, naming the value, unless it is a JSON object."""
    try:
        parsed = json.loads(value or "")
    except ValueError as error:
        raise ValueError(f"value {value!r} is not JSON ({error})") from error
    if not isinstance(parsed, dict):
        raise ValueError(f"value {value!r}: expected a JSON object")
    return parsed
