"""Rendering of receipts as wire models; this module makes no decisions."""

from __future__ import annotations

import json

from attestlab.attestations.rendering import (
    render_bundle_parts,
    render_change,
    render_missing_members,
    render_status_chains,
    render_verified_members,
)
from attestlab.core.encoding import b64url_encode
from attestlab.core.row_rendering import RowRenderer
from attestlab.log.entries import sha256_name
from attestlab.receipts.service import ReceiptExport, VerifiedReceipt
from attestlab.receipts.shapes import (
    ReceiptBundleOut,
    ReceiptLogOut,
    ReceiptOut,
    ReceiptSignatureOut,
    ReceiptStatusProofOut,
    VerifyReceiptOut,
)
from attestlab.receipts.tables import ReceiptRecord

_render_row = RowRenderer(
    ReceiptOut,
    ReceiptRecord,
    computed=["log", "verify_url"],
    receipt_id="id",
    issued_at="created_at",
    status_log_index="changed_index",
    nonce=lambda row: None if row.subject_nonce is None else b64url_encode(row.subject_nonce),
    payload=lambda row: None if row.payload is None else json.loads(row.payload),
    metadata=lambda row: None if row.extra is None else json.loads(row.extra),
    signature=lambda row: ReceiptSignatureOut(alg=row.alg, kid=row.kid, value=row.signature),
)


def render_receipt(row: ReceiptRecord, *, log_id: str, portal_url: str) -> ReceiptOut:
    """Render a receipt."""
    log = ReceiptLogOut(log_id=log_id, leaf_index=row.log_index, leaf_hash=sha256_name(row.leaf_hash))
    return _render_row(row, log=log, verify_url=f"{portal_url}/v1/receipts/verify")


def render_bundle(export: ReceiptExport, *, log_id: str, portal_url: str) -> ReceiptBundleOut:
    """Render a proof bundle: everything a verifier needs offline.

    Raises:
        IntegrityFailed: the row of the issuer or key, or the log entry, is missing.
    """
    status = {"receipt": render_change(export.proofs), **render_status_chains(export.proofs)}
    return ReceiptBundleOut.model_validate(
        {
            "receipt": render_receipt(export.evidence.row, log_id=log_id, portal_url=portal_url),
            "status_proof": ReceiptStatusProofOut.model_validate(status),
            **render_bundle_parts(export.evidence, export.proofs, export.head),
        }
    )


def render_verification(verified: VerifiedReceipt, *, log_id: str) -> VerifyReceiptOut:
    """Render a verification; of an unknown receipt with empty texts and nulls."""
    evidence, report = verified.evidence, verified.report
    members = (
        render_missing_members(report) if evidence is None else render_verified_members(evidence, report, log_id=log_id)
    )
    return VerifyReceiptOut.model_validate({"receipt_id": verified.receipt_id, **members})
