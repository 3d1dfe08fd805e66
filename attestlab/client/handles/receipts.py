"""Receipts, their verification, and their proof bundles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, cast
from uuid import UUID

from attestlab.client import arguments
from attestlab.client.handles.base import Handle
from attestlab.client.handles.bundles import ReceiptBundleHandle, build_bundle
from attestlab.client.service_client import ServiceClient, path_of
from attestlab.receipts.shapes import ReceiptOut, VerifyReceiptOut

RECEIPTS = "/v1/receipts"


class ReceiptVerificationHandle(VerifyReceiptOut, Handle):
    """A verification by the service: exactly one verdict, and a reason code for every check that ran."""

    shown_fields: ClassVar = ("verdict", "receipt_id", "reasons")


class ReceiptHandle(ReceiptOut, Handle):
    """A receipt with its current status."""

    shown_fields: ClassVar = ("receipt_id", "receipt_type", "receipt_version", "status", "log_index")

    def verify(self, *, payload: Mapping[str, object] | None = None) -> ReceiptVerificationHandle:
        """Verify the receipt by the service.

        Args:
            payload: what must match the attested payload, also after a redaction; None compares nothing.

        Returns:
            One verdict, and a reason code for every check that ran.

        Raises:
            ValidationFailed: the payload is not an object.

        >>> schema = {"required": ["parcel"]}
        >>> kept = lab.receipt_types.create("arrival", "1.0.0", schema)
        >>> receipt = lab.receipts.mint("arrival", {"parcel": "7"}, issuer="Canton Archive")
        >>> receipt.verify().verdict.value, receipt.verify(payload={"parcel": "8"}).verdict.value
        ('VALID', 'ALTERED')
        """
        return verify_receipt(self._client, self.receipt_id, payload)

    def bundle(self) -> ReceiptBundleHandle:
        """Fetch the proof bundle, which verifies offline.

        Returns:
            The bundle: `document` is its JSON, `save` writes it for `attestlab verify`.

        >>> kept = lab.receipt_types.create("departure", "1.0.0", {})
        >>> lab.receipts.mint("departure", {}, issuer="Canton Archive").bundle().verify().valid
        True
        """
        return fetch_receipt_bundle(self._client, self.receipt_id)

    def revoke(self, reason: str | None = None) -> ReceiptHandle:
        """Revoke the receipt permanently; `reason` is for people and the audit trail, at most 1,000 characters.

        Returns:
            The receipt as it is now.

        Raises:
            Conflict: it is revoked already.

        >>> kept = lab.receipt_types.create("return", "1.0.0", {})
        >>> lab.receipts.mint("return", {}, issuer="Canton Archive").revoke("never happened").status
        'REVOKED'
        """
        return change_receipt(self._client, self.receipt_id, "revoke", reason)

    def redact(self, reason: str | None = None) -> ReceiptHandle:
        """Delete payload, subject and metadata for good; every proof still verifies.

        Args:
            reason: for people and the audit trail, at most 1,000 characters.

        Returns:
            The receipt as it is now, without them; redacting it again changes nothing.

        Raises:
            PermissionDenied: the key lacks the scope `attestations:revoke`.

        >>> kept = lab.receipt_types.create("visit", "1.0.0", {})
        >>> redacted = lab.receipts.mint("visit", {"to": "Ada"}, issuer="Canton Archive").redact()
        >>> redacted.payload is None, redacted.verify(payload={"to": "Ada"}).verdict.value
        (True, 'VALID')
        """
        return change_receipt(self._client, self.receipt_id, "redact", reason)


ReceiptLike = UUID | str | ReceiptHandle | ReceiptBundleHandle | ReceiptVerificationHandle


def read_receipt_id(what: object) -> UUID:
    """Read the id of a receipt: a UUID, its text, or an object about it.

    Raises:
        ValidationFailed: it is none of them.
    """
    own = getattr(what, "receipt_id", None)
    return own if isinstance(own, UUID) else arguments.read_id(what, "a receipt")


def verify_receipt(
    client: ServiceClient, receipt_id: UUID, payload: Mapping[str, object] | None
) -> ReceiptVerificationHandle:
    """Verify a receipt by the service."""
    body: dict[str, object] = {"receipt_id": receipt_id}
    if payload is not None:
        body["payload"] = arguments.read_mapping(payload, name="payload")
    return ReceiptVerificationHandle.parse(client, client.post(f"{RECEIPTS}/verify", body, is_read=True))


def fetch_receipt_bundle(client: ServiceClient, receipt_id: UUID) -> ReceiptBundleHandle:
    """Fetch the bundle of a receipt."""
    document = client.get(f"{RECEIPTS}{path_of(receipt_id, 'proof-bundle')}")
    return cast(ReceiptBundleHandle, build_bundle(client, document))


def change_receipt(client: ServiceClient, receipt_id: UUID, verb: str, reason: str | None) -> ReceiptHandle:
    """Revoke or redact a receipt."""
    body = {} if reason is None else {"reason": arguments.read_text(reason, name="reason")}
    return ReceiptHandle.parse(client, client.post(f"{RECEIPTS}{path_of(receipt_id, verb)}", body))
