"""A test authority and a signer of C2PA manifests, made with the library's own builder."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from functools import cache

import c2pa
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from support.pictures import IPTC

SIGNER = "Camera Works"


def sign_media(
    content: bytes,
    media_type: str = "image/jpeg",
    *,
    source_type: str = "digitalCapture",
    agent: str = "Test Camera",
    component: bytes | None = None,
    remote_url: str | None = None,
) -> bytes:
    """Sign a manifest into media: it was created, from `component` if that is given (a JPEG).

    With `remote_url` the media holds that address alone.
    """
    stated = {"action": "c2pa.created", "softwareAgent": {"name": agent}, "digitalSourceType": IPTC + source_type}
    with _make_builder(stated) as builder:
        if component is not None:
            ingredient = {"title": "placed", "relationship": "componentOf"}
            builder.add_ingredient(ingredient, "image/jpeg", io.BytesIO(component))
        if remote_url:
            builder.set_no_embed()
            builder.set_remote_url(remote_url)
        return _sign(builder, content, media_type)


def sign_edit(content: bytes, media_type: str = "image/jpeg") -> bytes:
    """Sign a manifest that says that the media was edited; the manifest that it had becomes the parent."""
    with _make_builder({"action": "c2pa.edited"}) as builder:
        builder.set_intent(c2pa.C2paBuilderIntent.EDIT)
        return _sign(builder, content, media_type)


def _make_builder(action: dict[str, object]) -> c2pa.Builder:
    actions = {"label": "c2pa.actions.v2", "data": {"actions": [action]}}
    generator = [{"name": "Test Camera", "version": "1"}]
    without_thumbnails = c2pa.Context.from_dict({"version": 1, "builder": {"thumbnail": {"enabled": False}}})
    manifest = {"claim_generator_info": generator, "assertions": [actions]}
    return c2pa.Builder(json.dumps(manifest), context=without_thumbnails)


def _sign(builder: c2pa.Builder, content: bytes, media_type: str) -> bytes:
    chain, key = _issue()
    signed = io.BytesIO()
    with c2pa.Signer.from_info(c2pa.C2paSignerInfo(c2pa.C2paSigningAlg.ES256, chain, key, None)) as signer:
        builder.sign(signer, media_type, io.BytesIO(content), signed)
    return signed.getvalue()


@cache
def _issue() -> tuple[bytes, bytes]:
    """Issue a certificate for signing; returns its chain and its key, as PEM."""
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority_name, name = _name("Test Authority"), _name(SIGNER)
    authority = _certificate(authority_name, authority_name, authority_key.public_key())
    authority = authority.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    authority = authority.add_extension(_key_usage(signs_certificates=True), critical=True)
    leaf = _certificate(name, authority_name, key.public_key())
    leaf = leaf.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    leaf = leaf.add_extension(_key_usage(signs_certificates=False), critical=True)
    leaf = leaf.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.EMAIL_PROTECTION]), critical=False)
    issuer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    leaf = leaf.add_extension(issuer_id, critical=False)
    signed = [each.sign(authority_key, hashes.SHA256()) for each in (leaf, authority)]
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return b"".join(each.public_bytes(serialization.Encoding.PEM) for each in signed), private


def _name(organization: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)])


def _certificate(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    end = datetime.now(UTC) + timedelta(days=30)
    return x509.CertificateBuilder(
        issuer, subject, key, x509.random_serial_number(), end - timedelta(days=60), end
    ).add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
