"""What a configuration of Kafka keeps, loses or refuses in each event: rules, written down with their sources.

    configuration   the settings that decide it, as one value
    events          what may happen to a cluster or to a client
    rule, rules/    for an event and a configuration: what happens, why, and the source
    mend            settings that prevent it, and what they cost
    assess          the rules applied to one configuration
    remarks         what a configuration means besides its events
    report          outcomes of all subjects
    advice          the smallest set of changes after which the least is lost
    keys, parts     names and values of settings, and subjects put together from several sources

Pure values and functions. `files/` reads what files say, `live/` the configuration of a running cluster.
May import `pytest_kafkacheck.cluster` and `pytest_kafkacheck.errors`.
"""
