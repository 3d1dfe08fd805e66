"""Service of a witness: create it, and cosign submitted checkpoints.

The accepted head is on the disk before the witness signs it, so that a witness killed
between the two never cosigns another tree of that size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from attestlab.core import atomic_files
from attestlab.core.clock import Clock
from attestlab.core.crypto import keyring
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.crypto.signing import Algorithm, dump_private, load_private
from attestlab.core.errors import Conflict, IntegrityFailed, NotFound, SignatureInvalid
from attestlab.log.head_guard import HEAD_GUARD
from attestlab.log.note.note import Note, NoteSigner, TreeHead, VerifierKey
from attestlab.log.witnessing.submission_policy import Submission
from attestlab.witness import rules
from attestlab.witness.rules import WitnessedLog
from attestlab.witness.store import CosignedHead, Heads, WitnessStore


def create_witness(folder: Path, *, name: str, environ: Mapping[str, str]) -> VerifierKey:
    """Create a witness in `folder`: a key-encryption key, a store, and a fresh key sealed in it.

    Returns the key to pin, which verifies its cosignatures (type 0x04). After a crash it can be run again.

    Raises:
        Conflict: the folder holds a witness already, or an installation.
        ValidationFailed: the name is not a valid key name.
    """
    private = Ed25519PrivateKey.generate()
    signer = NoteSigner(name, private)
    if (folder / HEAD_GUARD).exists():
        raise Conflict(f"{folder} holds an installation. Name another folder: a witness has its own, with its own key.")
    atomic_files.make_private_folder(folder)
    is_there = environ.get(keyring.ENVIRONMENT_NAME) or (folder / keyring.FILE_NAME).exists()
    keys = Keyring.open(folder, environ) if is_there else Keyring.create(folder)
    sealed = keys.seal_secret(dump_private(private), purpose=_purpose(name))
    WitnessStore.create(folder, name=name, sealed_key=sealed)
    return signer.vkey.cosigner()


def unseal_signer(store: WitnessStore, keys: Keyring) -> NoteSigner:
    """Unseal the witness's signing key.

    Raises:
        IntegrityFailed: the keyring does not unseal it, or it is no Ed25519 key.
    """
    name, sealed = store.identity()
    private = load_private(Algorithm.ED25519, keys.unseal_secret(sealed, purpose=_purpose(name)))
    if not isinstance(private, Ed25519PrivateKey):
        raise IntegrityFailed("The sealed key of the witness is not an Ed25519 key.")
    return NoteSigner(name, private)


def _purpose(name: str) -> str:
    return f"key of the witness {name}"


class Witness:
    """Cosigns the checkpoints of `logs`, each of which has any number of keys."""

    def __init__(self, store: WitnessStore, signer: NoteSigner, *, logs: Iterable[WitnessedLog], clock: Clock) -> None:
        self._store = store
        self._signer = signer
        self._clock = clock
        self._logs: dict[str, list[VerifierKey]] = {}
        for log in logs:
            self._logs.setdefault(log.origin, []).append(log.key)
        self._origins = {rules.origin_hash(origin): origin for origin in self._logs}

    @property
    def vkey(self) -> VerifierKey:
        """The public key that verifies its cosignatures."""
        return self._signer.vkey.cosigner()

    def add_checkpoint(self, body: bytes) -> str:
        """Verify and cosign the checkpoint in `body`, a C2SP tlog-witness submission; returns the cosignature line.

        Raises:
            ValidationFailed: the submission is malformed, or its old size exceeds the new one.
            NotFound: the witness does not cosign this log.
            SignatureInvalid: none of the log's keys signed the checkpoint.
            SizeConflict: the old size is not that of the tree that was cosigned last.
            ProofInvalid: the new tree does not begin with the tree cosigned last, is another tree of its size, or has
                size 0 and another root than the empty tree.
            Unavailable: the head could not be stored.
        """
        submission = Submission.parse(body)
        note, head = submission.parse_checkpoint()
        self._require_signed(note, head)
        rules.require_empty_root(head)
        rules.require_growth(submission, head)
        with self._store.transaction() as heads:
            at_s = self._accept(heads, submission, head)
        return self._signer.cosign(note.text, at_s=at_s)

    def latest(self, origin_hash: str) -> str:
        """The latest cosigned checkpoint of a log, with the log's signatures and the witness's cosignature.

        Signatures of other keys are omitted, since they were not verified.

        Raises:
            NotFound: the witness does not cosign this log, or has not cosigned a checkpoint of it yet.
        """
        origin = self._origins.get(origin_hash, "")
        found = self._store.latest(origin)
        if found is None:
            raise NotFound("cosigned checkpoint of the log", origin_hash)
        cosigned, note = found[0], Note.parse(found[1])
        keys = {(key.name, key.key_id) for key in self._logs[origin]}
        own = "".join(str(line) for line in note.signatures if (line.name, line.key_id) in keys)
        return f"{note.text}\n{own}{self._signer.cosign(note.text, at_s=cosigned.at_s)}"

    def _require_signed(self, note: Note, head: TreeHead) -> None:
        keys = self._logs.get(head.origin)
        if keys is None:
            raise NotFound("log", head.origin)
        if not note.verify(keys):
            raise SignatureInvalid(f"The checkpoint is not signed by a trusted key of {head.origin}.")

    def _accept(self, heads: Heads, submission: Submission, head: TreeHead) -> int:
        """Check and store the head; returns the time of the cosignature, which never decreases."""
        known = heads.find(head.origin)
        rules.require_continues(known.head if known else None, submission, head)
        at_s = max(int(self._clock.now().timestamp()), known.at_s if known else 0)
        heads.put(CosignedHead(head, at_s), submission.checkpoint)
        return at_s
