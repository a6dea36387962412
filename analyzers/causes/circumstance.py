"""What made a cause possible, as `Cause.circumstances` and the kinds of causes name it."""

from __future__ import annotations

from typing import Final

ABOVE_HIGH_WATERMARK: Final = "acknowledged above the high watermark"
"""The deposed leader acknowledged what its followers did not have."""
UNCLEAN_ELECTION: Final = "unclean election"
"""The new leader was not in the ISR."""
ELIGIBLE_REPLICA: Final = "eligible replica outside the ISR"
"""The new leader was not in the ISR, and was elected cleanly: the ISR was below min.insync.replicas (KIP-966)."""
LAST_REPLICA: Final = "last replica"
"""The replica that was cut or lost had been the only one in the ISR."""
UNFLUSHED: Final = "power loss"
"""The replica that was cut had lost its power."""
FORMER_MEMBER: Final = "commit of a former member"
"""A commit was accepted of a member that its group had replaced."""
PAUSED_MEMBER: Final = "paused member"
"""A fault held a group member, or cut it off, while the group went on without it."""
