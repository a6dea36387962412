"""The clients of confluent-kafka, which is librdkafka, behind our protocols.

May import `workloads.clients`; the factory in `workloads.clients.libraries.confluent_kafka` makes the clients.
"""
