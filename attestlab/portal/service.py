"""Service of the public page: verifies an attestation for the page, and exports its proof bundle.

A page view is not metered and publishes no event: it is free for the viewer and for the
issuer (SPEC, Limits; CONTRACT section 6). Policy decisions about it are recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection

from attestlab.attestations.results import Export, VerificationOutcome
from attestlab.attestations.service import Attestations
from attestlab.attestations.store import CurrentIssuer
from attestlab.core.db.storage import Storage
from attestlab.core.errors import NotFound
from attestlab.issuers.rules import is_uploaded_logo_url
from attestlab.log.results import SignedHead
from attestlab.log.service import Log
from attestlab.portal import store


@dataclass(frozen=True, slots=True)
class PageData:
    """An attestation as verified now, and the log's head; `has_logo` if the issuer's logo is stored here."""

    verified: VerificationOutcome
    head: SignedHead
    has_logo: bool = False


class Portal:
    """Provides the data of the public page; its routes record the policy decisions."""

    def __init__(self, *, storage: Storage, attestations: Attestations, log: Log) -> None:
        self.storage = storage
        self.attestations = attestations
        self.log = log

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
