"""The failure of a client itself, as opposed to an error of Kafka that it reports."""

from __future__ import annotations


class ClientFailure(Exception):
    """A client ended, hangs, or does not keep to the protocol: what it did is unknown from then on.

    The text is one line with the command, what happened, and the client's last output. A worker process reports it as
    its problem and ends, so that the run is never valid.
    """
