# The layout of Kafka's own image as far as we use it: java on PATH, the jars in /opt/kafka/libs.
ARG BASE
FROM ${BASE}
COPY libs /opt/kafka/libs
