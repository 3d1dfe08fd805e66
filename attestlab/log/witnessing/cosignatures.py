"""Cosignatures of the log's checkpoints: verified, stored in a hash chain, and served with the checkpoints.

The hash chain reveals a missing cosignature. Whether to trust a witness is up to each verifier; the
log only requires that a cosignature verifies under the key that the operator configured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter

from sqlalchemy import Connection

from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import SignatureInvalid
from attestlab.core.records.hash_chain import Chain
from attestlab.log import store
from attestlab.log.note.note import Note, VerifierKey
from attestlab.log.note.trust_policy import TrustPolicy
from attestlab.log.tables import LogCheckpointRecord, LogCosignatureRecord

CHAIN = "log.cosignatures"
MAX_TIME_S = 253_402_300_799  # the last second of the year 9999
MAX_SEARCHED = 1024  # as many cosignatures are searched for a checkpoint with a quorum


@dataclass(frozen=True, slots=True)
class Cosignature:
    """A witness's signature line over the checkpoint of `tree_size`, verified, and the time it states."""

    tree_size: int
    key: VerifierKey
    line: str
    at: datetime

    @classmethod
    def verify(cls, checkpoint: str, tree_size: int, key: VerifierKey, lines: str) -> Cosignature:
        """Find and verify the signature line of `key` in `lines`; other keys' lines are ignored (C2SP tlog-witness).

        Raises:
            SignatureInvalid: there is no line of `key`, or its signature does not verify.
        """
        text = Note.parse(checkpoint).text
        at_s = Note.parse(f"{text}\n{lines}").verify([key]).get(key)
        if at_s is None:
            raise SignatureInvalid(f"The response holds no cosignature of {key.name}.")
        if at_s > MAX_TIME_S:
            raise SignatureInvalid(f"The cosignature of {key.name} states a time after the year 9999.")
        own = next(line for line in lines.splitlines() if Note.parse(f"{text}\n{line}\n").verify([key]))
        return cls(tree_size, key, f"{own}\n", datetime.fromtimestamp(at_s, UTC))


@dataclass(frozen=True, slots=True)
class Cosigned:
    """A checkpoint that witnesses cosigned, and their names."""

    tree_size: int
    witnesses: frozenset[bytes]


def record(tx: Transaction, cosignature: Cosignature) -> None:
    """Store a cosignature, unless it is no newer than the last one of its key in size and time."""
    known = store.last_cosignature(tx.connection, str(cosignature.key))
    place = (cosignature.tree_size, cosignature.at)
    if known is not None and place <= (known.tree_size, known.at):
        return
    chain = Chain(tx, CHAIN)
    content = link_content(cosignature.tree_size, str(cosignature.key), cosignature.line)
    seq, link, _previous = chain.extend(content)
    row = LogCosignatureRecord(seq, cosignature.tree_size, str(cosignature.key), cosignature.line, cosignature.at, link)
    store.add_cosignature(tx, row)
    tx.flush()  # within this job's savepoint, so that a failure rolls the whole job back
    chain.save(tx)


def with_cosignatures(connection: Connection, rows: Sequence[LogCheckpointRecord]) -> list[LogCheckpointRecord]:
    """Return the checkpoints with the newest signature line of each witness appended to their notes."""
    sizes = [row.size for row in rows]
    lines: dict[int, dict[str, str]] = {size: {} for size in sizes}
    for found in store.cosignatures_of(connection, sizes):
        lines[found.tree_size][found.vkey] = found.line
    return [row._replace(note=row.note + "".join(lines[row.size].values())) for row in rows]


def newest_witnessed_size(connection: Connection, policy: TrustPolicy) -> int | None:
    """Find the size of the newest checkpoint that a quorum of `policy` cosigned; None without one."""
    names = {str(key): name for name, key in policy.witnesses.items()}
    size, present = -1, set[bytes]()
    for tree_size, vkey in store.newest_cosigners(connection, MAX_SEARCHED):
        if tree_size != size:
            size, present = tree_size, set()
        if vkey in names:
            present.add(names[vkey])
        if policy.is_quorum(present):
            return size
    return None


def newest_cosigned(connection: Connection, policy: TrustPolicy) -> Cosigned | None:
    """Find the newest checkpoint that a witness of `policy` cosigned; None without one."""
    names = {str(key): name for name, key in policy.witnesses.items()}
    found = ((size, names[vkey]) for size, vkey in store.newest_cosigners(connection, MAX_SEARCHED) if vkey in names)
    _, newest = next(groupby(found, key=itemgetter(0)), (None, ()))
    pairs = list(newest)
    return Cosigned(pairs[0][0], frozenset(name for _, name in pairs)) if pairs else None


def link_content(tree_size: int, vkey: str, line: str) -> bytes:
    """Return the content that a chain link covers; the time is part of the line."""
    return f"{tree_size}\n{vkey}\n{line}".encode()
