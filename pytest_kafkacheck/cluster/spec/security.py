"""Security of a cluster's listeners: settings of its nodes, its users, its certificates, and settings of clients.

The quorum's listener uses PLAIN even where the others use SCRAM. SCRAM passwords are stored in the metadata, and a
controller gets the metadata only from the quorum that it is about to join.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from workloads.clients.security import Security

if TYPE_CHECKING:
    from trustme import CA


USER, PASSWORD = "kafkacheck", "kafkacheck-test"
USERS: Mapping[str, str] = MappingProxyType({USER: PASSWORD})
"""Passwords by user. They are constants because they protect only test data behind the loopback address.

Nodes authenticate to each other as the first user.
"""

CONTROLLER_MECHANISM = "PLAIN"

MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def security_properties(
    listeners: Mapping[str, str],
    *,
    mechanism: str | None = None,
    controller: str | None = None,
    identity: Identity | None = None,
    users: Mapping[str, str] = USERS,
) -> dict[str, str]:
    """Settings that are the same for all nodes of a cluster, escaped for server.properties.

    listeners   protocol by name for the listeners of all nodes, also of those that only other nodes have
    mechanism   SASL mechanism of all listeners except the quorum's
    controller  name of the quorum's listener; None with ZooKeeper
    identity    key and certificate, needed for TLS
    users       passwords by user
    Raises ValueError when something needed is missing, or a name or password would need quoting.
    """
    settings = {"listener.security.protocol.map": ",".join(f"{k}:{v}" for k, v in listeners.items())}
    if any(protocol.endswith("SSL") for protocol in listeners.values()):
        settings |= _tls(listeners, identity)
    for name, protocol in listeners.items():
        if protocol.startswith("SASL"):
            settings |= _sasl(name, CONTROLLER_MECHANISM if name == controller else mechanism, users)
    if any(protocol.startswith("SASL") for name, protocol in listeners.items() if name != controller):
        settings["sasl.mechanism.inter.broker.protocol"] = str(mechanism)
    if controller is not None and listeners[controller].startswith("SASL"):
        settings["sasl.mechanism.controller.protocol"] = CONTROLLER_MECHANISM
    return settings


def format_arguments(mechanism: str | None, users: Mapping[str, str] = USERS) -> list[str]:
    """Arguments of StorageTool's format command that make the users of a KRaft cluster; empty without SCRAM.

    Kafka has them from 3.5 on. The quorum's nodes need them; the other nodes may have them.
    """
    return [
        argument
        for name, password in _scram_users(mechanism, users).items()
        for argument in ("--add-scram", f"{mechanism}=[name={name},password={password}]")
    ]


def zookeeper_commands(
    mechanism: str | None, *, zookeeper: str, users: Mapping[str, str] = USERS
) -> list[list[str]]:
    """Commands that make the users in ZooKeeper. They must run in this order before the first broker starts.

    zookeeper  servers in the form of ``zookeeper.connect``, chroot included.
    Each command is a main class and its arguments, for java with Kafka's libraries. Empty without SCRAM.
    """
    return [
        ["kafka.admin.ConfigCommand", "--zookeeper", zookeeper, "--alter",
         "--add-config", f"{mechanism}=[password={password}]",
         "--entity-type", "users", "--entity-name", name]
        for name, password in _scram_users(mechanism, users).items()
    ]  # fmt: skip


def client_security(
    protocol: str, mechanism: str | None = None, *, ca: str | None = None, controller: bool = False
) -> Security | None:
    """How clients of a listener authenticate and encrypt; None for plain text.

    ca          PEM text, for TLS
    controller  whether it is the quorum's listener
    """
    if protocol == "PLAINTEXT":
        return None
    settings: dict[str, Any] = {"protocol": protocol}
    if protocol.endswith("SSL"):
        settings["ca"] = ca
    if protocol.startswith("SASL"):
        settings["mechanism"] = CONTROLLER_MECHANISM if controller else mechanism
        settings |= {"username": USER, "password": PASSWORD}
    return Security(**settings)


def client_properties(security: Security | None) -> str:
    """The properties file for Kafka's own tools and Java clients, with the password."""
    if security is None:
        return "security.protocol=PLAINTEXT\n"
    settings: dict[str, str] = {"security.protocol": security.protocol}
    if security.ca is not None:
        settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": _escaped(security.ca)}
    if security.mechanism is not None:
        settings["sasl.mechanism"] = security.mechanism
        settings["sasl.jaas.config"] = (
            f'{MODULES[security.mechanism]} required username="{security.username}" password="{security.password}";'
        )
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def _tls(listeners: Mapping[str, str], identity: Identity | None) -> dict[str, str]:
    if identity is None:
        raise ValueError(f"listeners {dict(listeners)}: TLS needs an identity, see `issue_identity`")
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": _escaped(identity.chain),
        "ssl.keystore.key": _escaped(identity.key),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": _escaped(identity.ca),
    }


def _sasl(listener: str, mechanism: str | None, users: Mapping[str, str]) -> dict[str, str]:
    if mechanism not in MODULES:
        raise ValueError(f"mechanism={mechanism!r} of {listener}: expected one of {', '.join(MODULES)}")
    _check(users)
    me, password = next(iter(users.items()))
    options = {"username": me, "password": password}
    if mechanism == "PLAIN":
        # With SCRAM Kafka stores the users in its metadata; with PLAIN they are listed here.
        options |= {f"user_{name}": secret for name, secret in users.items()}
    rendered = " ".join(f'{name}="{value}"' for name, value in options.items())
    prefix = f"listener.name.{listener.lower()}"
    return {
        f"{prefix}.sasl.enabled.mechanisms": mechanism,
        f"{prefix}.{mechanism.lower()}.sasl.jaas.config": f"{MODULES[mechanism]} required {rendered};",
    }


def _scram_users(mechanism: str | None, users: Mapping[str, str]) -> Mapping[str, str]:
    if mechanism is None or not mechanism.startswith("SCRAM"):
        return {}
    _check(users)
    return users


def _check(users: Mapping[str, str]) -> None:
    for name, password in users.items():
        # JAAS, the properties file and the tools' arguments have different quoting rules, so quoting is avoided.
        if not all(re.fullmatch(r"[A-Za-z0-9_.-]+", text) for text in (name, password)):
            raise ValueError(f"users[{name!r}]: expected name and password of letters, digits, '_', '.', '-'")
    if not users:
        raise ValueError("users={}: expected at least one, as which the nodes authenticate to each other")


def _escaped(pem: str) -> str:
    """The text on one line, escaped for a Java properties file."""
    return pem.replace("\n", "\\n")


@dataclass(frozen=True, kw_only=True)
class Identity:
    """A key and its certificates as PEM texts. The repr omits the key.

    ca     the authority's own certificate, which clients must trust
    chain  the certificate and those of its issuers
    key    the private key as PKCS#8, not encrypted: the form that Kafka reads
    """

    ca: str
    chain: str
    key: str = field(repr=False)

    def to_json(self) -> dict[str, str]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Identity:
        return cls(**data)


class CertificateAuthority:
    """Issues certificates. The authority's key exists in memory only, as long as this object."""

    def __init__(self) -> None:
        # Imported here, because loading cryptography takes time and clusters in plain text do not need it.
        import trustme

        self._ca: CA = trustme.CA(organization_name="kafkacheck")

    @property
    def certificate(self) -> str:
        """PEM text."""
        return self._ca.cert_pem.bytes().decode()

    def issue(self, hosts: Iterable[str]) -> Identity:
        """An identity that is valid for all these host names and IP addresses.

        Raises ValueError for an empty list.
        """
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
            load_pem_private_key,
        )

        names = tuple(hosts)
        if not names:
            raise ValueError(
                "CertificateAuthority.issue(hosts=()): expected at least one host name or IP address"
            )
        issued = self._ca.issue_cert(*names)
        key = load_pem_private_key(issued.private_key_pem.bytes(), password=None)
        return Identity(
            ca=self.certificate,
            chain="".join(each.bytes().decode() for each in issued.cert_chain_pems),
            key=key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
        )


def issue_identity(hosts: Iterable[str]) -> Identity:
    """An identity for all nodes of a cluster, from a new authority whose key is discarded at once.

    hosts  host names and addresses of all nodes, as peers and clients use them; localhost and 127.0.0.1 are added.
    """
    return CertificateAuthority().issue(dict.fromkeys([*hosts, "localhost", "127.0.0.1"]))
