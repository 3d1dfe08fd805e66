"""Signed notes, verifier keys and checkpoints: C2SP signed-note, tlog-checkpoint and tlog-cosignature.

Ed25519 is the only algorithm: type 0x01 signs the note's text, type 0x04
(cosignature/v1) signs it together with a time. AttestLab's log signs with both, so that
the time of a checkpoint is signed too. Parsing is strict; a text that another
implementation might read differently is rejected.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from attestlab.core.crypto import signing
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import b64_decode, b64_encode
from attestlab.core.errors import SignatureInvalid, ValidationFailed
from attestlab.log.merkle.hashing import EMPTY_ROOT, HASH_BYTES

MAX_NOTE_CHARS = 1_000_000
MAX_SIGNATURES = 100
MAX_SIZE = 2**63 - 1  # also the largest cosignature time
KEY_BYTES = 32
KEY_ID_BYTES = 4
SIGNATURE_BYTES = 64
TIME_BYTES = 8

_SIGNATURE_LINE = re.compile(r"— (?P<name>[^ +]+) (?P<blob>[A-Za-z0-9+/]+={0,2})")
_VKEY = re.compile(r"(?P<name>[^+]+)\+(?P<key_id>[0-9a-f]{8})\+(?P<blob>[A-Za-z0-9+/]+={0,2})")
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)


class SignatureType(IntEnum):
    """The supported signature types; a signature of another type counts as one of an unknown key."""

    ED25519 = 0x01
    COSIGNATURE_V1 = 0x04


def parse_decimal(text: str) -> int:
    """Parse a number from 0 to 2^63-1 in ASCII digits without leading zeros.

    Raises:
        ValueError: the text is no such number.
    """
    if not _DECIMAL.fullmatch(text) or int(text) > MAX_SIZE:
        raise ValueError("not a plain decimal number")
    return int(text)


def is_key_name(name: str) -> bool:
    """Whether signed-note allows `name` for a key: not empty, no Unicode space, no plus, no control character."""
    return bool(name) and "+" not in name and not any(c.isspace() or c < " " for c in name)


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """A public key that signs notes; `str()` is its vkey `name+id+base64(type || key)`."""

    name: str
    type: SignatureType
    public: bytes

    @property
    def key_id(self) -> bytes:
        """The four bytes that identify the key in a signature line."""
        named = self.name.encode() + b"\n" + bytes([self.type]) + self.public
        return hashlib.sha256(named).digest()[:KEY_ID_BYTES]

    def __str__(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{b64_encode(bytes([self.type]) + self.public)}"

    @classmethod
    def parse(cls, vkey: str) -> VerifierKey:
        """Parse a vkey.

        Raises:
            ValidationFailed: the vkey is malformed, its id does not match, its type is not supported, or
                `signing.load_public` rejects its point.
        """
        match = _VKEY.fullmatch(vkey)
        try:
            blob = b64_decode(match["blob"]) if match else b""
        except ValueError:
            blob = b""
        if match is None or not blob or not is_key_name(match["name"]):
            raise ValidationFailed("A verifier key has the form name+8 hex digits+base64.")
        if blob[0] not in set(SignatureType) or len(blob) != 1 + KEY_BYTES:
            raise ValidationFailed(f"The verifier key of {match['name']} is not Ed25519 of type 0x01 or 0x04.")
        key = cls(match["name"], SignatureType(blob[0]), blob[1:])
        if key.key_id.hex() != match["key_id"]:
            raise ValidationFailed(f"The verifier key of {key.name} does not fit its id; a character may be mistyped.")
        try:
            signing.load_public(Algorithm.ED25519, key.public)
        except ValidationFailed as error:
            raise ValidationFailed(f"The verifier key of {key.name} cannot be used. {error.message}") from error
        return key

    def cosigner(self) -> VerifierKey:
        """The same key with the type of timestamped cosignatures."""
        return VerifierKey(self.name, SignatureType.COSIGNATURE_V1, self.public)

    def verify(self, text: str, signature: bytes) -> int | None:
        """Verify a signature over a note's text; returns the time a cosignature states (seconds since 1970).

        Raises:
            SignatureInvalid: the signature is malformed or does not verify.
        """
        at_s, message = None, text.encode()
        if self.type is SignatureType.COSIGNATURE_V1:
            at_s = int.from_bytes(signature[:TIME_BYTES], "big")
            signature, message = signature[TIME_BYTES:], _cosigned_message(text, at_s)
        if len(signature) != SIGNATURE_BYTES or (at_s or 0) > MAX_SIZE:
            raise SignatureInvalid(f"The signature of {self.name} is malformed.")
        try:
            public = signing.load_public(Algorithm.ED25519, self.public)
            signing.verify(Algorithm.ED25519, public, signature, message)
        except (SignatureInvalid, ValidationFailed) as error:
            raise SignatureInvalid(f"The signature of {self.name} does not verify.") from error
        return at_s


def _cosigned_message(text: str, at_s: int) -> bytes:
    """The message that a cosignature/v1 signs."""
    return f"cosignature/v1\ntime {at_s}\n{text}".encode()


class NoteSigner:
    """Signs notes with one key, under its name."""

    def __init__(self, name: str, private: Ed25519PrivateKey) -> None:
        if not is_key_name(name):
            raise ValidationFailed("Invalid key name: it must not be empty or contain spaces or a plus.")
        self.vkey = VerifierKey(name, SignatureType.ED25519, private.public_key().public_bytes_raw())
        self._private = private
        self._prefixes = self.vkey.key_id, self.vkey.cosigner().key_id

    def sign(self, text: str) -> str:
        """Sign `text`, which ends in a newline; returns the signature line of type 0x01."""
        return self._line(self._prefixes[0] + self._private.sign(text.encode()))

    def cosign(self, text: str, *, at_s: int) -> str:
        """Sign `text` with the time `at_s` (seconds since 1970); returns the signature line of type 0x04."""
        return self._line(
            self._prefixes[1] + at_s.to_bytes(TIME_BYTES, "big") + self._private.sign(_cosigned_message(text, at_s))
        )

    def _line(self, blob: bytes) -> str:
        return f"— {self.vkey.name} {b64_encode(blob)}\n"


@dataclass(frozen=True, slots=True)
class NoteSignature:
    """One signature line: the key that it names, and the bytes after the key id; `str()` is the line."""

    name: str
    key_id: bytes
    signature: bytes

    def __str__(self) -> str:
        return f"— {self.name} {b64_encode(self.key_id + self.signature)}\n"


@dataclass(frozen=True, slots=True)
class Note:
    """A parsed note, which is not authenticated until `verify` returns a trusted key."""

    text: str
    signatures: tuple[NoteSignature, ...]

    @classmethod
    def parse(cls, note: str) -> Note:
        """Parse a note into text and signature lines, which its last blank line separates.

        Raises:
            SignatureInvalid: the note is malformed.
        """
        text, blank, lines = note.rpartition("\n\n")
        if not blank or not text or not lines.endswith("\n") or not _is_plain_text(note):
            raise SignatureInvalid("This is not a signed note: text, a blank line and signature lines are needed.")
        signatures = lines[:-1].split("\n")
        if len(signatures) > MAX_SIGNATURES:
            raise SignatureInvalid(f"The note has {len(signatures)} signatures; the limit is {MAX_SIGNATURES}.")
        return cls(text + "\n", tuple(_parse_signature_line(line) for line in signatures))

    def verify(self, keys: Iterable[VerifierKey]) -> dict[VerifierKey, int | None]:
        """Return those of `keys` that signed the note, each with the time its cosignature states.

        Signatures of unknown keys are ignored; one invalid signature of a known key invalidates the note.

        Raises:
            SignatureInvalid: the signature of one of `keys` does not verify.
        """
        known = {(key.name, key.key_id): key for key in keys}
        signed: dict[VerifierKey, int | None] = {}
        for line in self.signatures:
            key = known.get((line.name, line.key_id))
            if key is not None and key not in signed:
                signed[key] = key.verify(self.text, line.signature)
        return signed


def _is_plain_text(note: str) -> bool:
    """Whether a note is UTF-8 without control characters except newline, and within the size limit."""
    if len(note) > MAX_NOTE_CHARS or any(c < " " and c != "\n" for c in note):
        return False
    try:
        note.encode()
    except UnicodeEncodeError:
        return False
    return True


def _parse_signature_line(line: str) -> NoteSignature:
    match = _SIGNATURE_LINE.fullmatch(line)
    try:
        blob = b64_decode(match["blob"]) if match else b""
    except ValueError:
        blob = b""
    if match is None or len(blob) <= KEY_ID_BYTES or not is_key_name(match["name"]):
        raise SignatureInvalid("A signature line of the note is malformed.")
    return NoteSignature(match["name"], blob[:KEY_ID_BYTES], blob[KEY_ID_BYTES:])


@dataclass(frozen=True, slots=True)
class TreeHead:
    """The statement of a checkpoint: origin, size and root of a log."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """The text of the note, which the log signs."""
        return f"{self.origin}\n{self.size}\n{b64_encode(self.root)}\n"

    @classmethod
    def parse(cls, text: str) -> TreeHead:
        """Parse the text of a checkpoint; extension lines are ignored, although they are signed.

        Raises:
            SignatureInvalid: the text is no checkpoint, or one of size 0 with another root than the empty tree's.
        """
        head = cls.parse_syntax(text)
        if head.size == 0 and head.root != EMPTY_ROOT:
            raise SignatureInvalid("The note is not a checkpoint: its root does not fit.")
        return head

    @classmethod
    def parse_syntax(cls, text: str) -> TreeHead:
        """Parse the text of a checkpoint without checking the root of an empty tree, which a witness checks itself.

        Raises:
            SignatureInvalid: the text does not have the form of a checkpoint.
        """
        lines = text.split("\n")[:-1]
        try:
            if len(lines) < 3 or not all(lines):
                raise ValueError("three lines, none of them empty")
            head = cls(lines[0], parse_decimal(lines[1]), b64_decode(lines[2]))
        except ValueError as error:
            raise SignatureInvalid(f"The note is not a checkpoint: {error}.") from error
        if len(head.root) != HASH_BYTES:
            raise SignatureInvalid("The note is not a checkpoint: its root does not fit.")
        return head


def sign_checkpoint(signer: NoteSigner, head: TreeHead, *, at_s: int) -> str:
    """Sign the checkpoint of `head`: a note with the log's signature, then the same key's timestamped one."""
    text = head.text
    return f"{text}\n{signer.sign(text)}{signer.cosign(text, at_s=at_s)}"


def split_signature_lines(note: str, name: str) -> tuple[list[str], list[str]]:
    """Split a note's signature lines into those under `name`, the log's key name, and the others."""
    lines = note.partition("\n\n")[2].splitlines()
    own = [line for line in lines if line.startswith(f"\u2014 {name} ")]
    return own, [line for line in lines if line not in own]
