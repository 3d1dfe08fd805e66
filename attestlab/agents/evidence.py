"""Notes of new evidence about agents: whatever changes evidence notes it, and `agents.trust` computes the scores.

A note is part of its transaction. So no part of agents that is a source of evidence needs to know the formula.
"""

from __future__ import annotations

from typing import Final, NamedTuple
from uuid import UUID

from attestlab.agents.rules import TrustCause
from attestlab.core.db.transaction import Buffer, Transaction


class NewEvidence(NamedTuple):
    """What may change an agent's trust score; `reference` is the id of what caused it."""

    agent_id: UUID
    cause: TrustCause
    reference: UUID | None = None


NOTED: Final = Buffer[NewEvidence]("agent_evidence")


def note_evidence(tx: Transaction, agent_id: UUID, cause: TrustCause, reference: UUID | None = None) -> None:
    """Let the transaction compute an agent's trust score again, before its commit."""
    tx.buffer(NOTED).append(NewEvidence(agent_id, cause, reference))
