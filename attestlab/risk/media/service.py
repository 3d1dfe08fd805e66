"""Service for media scans: scan in a child process, then record a signal if the score is high."""

from __future__ import annotations

from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.orgs.rules import Caller
from attestlab.risk.media.findings import MediaAssessment
from attestlab.risk.media.scanner import MediaScanner
from attestlab.risk.rules import Entity, EntityType
from attestlab.risk.signals.members import encode_details
from attestlab.risk.signals.recording import NewSignal, record_score

SOURCE, SIGNAL_TYPE = "media", "deepfake"


class MediaScans:
    """Scans of media. `scanner` runs them; `record` keeps what they found.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock
        self.scanner = MediaScanner()

    def record(
        self, subject_ref: str, assessment: MediaAssessment, *, caller: Caller, tx: Transaction | None = None
    ) -> UUID | None:
        """Record a signal about a document if the score is at least `SIGNAL_THRESHOLD`; returns the signal's id.

        Raises:
            ValidationFailed: the id of the document is not acceptable.
        """
        entity = Entity.of_sent(EntityType.DOCUMENT, subject_ref)
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            stored = {**assessment.details, "verdict": assessment.verdict.value}
            details = encode_details(stored, assessment.factors)
            new = NewSignal(SOURCE, SIGNAL_TYPE, float(assessment.score), entity, details, now)
            return record_score(tx, caller.tenant_id, new, at=now)

    def close(self) -> None:
        """End the child processes."""
        self.scanner.close()
