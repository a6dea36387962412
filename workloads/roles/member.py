"""The member of a consumer group: polls, commits what it has polled, leaves and joins again."""

from __future__ import annotations

import time

from workloads.roles.attendance import Attendance
from workloads.roles.context import WorkerContext
from workloads.roles.membership import Membership

POLL = 0.2
"""Seconds of one poll, and between two looks at whether a member that is away is to join again."""


def consume(context: WorkerContext) -> None:
    """Poll and commit until `context.stop` is set. Options: number, members, rejoin, commit_interval (seconds between
    two commits; 0: after each poll) and those of `Membership`."""
    options = context.options
    attendance = Attendance(options["number"], options["members"], options["rejoin"])
    interval: float = options["commit_interval"]
    membership = Membership(context)
    context.ready()
    began = committed = time.monotonic()
    while not context.stop.is_set():
        if not attendance.is_present(time.monotonic() - began):
            membership.leave()
            context.stop.wait(POLL)
            continue
        membership.poll(POLL)
        if (now := time.monotonic()) - committed >= interval:
            membership.commit()
            committed = now
    membership.leave()
