"""What a configuration means besides its events, in sentences."""

from __future__ import annotations

from pytest_kafkacheck.audit.configuration import Configuration


def configuration_remarks(c: Configuration) -> list[str]:
    found = []
    if c.is_combined:
        left = c.controllers - 1
        rest = f"{left} of {c.controllers} remain" if c.has_majority_without(1) else "no majority remains"
        found.append(f"dual-role nodes: a killed leader is a voter as well; {rest}")
    if c.metadata_storage == "ephemeral":
        lost = "the metadata: topics, and who has their records"
        found.append(
            f"{c.voters // 2 + 1} of {c.voters} {c.voters_text} that lose their disks lose {lost}"
            if c.voters > 1
            else f"the disk of the only one of the {c.voters_text} goes with its container or pod, and with it {lost}"
        )
    if not c.cleaner:
        found.append(
            "log.cleaner.enable=false: compacted topics, __consumer_offsets among them, are never compacted; "
            "their disks fill, and a coordinator takes ever longer to start"
        )
    if c.tiered:
        found.append("tiered storage is outside of this audit: it judges what lies on the brokers' own disks")
    return found
