"""Apache Kafka's Java client, of any release: ``library="java"``, or ``"java-3.7.2"``.

`releases` says which release a name means, and `program` runs it. The program itself is in ``src``: a client process
that speaks the protocol of docs/client_protocol.md, as those of users do (`workloads.clients.command`). `make
java-client` builds ``client.jar`` of it, which the wheel contains. kafka-clients itself is not part of it:
`pytest_kafkacheck.setup.java_clients` fetches the releases that somebody asks for.
"""
