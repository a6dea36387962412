"""Every error that kafkacheck raises on purpose.

There are three families, because they call for three reactions. A usage error is fixed in the test, an infrastructure
error on the machine. A verdict other than the expected one is the result of the test.
"""

from __future__ import annotations


class KafkacheckError(Exception):
    """Base class of all errors."""

    is_of_cluster = False
    """Whether it says why the one cluster of the session cannot be used. No line of the test has a part in that."""


class UsageError(KafkacheckError, ValueError):
    """A request that makes no sense. Raised before anything is started.

    Common causes: an unknown broker setting, a fault on a node the cluster does not have,
    ``min.insync.replicas`` above the replication factor.
    """


class InfrastructureError(KafkacheckError):
    """The machine could not provide what a run needs. Never a statement about Kafka.

    Common causes: no Docker engine answers, the broker image is missing, memory is short, a broker
    did not become ready. The text says what was tried and what to do next.
    """


class CapabilityError(InfrastructureError):
    """The host is not capable of a fault that an experiment asks for. A test is then skipped, with this text."""


class MissingImageError(InfrastructureError):
    """The engine has no such image, and it is not to be built. A test then fails with this text alone."""


class DiskFullError(InfrastructureError):
    """The file system on which runs are kept has too little space. A test then fails with this text alone."""


class VerdictError(KafkacheckError, AssertionError):
    """The verdict of a run is not the one that the test expects. The text is the evidence."""
