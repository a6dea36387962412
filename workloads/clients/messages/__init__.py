"""Messages of Kafka's protocol that kafka-python has not: as JSON in this folder, which its classes read."""
