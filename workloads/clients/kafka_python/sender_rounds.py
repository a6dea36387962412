"""Counts how often the network thread of a KafkaProducer has failed in succession.

The thread catches whatever a round raises, logs it, and begins the next round. Where each round raises the same, it
sends nothing more to any broker, no send ends, and the library reports nothing. This was seen with kafka-python
3.0.12 after a broker had been restarted.
"""

from __future__ import annotations

from typing import Any


class SenderRounds:
    """failures  rounds in succession, up to the last one, that raised something.
    last      what the last of them raised.
    """

    def __init__(self, sender: Any) -> None:
        self.failures = 0
        self.last: Exception | None = None
        self._round = sender.run_once
        sender.run_once = self._counted

    def _counted(self) -> None:
        try:
            self._round()
        except Exception as error:
            self.failures += 1
            self.last = error
            raise
        self.failures = 0
