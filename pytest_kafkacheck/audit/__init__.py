"""What a configuration of Kafka keeps, loses or refuses in each event: rules, written down with their sources.

    configuration   the settings that decide it, as one value
    events          what may happen to a cluster or to a client
    rule, rules/    for an event and a configuration: what happens, why, and the source
    mend            settings that prevent it, and what they cost
    assess          the rules applied to one configuration

Pure values and functions. `live/` reads the configuration of a running cluster.
May import `pytest_kafkacheck.cluster` and `pytest_kafkacheck.errors`.
"""
