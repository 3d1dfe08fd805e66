"""What witnesses signed of our log: kept beside the checkpoints, shown with them, chained so that none goes missing.

A cosignature is worth what its witness is worth to whoever verifies; here it is only
required to verify under the key that the operator named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import Connection

from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import AttestLabError, SignatureInvalid
from attestlab.core.records.hash_chain import GENESIS, Chain, link_hash, read_head
from attestlab.log import store
from attestlab.log.note.note import Note, VerifierKey
from attestlab.log.note.trust_policy import TrustPolicy
from attestlab.log.store import CheckpointRow, CosignatureRow

CHAIN = "log.cosignatures"
MAX_TIME_S = 253_402_300_799  # the last second of the year 9999
MAX_SEARCHED = 1024  # how many cosignatures are looked through for a head that a quorum has seen


@dataclass(frozen=True, slots=True)
class Cosignature:
    """A witness's signature line over the checkpoint of `tree_size`, verified, and the time it states."""

    tree_size: int
    key: VerifierKey
    line: str
    at: datetime

    @classmethod
    def verify(cls, checkpoint: str, tree_size: int, key: VerifierKey, lines: str) -> Cosignature:
        """The one signature line of `key` among `lines`; those of unknown keys are ignored (C2SP tlog-witness).

        Raises:
            SignatureInvalid: there is none, or it does not verify.
        """
        text = Note.parse(checkpoint).text
        at_s = Note.parse(f"{text}\n{lines}").verify([key]).get(key)
        if at_s is None:
            raise SignatureInvalid(f"The answer holds no cosignature of {key.name}.")
        if at_s > MAX_TIME_S:
            raise SignatureInvalid(f"The cosignature of {key.name} states a time that no calendar has.")
        own = next(line for line in lines.splitlines() if Note.parse(f"{text}\n{line}\n").verify([key]))
        return cls(tree_size, key, f"{own}\n", datetime.fromtimestamp(at_s, UTC))


def record(tx: Transaction, cosignature: Cosignature) -> None:
    """Keep a cosignature; one that is no newer than what is known of its key and size changes nothing."""
    known = store.last_cosignature(tx.connection, str(cosignature.key))
    place = (cosignature.tree_size, cosignature.at)
    if known is not None and place <= (known.tree_size, known.at):
        return
    chain = Chain(tx, CHAIN)
    content = _link_content(cosignature.tree_size, str(cosignature.key), cosignature.line)
    seq, link, _previous = chain.extend(content)
    row = CosignatureRow(seq, cosignature.tree_size, str(cosignature.key), cosignature.line, cosignature.at, link)
    store.add_cosignature(tx, row)
    tx.flush()  # within its job, which can then be taken back as a whole
    chain.save(tx)


def with_cosignatures(connection: Connection, rows: Sequence[CheckpointRow]) -> list[CheckpointRow]:
    """The checkpoints, each note followed by what witnesses signed of it: of each the newest."""
    sizes = [row.size for row in rows]
    lines: dict[int, dict[str, str]] = {size: {} for size in sizes}
    for found in store.cosignatures_of(connection, sizes):
        lines[found.tree_size][found.vkey] = found.line
    return [replace(row, note=row.note + "".join(lines[row.size].values())) for row in rows]


def newest_witnessed_size(connection: Connection, policy: TrustPolicy) -> int | None:
    """The size of the newest checkpoint that a quorum of `policy` cosigned; None where there is none."""
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


def find_inconsistencies(connection: Connection) -> Iterator[tuple[str, str]]:
    """Where the chain is broken, or a cosignature does not verify, as place and message."""
    place, last = 0, GENESIS
    for row in store.all_cosignatures(connection):
        where = f"cosignature {row.seq}"
        if row.seq != place or row.hash != link_hash(last, _link_content(row.tree_size, row.vkey, row.line)):
            yield where, "the chain is broken here"
        if wrong := _cosignature_problem(connection, row):
            yield where, wrong
        place, last = row.seq + 1, row.hash
    if (place, last) != read_head(connection, CHAIN):
        yield "end", "cosignatures are missing at the end"


def _cosignature_problem(connection: Connection, row: CosignatureRow) -> str | None:
    checkpoint = store.checkpoint(connection, row.tree_size)
    if checkpoint is None:
        return "there is no checkpoint of its size"
    try:
        signed = Cosignature.verify(checkpoint.note, row.tree_size, VerifierKey.parse(row.vkey), row.line)
    except AttestLabError as error:
        return error.message
    stored = (row.line, row.at)
    return None if stored == (signed.line, signed.at) else "it does not say what was signed"


def _link_content(tree_size: int, vkey: str, line: str) -> bytes:
    """What a link covers; the time is in the line."""
    return f"{tree_size}\n{vkey}\n{line}".encode()
