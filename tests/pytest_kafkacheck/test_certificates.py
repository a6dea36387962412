"""Certificates that name their hosts, in the forms that Kafka and Python read."""

from __future__ import annotations

import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from pytest_kafkacheck.cluster.spec.security import CertificateAuthority, Identity, issue_identity


def test_an_identity_is_valid_for_all_its_hosts() -> None:
    found = issue_identity(["kafka1", "10.1.2.3"])
    leaf = x509.load_pem_x509_certificates(found.chain.encode())[0]
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert set(names.get_values_for_type(x509.DNSName)) == {"kafka1", "localhost"}
    assert {str(each) for each in names.get_values_for_type(x509.IPAddress)} == {"10.1.2.3", "127.0.0.1"}
    leaf.verify_directly_issued_by(x509.load_pem_x509_certificate(found.ca.encode()))


def test_the_key_is_new_and_in_the_form_that_kafka_reads() -> None:
    found = issue_identity(["kafka1"])
    assert found.key.startswith("-----BEGIN PRIVATE KEY-----\n")
    leaf = x509.load_pem_x509_certificate(found.chain.encode())
    assert load_pem_private_key(found.key.encode(), None).public_key() == leaf.public_key()
    assert found.key not in repr(found)
    assert Identity.from_json(found.to_json()) == found


def test_an_authority_issues_several_identities_and_two_authorities_do_not_trust_each_other() -> None:
    authority = CertificateAuthority()
    one, two = authority.issue(["a"]), authority.issue(["b"])
    assert one.ca == two.ca == authority.certificate
    assert one.chain != two.chain
    assert CertificateAuthority().certificate != authority.certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=authority.certificate)


def test_an_identity_without_hosts_is_refused() -> None:
    with pytest.raises(ValueError, match="one host name"):
        CertificateAuthority().issue([])
