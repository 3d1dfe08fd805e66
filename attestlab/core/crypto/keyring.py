"""The keyring: private keys and other secrets sealed at rest with AES-256-GCM (NIST SP 800-38D).

The records hold the sealed blobs, the key-encryption key (KEK) lives outside of them:
in the environment or in a file of mode 0600. Whoever has only one of the two has nothing.

A blob is `version (1) || KEK id (8) || nonce (12) || ciphertext and tag`. What it belongs
to is authenticated with it, so that a blob moved to another tenant, issuer, kid or
algorithm does not open. The id says which KEK is needed and nothing about it.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Never
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from attestlab.core import atomic_files
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.errors import Conflict, IntegrityFailed, KeyringMismatch, ValidationFailed
from attestlab.core.strict_json import b64url_decode, b64url_encode

ENVIRONMENT_NAME = "ATTESTLAB_KEK"
FILE_NAME = "keyring.key"
NEXT_ENVIRONMENT_NAME = "ATTESTLAB_KEK_NEXT"
NEXT_FILE_NAME = "keyring.key.next"  # while an installation moves to it

_VERSION = b"\x01"
_KEK_BYTES = 32
_ID_BYTES = 8
_NONCE_BYTES = 12
_TAG_BYTES = 16
_HEAD_BYTES = len(_VERSION) + _ID_BYTES
_MIN_SEALED_BYTES = _HEAD_BYTES + _NONCE_BYTES + _TAG_BYTES


class Keyring:
    """Seals and unseals under one key-encryption key; never says what that key is."""

    def __init__(self, kek: bytes) -> None:
        if len(kek) != _KEK_BYTES:
            raise ValueError(f"A key-encryption key has {_KEK_BYTES} bytes.")
        self.id = sha256(b"attestlab keyring v1\x00" + kek).digest()[:_ID_BYTES]
        self._cipher = AESGCM(kek)
        self._keyed = hmac.digest(kek, b"attestlab keyed sha-256 v1", "sha256")

    def __repr__(self) -> str:
        return f"<Keyring {self.id.hex()}>"

    @classmethod
    def open(cls, folder: Path, environ: Mapping[str, str]) -> Keyring:
        """The keyring whose KEK is in ATTESTLAB_KEK or, where that is unset or empty, in `folder`/keyring.key.

        Raises:
            ValidationFailed: there is none, it is not 32 bytes of base64url, or others may read its file.
        """
        if in_environment := environ.get(ENVIRONMENT_NAME):
            return cls(_parse_kek(in_environment.strip(), source=ENVIRONMENT_NAME))
        # The file is as we wrote it, to the last bit; anything else in it is damage that must not pass unnoticed.
        return cls(_parse_kek(_read_private_file(folder / FILE_NAME).removesuffix("\n"), source=FILE_NAME))

    @classmethod
    def next(cls, folder: Path, environ: Mapping[str, str]) -> Keyring:
        """The keyring to which an installation moves: ATTESTLAB_KEK_NEXT where ATTESTLAB_KEK is in use, else a file.

        Raises:
            ValidationFailed: there is none, or it is not 32 bytes of base64url.
        """
        if environ.get(ENVIRONMENT_NAME):
            given = environ.get(NEXT_ENVIRONMENT_NAME, "")
            return cls(_parse_kek(given.strip(), source=NEXT_ENVIRONMENT_NAME))
        return cls(_parse_kek(_read_private_file(folder / NEXT_FILE_NAME).removesuffix("\n"), source=NEXT_FILE_NAME))

    @classmethod
    def create(cls, folder: Path, *, file_name: str = FILE_NAME) -> Keyring:
        """A fresh KEK in `folder`/keyring.key (mode 0600), on disk before this returns.

        Raises:
            Conflict: there is one already; what it sealed could never be opened again.
        """
        kek = secrets.token_bytes(_KEK_BYTES)
        _write_private_file(folder / file_name, b64url_encode(kek) + "\n")
        return cls(kek)

    def seal(self, private_der: bytes, *, tenant_id: UUID | None, issuer_id: UUID | None, kid: str, alg: str) -> bytes:
        """The blob to store; `tenant_id` and `issuer_id` are None for a key of the service itself."""
        return self._sealed(private_der, _owner(tenant_id, issuer_id, kid, alg))

    def unseal(self, blob: bytes, *, tenant_id: UUID | None, issuer_id: UUID | None, kid: str, alg: str) -> bytes:
        """The private key in the blob, if it was sealed here for exactly this owner.

        Raises:
            IntegrityFailed: another KEK, another owner, or a changed blob.
        """
        try:
            return self._unsealed(blob, _owner(tenant_id, issuer_id, kid, alg))
        except InvalidTag:
            raise IntegrityFailed(
                f"The sealed key {kid!r} does not open: it was changed or is of another tenant, issuer, kid or alg."
            ) from None

    def seal_secret(self, secret: bytes, *, purpose: str) -> bytes:
        """The blob to store of a secret that is no key, such as the text of an e-mail.

        `purpose` names what it is for, and whose it is where that matters: the blob opens for nothing else.
        """
        return self._sealed(secret, _use(purpose))

    def unseal_secret(self, blob: bytes, *, purpose: str) -> bytes:
        """The secret in the blob, if it was sealed here for exactly this purpose.

        Raises:
            IntegrityFailed: another KEK, another purpose, or a changed blob.
        """
        try:
            return self._unsealed(blob, _use(purpose))
        except InvalidTag:
            raise IntegrityFailed(
                f"The sealed {purpose} does not open: it was changed, or sealed for another purpose."
            ) from None

    def keyed_sha256(self, message: bytes) -> bytes:
        """HMAC-SHA-256 of a message: equal messages are known again, and nobody can try out what they were."""
        return hmac.digest(self._keyed, message, "sha256")

    def _sealed(self, secret: bytes, bound_to: bytes) -> bytes:
        head, nonce = _VERSION + self.id, secrets.token_bytes(_NONCE_BYTES)
        return head + nonce + self._cipher.encrypt(nonce, secret, head + bound_to)

    def _unsealed(self, blob: bytes, bound_to: bytes) -> bytes:
        head, nonce, sealed = _split(blob)
        self._require_mine(head)
        return self._cipher.decrypt(nonce, sealed, head + bound_to)

    def rewrap(
        self, blob: bytes, new: Keyring, *, tenant_id: UUID | None, issuer_id: UUID | None, kid: str, alg: str
    ) -> bytes:
        """The same private key sealed under `new`; the old blob still opens with this keyring."""
        private_der = self.unseal(blob, tenant_id=tenant_id, issuer_id=issuer_id, kid=kid, alg=alg)
        return new.seal(private_der, tenant_id=tenant_id, issuer_id=issuer_id, kid=kid, alg=alg)

    def rewrap_secret(self, blob: bytes, new: Keyring, *, purpose: str) -> bytes:
        """The same secret sealed under `new`, for the same purpose."""
        return new.seal_secret(self.unseal_secret(blob, purpose=purpose), purpose=purpose)

    def has_sealed(self, blob: bytes) -> bool:
        """Whether a blob says that it was sealed under this KEK."""
        return blob[:_HEAD_BYTES] == _VERSION + self.id

    def _require_mine(self, head: bytes) -> None:
        if head[:1] != _VERSION:
            raise IntegrityFailed("The sealed key has a version that this release does not know.")
        if head[1:] != self.id:
            raise KeyringMismatch(
                f"The key was sealed under the key-encryption key {head[1:].hex()}, this one is {self.id.hex()}; "
                f"give the right one in {ENVIRONMENT_NAME} or {FILE_NAME}."
            )


def _split(blob: bytes) -> tuple[bytes, bytes, bytes]:
    """Head, nonce, ciphertext with tag."""
    if len(blob) < _MIN_SEALED_BYTES:
        raise IntegrityFailed(f"A sealed key has at least {_MIN_SEALED_BYTES} bytes, this one {len(blob)}.")
    body = blob[_HEAD_BYTES:]
    return blob[:_HEAD_BYTES], body[:_NONCE_BYTES], body[_NONCE_BYTES:]


def _owner(tenant_id: UUID | None, issuer_id: UUID | None, kid: str, alg: str) -> bytes:
    """What the blob is bound to. Canonical JSON, so that no two owners are written alike."""
    tenant, issuer = (None if one is None else str(one) for one in (tenant_id, issuer_id))
    return canonical({"tenant_id": tenant, "issuer_id": issuer, "kid": kid, "alg": str(alg)})


def _use(purpose: str) -> bytes:
    """What a secret that is no key is bound to; no owner of a key is written like this."""
    return canonical({"purpose": purpose})


def _parse_kek(text: str, *, source: str) -> bytes:
    try:
        kek = b64url_decode(text, field=source)
    except ValidationFailed:
        kek = b""  # the decoder's message quotes what it read, and this is a secret
    if len(kek) != _KEK_BYTES:
        _refuse(source, f"{source} is not {_KEK_BYTES} bytes in base64url (43 characters).")
    return kek


def _read_private_file(path: Path) -> str:
    try:
        with path.open(encoding="ascii", errors="replace") as file:
            # Of the file that is open, not of the name: that one could be exchanged in between.
            mode = os.fstat(file.fileno()).st_mode
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                _refuse(FILE_NAME, f"{path} may be used by others (mode {mode & 0o777:04o}); run chmod 600 {path}.")
            return file.read(1024)
    except FileNotFoundError:
        _refuse(FILE_NAME, f"There is no key-encryption key: set {ENVIRONMENT_NAME} or bring back {path}.")


def _write_private_file(path: Path, text: str) -> None:
    """The whole file or none, never in place of another, and on disk with its name."""
    with atomic_files.draft_of(path) as (draft, file):
        file.write(text.encode("ascii"))
        file.flush()
        os.fsync(file.fileno())
        try:
            os.link(draft, path)  # unlike a rename, it refuses a name that is taken
        except FileExistsError:
            raise Conflict(f"{path} exists already; what it sealed needs it.") from None
    atomic_files.fsync_dir(path.parent)


def take_place(folder: Path) -> None:
    """Let keyring.key.next become keyring.key, in one step; on disk before this returns."""
    (folder / NEXT_FILE_NAME).replace(folder / FILE_NAME)
    atomic_files.fsync_dir(folder)


def _refuse(field: str, message: str) -> Never:
    raise ValidationFailed.of(field, "keyring", message)
