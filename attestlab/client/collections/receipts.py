"""`lab.receipts`: signed records of events, of the types in `lab.receipt_types`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict, Unpack, cast
from uuid import UUID

from attestlab.client import arguments
from attestlab.client.analysis.listing import Listing
from attestlab.client.arguments import When
from attestlab.client.collections.base import DatasetCollection
from attestlab.client.collections.filters import ReceiptFilterArgs
from attestlab.client.handles.bundles import ReceiptBundleHandle
from attestlab.client.handles.issuers import IssuerLike, IssuerLookup
from attestlab.client.handles.receipts import (
    RECEIPTS,
    ReceiptHandle,
    ReceiptLike,
    ReceiptVerificationHandle,
    change_receipt,
    fetch_receipt_bundle,
    read_receipt_id,
    verify_receipt,
)
from attestlab.client.own_examples import name_in_examples
from attestlab.client.service_client import ServiceClient, path_of
from attestlab.receipts.shapes import ReceiptsQuery


class ReceiptOptions(TypedDict, total=False):
    """The optional parts of a receipt (docs/receipts.md)."""

    receipt_version: str
    kid: str
    alg: str
    metadata: Mapping[str, object]
    retention_policy: str
    id: UUID | str
    created_at: When
    nonce: str
    signature: str


@name_in_examples("receipts")
class ReceiptCollection(DatasetCollection[ReceiptHandle]):
    """The tenant's receipts, newest first; the data set has no payloads and subjects."""

    noun = "a receipt"
    path = RECEIPTS
    query = ReceiptsQuery
    dataset = "receipts"

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, ReceiptHandle)

    def list(self, *, limit: int | None = None, **filters: Unpack[ReceiptFilterArgs]) -> Listing[ReceiptHandle]:
        """List the receipts that match all filters, newest first.

        Args:
            limit: how many at most; all by default.
            filters: such as `status="ACTIVE"`, `since="2026-11-01"`, which is the time of the mint. None is no filter.

        Returns:
            The receipts, which are read page by page when they are wanted.

        Raises:
            ValidationFailed: there is no such filter, or it does not take this value; the message names the limit.

        >>> kept = lab.receipt_types.create("count", "1.0.0", {})
        >>> minted = lab.receipts.mint("count", {}, issuer="Canton Archive", subject="shelf 3")
        >>> [each.subject for each in lab.receipts.list(receipt_type="count")]
        ['shelf 3']
        """
        return self._list(limit, filters)

    def mint(
        self,
        receipt_type: str,
        payload: Mapping[str, object],
        *,
        issuer: IssuerLike,
        subject: str = "",
        **options: Unpack[ReceiptOptions],
    ) -> ReceiptHandle:
        """Mint a receipt.

        Args:
            receipt_type: the name of the type; its newest active version, unless `receipt_version` names one.
            payload: what happened, which the type's schema must accept; at most 64 KB.
            issuer: its name, domain or id, or the object. Its active key signs, unless `kid` names another one.
            subject: whom or what it is about, at most 256 characters.
            options: `metadata`, `retention_policy` (`standard`, `extended`, `permanent`) and others; `signature`,
                `id`, `created_at` and `nonce` with a key of your own.

        Returns:
            The receipt with its place in the log.

        Raises:
            NotFound: the tenant has no such type or issuer.
            ValidationFailed: the schema refuses the payload, or an argument is not acceptable.
            Conflict: the type is deprecated.
            PermissionDenied: the issuer is not active, or a policy denies the mint.

        >>> kept = lab.receipt_types.create("collection", "1.0.0", {"required": ["parcel"]})
        >>> lab.receipts.mint("collection", {"parcel": "7"}, issuer="Canton Archive").status
        'ACTIVE'
        """
        body: dict[str, object] = {
            "receipt_type": arguments.read_text(receipt_type, name="receipt_type"),
            "payload": arguments.read_mapping(payload, name="payload"),
            "issuer_id": IssuerLookup(self._client).find(issuer).id,
            "subject": subject,
            **{name: value for name, value in options.items() if value is not None},
        }
        if "created_at" in body:
            body["created_at"] = arguments.read_time(cast("When", body["created_at"]), name="created_at")
        return self._parse(self._client.post(self.path, body))

    def verify(self, what: ReceiptLike, *, payload: Mapping[str, object] | None = None) -> ReceiptVerificationHandle:
        """Verify a receipt by the service.

        Args:
            what: the receipt, its id, its bundle, or a verification of it.
            payload: what must match the attested payload, also after a redaction; None compares nothing.

        Returns:
            One verdict, and a reason code for every check that ran; NOT_FOUND if no tenant has such a receipt.

        Raises:
            ValidationFailed: `what` names no receipt, or the payload is not an object.

        >>> kept = lab.receipt_types.create("check", "1.0.0", {})
        >>> receipt = lab.receipts.mint("check", {}, issuer="Canton Archive")
        >>> lab.receipts.verify(receipt.receipt_id).verdict.value
        'VALID'
        """
        return verify_receipt(self._client, read_receipt_id(what), payload)

    def bundle(self, what: ReceiptLike) -> ReceiptBundleHandle:
        """Fetch the proof bundle of a receipt, which verifies offline.

        Args:
            what: the receipt, its id, its bundle, or a verification of it.

        Returns:
            The bundle: `document` is its JSON, `save` writes it for `attestlab verify`.

        Raises:
            NotFound: the tenant has no such receipt.
            PermissionDenied: a policy denies the export.

        >>> kept = lab.receipt_types.create("proof", "1.0.0", {})
        >>> receipt = lab.receipts.mint("proof", {}, issuer="Canton Archive")
        >>> lab.receipts.bundle(receipt).verify().verdict.value
        'VALID'
        """
        return fetch_receipt_bundle(self._client, read_receipt_id(what))

    def revoke(self, what: ReceiptLike, reason: str | None = None) -> ReceiptHandle:
        """Revoke a receipt permanently.

        Args:
            what: the receipt, its id, its bundle, or a verification of it.
            reason: for people and the audit trail, at most 1,000 characters.

        Returns:
            The receipt as it is now, with the status REVOKED.

        Raises:
            NotFound: the tenant has no such receipt.
            Conflict: it is revoked already.

        >>> kept = lab.receipt_types.create("refund", "1.0.0", {})
        >>> receipt = lab.receipts.mint("refund", {}, issuer="Canton Archive")
        >>> lab.receipts.revoke(receipt, "paid twice").revocation_reason
        'paid twice'
        """
        return change_receipt(self._client, read_receipt_id(what), "revoke", reason)

    def redact(self, what: ReceiptLike, reason: str | None = None) -> ReceiptHandle:
        """Delete payload, subject and metadata of a receipt for good; every proof still verifies.

        Args:
            what: the receipt, its id, its bundle, or a verification of it.
            reason: for people and the audit trail, at most 1,000 characters.

        Returns:
            The receipt as it is now, without them; redacting it again changes nothing.

        Raises:
            NotFound: the tenant has no such receipt.

        >>> kept = lab.receipt_types.create("call", "1.0.0", {})
        >>> receipt = lab.receipts.mint("call", {"from": "Ada"}, issuer="Canton Archive")
        >>> lab.receipts.redact(receipt, "asked to").payload is None
        True
        """
        return change_receipt(self._client, read_receipt_id(what), "redact", reason)

    def _find(self, which: object) -> ReceiptHandle:
        return self._parse(self._client.get(f"{self.path}{path_of(read_receipt_id(which))}"))
