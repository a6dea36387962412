"""Every error kafkacheck raises on purpose.

Three families, because they call for three reactions: a *usage* error is mended in the test, an
*infrastructure* error on the machine, and a verdict that is not the wanted one is the test's result.
"""

from __future__ import annotations


class KafkacheckError(Exception):
    """Base of all."""


class UsageError(KafkacheckError, ValueError):
    """What was asked for cannot be meant so. Raised before anything is started.

    Common causes: an unknown broker setting, a fault on a node the cluster does not have,
    ``min.insync.replicas`` above the replication factor.
    """


class InfrastructureError(KafkacheckError):
    """The machine could not give what a run needs. Never a statement about Kafka.

    Common causes: no Docker engine answers, the broker image is missing, memory is short, a broker
    did not become ready. The text says what was tried and what to do next.
    """


class CapabilityError(InfrastructureError):
    """The host cannot do a fault that an experiment asks for. In a test it is skipped, with this text."""


class VerdictError(KafkacheckError, AssertionError):
    """A run's verdict is not the one the test asked for; the text is the evidence."""
