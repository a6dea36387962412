"""Facts: the few wide passes over a history that the checks share.

Each is a function of a `History` and has the columns run, topic, partition besides its own. A fact
demands nothing of Kafka; what is promised is said by the checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame

from analyzers.facts.offsets import offsets
from analyzers.facts.polls import polls
from analyzers.facts.sends import sends
from analyzers.facts.session_reads import session_reads
from analyzers.facts.session_writes import session_writes
from analyzers.facts.values import values
from analyzers.load import History

Fact = Callable[[History], DataFrame]

FACTS: Mapping[str, Fact] = {
    fact.__name__: fact for fact in (values, offsets, polls, sends, session_writes, session_reads)
}
"""By the name under which a check asks for it."""
