"""The keyring: private keys and other secrets, sealed at rest with AES-256-GCM (NIST SP 800-38D).

The records hold the sealed blobs. The key-encryption key (KEK) is kept outside the records:
in the environment or in a file of mode 0600. An attacker needs both to read a secret.

A blob is `version (1) || KEK id (8) || nonce (12) || ciphertext and tag`. Its owner is
authenticated with it (as associated data), so that a blob copied to another tenant, issuer,
kid or algorithm does not open. The KEK id identifies the KEK and reveals nothing about it.
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
from attestlab.core.encoding import b64url_decode, b64url_encode
from attestlab.core.errors import Conflict, IntegrityFailed, KeyringMismatch, ValidationFailed

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
    """Seals and unseals secrets under one key-encryption key, which it never reveals."""

    def __init__(self, kek: bytes) -> None:
        if len(kek) != _KEK_BYTES:
            raise ValueError(f"The key-encryption key has {len(kek)} bytes; it must have {_KEK_BYTES}.")
        self.id = sha256(b"attestlab keyring v1\x00" + kek).digest()[:_ID_BYTES]
        self._cipher = AESGCM(kek)
        self._keyed = hmac.digest(kek, b"attestlab keyed sha-256 v1", "sha256")

    def __repr__(self) -> str:
        return f"<Keyring {self.id.hex()}>"

    @classmethod
    def open(cls, folder: Path, environ: Mapping[str, str]) -> Keyring:
        """Open the keyring whose KEK is in ATTESTLAB_KEK or, if that is unset or empty, in `folder`/keyring.key.

        Raises:
            ValidationFailed: there is no KEK, it is not 32 bytes of base64url, or other users may read its file.
        """
        if in_environment := environ.get(ENVIRONMENT_NAME):
            return cls(_parse_kek(in_environment.strip(), source=ENVIRONMENT_NAME))
        # The file must be exactly as we wrote it: any other content is damage, which must be reported.
        return cls(_parse_kek(_read_private_file(folder / FILE_NAME).removesuffix("\n"), source=FILE_NAME))

    @classmethod
    def open_next(cls, folder: Path, environ: Mapping[str, str]) -> Keyring:
        """Open the keyring that a rewrap changes to: from ATTESTLAB_KEK_NEXT if ATTESTLAB_KEK is set, else from a file.

        Raises:
            ValidationFailed: there is no KEK, or it is not 32 bytes of base64url.
        """
        if environ.get(ENVIRONMENT_NAME):
            next_kek = environ.get(NEXT_ENVIRONMENT_NAME, "")
            return cls(_parse_kek(next_kek.strip(), source=NEXT_ENVIRONMENT_NAME))
        return cls(_parse_kek(_read_private_file(folder / NEXT_FILE_NAME).removesuffix("\n"), source=NEXT_FILE_NAME))

    @classmethod
    def create(cls, folder: Path, *, file_name: str = FILE_NAME) -> Keyring:
        """Create a KEK in `folder`/keyring.key (mode 0600); the file is synced before this returns.

        Raises:
            Conflict: the file exists; secrets sealed under its KEK would be lost.
        """
        kek = secrets.token_bytes(_KEK_BYTES)
        _write_private_file(folder / file_name, b64url_encode(kek) + "\n")
        return cls(kek)

    def seal(self, private_der: bytes, *, tenant_id: UUID | None, issuer_id: UUID | None, kid: str, alg: str) -> bytes:
        """Seal a private key to a blob; `tenant_id` and `issuer_id` are None for a key of the service itself."""
        return self._encrypt(private_der, _owner_data(tenant_id, issuer_id, kid, alg))

    def unseal(self, blob: bytes, *, tenant_id: UUID | None, issuer_id: UUID | None, kid: str, alg: str) -> bytes:
        """Unseal the private key in a blob that was sealed for exactly this owner.

        Raises:
            KeyringMismatch: it was sealed under another KEK.
            IntegrityFailed: it was sealed for another owner, or the blob was changed.
        """
        try:
            return self._decrypt(blob, _owner_data(tenant_id, issuer_id, kid, alg))
        except InvalidTag:
            raise IntegrityFailed(
                f"The sealed key {kid!r} does not open: it was changed or is of another tenant, issuer, kid or alg."
            ) from None

    def seal_secret(self, secret: bytes, *, purpose: str) -> bytes:
        """Seal a secret that is not a key, such as the text of an e-mail, to a blob.

        `purpose` names the use of the secret and, if it has one, its owner; the blob opens for this purpose only.
        """
        return self._encrypt(secret, _purpose_data(purpose))

    def unseal_secret(self, blob: bytes, *, purpose: str) -> bytes:
        """Unseal the secret in a blob that was sealed for exactly this purpose.

        Raises:
            KeyringMismatch: it was sealed under another KEK.
            IntegrityFailed: it was sealed for another purpose, or the blob was changed.
        """
        try:
            return self._decrypt(blob, _purpose_data(purpose))
        except InvalidTag:
            raise IntegrityFailed(
                f"The sealed {purpose} does not open: it was changed, or sealed for another purpose."
            ) from None

    def keyed_sha256(self, message: bytes) -> bytes:
        """Compute the HMAC-SHA-256 of a message: equal messages match, and guessing one requires the key."""
        return hmac.digest(self._keyed, message, "sha256")

    def _encrypt(self, secret: bytes, bound_to: bytes) -> bytes:
        head, nonce = _VERSION + self.id, secrets.token_bytes(_NONCE_BYTES)
        return head + nonce + self._cipher.encrypt(nonce, secret, head + bound_to)

    def _decrypt(self, blob: bytes, bound_to: bytes) -> bytes:
        head, nonce, ciphertext = _split(blob)
        self._require_own(head)
        return self._cipher.decrypt(nonce, ciphertext, head + bound_to)

    def rewrap(
        self, blob: bytes, new: Keyring, *, tenant_id: UUID | None, issuer_id: UUID | None, kid: str, alg: str
    ) -> bytes:
        """Seal the same private key under `new`; the old blob still opens with this keyring."""
        private_der = self.unseal(blob, tenant_id=tenant_id, issuer_id=issuer_id, kid=kid, alg=alg)
        return new.seal(private_der, tenant_id=tenant_id, issuer_id=issuer_id, kid=kid, alg=alg)

    def rewrap_secret(self, blob: bytes, new: Keyring, *, purpose: str) -> bytes:
        """Seal the same secret under `new`, for the same purpose."""
        return new.seal_secret(self.unseal_secret(blob, purpose=purpose), purpose=purpose)

    def has_sealed(self, blob: bytes) -> bool:
        """Whether a blob names this KEK as the one it was sealed under."""
        return blob[:_HEAD_BYTES] == _VERSION + self.id

    def _require_own(self, head: bytes) -> None:
        if head[:1] != _VERSION:
            raise IntegrityFailed(f"The sealed key has the unknown version {head[0] if head else None}.")
        if head[1:] != self.id:
            raise KeyringMismatch(
                f"The key was sealed under the key-encryption key {head[1:].hex()}, this process has {self.id.hex()}. "
                f"Provide the right one in {ENVIRONMENT_NAME} or {FILE_NAME}."
            )


def _split(blob: bytes) -> tuple[bytes, bytes, bytes]:
    """Split a blob into head, nonce, and ciphertext with tag."""
    if len(blob) < _MIN_SEALED_BYTES:
        raise IntegrityFailed(f"The sealed key has {len(blob)} bytes; the minimum is {_MIN_SEALED_BYTES}.")
    body = blob[_HEAD_BYTES:]
    return blob[:_HEAD_BYTES], body[:_NONCE_BYTES], body[_NONCE_BYTES:]


def _owner_data(tenant_id: UUID | None, issuer_id: UUID | None, kid: str, alg: str) -> bytes:
    """Return the associated data of a key: canonical JSON, so that no two owners have the same bytes."""
    tenant, issuer = (None if one is None else str(one) for one in (tenant_id, issuer_id))
    return canonical({"tenant_id": tenant, "issuer_id": issuer, "kid": kid, "alg": str(alg)})


def _purpose_data(purpose: str) -> bytes:
    """Return the associated data of a secret that is not a key; it differs from every key owner's."""
    return canonical({"purpose": purpose})


def _parse_kek(text: str, *, source: str) -> bytes:
    try:
        kek = b64url_decode(text, field=source)
    except ValidationFailed:
        kek = b""  # the decoder's message would quote its input, which is a secret
    if len(kek) != _KEK_BYTES:
        _refuse(source, f"{source} is not {_KEK_BYTES} bytes in base64url (43 characters).")
    return kek


def _read_private_file(path: Path) -> str:
    try:
        with path.open(encoding="ascii", errors="replace") as file:
            # Check the open file, not its path: the path could be replaced in between.
            mode = os.fstat(file.fileno()).st_mode
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                _refuse(FILE_NAME, f"Other users may use {path} (mode {mode & 0o777:04o}). Run chmod 600 {path}.")
            return file.read(1024)
    except FileNotFoundError:
        _refuse(FILE_NAME, f"There is no key-encryption key. Set {ENVIRONMENT_NAME} or restore {path}.")


def _write_private_file(path: Path, text: str) -> None:
    """Write a file atomically, never over an existing one; file and name are synced."""
    with atomic_files.open_draft(path) as (draft, file):
        file.write(text.encode("ascii"))
        file.flush()
        os.fsync(file.fileno())
        try:
            os.link(draft, path)  # unlike a rename, it fails if the name exists
        except FileExistsError:
            raise Conflict(f"{path} exists already, and the secrets sealed under it need it.") from None
    atomic_files.fsync_dir(path.parent)


def activate_next(folder: Path) -> None:
    """Rename keyring.key.next to keyring.key atomically; the change is synced before this returns."""
    (folder / NEXT_FILE_NAME).replace(folder / FILE_NAME)
    atomic_files.fsync_dir(folder)


def _refuse(field: str, message: str) -> Never:
    raise ValidationFailed.of(field, "keyring", message)


def open_or_create(folder: Path, environment: Mapping[str, str]) -> Keyring:
    """Open the keyring from the environment or its file, or create the file.

    Use it only before there is a log: a new key could not open an existing installation.
    """
    if environment.get(ENVIRONMENT_NAME) or (folder / FILE_NAME).exists():
        return Keyring.open(folder, environment)
    try:
        return Keyring.create(folder)
    except Conflict:  # another process was faster; the database decides which of them creates the log
        return Keyring.open(folder, environment)
