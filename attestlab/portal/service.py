"""Service of the public pages: the state of the log, a search, an attestation verified for its page, its bundle.

A page view is not metered and publishes no event: it is free for the viewer and for the
issuer (SPEC, Limits; CONTRACT section 6). Policy decisions about it are recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from sqlalchemy import Connection

from attestlab.attestations.evidence_queries import CurrentIssuer
from attestlab.attestations.results import Export, VerificationOutcome
from attestlab.attestations.service import Attestations
from attestlab.core.db.storage import Storage
from attestlab.core.errors import NotFound
from attestlab.issuers.rules import is_uploaded_logo_url
from attestlab.log.growth import DailyGrowth
from attestlab.log.results import SignedHead
from attestlab.log.service import Log
from attestlab.log.witnessing import cosignatures
from attestlab.log.witnessing.cosignatures import Cosigned
from attestlab.portal import search, store
from attestlab.portal.rules import SearchTerm
from attestlab.portal.search import SearchResult

GROWTH_DAYS = 90


@dataclass(frozen=True, slots=True)
class PageData:
    """An attestation as verified now, and the log's head; `has_logo` if the issuer's logo is stored here."""

    verified: VerificationOutcome
    head: SignedHead
    has_logo: bool = False


@dataclass(frozen=True, slots=True)
class LogOverview:
    """The state of the log: its newest head, its key, its growth by day (the last day is today), its witnesses.

    `cosigned` is the newest checkpoint that a witness cosigned; `witness_count` counts the configured ones.
    """

    head: SignedHead
    vkey: str
    new_entries: list[int]
    last_day: date
    witness_count: int = 0
    cosigned: Cosigned | None = None


class Portal:
    """Provides the data of the public pages; its routes record the policy decisions."""

    def __init__(self, *, storage: Storage, attestations: Attestations, log: Log) -> None:
        self.storage = storage
        self.attestations = attestations
        self.log = log
        self._growth = DailyGrowth()

    def overview(self, now: datetime, *, days: int = GROWTH_DAYS) -> LogOverview:
        """Collect the state of the log; the first call takes a while in a long log, because it looks at each day."""
        with self.storage.read() as connection:
            head = self.log.head(connection)
            counts = self._growth.count_new_entries(connection, size=head.size, today=now.date(), days=days)
            vkey, policy = self.log.vkey(connection), self.log.witnesses
            if policy is None or not policy.witnesses:
                return LogOverview(head, vkey, counts, now.date())
            newest = cosignatures.newest_cosigned(connection, policy)
            return LogOverview(head, vkey, counts, now.date(), len(policy.witnesses), newest)

    def find(self, term: SearchTerm, *, is_file: bool = False) -> SearchResult:
        """Find what a text of the search box names; the hash of a file names documents alone."""
        with self.storage.read() as connection:
            return search.find(connection, self.log, term, is_file=is_file)

    def page_data(self, attestation_id: UUID, *, client_address: str | None = None) -> PageData:
        """Verify an attestation for the page, without metering; the verdict for an unknown id is NOT_FOUND."""
        verified = self.attestations.verify(attestation_id, follow=True, client_address=client_address)
        with self.storage.read() as connection:
            head = self.log.head(connection)
            issuer = None if verified.evidence is None else verified.evidence.issuer
            return PageData(verified, head, issuer is not None and _has_uploaded_logo(connection, issuer))

    def export(self, attestation_id: UUID, *, client_address: str | None = None) -> Export:
        """Collect the parts of the proof bundle and the policy decisions on it, for any caller who has the id.

        Raises:
            NotFound: no attestation has this id, or the records lack a part of its proof.
        """
        export = self.attestations.export(attestation_id, caller=None, client_address=client_address)
        evidence = export.evidence
        if evidence.issuer is None or evidence.key is None or evidence.entry is None:
            raise NotFound("proof bundle of attestation", attestation_id)
        return export


def _has_uploaded_logo(connection: Connection, issuer: CurrentIssuer) -> bool:
    """Whether the profile names an uploaded logo that is stored; the page loads no logo from other hosts."""
    return is_uploaded_logo_url(issuer.logo_url, issuer.id) and store.has_logo(connection, issuer.id)
