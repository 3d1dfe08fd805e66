"""What a stranger may see: an attestation as it verifies now, and the bundle that proves it.

A look is never metered and leaves no event: it is free for whoever looks and for the
issuer (SPEC, Limits; CONTRACT section 6). Where policies had a say in it, that is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection

from attestlab.attestations.service import Attestations, Export, VerificationOutcome
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import AnyRow
from attestlab.core.errors import NotFound
from attestlab.issuers.rules import is_uploaded_logo_url
from attestlab.log.results import SignedHead
from attestlab.log.service import Log
from attestlab.portal import store


@dataclass(frozen=True, slots=True)
class PageData:
    """An attestation as it verifies now, under which head; `has_logo` where we hold the logo that the issuer shows."""

    verified: VerificationOutcome
    head: SignedHead
    has_logo: bool = False


class Portal:
    """The public face of attestations; what policies said of a look or a bundle is the door's to keep."""

    def __init__(self, *, storage: Storage, attestations: Attestations, log: Log) -> None:
        self.storage = storage
        self.attestations = attestations
        self.log = log

    def page_data(self, attestation_id: UUID) -> PageData:
        """Verify an attestation for whoever looks, without counting it; an unknown one is NOT_FOUND."""
        verified = self.attestations.verify(attestation_id, follow=True)
        with self.storage.read() as connection:
            head, row = self.log.head(connection), verified.row
            return PageData(verified, head, row is not None and _has_uploaded_logo(connection, row))

    def export(self, attestation_id: UUID) -> Export:
        """The parts of the proof bundle for anyone who has the attestation's id, and what policies say of that.

        Raises:
            NotFound: there is no such attestation, or the records lack a part of its proof.
        """
        found = self.attestations.export(attestation_id, caller=None)
        row = found.row
        if row.found_issuer is None or row.spki is None or row.entry is None:
            raise NotFound("proof bundle of attestation", attestation_id)
        return found


def _has_uploaded_logo(connection: Connection, row: AnyRow) -> bool:
    """Whether the profile names an uploaded logo that is there: one from elsewhere the page does not load."""
    return is_uploaded_logo_url(row.logo_url, row.issuer_id) and store.has_logo(connection, row.issuer_id)
