"""A small world around one log: records, keyring, guard file, and the questions tests ask of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Connection

from attestlab import migrations
from attestlab.core.clock import FixedClock
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db.storage import Storage
from attestlab.core.records.integrity import Problem
from attestlab.log.entries import (
    FIRST_LINK,
    EntryType,
    commitment,
    issuer_status_entry,
    key_status_entry,
    minted_entry,
    parse_entry,
    profile_name,
)
from attestlab.log.head_acceptance import accept_head, examine_head
from attestlab.log.head_guard import HeadGuard
from attestlab.log.integrity import check_log
from attestlab.log.merkle.hashing import verify_consistency
from attestlab.log.note.trust_policy import TrustPolicy
from attestlab.log.results import SequencedEntry
from attestlab.log.service import Log

ORIGIN = "log.attestlab.example/2026"
ISSUER_ID = UUID("01935f00-0000-7000-8000-000000000001")


def make_entry(number: int, clock: FixedClock) -> bytes:
    """A minted entry as the service writes it, one for each number."""
    return minted_entry(
        attestation_id=UUID(int=number),
        issuer_id=ISSUER_ID,
        kid="key-1",
        alg="Ed25519",
        public_spki=b"a public key",
        at=clock.now(),
        commit=commitment(number.to_bytes(32, "big"), b"{}", "header..signature"),
    )


def make_issuer_and_key_entries(clock: FixedClock) -> tuple[bytes, bytes]:
    """The entries of the issuer and the key that every `entry` is by."""
    standing = {"status": "ACTIVE", "trust_tier": "BASIC", "risk_rating": "LOW", "jurisdiction": None}
    standing["profile"] = profile_name("Northfield", "northfield.example")
    key = {"kid": "key-1", "alg": "Ed25519", "public_spki": b"a public key", "status": "active"}
    return (
        issuer_status_entry(FIRST_LINK, issuer_id=ISSUER_ID, at=clock.now(), **standing),  # type: ignore[arg-type]
        key_status_entry(FIRST_LINK, issuer_id=ISSUER_ID, at=clock.now(), **key),  # type: ignore[arg-type]
    )


@dataclass
class LogInstance:
    """One process's view of a log: records, keyring, guard file, and the service over them."""

    storage: Storage
    keyring: Keyring
    clock: FixedClock
    guard: HeadGuard
    log: Log

    @classmethod
    def create(cls, storage: Storage, folder: Path, clock: FixedClock) -> LogInstance:
        """A new log in empty records, with keyring and guard in `folder`."""
        keyring = Keyring.create(folder)
        guard = HeadGuard(folder / "head.guard")
        log = Log(storage=storage, keyring=keyring, clock=clock, guard=guard)
        storage.sequence_hooks.append(log.seal)
        with storage.write() as tx:
            log.create(tx, origin=ORIGIN, private=Ed25519PrivateKey.generate())
        return cls(storage, keyring, clock, guard, log)

    @classmethod
    def create_in(cls, folder: Path, clock: FixedClock) -> LogInstance:
        """A new log in a SQLite file in `folder`, which may be copied away and brought back."""
        storage = Storage(f"sqlite:///{folder / 'records.db'}")
        migrations.upgrade(storage)
        return cls.create(storage, folder, clock)

    @classmethod
    def open(cls, storage: Storage, folder: Path, clock: FixedClock) -> LogInstance:
        """The log of these records, with keyring and guard in `folder`."""
        keyring, guard = Keyring.open(folder, {}), HeadGuard(folder / "head.guard")
        log = Log(storage=storage, keyring=keyring, clock=clock, guard=guard)
        storage.sequence_hooks.append(log.seal)
        return cls(storage, keyring, clock, guard, log)

    @classmethod
    def open_copy(cls, folder: Path, original: LogInstance) -> LogInstance:
        """A copy of another world's files in `folder`, opened with its keys; the caller closes its storage."""
        storage, guard = Storage(f"sqlite:///{folder / 'records.db'}"), HeadGuard(folder / "head.guard")
        log = Log(storage=storage, keyring=original.keyring, clock=original.clock, guard=guard)
        storage.sequence_hooks.append(log.seal)
        return cls(storage, original.keyring, original.clock, guard, log)

    def mint(self, *numbers: int) -> list[SequencedEntry]:
        """Append one entry for each number, all in one transaction."""
        with self.storage.write() as tx:
            return [self.log.append(tx, make_entry(n, self.clock), kind=EntryType.MINTED) for n in numbers]

    def register(self) -> tuple[bytes, bytes]:
        """Append the entries of the issuer and the key that mint."""
        made = make_issuer_and_key_entries(self.clock)
        with self.storage.write() as tx:
            for founded in made:
                said = parse_entry(founded)
                self.log.append(tx, founded, kind=said.kind, subject=said.subject)
        return made

    def grow(self, size: int) -> None:
        """Append until the log has `size` entries."""
        with self.storage.read() as connection:
            start = self.log.head(connection).size
        self.mint(*range(start, size))

    def another_process(self, guard_path: Path | None = None) -> LogInstance:
        """The same records opened again, with nothing remembered; the caller closes its storage."""
        storage = Storage(self.storage.full_url)
        guard = HeadGuard(guard_path or self.guard.path)
        log = Log(storage=storage, keyring=self.keyring, clock=self.clock, guard=guard)
        storage.sequence_hooks.append(log.seal)
        return LogInstance(storage, self.keyring, self.clock, guard, log)

    def accept_head(self) -> str | None:
        """Accept the head of the records, as `attestlab log accept-head` does; returns the guard's objection."""
        with self.storage.read() as connection:
            found = examine_head(connection, self.guard)
        with self.storage.write() as tx:
            accept_head(tx, self.guard, found.head)
        return found.objection

    def trust(self) -> TrustPolicy:
        """The policy of someone who pinned this log's key."""
        with self.storage.read() as connection:
            return TrustPolicy.without_witnesses(self.log.vkey(connection))

    def problems(self) -> list[Problem]:
        """What fsck finds."""
        with self.storage.read() as connection:
            return list(check_log(connection, keyring=self.keyring, guard=self.guard))

    def require_consistent(self) -> None:
        """Fsck is clean, and each checkpoint is consistent with the newest, as an outsider would check."""
        problems = self.problems()
        assert not problems, problems
        with self.storage.read() as connection:
            newest = self.trust().verify_checkpoint(self.log.head(connection).note)
            for row in self.log.checkpoints(connection, limit=100):
                older = self.trust().verify_checkpoint(row.note)
                proof = self.log.consistency(connection, older.size, newest.size)
                verify_consistency(older.size, newest.size, older.root, newest.root, proof.hashes)

    def connection(self) -> Connection:
        """A connection past the service, as an operator at a database prompt has it; the caller closes it."""
        return self.storage.engine.connect()
