"""A certificate authority for one test cluster, made on the fly, trusted by nobody else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trustme import CA


@dataclass(frozen=True, kw_only=True)
class Identity:
    """PEM texts. The key is left out of the repr.

    ca     the authority's own certificate, for those who are to trust the chain
    chain  the certificate and what it was issued by
    key    its private key as PKCS#8, not encrypted: the form that Kafka reads
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
    """Its key lives as long as this object, and in memory only."""

    def __init__(self) -> None:
        # Not at the top: clusters in plain text need not wait for cryptography to load.
        import trustme

        self._ca: CA = trustme.CA(organization_name="kafkacheck")

    @property
    def certificate(self) -> str:
        """PEM text."""
        return self._ca.cert_pem.bytes().decode()

    def issue(self, hosts: Iterable[str]) -> Identity:
        """An identity good for all these host names and IP addresses. Raises ValueError for none."""
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
            load_pem_private_key,
        )

        names = tuple(hosts)
        if not names:
            raise ValueError(
                "CertificateAuthority.issue(hosts=()): expected one host name or IP address at least"
            )
        issued = self._ca.issue_cert(*names)
        key = load_pem_private_key(issued.private_key_pem.bytes(), password=None)
        return Identity(
            ca=self.certificate,
            chain="".join(each.bytes().decode() for each in issued.cert_chain_pems),
            key=key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
        )


def issue_identity(hosts: Iterable[str]) -> Identity:
    """An identity from an authority that is forgotten at once: one for all nodes of a cluster.

    hosts  of every node, with the names clients reach them by; localhost and 127.0.0.1 come by themselves.
    """
    return CertificateAuthority().issue(dict.fromkeys([*hosts, "localhost", "127.0.0.1"]))
