"""Files that state the settings of clusters, as people have them: made for tests, after the documentation of
their programs."""

from __future__ import annotations

MSK = """\
auto.create.topics.enable=true
default.replication.factor=3
min.insync.replicas=2
num.io.threads=8
unclean.leader.election.enable=true
zookeeper.session.timeout.ms=18000
"""

COMPOSE_EXTENDS = {
    "base.yml": """\
services:
  base:
    image: apache/kafka:${RELEASE:-0.1}
    environment:
      - KAFKA_MIN_INSYNC_REPLICAS=2
      - KAFKA_PROCESS_ROLES=broker,controller
      - KAFKA_LOG_DIRS=/data/logs
    volumes: ["data:/data"]
""",
    "broker.env": "# settings\nKAFKA_UNCLEAN_LEADER_ELECTION_ENABLE='true' # for now\nKAFKA_MIN_INSYNC_REPLICAS=9\n",
    ".env": "RELEASE=3.9.1\nFLUSH=7\n",
    "compose.yml": """\
x-own: &own
  KAFKA_DEFAULT_REPLICATION_FACTOR: "3"
  KAFKA_LOG_FLUSH_INTERVAL_MESSAGES: $FLUSH
services:
  b1: &broker
    extends: {file: base.yml, service: base}
    env_file: [broker.env]
    environment:
      <<: *own
      KAFKA_NODE_ID: 1
  b2: {<<: *broker, environment: {<<: *own, KAFKA_NODE_ID: 2}}
  b3:
    <<: *broker
    env_file: [broker.env, absent.env]
    environment:
      KAFKA_LOG_CLEANER_ENABLE:
      <<: *own
  ui: {image: provectuslabs/kafka-ui, environment: {KAFKA_CLUSTERS_0_NAME: local}}
""",
}
"""Texts by name: merge keys, another file, an env_file, variables of `.env`, and two things that cannot be
resolved."""

COMPOSE_PROFILES = {
    "k.env": "KAFKA_UNCLEAN_LEADER_ELECTION_ENABLE=${UNCLEAN:-true}\nKAFKA_MIN_INSYNC_REPLICAS='${FLUSH}'\n",
    ".env": "MIN=2\n",
    "compose.yml": """\
services:
  k1: &broker
    image: apache/kafka:4.1.1
    env_file: k.env
    environment: {KAFKA_NODE_ID: 1, KAFKA_PROCESS_ROLES: "broker,controller", KAFKA_MIN_INSYNC_REPLICAS: "${MIN}"}
  k2:
    <<: *broker
    profiles: [more]
""",
}
"""Variables in an env_file, of which those in single quotes stay, and a service that starts only with a profile."""

COMPOSE_ZOOKEEPER = """\
services:
  init:
    image: confluentinc/cp-kafka:7.4.1
    command: kafka-topics --create
  zookeeper:
    image: confluentinc/cp-zookeeper:7.4.1
  kafka:
    image: confluentinc/cp-kafka:7.4.1
    environment:
      KAFKA_ZOOKEEPER_CONNECT: zookeeper:2181
      KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: 1
      KAFKA_BROKER_ID: 1
"""

STRIMZI_POOLS = """\
apiVersion: v1
kind: List
items:
- apiVersion: kafka.strimzi.io/v1beta2
  kind: KafkaNodePool
  metadata: {name: controllers, labels: {strimzi.io/cluster: demo}}
  spec: {replicas: 1, roles: [controller], storage: {type: jbod, volumes: [{type: ephemeral}]}}
- apiVersion: kafka.strimzi.io/v1beta2
  kind: KafkaNodePool
  metadata: {name: brokers, labels: {strimzi.io/cluster: demo}}
  spec: {replicas: 3, roles: [broker], storage: {type: persistent-claim, size: 1Gi}}
- apiVersion: kafka.strimzi.io/v1beta2
  kind: Kafka
  metadata: {name: demo}
  spec:
    kafka:
      version: 4.0.0
      rack: {topologyKey: topology.kubernetes.io/zone}
      config: {default.replication.factor: 3, min.insync.replicas: 2}
- apiVersion: kafka.strimzi.io/v1beta2
  kind: KafkaTopic
  metadata: {name: page-views, labels: {strimzi.io/cluster: demo}}
  spec:
    topicName: page.views
    replicas: 2
    config: {min.insync.replicas: 1, min.insync.replica: 2, remote.storage.enable: true}
- apiVersion: kafka.strimzi.io/v1beta2
  kind: KafkaUser
  metadata: {name: me, labels: {strimzi.io/cluster: demo}}
  spec: {quotas: {producerByteRate: 1}}
"""

BITNAMI_CHART = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: release-kafka-configuration}
data:
  server.properties: |-
    process.roles=controller,broker
    log.dir=/bitnami/kafka/data
    controller.quorum.voters=0@c-0:9093,1@c-1:9093,2@c-2:9093
    default.replication.factor=3
    min.insync.replicas=1
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: release-kafka-controller}
spec:
  replicas: 3
  template:
    spec:
      containers:
        - name: kafka
          image: registry.example/bitnami/kafka:3.9.0-debian-12-r6
          env:
            - {name: KAFKA_CFG_MIN_INSYNC_REPLICAS, value: "2"}
          volumeMounts:
            - {name: data, mountPath: /bitnami/kafka}
            - {name: tmp, mountPath: /tmp}
      volumes:
        - {name: tmp, emptyDir: {}}
        - {name: config, configMap: {name: release-kafka-configuration}}
  volumeClaimTemplates:
    - {metadata: {name: data}}
---
apiVersion: v1
kind: Service
metadata: {name: release-kafka}
"""
