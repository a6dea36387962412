"""Settings of clients in the form of Kafka's own tools: what is read from them, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_kafkacheck.cluster.spec.client_settings import parse_properties, read_client_settings
from pytest_kafkacheck.cluster.spec.security import client_properties, client_security
from pytest_kafkacheck.errors import UsageError
from workloads.clients.security import Security

CA = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\nS3CRET\n-----END PRIVATE KEY-----\n"

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="S3CRET";'


def read(folder: Path, text: str) -> Security | None:
    file = folder / "client.properties"
    file.write_text(text)
    return read_client_settings(file)


def test_a_file_of_java_is_read_as_java_reads_it() -> None:
    text = (
        "# a comment\n! another one\n\n  a=1\nb : 2\nc 3\nd=\\\n   4\\\n   5\ne=x\\ny\\u0041\\\\\nf\\=g=h=i\nempty=\n"
        "a=6\nlast=7\\\\"
    )
    assert parse_properties(text) == {
        "a": "6",
        "b": "2",
        "c": "3",
        "d": "45",
        "e": "x\nyA\\",
        "f=g": "h=i",
        "empty": "",
        "last": "7\\",
    }


@pytest.mark.parametrize(
    ("protocol", "mechanism"),
    [
        ("PLAINTEXT", None),
        ("SSL", None),
        ("SASL_PLAINTEXT", "PLAIN"),
        ("SASL_PLAINTEXT", "SCRAM-SHA-256"),
        ("SASL_SSL", "SCRAM-SHA-512"),
    ],
)
def test_the_properties_that_kafkacheck_writes_can_be_read(
    tmp_path: Path, protocol: str, mechanism: str | None
) -> None:
    security = client_security(protocol, mechanism, ca=CA)
    written = "bootstrap.servers=localhost:9092\nclient.id=me\n" + client_properties(security)
    assert read(tmp_path, written) == security


def test_certificates_and_keys_of_files(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(CA)
    (tmp_path / "me.pem").write_text(KEY + CA + CA)
    text = (
        f"security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location={tmp_path}/ca.pem\n"
        f"ssl.keystore.type=PEM\nssl.keystore.location={tmp_path}/me.pem\n"
        f"ssl.endpoint.identification.algorithm=https\n"
    )
    assert read(tmp_path, text) == Security(protocol="SSL", ca=CA, certificate=CA + CA, key=KEY)


def test_the_names_of_librdkafka_for_the_user(tmp_path: Path) -> None:
    text = "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=alice\nsasl.password=p=w\n"
    expected = Security(protocol="SASL_SSL", mechanism="PLAIN", username="alice", password="p=w")
    assert read(tmp_path, text) == expected


def test_quotes_in_a_password(tmp_path: Path) -> None:
    jaas = r'module required username=alice password="a\\"b;c";'
    found = read(
        tmp_path, f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={jaas}\n"
    )
    assert found is not None
    assert (found.username, found.password) == ("alice", 'a"b;c')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("security.protocol=TLS", "security.protocol='TLS': expected one of PLAINTEXT, SSL"),
        ("security.protocol=SASL_SSL\nsasl.jaas.config=" + JAAS, "sasl.mechanism=None: expected one of PLAIN"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=GSSAPI\nsasl.jaas.config=" + JAAS, "sasl.mechanism='GSSAPI'"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN", "sasl.jaas.config: username=None"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config=x required;", "expected the form"),
        ("security.protocol=SSL\nssl.truststore.location=ca.jks", "ssl.truststore.type=JKS: expected PEM"),
        ("security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location=/absent", "No such file"),
        ("security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.certificates=S3CRET", "expected PEM text"),
        ("security.protocol=SSL\nssl.keystore.key=" + KEY.replace("\n", "\\n"), "ssl.keystore: key without"),
        ("security.protocol=SSL\nssl.endpoint.identification.algorithm=", "host names are always checked"),
        ("security.protocol=SSL\nssl.truststore.password=S3CRET", "ssl.truststore.password is not supported"),
        ("security.protocol=SASL_SSL\nsasl.login.class=x", "sasl.login.class is not supported; allowed are"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_without_secrets(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(tmp_path, text)
    assert said in str(refused.value)
    assert str(tmp_path / "client.properties") in str(refused.value)
    assert "S3CRET" not in str(refused.value)


def test_an_encrypted_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "me.pem").write_text(KEY.replace("PRIVATE", "ENCRYPTED PRIVATE") + CA)
    with pytest.raises(UsageError, match="the private key is encrypted"):
        read(
            tmp_path, f"security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.location={tmp_path}/me.pem"
        )


def test_a_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent: cannot be read: No such file"):
        read_client_settings(tmp_path / "absent")
