"""Whether this host can cut clients from brokers as the events of an experiment ask for it."""

from __future__ import annotations

from collections.abc import Iterable

from nemesis.event import Event
from nemesis.faults.isolate_client import IsolateClient
from nemesis.registry import CAPABILITIES
from pytest_kafkacheck.errors import CapabilityError
from workloads.applications.confinement import why_not
from workloads.clients.network_gate import GATED_LIBRARIES


def asks_for_cuts(events: Iterable[Event]) -> bool:
    return any(isinstance(event.fault, IsolateClient) for event in events)


def require_client_cuts(events: Iterable[Event], libraries: Iterable[str]) -> None:
    """Raises CapabilityError for an event that needs the kernel, where that does not work on this host.

    libraries  of the client processes. Only some of them can wait in the process instead.
    """
    isolating = [event for event in events if isinstance(event.fault, IsolateClient)]
    ungated = sorted(set(libraries) - GATED_LIBRARIES)
    for event in isolating:
        fault = event.fault
        assert isinstance(fault, IsolateClient)
        if not fault.cuts_packets and not ungated:
            continue
        if (reason := why_not("packets")) is None:
            return
        options = ", ".join(f"{name}={value!r}" for name, value in fault.options().items())
        what = f"with {options}" if fault.cuts_packets else f"of clients of {ungated[0]}"
        raise CapabilityError(
            f"this host cannot do isolate-client {what}: it needs {CAPABILITIES['packets']}: {reason}. Without "
            f"options, and with clients of {', '.join(sorted(GATED_LIBRARIES))}, it works on every host. See "
            f"`kafkacheck doctor`"
        )
