"""Certificates for one test cluster, issued by a certificate authority that exists only for that cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trustme import CA


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
