"""The end of requests for votes: decided by the last vote, or expired without a decision; published once."""

from __future__ import annotations

from attestlab.agents.evidence import note_evidence
from attestlab.agents.rules import TrustCause
from attestlab.agents.witnessing import store
from attestlab.agents.witnessing.events import WitnessDecided
from attestlab.agents.witnessing.rules import VoteRequestStatus
from attestlab.agents.witnessing.tables import VoteRequestRecord
from attestlab.attestations.lifecycle import TIMEKEEPER
from attestlab.core.clock import Clock
from attestlab.core.db.transaction import Transaction
from attestlab.core.records import audited_write, outbox
from attestlab.core.records.audited_write import AuditContext
from attestlab.log.service import Log

_ENDED = ("status", "confirm", "deny", "abstain", "decided_at")


class ExpiryOfRequests:
    """Makes the expiry of requests for votes permanent, which every read computes from the moment that it is due."""

    def __init__(self, *, clock: Clock, log: Log) -> None:
        self.clock = clock
        self.log = log

    def expire_due(self, tx: Transaction, *, limit: int) -> int:
        """Store `expired` for up to `limit` requests whose time is over, and return how many.

        Raises:
            TimeUnconfirmed: the clock leapt ahead, and no operator has confirmed it.
        """
        now = self.clock.now()
        rows = store.find_overdue(tx, now=now, limit=limit)
        if rows:
            self.log.time.require_credible(tx.connection)
        for row in rows:
            context = AuditContext(row.tenant_id, TIMEKEEPER, "witness_request.expire", now)
            settle(tx, row, VoteRequestStatus.EXPIRED, context)
        return len(rows)


def settle(
    tx: Transaction, row: VoteRequestRecord, status: VoteRequestStatus, context: AuditContext
) -> VoteRequestRecord:
    """Write the final status of a pending request, with its audit line and its event; `row` has the last tally."""
    decided_at = row.expires_at if status is VoteRequestStatus.EXPIRED else context.at
    ended = row._replace(status=status.value, decided_at=decided_at)
    changes = {name: getattr(ended, name) for name in _ENDED}
    audited_write.change(tx, store.requests, row, changes, context)
    if status is not VoteRequestStatus.EXPIRED:
        note_evidence(tx, row.originator_agent_id, TrustCause.WITNESS, row.id)
    event = WitnessDecided(row.id, status.value, decided_at)
    outbox.publish(tx, row.tenant_id, event, at=context.at)
    return ended
