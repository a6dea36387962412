"""ConsumerGroupDescribe (KIP-848) and ShareGroupDescribe (KIP-932): members of a group, and what each of them has.

The former in version 0, which brokers have since that protocol, the latter in version 1, since Kafka 4.1.
kafka-python 3.0 has no such messages, but reads any that is described as Kafka describes its own. Importing a
response registers it for the answers to the request.
"""

from __future__ import annotations

from kafka.protocol.api_message import ApiMessage

from workloads.clients import messages
from workloads.clients.connection import make_classes_of_answers


class ConsumerGroupDescribeRequest(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    pass


class ConsumerGroupDescribeResponse(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    pass


class ShareGroupDescribeRequest(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    pass


class ShareGroupDescribeResponse(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    pass


make_classes_of_answers()
