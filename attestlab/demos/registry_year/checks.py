"""What others saw of the demo's documents: verifications, some of which fail, and raw events of risk.

Orchard Press is the issuer whose documents are altered more and more often.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import partial
from random import Random

from attestlab.attestations.results import VerificationOutcome
from attestlab.attestations.verification.steps import VerifierInput
from attestlab.core.db.transaction import Transaction
from attestlab.demos.registry_year.registry import MintedDocument, RegistryDesk
from attestlab.demos.registry_year.scheduled_actions import ScheduledAction
from attestlab.orgs.rules import Caller
from attestlab.risk.rules import Entity, EntityType

RISING_ISSUER = "Orchard Press"
REUSED = "document.reused"  # no mapping knows it yet, so it becomes a signal of 10 points
DEEPFAKE = "attestation.deepfake_suspect"
_FIRST_DAYS_AGO, _DAYS_BETWEEN = 356, 3
_LAST_DAY: Sequence[float] = (0.85, 0.5, 0.3, 0.1)  # days ago
_RISING_DAYS, _DAYS_A_FAILURE = 60, 15  # each time, one more document is altered for each 15 of the last 60 days
_ALTERED_SHARE = 0.06
_REUSE_SHARE = 0.3


class Checks:
    """The verifiers of the registry's documents. They read the records, and then write what they found."""

    def __init__(self, registry: RegistryDesk, caller: Caller, *, seed: int) -> None:
        self._registry = registry
        self._lab = registry.lab
        self._caller = caller
        self._random = Random(f"{seed}:checks")
        self._verified: list[VerificationOutcome] = []  # by the round that is under way

    def list_actions(self) -> Iterator[ScheduledAction]:
        """Yield a round of verifications every three days, with raw events, and some of the last day."""
        for days_ago in (*(float(day) for day in range(_FIRST_DAYS_AGO, 1, -_DAYS_BETWEEN)), *_LAST_DAY):
            yield ScheduledAction(days_ago, self._finish_round, look=partial(self._verify_round, days_ago))
        for days_ago in _LAST_DAY:
            yield ScheduledAction(days_ago - 0.02, partial(self._report, DEEPFAKE, RISING_ISSUER))
            yield ScheduledAction(days_ago - 0.03, partial(self._report, REUSED, RISING_ISSUER))

    def _verify_round(self, days_ago: float) -> None:
        for issuer in self._registry.list_minting_issuers():
            self._verify(issuer, is_altered=self._random.random() < _ALTERED_SHARE)
        for _ in range(count_altered(days_ago)):
            self._verify(RISING_ISSUER, is_altered=True)

    def _finish_round(self, tx: Transaction) -> None:
        for verified in self._verified:
            self._lab.attestations.meter(tx, verified)
        self._verified.clear()
        if self._random.random() < _REUSE_SHARE:
            self._report(REUSED, self._random.choice(self._registry.list_minting_issuers()), tx)

    def _verify(self, issuer: str, *, is_altered: bool) -> None:
        """Verify one of the issuer's documents as it is, or with changed bytes."""
        minted = self._draw(issuer)
        digest = hashlib.sha256(minted.document_hash.encode()).hexdigest() if is_altered else minted.document_hash
        presented = VerifierInput(document_hash=digest)
        self._verified.append(self._lab.attestations.verify(minted.attestation_id, presented))

    def _report(self, event_type: str, issuer: str, tx: Transaction) -> None:
        """Report a raw event about one of the issuer's documents."""
        minted = self._draw(issuer)
        self._lab.risk.normalization.record(
            event_type,
            Entity(EntityType.DOCUMENT, minted.document_hash),
            data={"issuer_id": str(self._registry.get_id(issuer)), "attestation_id": str(minted.attestation_id)},
            occurred_at=self._lab.clock.now(),
            caller=self._caller,
            tx=tx,
        )

    def _draw(self, issuer: str) -> MintedDocument:
        return self._random.choice(self._registry.list_minted(issuer))


def count_altered(days_ago: float) -> int:
    """Count the documents of the rising issuer that are altered in one round.

    >>> [count_altered(days_ago) for days_ago in (100, 50, 30, 0)]
    [0, 0, 2, 4]
    """
    return max(0, int((_RISING_DAYS - days_ago) / _DAYS_A_FAILURE))
