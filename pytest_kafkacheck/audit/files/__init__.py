"""Reads what files say of clusters and clients: no broker, no engine and no JVM is needed.

    text        the text of a file or of standard input, YAML with positions, and errors that name file and line
    declared    clusters, nodes, topics and clients as files declare them, as values
    properties  files of Kafka's own form, whose kind follows from their keys
    compose     services of a compose file
    kubernetes  resources of Strimzi, and workloads of a rendered Helm chart
    environment  settings as environment variables of images
    names       settings that Kafka does not know
    subjects    from a declared cluster to the subjects of a report
    read        from file names to a report

May import `pytest_kafkacheck.audit` but not `pytest_kafkacheck.audit.live`.
"""
