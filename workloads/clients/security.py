"""Security of the connection from clients to brokers: protocol, credentials and certificates."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, Literal

Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

SETTINGS = (
    "security.protocol",
    "sasl.mechanism",
    "sasl.username",
    "sasl.password",
    "sasl.jaas.config",
    "ssl.truststore.type",
    "ssl.truststore.certificates",
    "ssl.keystore.type",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
)
"""All that `Security.kafka` may return."""

BEGIN = "-----BEGIN "
"""What every PEM text contains."""


@dataclass(frozen=True, kw_only=True)
class Security:
    """What a client needs to connect. Secrets are left out of its repr; `str` names protocol and mechanism.

    protocol            as Kafka spells it
    mechanism           of SASL; only with the SASL protocols, as are
    username, password  both non-empty
    ca                  PEM text of trusted certificate authorities; only with the TLS protocols. None: the system's
    certificate, key    PEM text of the client's own, for brokers that require one; both or neither

    Raises ValueError naming the field and what is allowed. Host names are always checked.
    """

    protocol: Protocol
    mechanism: Mechanism | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    ca: str | None = field(default=None, repr=False)
    certificate: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise ValueError(f"Security.protocol={self.protocol!r}: expected one of {', '.join(PROTOCOLS)}")
        self._check_sasl()
        self._check_tls()

    def __str__(self) -> str:
        return self.protocol if self.mechanism is None else f"{self.protocol} with {self.mechanism}"

    @property
    def tls(self) -> bool:
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def sasl(self) -> bool:
        return self.protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    def context(self) -> ssl.SSLContext:
        """Cached by value, because loading authorities takes longer than a handshake. Raises ssl.SSLError."""
        return _context(self)

    def kafka_python(self) -> dict[str, Any]:
        """Settings of KafkaProducer, KafkaConsumer and KafkaAdminClient. Nothing is written to disk."""
        settings: dict[str, Any] = {"security_protocol": self.protocol}
        if self.tls:
            settings["ssl_context"] = self.context()
        if self.sasl:
            settings["sasl_mechanism"] = self.mechanism
            settings["sasl_plain_username"] = self.username
            settings["sasl_plain_password"] = self.password
        return settings

    def librdkafka(self) -> dict[str, str]:
        """Settings of confluent-kafka's clients. Nothing is written to disk; host names are checked by default."""
        settings: dict[str, str | None] = {
            "security.protocol": self.protocol,
            "sasl.mechanism": self.mechanism,
            "sasl.username": self.username,
            "sasl.password": self.password,
            "ssl.ca.pem": self.ca,
            "ssl.certificate.pem": self.certificate,
            "ssl.key.pem": self.key,
        }
        return {name: value for name, value in settings.items() if value is not None}

    def kafka(self) -> dict[str, str]:
        """Settings as Kafka's Java clients have them, for clients in any language; user and password are there twice,
        so that nobody has to parse ``sasl.jaas.config``. Nothing is written to disk."""
        settings: dict[str, str] = {"security.protocol": self.protocol}
        if self.tls and self.ca is not None:
            settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": self.ca}
        if self.certificate is not None and self.key is not None:
            settings |= {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.certificate.chain": self.certificate,
                "ssl.keystore.key": self.key,
            }
        if self.mechanism is not None and self.username is not None and self.password is not None:
            module = "plain.PlainLoginModule" if self.mechanism == "PLAIN" else "scram.ScramLoginModule"
            settings |= {
                "sasl.mechanism": self.mechanism,
                "sasl.username": self.username,
                "sasl.password": self.password,
                "sasl.jaas.config": f"org.apache.kafka.common.security.{module} required "
                f"username={_quoted(self.username)} password={_quoted(self.password)};",
            }
        return settings

    def to_json(self) -> dict[str, str]:
        """All fields that are not None, secrets included."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Security:
        return cls(**data)

    def _check_sasl(self) -> None:
        if not self.sasl:
            for name in ("mechanism", "username", "password"):
                if getattr(self, name) is not None:
                    shown = "..." if name == "password" else repr(getattr(self, name))
                    raise ValueError(
                        f"Security.{name}={shown} with protocol={self.protocol!r}: only allowed with "
                        f"SASL_PLAINTEXT and SASL_SSL"
                    )
            return
        if self.mechanism not in MECHANISMS:
            raise ValueError(
                f"Security.mechanism={self.mechanism!r}: expected one of {', '.join(MECHANISMS)}"
            )
        if not isinstance(self.username, str) or not self.username:
            raise ValueError(f"Security.username={self.username!r}: expected a name with {self.protocol}")
        if self.mechanism.startswith("SCRAM") and set(self.username) & set(",="):
            # RFC 5802 has an escape for these two, kafka-python does not use it.
            raise ValueError(
                f"Security.username={self.username!r}: expected no comma and no equals sign with SCRAM"
            )
        if not isinstance(self.password, str) or not self.password:
            raise ValueError(f"Security.password: expected a non-empty text with {self.protocol}")

    def _check_tls(self) -> None:
        for name in ("ca", "certificate", "key"):
            text = getattr(self, name)
            if text is None:
                continue
            if not self.tls:
                raise ValueError(
                    f"Security.{name}=... with protocol={self.protocol!r}: only allowed with SSL and SASL_SSL"
                )
            if not isinstance(text, str) or BEGIN not in text:
                # The value is not shown, because it may be a secret.
                raise ValueError(f"Security.{name}=...: expected PEM text, which contains {BEGIN.strip()!r}")
        if (self.certificate is None) != (self.key is None):
            given, missing = ("certificate", "key") if self.key is None else ("key", "certificate")
            raise ValueError(f"Security.{given} without Security.{missing}: expected both or neither")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@lru_cache(maxsize=16)
def _context(security: Security) -> ssl.SSLContext:
    # Checks host names and certificates by default.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if security.ca is None:
        context.load_default_certs()
    else:
        context.load_verify_locations(cadata=security.ca)
    if security.certificate is not None and security.key is not None:
        # Python loads a client's own certificate only from a file. This one is in memory and has no name.
        with open(os.memfd_create("kafkacheck"), "w") as pair:
            pair.write(f"{security.key}\n{security.certificate}")
            pair.flush()
            context.load_cert_chain(f"/proc/self/fd/{pair.fileno()}")
    return context
