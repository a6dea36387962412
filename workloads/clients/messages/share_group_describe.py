"""ShareGroupDescribe (KIP-932): the members of a share group, and what each of them has.

Version 1, which brokers have since Kafka 4.1. See `consumer_group_describe`.
"""

from __future__ import annotations

from kafka.protocol.api_message import ApiMessage

from workloads.clients import messages


class ShareGroupDescribeRequest(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    pass


class ShareGroupDescribeResponse(ApiMessage, load_json=messages):  # type: ignore[call-arg, misc]
    pass
