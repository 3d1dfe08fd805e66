"""Service for issuers' logos: upload, get, remove."""

from __future__ import annotations

import hashlib
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound
from attestlab.core.pictures import detect_media_type
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext
from attestlab.issuers import rules, store
from attestlab.issuers.service import Issuers
from attestlab.issuers.tables import IssuerLogoRecord
from attestlab.orgs.rules import Caller

MAX_LOGO_BYTES = 256 * 1024


class Logos:
    """Uploaded logos of issuers; an upload sets the profile's `logo_url` to the uploaded logo.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock, issuers: Issuers, portal_url: str) -> None:
        self.storage = storage
        self.clock = clock
        self.issuers = issuers
        self.portal_url = portal_url

    def upload(
        self, issuer_id: UUID, content: bytes, *, caller: Caller, tx: Transaction | None = None
    ) -> IssuerLogoRecord:
        """Store a logo, replacing an earlier one, and set the issuer's `logo_url` to it.

        Raises:
            NotFound: the caller's tenant has no such issuer.
            PayloadTooLarge, UnsupportedMediaType: the image is not allowed, see `detect_media_type`.
        """
        media_type = detect_media_type(content, limit_bytes=MAX_LOGO_BYTES, noun="logo")
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            store.get(tx.exec, issuer_id, tenant_id=caller.tenant_id)
            digest = hashlib.sha256(content).hexdigest()
            new = IssuerLogoRecord(issuer_id, caller.tenant_id, media_type, content, digest, now)
            deed = AuditContext(caller.tenant_id, caller, "issuer_logo.put", now)
            before = store.find_logo(tx.exec, issuer_id)
            if before is not None:
                row = audited_write.change(tx, store.logos, before, new._asdict(), deed)
            else:
                row = audited_write.insert(tx, store.logos, new, deed)
            self.issuers.set_logo(issuer_id, self.url(issuer_id), caller=caller, tx=tx)
        return row

    def get(self, issuer_id: UUID) -> IssuerLogoRecord:
        """Get an issuer's logo, for any caller.

        Raises:
            NotFound: there is no such issuer, or it has no logo.
        """
        with self.storage.read() as connection:
            row = store.find_logo(connection.execute, issuer_id)
        if row is None or not row.content:
            raise NotFound("logo of issuer", issuer_id)
        return row

    def remove(self, issuer_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> None:
        """Remove the uploaded logo, and clear the profile's `logo_url` if it is that of the uploaded logo.

        Raises:
            NotFound: the caller's tenant has no such issuer.
        """
        with self.storage.write(tx) as tx:
            issuer = store.get(tx.exec, issuer_id, tenant_id=caller.tenant_id)
            row = store.find_logo(tx.exec, issuer_id)
            if row is not None:
                now = self.clock.now()
                empty = {"content": b"", "sha256": hashlib.sha256(b"").hexdigest()}
                audited_write.change(
                    tx, store.logos, row, empty, AuditContext(caller.tenant_id, caller, "issuer_logo.remove", now)
                )
            if rules.is_uploaded_logo_url(issuer.logo_url, issuer_id):
                self.issuers.set_logo(issuer_id, None, caller=caller, tx=tx)

    def url(self, issuer_id: UUID) -> str:
        """Return the public URL of an issuer's uploaded logo."""
        return f"{self.portal_url}/v1/issuers/{issuer_id}/logo"
