"""The application of a user: runs its command, starts it again when it ends by itself, and ends it with SIGTERM.

Records what brokers do not see: when it began and ended by itself, and which errors of Kafka it printed.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from workloads import user_program
from workloads.applications.confinement import Confinement
from workloads.applications.control_group import Unavailable
from workloads.clients.security import SETTINGS, Security
from workloads.roles.context import WorkerContext
from workloads.user_program import readable, shortened

LOOK = 0.1
"""Seconds between two looks at whether it runs."""

PAUSE = 1.0
"""Seconds before it is started again."""

KILL_LIMIT = 5.0
"""Seconds for a process to be gone after SIGKILL."""


def run_application(context: WorkerContext) -> None:
    """Run the command until `context.stop` is set.

    Options: command, env (each text with the placeholders {bootstrap}, {source}, {sink}, {group}, {instance},
    {client}; env also with those of `connection_settings`), source, sink (names of topics), group, instance, restarts
    (how often it is started again after it ended by itself), stop_limit (seconds for it to end after SIGTERM). Where
    the command stands for something else, as for a container: called (what messages call it), kill_signal (the number
    of the signal that ends it at once).

    Its process belongs to the group of the worker process, so that a fault of the worker is one of the application.
    """
    options = context.options
    try:
        application = Application(context)
    except Unavailable as error:
        context.problem(f"app:{options['instance']} cannot be confined, as its faults ask for: {error}")
        return
    try:
        _run(context, application)
    finally:
        context.limits = None  # their files go
        application.close()


def _run(context: WorkerContext, application: Application) -> None:
    options, counts = context.options, context.counts
    if reason := application.why_not():
        context.problem(f"{application}: {reason}")
        return
    context.ready()
    restarts: int = options["restarts"]
    events = ApplicationEvents(context, options["instance"], application.log)
    while not context.stop.is_set():
        application.start()
        events.started()
        counts["starts"] += 1
        while application.status() is None and not context.stop.wait(LOOK):
            events.look()
        if context.stop.is_set():
            break
        events.ended(application.status())
        if counts["starts"] > restarts:
            context.problem(
                f"{application} ended by itself with {user_program.described(application.status())}, and was started "
                f"{counts['starts']} times; {application.last_output()}"
            )
            return
        context.stop.wait(PAUSE)
    if not application.end(options["stop_limit"]):
        context.problem(
            f"{application} did not end within {options['stop_limit']:g} s after SIGTERM, and was killed; "
            f"{application.last_output()}"
        )


class Application:
    """One instance. Its standard output and error are in ``logs/client-app-<instance>.log``, which is `log`.

    The constructor raises Unavailable where its processes cannot be confined as the faults of the run need it.
    """

    def __init__(self, context: WorkerContext) -> None:
        options = context.options
        self._instance = options["instance"]
        values = {
            **placeholders(options, run=context.run, bootstrap=context.bootstrap),
            **connection_settings(next(iter(context.bootstrap)).security),
        }
        self._command = [filled(each, values) for each in options["command"]]
        self._env = user_program.environment(os.environ) | {
            name: filled(each, values) for name, each in options["env"].items()
        }
        self._called: str = options.get("called") or shlex.join(self._command)
        self._kill_signal: int = options.get("kill_signal", signal.SIGKILL)
        self.log = context.home / "logs" / f"client-app-{self._instance}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._confinement: Confinement | None = None
        if context.confined:
            brokers = [address[:2] for address in context.bootstrap]
            held = Confinement(context.run, self._instance, context.confined, brokers)
            self._confinement = context.limits = held
            context.network = held.gate or context.network

    def __str__(self) -> str:
        return f"app:{self._instance} ({user_program.shortened(self._called)})"

    def why_not(self) -> str | None:
        """Why the command cannot be started; None where nothing is known against it."""
        return user_program.why_not(self._command[0], self._env)

    def start(self) -> None:
        # From the main thread, which lives as long as the worker process. The kernel takes it for the parent.
        groups = () if self._confinement is None else self._confinement.folders
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                user_program.bound(self._command, groups),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._env,
            )

    def status(self) -> int | None:
        """As `subprocess.Popen.poll`."""
        return None if self._process is None else self._process.poll()

    def end(self, limit: float) -> bool:
        """SIGTERM, then SIGKILL. Whether it needed no SIGKILL."""
        if self._process is None or self._process.poll() is not None:
            return True
        self._process.terminate()
        try:
            self._process.wait(limit)
        except subprocess.TimeoutExpired:
            self._process.send_signal(self._kill_signal)
            self._process.wait(KILL_LIMIT)
            return False
        return True

    def close(self) -> None:
        """Once it has ended."""
        if self._confinement is not None:
            self._confinement.remove()

    def last_output(self) -> str:
        """The last line that it printed, as a clause."""
        return user_program.last_output(self.log)


def placeholders(options: Mapping[str, Any], *, run: str, bootstrap: Iterable[object]) -> dict[str, str]:
    """What the placeholders of an instance stand for. options: as `run_application` has them."""
    return {
        "bootstrap": ",".join(map(str, bootstrap)),
        "source": f"{options['source']}-{run}",
        "sink": f"{options['sink']}-{run}",
        "group": f"{options['group']}-{run}",
        "instance": str(options["instance"]),
        "client": client_id(options["group"], run, options["instance"]),
    }


def connection_settings(security: Security | None) -> dict[str, str]:
    """What the placeholders stand for that are named as settings of Kafka's clients, such as {sasl.password}.

    Empty for those that the cluster does not need. A command has none of them, because it is shown and recorded.
    """
    known = {"security.protocol": "PLAINTEXT"} if security is None else security.kafka()
    return {name: known.get(name, "") for name in SETTINGS}


def client_id(group: str, run: str, instance: int) -> str:
    """What {client} stands for. Members of groups whose client id contains it belong to the instance."""
    return f"{group}-{run}-{instance}"


def filled(text: str, values: Mapping[str, str]) -> str:
    """With the values of its placeholders. Other braces stay."""
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


KIND = "application"
"""Of the rows of the observations table. The value is ``{"instance": "app:0", "event": "started"}``, ``"ended"`` with
``"status": int`` (below 0: the number of a signal), where no fault and no harness ended it, or ``"printed"`` with
``"line": text``. `time` is when it was seen; of what a fault interrupted, nothing may have been."""

MOST_LINES = 200
"""That are recorded of one process."""

MOST_BYTES = 1 << 20
"""That are read at one look."""

_ERROR = re.compile(
    r"\b[A-Z]\w*(?:Error|Exception)\b|\b_[A-Z]{3,}(?:_[A-Z]+)*\b|\b(?:Local|Broker): [A-Z]|\b[A-Z]+_[A-Z]+_OUT\b"
)
"""Names of errors in Java and Python, of librdkafka, and its descriptions."""


class ApplicationEvents:
    """log: what the instance prints goes there, after what is in it by now."""

    def __init__(self, context: WorkerContext, instance: int, log: Path) -> None:
        self._context, self._instance, self._log = context, f"app:{instance}", log
        self._at = log.stat().st_size if log.exists() else 0
        self._rest = b""
        self._lines = 0

    def started(self) -> None:
        self._record(event="started")

    def ended(self, status: int | None) -> None:
        self.look()
        self._record(event="ended", status=status)

    def look(self) -> None:
        """Record the errors that it has printed since the last look."""
        if self._lines >= MOST_LINES:
            return
        try:
            with self._log.open("rb") as file:
                file.seek(self._at)
                data = file.read(MOST_BYTES)
        except OSError:
            return
        self._at += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            text = line.decode(errors="replace").strip()
            if _ERROR.search(text) and self._lines < MOST_LINES:
                self._lines += 1
                self._record(event="printed", line=shortened(readable(text)))

    def _record(self, **value: Any) -> None:
        self._context.writer("observations").append(
            run=self._context.run,
            process=self._context.process,
            time=time.monotonic_ns(),
            kind=KIND,
            value=json.dumps({"instance": self._instance, **value}, sort_keys=True),
        )
