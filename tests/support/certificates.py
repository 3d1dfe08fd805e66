"""Certificates for servers of the tests, with their keys: self-signed, or signed by an authority of the test."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)


def write_certificate(path: Path, *names: str, is_expired: bool = False, authority: Path | None = None) -> Path:
    """Write a certificate for these host names and its key to one PEM file; who trusts it trusts the file.

    The file `authority` is of an earlier certificate, which signs this one.
    """
    now = datetime.now(UTC) - (5 * DAY if is_expired else timedelta())
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, path.stem)])
    issuer, signing_key = (subject, key) if authority is None else read_authority(authority)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)
        .not_valid_after(now + DAY)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=authority is None, path_length=None), critical=True)
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    path.write_bytes(builder.sign(signing_key, hashes.SHA256()).public_bytes(pem) + private)
    return path


def read_authority(path: Path) -> tuple[x509.Name, ec.EllipticCurvePrivateKey]:
    """Read the name and the key of an authority."""
    key = serialization.load_pem_private_key(path.read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return x509.load_pem_x509_certificate(path.read_bytes()).subject, key


def serve_with(certificate: Path) -> ssl.SSLContext:
    """The TLS context of a server with this certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context
