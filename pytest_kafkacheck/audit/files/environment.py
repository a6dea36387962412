"""Settings as environment variables, as images of Apache, Confluent and Bitnami take them, and where a broker's
data is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from pytest_kafkacheck.audit.files.declared import QUICK_START, Form, Node, Value, release_of_image
from pytest_kafkacheck.audit.files.properties import server

PREFIX: dict[Form, str] = {"apache": "KAFKA_", "bitnami": "KAFKA_CFG_"}

OF_IMAGES = (
    "KAFKA_HEAP_OPTS", "KAFKA_OPTS", "KAFKA_JVM_", "KAFKA_LOG4J_", "KAFKA_JMX_", "KAFKA_GC_", "KAFKA_VERSION",
    "KAFKA_HOME",
    "KAFKA_CREATE_TOPICS", "KAFKA_CLUSTER_ID", "KAFKA_KRAFT_", "KAFKA_ENABLE_KRAFT", "KAFKA_DEBUG", "KAFKA_TOOLS_",
    "KAFKA_PORT", "KAFKA_CLUSTERS_", "KAFKA_CONFIG", "KAFKA_BASE_", "KAFKA_MOUNTED_", "KAFKA_LOG_DIR_", "KAFKA_REST_",
    "KAFKA_CERTIFICATE_", "KAFKA_TLS_", "KAFKA_CLIENT_", "KAFKA_INTER_BROKER_USER", "KAFKA_INTER_BROKER_PASSWORD",
    "KAFKA_SSL_KEYSTORE_FILENAME", "KAFKA_SSL_KEY_CREDENTIALS", "KAFKA_SSL_KEYSTORE_CREDENTIALS",
    "KAFKA_SSL_TRUSTSTORE_FILENAME", "KAFKA_SSL_TRUSTSTORE_CREDENTIALS", "KAFKA_SCHEMA_REGISTRY_", "KAFKA_CONFLUENT_",
    "KAFKA_ZOOKEEPER_USER", "KAFKA_ZOOKEEPER_PASSWORD", "KAFKA_ZOOKEEPER_PROTOCOL", "KAFKA_EXTRA_", "KAFKA_CFG_",
)  # fmt: skip
"""Beginnings of variables that start scripts read, and that are no settings of brokers."""

NOT_BROKERS = (
    "connect", "ui", "rest", "exporter", "schema", "registry", "manager", "kafdrop", "akhq", "tools", "proxy",
    "lag", "mirror",
    "cruise", "bridge", "operator", "console", "ksql", "kcat", "magic", "burrow",
)  # fmt: skip
"""Parts of names of images with "kafka" in the name that run something else."""

IDENTITY = {
    "node.id",
    "broker.id",
    "process.roles",
    "zookeeper.connect",
    "controller.quorum.voters",
    "advertised.listeners",
}
"""Only servers have these."""

DATA = {"confluentinc/": "/var/lib/kafka/data", "bitnami": "/bitnami/kafka/data"}
"""Where images put data unless log.dirs says otherwise, by what their names contain."""

DEFAULT_DIR, QUICK_START_DIR = "/tmp/kafka-logs", "/tmp/kraft-combined-logs"
"""Kafka's default of log.dirs, and that of the quick start's file, which the image of Apache takes without
settings."""


def is_broker_image(image: str) -> bool:
    name = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    return ("kafka" in name or name in ("cp-server", "confluent-local")) and not any(
        part in NOT_BROKERS for part in name.replace("_", "-").split("-")
    )


def node_of(
    name: str,
    image: str,
    environment: Mapping[str, Value],
    volumes: Mapping[str, bool],
    *,
    has_command: bool = False,
) -> Node | None:
    """The node that a container runs; None where it runs no server of Kafka.

    volumes: directories of the container, and whether they are kept when it is replaced. has_command: whether it runs
    something else than the image does by itself; without settings of a server, that is one of Kafka's tools.
    """
    is_bitnami = "bitnami" in image or any(key.startswith(PREFIX["bitnami"]) for key in environment)
    form: Form = "bitnami" if is_bitnami else "apache"
    settings = {
        setting_name(key, form): value
        for key, value in environment.items()
        if key.startswith(PREFIX[form]) and not (form == "apache" and key.startswith(OF_IMAGES))
    }
    if not IDENTITY & settings.keys() and (not is_broker_image(image) or (has_command and not settings)):
        return None
    node = server(settings, name=name, new_at=None)
    node.name, node.form = name, form
    node.brought = QUICK_START if is_bitnami or not settings else {}
    node.release = release_of_image(image)
    if not settings and not is_bitnami:
        node.roles = frozenset({"broker", "controller"})
    _judge_storage(node, image, volumes)
    return node


def setting_name(variable: str, form: Form) -> str:
    """Kafka's name: KAFKA_MIN_INSYNC_REPLICAS is min.insync.replicas; three underscores are a dash, two are one."""
    name = variable.removeprefix(PREFIX[form]).lower()
    return name.replace("___", "-").replace("__", "\0").replace("_", ".").replace("\0", "_")


def variable_name(setting: str, form: Form) -> str:
    return PREFIX[form] + setting.replace("_", "__").replace("-", "___").replace(".", "_").upper()


def _judge_storage(node: Node, image: str, volumes: Mapping[str, bool]) -> None:
    usual = next((path for part, path in DATA.items() if part in image), None)
    usual = usual or (DEFAULT_DIR if node.settings else QUICK_START_DIR)
    stated = node.settings.get("log.dirs") or node.settings.get("log.dir")
    directories = [each.strip() for each in (stated.text if stated else usual).split(",")]
    lost = [each for each in directories if not _is_kept(each, volumes)]
    if lost:
        node.storage = "ephemeral"
        node.why = f"{', '.join(lost)} is on no volume that outlives the container"


def _is_kept(directory: str, volumes: Mapping[str, bool]) -> bool:
    path = PurePosixPath(directory)
    covering = [
        each for each in volumes if path == PurePosixPath(each) or PurePosixPath(each) in path.parents
    ]
    return volumes[max(covering, key=len)] if covering else False
