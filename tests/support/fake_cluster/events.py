"""Events for properties of schedules."""

from __future__ import annotations

from hypothesis import strategies as st

from pytest_kafkacheck import isolate, kill, partition, pause

EVENTS = st.lists(
    st.builds(
        lambda make, target, at, lasting: make(target, at=at, lasting=lasting),
        st.sampled_from([kill, pause, isolate, lambda *a, **k: partition(*a, plane="replication", **k)]),
        st.sampled_from([1, 2, 3, "leader", "follower", "one"]),
        st.floats(0, 20),
        st.floats(0.1, 20),
    ),
    max_size=5,
)
