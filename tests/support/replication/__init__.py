"""A small model of Kafka's replication, against which the rules of the audit are checked."""
