"""Which clusters outlive the session that started them."""

from __future__ import annotations

from typing import Literal

from pytest_kafkacheck.cluster.docker import reaper
from pytest_kafkacheck.cluster.docker.cluster import DockerCluster
from pytest_kafkacheck.cluster.docker.reattach import connection_info

Keep = Literal["never", "failed", "always"]


class Keeper:
    """Keeps clusters as the user asked for, and says how to reach them.

    policy  ``failed``: the cluster of the last failed test. ``always``: also the one that is open at the end.
            ``never``: none.

    With ``failed``, tests that fail on the clusters A and B, and one that passes on C, leave B: keeping a cluster for
    every failure would soon fill the memory.
    """

    def __init__(self, policy: Keep) -> None:
        self._policy = policy
        self._texts: dict[str, str] = {}
        self._last_failed: str | None = None

    @property
    def text(self) -> str | None:
        """How to reach the clusters that were kept; None when there are none."""
        return "\n".join(self._texts.values()) or None

    def wants(self, *, has_failed: bool, is_last: bool) -> bool:
        """Whether to keep a cluster on which a test has failed, or which is the last one of the session."""
        return (has_failed and self._policy != "never") or (is_last and self._policy == "always")

    def keep(self, cluster: DockerCluster, *, has_failed: bool) -> None:
        """Let a cluster run on. Removes the one that was kept for the failure before."""
        started_here = cluster.run not in reaper.kept(cluster.client)
        cluster.keep()
        self._texts[cluster.run] = connection_info(cluster)
        # A cluster that was taken over belongs to the user already: a later failure does not remove it.
        if has_failed and started_here:
            earlier, self._last_failed = self._last_failed, cluster.run
            if earlier is not None:
                del self._texts[earlier]
                reaper.remove_run(cluster.client, earlier)
