"""Findings on availability: only where the experiment states a bound."""

from __future__ import annotations

from analyzers.anomalies.anomaly import Anomaly

AVAILABILITY: tuple[Anomaly, ...] = (
    Anomaly(
        name="unavailable",
        sentence="time(s) that a partition acknowledged nothing for longer than the stated bound",
        definition=(
            "Sends to a partition were under way, and none was acknowledged for longer than the bound that the "
            "experiment states (`Bounds.unavailable`); counted per time. It begins with the acknowledgement "
            "before, or with the first send invoked thereafter, and ends with the next acknowledgement, or "
            "else with the last send. What is shorter than 0.1 s is not told apart."
        ),
        evidence={"began": "when it began (s)", "lasted": "how long it lasted (s)"},
    ),
    Anomaly(
        name="slow-recovery",
        sentence="partition(s) that acknowledged nothing for longer than the stated bound after the last heal",
        definition=(
            "A partition that had acknowledged a send was sent to after the last fault was healed, and the first "
            "acknowledgement of such a send, or else the last such send, came later after the heal than the bound "
            "that the experiment states (`Bounds.recovery`); counted per partition."
        ),
        evidence={"healed": "when the last fault was healed (s)", "lasted": "from then on (s)"},
    ),
)
