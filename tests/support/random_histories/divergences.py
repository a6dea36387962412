"""Random results of comparing replicas."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from workloads.history.schema import HARNESS


@st.composite
def divergence_history(draw: st.DrawFn, story: Any) -> Any:
    s = story()
    for partition in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(["comparison", "comparison", "divergence"]))
        about = (
            {"different": draw(st.integers(1, 3)), "copies": {}} if name == "divergence" else {"nodes": [1]}
        )
        s.operation(
            name, process=HARNESS, type="ok", topic=draw(st.sampled_from("tu")), partition=partition, start_offset=0,
            end_offset=1, at=(5, 6), value=json.dumps(about),
        )  # fmt: skip
    return s
