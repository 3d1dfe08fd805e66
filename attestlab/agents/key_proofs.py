"""Proofs from the records: log entries and keys of agents, each with the path from its entry to a signed head."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy import Connection

from attestlab.agents.tables import AgentKeyRecord
from attestlab.log.results import InclusionProof
from attestlab.log.service import Log


@dataclass(frozen=True)
class ProvenEntry:
    """An entry of the log with its proof."""

    entry: bytes = field(repr=False)
    proof: InclusionProof = field(repr=False)


@dataclass(frozen=True)
class ProvenKey:
    """A key that signed something, with the log entry with which its agent got it."""

    row: AgentKeyRecord
    logged: ProvenEntry = field(repr=False)


def prove_entry(connection: Connection, log: Log, index: int, tree_size: int) -> ProvenEntry:
    """Collect an entry and its path to the root of a tree."""
    return ProvenEntry(log.entries(connection, index, 1)[0].entry, log.inclusion(connection, index, tree_size))


def prove_keys(connection: Connection, log: Log, rows: Iterable[AgentKeyRecord], tree_size: int) -> list[ProvenKey]:
    """Collect the entries with which agents got their keys, with their paths."""
    return [ProvenKey(row, prove_entry(connection, log, row.log_index, tree_size)) for row in rows]
