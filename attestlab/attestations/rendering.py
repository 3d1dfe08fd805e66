"""Rendering of rows and results as wire models; this module makes no decisions."""

from __future__ import annotations

import json
from datetime import datetime

from attestlab.attestations.bundle.reader import BUNDLE_FORMAT
from attestlab.attestations.evidence_queries import CurrentIssuer, EvidenceParts, RecordEvidence, SignedRow
from attestlab.attestations.lifecycle import StatusChanged
from attestlab.attestations.proof_shapes import (
    ChainOut,
    ChunkOut,
    IssuerChainOut,
    LogEntryOut,
    LoggedOut,
    ProofOut,
    StatusListOut,
    StatusProofOut,
    TreeHeadOut,
)
from attestlab.attestations.results import Minted, VerificationOutcome
from attestlab.attestations.rules import Verdict
from attestlab.attestations.shapes import (
    AttestationOut,
    BundleIssuerOut,
    BundleKeyOut,
    BundleOut,
    MintOut,
    RevokedOut,
    SupersededOut,
)
from attestlab.attestations.store import AttestationEvidence
from attestlab.attestations.tables import AttestationRecord
from attestlab.attestations.verification.facts import compute_status
from attestlab.attestations.verification.log_proofs import LoggedEntry, LogProofs
from attestlab.attestations.verification.shapes import GovernanceOut, LogOut, VerifyDetailsOut, VerifyOut
from attestlab.attestations.verification.steps import VerificationResult
from attestlab.core.encoding import b64_encode, b64url_encode
from attestlab.core.errors import IntegrityFailed
from attestlab.core.row_rendering import RowRenderer
from attestlab.delivery.share_links import Links
from attestlab.log.entries import sha256_name
from attestlab.log.merkle.tlog_proof import LogProof
from attestlab.log.note.note import split_signature_lines
from attestlab.log.rendering import INCLUSION_SOURCES
from attestlab.log.results import InclusionProof, SignedHead
from attestlab.log.status.publisher import PublishedList
from attestlab.log.status.status_list import Chunk

_render_minted_row = RowRenderer(
    MintOut,
    AttestationRecord,
    computed=["verify_url", "share_url", "inclusion_proof", "checkpoint", "warnings"],
    attestation_id="id",
)
_render_row = RowRenderer(
    AttestationOut,
    AttestationRecord,
    computed=["status", "payload", "metadata"],
    attestation_id="id",
    superseded_by_attestation_id="superseded_by",
    supersedes_attestation_id="supersedes",
    status_log_index="changed_index",
)
render_revocation = RowRenderer(
    RevokedOut,
    StatusChanged,
    parts={"row": AttestationRecord},
    attestation_id="id",
    log_index=lambda done: done.logged.index,
)
_render_inclusion = RowRenderer(ProofOut, InclusionProof, computed=(), parts={}, **INCLUSION_SOURCES)
_render_entry = RowRenderer(
    LoggedOut,
    LoggedEntry,
    entry_b64=lambda logged: b64_encode(logged.entry),
    log_index=lambda logged: logged.proof.index,
    hashes=lambda logged: [sha256_name(each) for each in logged.proof.hashes],
)
_render_chunk = RowRenderer(
    ChunkOut,
    Chunk,
    data_b64=lambda chunk: b64_encode(chunk.data),
    hashes=lambda chunk: [sha256_name(each) for each in chunk.hashes],
)
_render_list = RowRenderer(
    StatusListOut,
    PublishedList,
    computed=["entry"],
    chunks=lambda published: list(map(_render_chunk, published.chunks)),
    receipt_chunks=lambda published: published.receipt_chunk and [_render_chunk(published.receipt_chunk)],
)
_render_bundle_issuer = RowRenderer(BundleIssuerOut, CurrentIssuer, trust_level="trust_tier")
_render_governance: RowRenderer[RecordEvidence, GovernanceOut] = RowRenderer(
    GovernanceOut,
    EvidenceParts,
    parts={"row": SignedRow, "issuer": CurrentIssuer},
    issuer_status="issuer.status",
    issuer_trust_tier="trust_tier",
    issuer_risk_rating="risk_rating",
    issuer_jurisdiction="jurisdiction",
    issuer_display_name="shown_name",
)


def _split_signatures(head: SignedHead) -> tuple[list[str], list[str]]:
    """Split the signatures of a checkpoint note: the lines of the log itself, and those of its witnesses."""
    return split_signature_lines(head.note, head.origin)


_render_tree_head = RowRenderer(
    TreeHeadOut,
    SignedHead,
    tree_size="size",
    root_hash=lambda head: sha256_name(head.root),
    signature=lambda head: _split_signatures(head)[0][0].rsplit(" ", 1)[1],
    checkpoint="note",
    timestamp="at",
    cosignatures=lambda head: _split_signatures(head)[1],
)


def render_mint(done: Minted, *, links: Links) -> MintOut:
    """Render the response to a mint, including the inclusion proof; the transaction must be sealed."""
    row, logged = done.row, done.logged
    return _render_minted_row(
        row,
        verify_url=links.public_url(row.id),
        share_url=links.share_url(row.id),
        inclusion_proof=_render_inclusion(
            InclusionProof(logged.index, logged.tree_size, logged.leaf_hash, logged.root, logged.proof)
        ),
        checkpoint=logged.checkpoint,
        warnings=list(done.warnings),
    )


def render_attestation(row: AttestationRecord, *, now: datetime) -> AttestationOut:
    """Render an attestation with its status as of `now`."""
    return _render_row(
        row,
        status=compute_status(row, now=now),
        payload={"schema": row.schema_id, "claims": json.loads(row.claims)},
        metadata=None if row.extra is None else json.loads(row.extra),
    )


def render_supersession(done: Minted, *, links: Links, now: datetime) -> SupersededOut:
    """Render the superseded and the new attestation; the transaction must be sealed."""
    assert done.ended is not None  # callers render only mints that supersede another attestation
    return SupersededOut(old=render_attestation(done.ended.row, now=now), new=render_mint(done, links=links))


def render_bundle(evidence: AttestationEvidence, proofs: LogProofs, head: SignedHead, *, now: datetime) -> BundleOut:
    """Render a proof bundle: everything a verifier needs offline.

    Raises:
        IntegrityFailed: the row of the issuer or key, or the log entry, is missing.
    """
    status = {"attestation": render_change(proofs), **render_status_chains(proofs)}
    return BundleOut.model_validate(
        {
            "attestation": render_attestation(evidence.attestation, now=now),
            "status_proof": StatusProofOut.model_validate(status),
            **render_bundle_parts(evidence, proofs, head),
        }
    )


def render_bundle_parts(evidence: RecordEvidence, proofs: LogProofs, head: SignedHead) -> dict[str, object]:
    """Render the parts that the bundles of all records have: issuer, key, inclusion proof, tree head and log entry.

    Raises:
        IntegrityFailed: the row of the issuer or key, or the log entry, is missing.
    """
    row, issuer, key, entry = evidence.row, evidence.issuer, evidence.key, evidence.entry
    if issuer is None or key is None or entry is None:
        raise IntegrityFailed(f"The issuer, the key or the log entry of {row.id} is missing; run `attestlab log fsck`.")
    proof = proofs.inclusion
    return {
        "format": BUNDLE_FORMAT,
        "issuer": _render_bundle_issuer(issuer),
        "key": BundleKeyOut(kid=row.kid, algorithm=row.alg, public_key=b64url_encode(key.spki)),
        "inclusion_proof": _render_inclusion(proof),
        "signed_tree_head": _render_tree_head(head),
        "log_entry": LogEntryOut(entry_b64=b64_encode(entry), nonce=row.nonce.hex()),
        "tlog_proof": LogProof(index=proof.index, hashes=tuple(proof.hashes), checkpoint=head.note).text,
    }


def render_change(proofs: LogProofs) -> LoggedOut | None:
    """Render the entry that ended a record; None while there is none."""
    return None if proofs.change is None else _render_entry(proofs.change)


def render_status_chains(proofs: LogProofs) -> dict[str, object]:
    """Render the status entries of key and issuer, and the newest status list."""
    listed = proofs.listed and _render_list(proofs.listed[1], entry=_render_entry(proofs.listed[0]))
    return {
        "key": ChainOut(first=_render_entry(proofs.key[0]), newest=_render_entry(proofs.key[1])),
        "issuer": IssuerChainOut(
            first=_render_entry(proofs.issuer[0]),
            newest=_render_entry(proofs.issuer[1]),
            profile=None if proofs.profile is None else _render_entry(proofs.profile),
        ),
        "list": listed,
    }


def render_verification(verified: VerificationOutcome, *, log_id: str) -> VerifyOut:
    """Render a verification as one response that contains both documented shapes."""
    evidence, report = verified.evidence, verified.report
    own: dict[str, object] = {"attestation_id": verified.attestation_id}
    if evidence is None:
        return VerifyOut.model_validate({**own, **render_missing_members(report)})
    own |= {
        "superseded_by_attestation_id": evidence.attestation.superseded_by,
        "latest_attestation_id": verified.latest,
    }
    return VerifyOut.model_validate({**own, **render_verified_members(evidence, report, log_id=log_id)})


def render_verified_members(evidence: RecordEvidence, report: VerificationResult, *, log_id: str) -> dict[str, object]:
    """Render what the verifications of all records have: verdict, reasons, statement, log and governance."""
    row, issuer = evidence.row, evidence.issuer
    return {
        "verdict": report.verdict,
        "valid": report.verdict is Verdict.VALID,
        "reasons": [reason.value for reason in report.reasons],
        "issuer_id": str(row.issuer_id),
        "kid": row.kid,
        "alg": row.alg,
        "payload_hash": row.payload_hash,
        "document_hash": row.document_hash or "",
        "log": LogOut(log_id=log_id, leaf_index=row.log_index, proof_checked=report.proof_checked),
        "governance": None if issuer is None else _render_governance(evidence),
        "details": VerifyDetailsOut(
            issuer_id=str(row.issuer_id), issuer_name="" if issuer is None else issuer.name, log_index=row.log_index
        ),
    }


def render_missing_members(report: VerificationResult) -> dict[str, object]:
    """Render what the verifications of all records have if there is no such record: empty texts and nulls."""
    return {
        "verdict": report.verdict,
        "valid": False,
        "reasons": [reason.value for reason in report.reasons],
        **dict.fromkeys(("issuer_id", "kid", "alg", "payload_hash", "document_hash"), ""),
        "log": None,
        "governance": None,
        "details": VerifyDetailsOut(issuer_id="", issuer_name="", log_index=None),
    }
