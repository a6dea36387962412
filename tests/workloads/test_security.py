"""How clients talk to a broker: what is refused, what travels, and every failure an OSError in time."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import confluent_kafka
import pytest
import trustme
from kafka import KafkaProducer
from kafka.errors import KafkaTimeoutError
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector

from workloads.append_log import AppendLog
from workloads.clients import requests
from workloads.clients.connection import Address, Connection, ask
from workloads.clients.kafka_python import access, settings
from workloads.clients.security import Security

SASL = {"mechanism": "PLAIN", "username": "me", "password": "geheim"}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"protocol": "TLS"}, "Security.protocol='TLS': expected one of PLAINTEXT, SSL"),
        ({"protocol": "SSL", "mechanism": "PLAIN"}, "Security.mechanism='PLAIN' with protocol='SSL'"),
        ({"protocol": "SSL", "password": "geheim"}, "Security.password=... with protocol='SSL'"),
        ({**SASL, "protocol": "SASL_SSL", "mechanism": "GSSAPI"}, "Security.mechanism='GSSAPI'.*SCRAM-SHA-256"),
        ({**SASL, "protocol": "SASL_SSL", "mechanism": None}, "Security.mechanism=None"),
        ({**SASL, "protocol": "SASL_SSL", "username": ""}, "Security.username=''"),
        ({**SASL, "protocol": "SASL_SSL", "password": None}, "Security.password: expected"),
        ({**SASL, "protocol": "SASL_SSL", "mechanism": "SCRAM-SHA-256", "username": "a,b"}, "no comma"),
        ({"protocol": "PLAINTEXT", "ca": "-----BEGIN X"}, "Security.ca=... with protocol='PLAINTEXT'"),
        ({"protocol": "SSL", "ca": "/etc/ca.pem"}, "Security.ca=...: expected PEM text"),
        ({"protocol": "SSL", "key": "-----BEGIN X"}, "Security.key without Security.certificate"),
        ({"protocol": "SSL", "certificate": "-----BEGIN X"}, "Security.certificate without Security.key"),
    ],
)  # fmt: skip
def test_values_that_contradict_are_refused(wrong: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        Security(**wrong)  # type: ignore[arg-type]
    assert "geheim" not in str(caught.value)


def test_it_survives_json_and_keeps_its_secrets_out_of_text(ca: trustme.CA) -> None:
    security = Security(protocol="SASL_SSL", ca=pem(ca.cert_pem), **SASL)  # type: ignore[arg-type]
    assert set(security.to_json()) == {"protocol", "mechanism", "username", "password", "ca"}
    address = Address("127.0.0.1", 9, security)
    assert Address.from_json(json.loads(json.dumps(address.to_json()))) == address
    assert Address.from_json(["h", 1]) == Address("h", 1)
    assert "geheim" not in repr(address)
    assert "BEGIN" not in repr(address)
    assert (str(address), str(security)) == ("127.0.0.1:9", "SASL_SSL with PLAIN")


def test_equal_values_share_a_context(ca: trustme.CA) -> None:
    one, two = (Security(protocol="SSL", ca=pem(ca.cert_pem)) for _ in range(2))
    assert one.context() is two.context()
    assert one.context().check_hostname


def test_a_library_client_takes_the_settings(ca: trustme.CA) -> None:
    security = Security(protocol="SASL_SSL", ca=pem(ca.cert_pem), **SASL)  # type: ignore[arg-type]
    settings = access([Address("a", 1, security), Address("b", 2, security)])
    assert settings.pop("ssl_context") is security.context()
    assert settings == {
        "bootstrap_servers": ["a:1", "b:2"],
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "me",
        "sasl_plain_password": "geheim",
    }
    assert set(settings) | {"ssl_context"} <= set(KafkaProducer.DEFAULT_CONFIG)
    assert access([Address("a", 1)]) == {"bootstrap_servers": ["a:1"]}
    with pytest.raises(ValueError, match="a:1, b:2: expected the same security"):
        access([Address("a", 1, security), Address("b", 2)])


@pytest.mark.parametrize("name", ["security_protocol", "ssl_cafile", "sasl_mechanism"])
def test_a_workload_cannot_set_security(name: str) -> None:
    with pytest.raises(ValueError, match="kafkacheck sets this itself"):
        AppendLog(client={name: "x"})


def pem(blob: trustme.Blob) -> str:
    return blob.bytes().decode()


@pytest.fixture(scope="module")
def ca() -> trustme.CA:
    return trustme.CA()


Serve = Callable[[Callable[[socket.socket], None]], Address]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a server that hands each connection to a function; the address asks for plain text."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held: list[socket.socket] = []

        def start(talk: Callable[[socket.socket], None]) -> Address:
            def work() -> None:
                with suppress(OSError):
                    while True:
                        connection, _ = server.accept()
                        held.append(connection)
                        with suppress(OSError):
                            talk(connection)

            threading.Thread(target=work, daemon=True).start()
            return Address(*server.getsockname()[:2])

        yield start
        server.shutdown(socket.SHUT_RDWR)
        for each in held:
            each.close()


def silent(_: socket.socket) -> None:
    """As a paused broker, whose kernel takes connections."""


def with_tls(ca: trustme.CA, *hosts: str, ask_client: bool = False) -> Callable[[socket.socket], None]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert(*hosts).configure_cert(context)
    if ask_client:
        ca.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED

    def talk(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as secured:
            secured.recv(1000)
            # A whole frame with an unknown correlation id.
            secured.sendall(b"\0\0\0\5\7\7\7\7\0")

    return talk


def metadata(address: Address) -> None:
    requests.metadata(lambda request: ask(address, request, timeout=0.5), [])


def test_a_handshake_without_an_answer_ends_in_time(ca: trustme.CA, serve: Serve) -> None:
    address = serve(silent)._replace(security=Security(protocol="SSL", ca=pem(ca.cert_pem)))
    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        Connection(address, timeout=0.5)
    assert time.monotonic() - begun < 5


@pytest.mark.timeout(30)
def test_a_handshake_of_the_library_ends_in_time(
    ca: trustme.CA, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "LIMIT", 0.2)
    address = serve(silent)._replace(security=Security(protocol="SSL", ca=pem(ca.cert_pem)))
    # What a client has inside: a client itself cannot be closed when its constructor fails.
    net = NetworkSelector()
    manager = KafkaConnectionManager(net, **access([address]))
    try:
        with pytest.raises(KafkaTimeoutError):
            manager.bootstrap(timeout_ms=500)
    finally:
        manager.close()
        net.close()


def test_a_certificate_of_another_authority_is_not_trusted(ca: trustme.CA, serve: Serve) -> None:
    address = serve(with_tls(trustme.CA(), "127.0.0.1"))
    with pytest.raises(ssl.SSLCertVerificationError):
        metadata(address._replace(security=Security(protocol="SSL", ca=pem(ca.cert_pem))))


def test_a_certificate_of_another_host_is_not_trusted(ca: trustme.CA, serve: Serve) -> None:
    address = serve(with_tls(ca, "kafka1"))
    with pytest.raises(ssl.SSLCertVerificationError, match=r"127\.0\.0\.1"):
        metadata(address._replace(security=Security(protocol="SSL", ca=pem(ca.cert_pem))))


def test_a_client_sends_its_own_certificate_when_the_broker_requires_one(
    ca: trustme.CA, serve: Serve
) -> None:
    address = serve(with_tls(ca, "127.0.0.1", ask_client=True))
    mine = ca.issue_cert("client.test")
    known = Security(
        protocol="SSL",
        ca=pem(ca.cert_pem),
        certificate="".join(map(pem, mine.cert_chain_pems)),
        key=pem(mine.private_key_pem),
    )
    with pytest.raises(OSError, match=r"."):
        metadata(address._replace(security=Security(protocol="SSL", ca=pem(ca.cert_pem))))
    # Past the handshake: what fails is the nonsense that the server answers with.
    with pytest.raises(ConnectionError, match="does not speak Kafka's protocol"):
        metadata(address._replace(security=known))


def test_plain_text_to_a_tls_listener_is_an_os_error(ca: trustme.CA, serve: Serve) -> None:
    with pytest.raises(OSError, match=r"."):
        metadata(serve(with_tls(ca, "127.0.0.1")))


def test_tls_to_a_plain_listener_is_an_os_error(ca: trustme.CA, serve: Serve) -> None:
    address = serve(lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
    with pytest.raises(ssl.SSLError):
        metadata(address._replace(security=Security(protocol="SSL", ca=pem(ca.cert_pem))))


@pytest.mark.parametrize(
    ("security", "settings"),
    [
        (Security(protocol="PLAINTEXT"), {"security.protocol": "PLAINTEXT"}),
        (
            Security(protocol="SASL_PLAINTEXT", **SASL),  # type: ignore[arg-type]
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.username": "me",
                "sasl.password": "geheim",
            },
        ),
    ],
)
def test_settings_of_librdkafka(security: Security, settings: dict[str, str]) -> None:
    assert security.librdkafka() == settings


def test_librdkafka_takes_certificates_as_text() -> None:
    """It reads them when a client is made, so wrong ones would raise here."""
    own = trustme.CA()
    issued = own.issue_cert("me")
    security = Security(
        protocol="SSL",
        ca=own.cert_pem.bytes().decode(),
        certificate=b"".join(each.bytes() for each in issued.cert_chain_pems).decode(),
        key=issued.private_key_pem.bytes().decode(),
    )
    settings = security.librdkafka()
    assert set(settings) == {"security.protocol", "ssl.ca.pem", "ssl.certificate.pem", "ssl.key.pem"}
    confluent_kafka.Producer({"bootstrap.servers": "", **settings})
    with pytest.raises(confluent_kafka.KafkaException, match=r"ssl\.key\.pem"):
        confluent_kafka.Producer({"bootstrap.servers": "", **settings, "ssl.key.pem": "no key"})


def test_a_client_process_gets_settings_in_kafkas_own_names(ca: trustme.CA) -> None:
    own, password = ca.issue_cert("me"), 'a"b\\c'
    secure = Security(
        protocol="SASL_SSL",
        ca=pem(ca.cert_pem),
        mechanism="SCRAM-SHA-512",
        username="me",
        password=password,
        certificate=pem(own.cert_chain_pems[0]),
        key=pem(own.private_key_pem),
    )
    settings = secure.kafka()
    assert settings["sasl.jaas.config"] == (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="me" password="a\\"b\\\\c";'
    )
    assert settings["sasl.password"] == password
    assert settings["ssl.truststore.certificates"] == pem(ca.cert_pem)
    assert settings["ssl.keystore.key"] == pem(own.private_key_pem)
    assert Security(protocol="SSL").kafka() == {"security.protocol": "SSL"}
    plain = Security(protocol="SASL_PLAINTEXT", **SASL).kafka()  # type: ignore[arg-type]
    assert "PlainLoginModule" in plain["sasl.jaas.config"]
