"""Settings of nodes, tools and clients that follow from protocol, mechanism and users."""

from __future__ import annotations

import pytest

from pytest_kafkacheck.cluster.spec.security import (
    PASSWORD,
    USER,
    Identity,
    client_properties,
    client_security,
    format_arguments,
    security_properties,
    zookeeper_commands,
)

IDENTITY = Identity(ca="-----BEGIN CA\nx\n", chain="-----BEGIN CHAIN\ny\n", key="-----BEGIN KEY\nz\n")


def same(protocol: str) -> dict[str, str]:
    return dict.fromkeys(["CONTROLLER", "INTERNAL", "EXTERNAL"], protocol)


def test_plain_text_needs_only_the_protocol_map() -> None:
    assert security_properties(same("PLAINTEXT"), controller="CONTROLLER") == {
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT,EXTERNAL:PLAINTEXT"
    }


def test_tls_writes_each_certificate_on_one_line() -> None:
    settings = security_properties(same("SSL"), controller="CONTROLLER", identity=IDENTITY)
    del settings["listener.security.protocol.map"]
    assert settings == {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": r"-----BEGIN CHAIN\ny\n",
        "ssl.keystore.key": r"-----BEGIN KEY\nz\n",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": r"-----BEGIN CA\nx\n",
    }


def test_scram_everywhere_but_in_the_quorum() -> None:
    settings = security_properties(
        same("SASL_PLAINTEXT"),
        mechanism="SCRAM-SHA-512",
        controller="CONTROLLER",
        users={"node": "n", "guest": "g"},
    )
    del settings["listener.security.protocol.map"]
    scram = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="node" password="n";'
    plain = (
        'org.apache.kafka.common.security.plain.PlainLoginModule required username="node" password="n" '
        'user_node="n" user_guest="g";'
    )
    assert settings == {
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": plain,
        "listener.name.internal.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.internal.scram-sha-512.sasl.jaas.config": scram,
        "listener.name.external.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.external.scram-sha-512.sasl.jaas.config": scram,
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        "sasl.mechanism.controller.protocol": "PLAIN",
    }


def test_with_zookeeper_there_is_no_quorum_listener() -> None:
    listeners = {"CONTROL_PLANE": "SASL_SSL", "INTERNAL": "SASL_SSL", "PLAIN": "PLAINTEXT"}
    settings = security_properties(listeners, mechanism="PLAIN", identity=IDENTITY)
    assert "sasl.mechanism.controller.protocol" not in settings
    assert settings["listener.name.control_plane.sasl.enabled.mechanisms"] == "PLAIN"
    assert not [name for name in settings if name.startswith("listener.name.plain")]


@pytest.mark.parametrize(
    ("protocol", "given", "message"),
    [
        ("SSL", {}, "TLS needs an identity"),
        ("SASL_PLAINTEXT", {}, "mechanism=None of INTERNAL: expected one of PLAIN"),
        ("SASL_PLAINTEXT", {"mechanism": "PLAIN", "users": {'a"b': "c"}}, "letters, digits"),
        ("SASL_PLAINTEXT", {"mechanism": "PLAIN", "users": {"a": ""}}, "letters, digits"),
    ],
)
def test_missing_arguments_are_named(protocol: str, given: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        security_properties(same(protocol), controller="CONTROLLER", **given)  # type: ignore[arg-type]


def test_users_of_scram_are_made_before_the_start() -> None:
    assert format_arguments("SCRAM-SHA-256") == [
        "--add-scram", f"SCRAM-SHA-256=[name={USER},password={PASSWORD}]"
    ]  # fmt: skip
    assert zookeeper_commands("SCRAM-SHA-256", zookeeper="zookeeper201:2181", users={"a": "b"}) == [
        ["kafka.admin.ConfigCommand", "--zookeeper", "zookeeper201:2181", "--alter", "--add-config",
         "SCRAM-SHA-256=[password=b]", "--entity-type", "users", "--entity-name", "a"]
    ]  # fmt: skip
    for none in ("PLAIN", None):
        assert format_arguments(none) == zookeeper_commands(none, zookeeper="z") == []


def test_clients_use_the_mechanism_of_the_listener() -> None:
    assert client_security("PLAINTEXT", "PLAIN", ca="x") is None
    outside = client_security("SASL_SSL", "SCRAM-SHA-512", ca=IDENTITY.ca)
    assert outside is not None
    assert (outside.mechanism, outside.username, outside.ca) == ("SCRAM-SHA-512", USER, IDENTITY.ca)
    quorum = client_security("SASL_PLAINTEXT", "SCRAM-SHA-512", controller=True)
    assert quorum is not None
    assert (quorum.mechanism, quorum.ca) == ("PLAIN", None)


def test_java_clients_have_the_same_settings() -> None:
    outside = client_security("SASL_SSL", "SCRAM-SHA-512", ca=IDENTITY.ca)
    assert client_properties(outside).splitlines() == [
        "security.protocol=SASL_SSL",
        "ssl.truststore.type=PEM",
        r"ssl.truststore.certificates=-----BEGIN CA\nx\n",
        "sasl.mechanism=SCRAM-SHA-512",
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required "
        f'username="{USER}" password="{PASSWORD}";',
    ]
    assert client_properties(None) == "security.protocol=PLAINTEXT\n"
