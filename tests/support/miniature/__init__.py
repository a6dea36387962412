"""A discrete-event model of a Kafka cluster and its clients that keeps every promise.

`tests.support.miniature.cluster.Cluster` runs it and leaves a history such as the project writes. A *flaw* is the
name of a promise that the model then breaks, so that tests can show that a check finds it.
"""
