"""Reads settings of clients from a file, in the form that Kafka's own tools take as ``--command-config``.

They say how clients authenticate and encrypt where somebody else runs the brokers. A setting about security that
would have no effect here is refused: the tools and kafkacheck would connect differently.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_kafkacheck.errors import UsageError
from workloads.clients.security import Security

if TYPE_CHECKING:
    from workloads.clients.connection import Address

ALLOWED = (
    "security.protocol",
    "sasl.mechanism",
    "sasl.jaas.config",
    "sasl.username",
    "sasl.password",
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.truststore.certificates",
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.endpoint.identification.algorithm",
)
"""`sasl.username` and `sasl.password` are librdkafka's names; all others are Kafka's."""

ABOUT_SECURITY = ("security.", "sasl.", "ssl.")

CERTIFICATE = r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----\n?"
KEY = r"-----BEGIN (?:\w+ )?PRIVATE KEY-----.+?-----END (?:\w+ )?PRIVATE KEY-----\n?"


def read_client_settings(file: Path) -> Security | None:
    """How clients connect; None for plain text. Raises UsageError, naming the file and the setting but no secret."""
    try:
        settings = parse_properties(file.read_text(encoding="utf-8"))
        return _security(settings)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"{file}: {error}") from error


def _security(settings: Mapping[str, str]) -> Security | None:
    for name in settings:
        if name.startswith(ABOUT_SECURITY) and name not in ALLOWED:
            raise ValueError(f"{name} is not supported; allowed are {', '.join(ALLOWED)}")
    # Kafka's own tools turn the check off where it is empty.
    if settings.get("ssl.endpoint.identification.algorithm", "https").lower() != "https":
        raise ValueError(
            "ssl.endpoint.identification.algorithm: host names are always checked; leave it out, and give the "
            "brokers certificates for the names that they advertise"
        )
    protocol = settings.get("security.protocol", "PLAINTEXT")
    if protocol == "PLAINTEXT":
        return None
    made: dict[str, Any] = {"protocol": protocol}
    if protocol.startswith("SASL"):
        made |= {"mechanism": settings.get("sasl.mechanism"), **_user(settings)}
    if protocol.endswith("SSL"):
        made |= _certificates(settings)
    try:
        return Security(**made)
    except ValueError as error:
        raise ValueError(_in_their_terms(str(error))) from None


def _user(settings: Mapping[str, str]) -> dict[str, str | None]:
    if (jaas := settings.get("sasl.jaas.config")) is None:
        return {"username": settings.get("sasl.username"), "password": settings.get("sasl.password")}
    options = {
        name: re.sub(r"\\(.)", r"\1", quoted) if quoted else bare
        for name, quoted, bare in re.findall(r'(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s";]+))', jaas)
    }
    if not {"username", "password"} <= options.keys():
        raise ValueError(
            'sasl.jaas.config: expected the form \'MODULE required username="..." password="...";\''
        )
    return {"username": options["username"], "password": options["password"]}


def _certificates(settings: Mapping[str, str]) -> dict[str, str]:
    found = {}
    trusted = _pem(settings, "ssl.truststore", "ssl.truststore.certificates")
    if trusted is not None:
        found["ca"] = trusted
    chain = _pem(settings, "ssl.keystore", "ssl.keystore.certificate.chain")
    key = settings.get("ssl.keystore.key")
    if chain is not None and key is None:
        # A PEM file has the key and the certificates.
        key = "".join(re.findall(KEY, chain, re.DOTALL)) or None
        chain = "".join(re.findall(CERTIFICATE, chain, re.DOTALL)) or None
    if chain is not None:
        found["certificate"] = chain
    if key is not None:
        if "ENCRYPTED" in key:
            raise ValueError("ssl.keystore: the private key is encrypted; expected one without a password")
        found["key"] = key
    return found


def _pem(settings: Mapping[str, str], store: str, inline: str) -> str | None:
    """PEM text of a store, from the settings themselves or from the file that they name."""
    given = [name for name in (f"{store}.location", inline) if name in settings]
    if not given:
        return None
    if len(given) > 1:
        raise ValueError(f"{given[0]} and {given[1]}: expected one of them")
    if (kind := settings.get(f"{store}.type", "JKS")) != "PEM":
        raise ValueError(
            f"{store}.type={kind}: expected PEM; `keytool -exportcert -rfc` writes a certificate of a Java key store "
            f"as PEM"
        )
    if given[0] == inline:
        return settings[inline]
    try:
        return Path(settings[given[0]]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text file in PEM form"
        raise ValueError(f"{given[0]}={settings[given[0]]}: cannot be read: {reason}") from error


def _in_their_terms(text: str) -> str:
    """A message of `Security` with the names of these settings."""
    for field, setting in {
        "Security.protocol": "security.protocol",
        "Security.mechanism": "sasl.mechanism",
        "Security.username": "sasl.jaas.config: username",
        "Security.password": "sasl.jaas.config: password",
        "Security.ca": "ssl.truststore",
        "Security.certificate": "ssl.keystore: certificate",
        "Security.key": "ssl.keystore: key",
    }.items():
        text = text.replace(field, setting)
    return text


ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}

ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)

LINE = re.compile(r"((?:[^\\=:\s]|\\.)+)\s*[=:]?\s*(.*)", re.DOTALL)
"""Name and value: the separator is ``=``, ``:`` or white space."""


def parse_properties(text: str) -> dict[str, str]:
    """Values by name. The last one counts where a name comes twice, as with Java."""
    return {name: value for name, (value, _) in numbered_properties(text).items()}


def numbered_properties(text: str) -> dict[str, tuple[str, int]]:
    """Values by name, each with the number of the line in which it begins."""
    found = {}
    for line, number in _logical_lines(text):
        if match := LINE.fullmatch(line):
            found[_unescaped(match[1])] = _unescaped(match[2]), number
    return found


def _logical_lines(text: str) -> list[tuple[str, int]]:
    """Without comments and empty lines. A line whose last backslash is not escaped continues on the next one."""
    lines: list[tuple[str, int]] = []
    begun, start = "", 0
    for number, each in enumerate(text.splitlines(), 1):
        line = each.lstrip()
        if not begun and (not line or line[0] in "#!"):
            continue
        start = start if begun else number
        begun += line
        if (len(begun) - len(begun.rstrip("\\"))) % 2:
            begun = begun[:-1]
            continue
        lines.append((begun, start))
        begun = ""
    return [*lines, (begun, start)] if begun else lines


def _unescaped(text: str) -> str:
    return ESCAPED.sub(
        lambda match: chr(int(match[1], 16)) if match[1] else ESCAPES.get(match[2], match[2]), text
    )


def parse_addresses(text: str, security: Security | None = None) -> dict[int, Address]:
    """Where this host reaches brokers, by node id, from a text such as "1=10.0.0.5:19092,2=10.0.0.5:19093".

    security  how clients connect to them. Raises UsageError.
    """
    # Its module imports kafka-python, which an audit of files does not need.
    from workloads.clients.connection import Address

    found: dict[int, Address] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        match = re.fullmatch(r"(\d+)=\[?([^\]=]+)\]?:(\d{1,5})", part)
        if match is None or not 0 < int(match[3]) < 65536:
            raise UsageError(
                f"{part!r}: expected NODE=HOST:PORT,... such as 1=10.0.0.5:19092,2=10.0.0.5:19093"
            )
        found[int(match[1])] = Address(match[2], int(match[3]), security)
    return found
