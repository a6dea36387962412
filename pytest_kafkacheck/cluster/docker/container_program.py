"""Stands for a container where a command is expected: ``python -P container_program.py CONTAINER``.

It starts the container, passes its output on, and ends when the container does, with its exit status. SIGTERM becomes
the container's own signal for stopping; SIGINT becomes SIGKILL. If this program is killed, the container runs on; the
next start ends it first. Imports nothing of this package, because an application waits for it at each start.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

import docker
from docker.errors import APIError, DockerException

NOT_STARTED = 127
"""Exit status of a container that cannot be started."""

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Container:
    def __init__(self, name: str) -> None:
        self._name = name
        self._api = docker.from_env(timeout=60).api
        self._starting = threading.Lock()
        self._is_ending = False

    def run(self) -> int:
        """The exit status."""
        with self._starting:
            if self._is_ending:
                return 128 + signal.SIGTERM
            if self._api.inspect_container(self._name)["State"]["Running"]:
                self._signal("SIGKILL")
                self._api.wait(self._name, timeout=60)
            output = self._api.attach(self._name, stream=True)
            self._api.start(self._name)
        for part in output:
            sys.stdout.buffer.write(part)
            sys.stdout.buffer.flush()
        return int(self._api.wait(self._name)["StatusCode"])

    def obey(self) -> None:
        """Signals of this process, for as long as it runs."""
        while True:
            number = signal.sigwait(SIGNALS)
            with self._starting:
                self._is_ending = True
                if number == signal.SIGINT:
                    self._signal("SIGKILL")
                else:
                    stop = self._api.inspect_container(self._name)["Config"].get("StopSignal")
                    self._signal(stop or "SIGTERM")

    def _signal(self, name: str) -> None:
        try:
            self._api.kill(self._name, signal=name)
        except APIError as error:
            if error.status_code != 409:  # it does not run
                raise


def main(name: str) -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        container = Container(name)
        threading.Thread(target=container.obey, name="signals", daemon=True).start()
        return container.run()
    except (DockerException, OSError) as error:
        why = getattr(error, "explanation", None) or error
        sys.stderr.write(f"the container {name} cannot be started: {why}\n")
        return NOT_STARTED


if __name__ == "__main__":
    status = main(sys.argv[1])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
