"""ConsumerGroupDescribe (KIP-848): the members of a group of the next-generation protocol, and what each of them has.

Version 0, which brokers have since that protocol. kafka-python 3.0 has no such message, but reads any that is
described as Kafka describes its own. Importing the response registers it for the answers to the request.
"""

from __future__ import annotations

from kafka.protocol.api_message import ApiMessage

from workloads.clients import messages


class ConsumerGroupDescribeRequest(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    pass


class ConsumerGroupDescribeResponse(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    pass
