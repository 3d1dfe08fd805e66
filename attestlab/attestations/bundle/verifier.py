"""Offline verification of a proof bundle against a pinned trust policy.

Trust comes from the policy alone: the verifier reads the tree's size and root from
the checkpoint note after verifying its signatures, never from the bundle's readable
copies. It trusts the key in the bundle because the log entry contains the key's hash.

Standards: RFC 6962 proofs, C2SP tlog-checkpoint and tlog-policy, RFC 7515 signatures,
RFC 8785 canonical JSON.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from attestlab.attestations.bundle.bundle import Bundle, LogEvidence
from attestlab.attestations.bundle.reader import NEWER_VERIFIER, Reader, find_different
from attestlab.attestations.bundle.report import OfflineReport
from attestlab.attestations.rules import Reason, SignedContent, Verdict, sha256
from attestlab.attestations.verification.logged_issuer import LoggedIssuer, verify_issuer
from attestlab.attestations.verification.status_proof import (
    CurrentStatus,
    EntryWithProof,
    derive_current_status,
    drop_unproven_reasons,
    verify_status_entries,
    verify_status_fields,
)
from attestlab.attestations.verification.steps import (
    Evidence,
    KeyFacts,
    Step,
    StepResult,
    VerificationResult,
    VerifierInput,
    check_content,
    check_governance,
    check_key,
    check_signature,
    check_status,
    check_transparency,
    run_steps,
)
from attestlab.core.crypto import signing
from attestlab.core.encoding import b64url_encode, format_time, parse_time
from attestlab.core.errors import IntegrityFailed, NewerFormat, ProofInvalid, SignatureInvalid, ValidationFailed
from attestlab.log import entries
from attestlab.log.entries import commitment, sha256_name
from attestlab.log.merkle import hashing as log_rules
from attestlab.log.merkle.tlog_proof import LogProof
from attestlab.log.note.note import split_signature_lines
from attestlab.log.note.trust_policy import Checkpoint, TrustPolicy

if TYPE_CHECKING:
    from attestlab.attestations.bundle.verifier_policies import VerifierPolicies


def verify_bundle(
    bundle: Bundle,
    *,
    trust: TrustPolicy,
    now: datetime,
    file_sha256: bytes | None = None,
    payload_sha256: bytes | None = None,
    policies: VerifierPolicies | None = None,
) -> OfflineReport:
    """Verify a bundle offline, without contacting the service.

    Args:
        bundle: the parsed bundle.
        trust: the pinned logs and witnesses.
        now: the time at which expiry is decided.
        file_sha256: SHA-256 (32 bytes) of a file that must match the payload or the document hash, or None.
        payload_sha256: SHA-256 (32 bytes) of a file that must match the payload, or None.
        policies: the verifier's own policies, which must allow it as well, or None.

    Returns:
        One verdict, the result of each step, and what no bundle can prove.

    Raises:
        NewerFormat: the log proves an entry of a newer version or type, so a newer verifier is needed.

    >>> from datetime import UTC, datetime
    >>> import attestlab
    >>> diploma = next(lab.attestations.list(schema="degree"))
    >>> trust = attestlab.TrustPolicy.parse(lab.log.vkey().trust_policy)
    >>> bundle = attestlab.Bundle.parse(diploma.bundle().document)
    >>> attestlab.verify_bundle(bundle, trust=trust, now=datetime.now(UTC)).verdict.value
    'VALID'
    """
    proven_heads: list[Checkpoint] = []
    try:
        current = _derive_status(bundle)
        evidence = _build_evidence(bundle, current, lambda: proven_heads.append(_verify_logged(bundle, trust)))
    except (ProofInvalid, ValidationFailed) as error:
        _refuse_newer_entries(bundle, trust)
        report = VerificationResult(Verdict.INVALID, (_reject(error),))
        return OfflineReport(report, None, None, kind=bundle.statement.kind)
    content = partial(_check_content, evidence, file_sha256, payload_sha256)
    steps = _build_steps(evidence, content, now, has_status_list=current.as_of is not None)
    report = run_steps([*steps, *_build_policy_steps(bundle, policies, now)])
    if not proven_heads:
        return OfflineReport(report, None, None, kind=bundle.statement.kind)
    head = proven_heads[0]
    issuer = _name_issuer(bundle, report)
    return OfflineReport(report, head.size, head.origin, current.as_of, issuer, bundle.statement.kind)


def examine_bundle(
    bundle: Bundle, *, trust: TrustPolicy, now: datetime, file_sha256: bytes | None = None
) -> tuple[StepResult, ...]:
    """Run steps 2 to 7 offline, each on its own: this shows what a change of the bundle breaks.

    `verify_bundle` alone gives a verdict. If parts of the bundle contradict each other before a step can run, the
    result of the step that they break is the only one.

    Args:
        bundle: a parsed bundle.
        trust: the pinned log and its witnesses.
        now: the time at which an attestation counts as expired.
        file_sha256: the SHA-256 of the document, 32 bytes; None leaves it out.

    Returns:
        The result of each step with its reasons, in their order.

    Raises:
        NewerFormat: the log has entries about the attestation that this version does not know.

    >>> bundle = Bundle.parse(next(lab.attestations.list(schema="degree")).bundle().document)
    >>> trust = TrustPolicy.parse(lab.log.vkey().trust_policy)
    >>> [step.state.value for step in examine_bundle(bundle, trust=trust, now=bundle.statement.created_at)][:2]
    ['not_checked', 'ok']
    """

    def prove_logged() -> None:
        _verify_logged(bundle, trust)

    try:
        current = _derive_status(bundle)
        evidence = _build_evidence(bundle, current, prove_logged)
    except (ProofInvalid, ValidationFailed) as error:
        _refuse_newer_entries(bundle, trust)
        return (_reject(error),)
    content = partial(_check_content, evidence, file_sha256, None)
    logged, signed, *others = _build_steps(evidence, content, now, has_status_list=current.as_of is not None)
    return tuple(step() for step in (*others, signed, logged))


def _derive_status(bundle: Bundle) -> CurrentStatus:
    return derive_current_status(
        bundle.status_proof,
        statement=bundle.statement,
        public_key=bundle.public_key,
        index=bundle.log.index,
        claimed=bundle.status,
    )


def _refuse_newer_entries(bundle: Bundle, trust: TrustPolicy) -> None:
    """Refuse to judge a bundle with newer entries that the log proves; without the proof, they are merely invalid.

    Raises:
        NewerFormat: the log proves them.
    """
    minted = EntryWithProof(bundle.log.entry, bundle.log.index, bundle.log.hashes)
    newer = [logged for logged in (minted, *bundle.status_proof.entries) if entries.is_newer(logged.entry)]
    try:
        head = trust.verify_checkpoint(bundle.log.checkpoint)
        for logged in newer:
            logged.verify_inclusion(size=head.size, root=head.root)
    except (ProofInvalid, SignatureInvalid):
        return
    if newer:
        raise NewerFormat(
            f"Entry {newer[0].index} of the log has a newer version or type than this version reads. {NEWER_VERIFIER}"
        )


def _reject(error: ProofInvalid | ValidationFailed) -> StepResult:
    """Build the result of the step that failed before any could run."""
    if isinstance(error, ProofInvalid):
        step, reason = "transparency", Reason.TRANSPARENCY_PROOF_FAILED
    else:
        step, reason = "signature", Reason.SIGNATURE_INVALID
    return StepResult(step, (reason,), Verdict.INVALID, error.message)


def _name_issuer(bundle: Bundle, report: VerificationResult) -> LoggedIssuer | None:
    """Name the issuer as the log proves it, if it signed: a wrong signature names no signer."""
    if not {Reason.TRANSPARENCY_PROOF_OK, Reason.SIGNATURE_OK} <= set(report.reasons):
        return None
    issuer = Reader(bundle.document, "").object("issuer")
    return verify_issuer(issuer.value, bundle.status_proof, bundle.statement)


def _build_policy_steps(bundle: Bundle, policies: VerifierPolicies | None, now: datetime) -> Iterator[Step]:
    if policies is not None:
        yield lambda: policies.check(bundle.statement, bundle.status_proof, now=now)


def _build_steps(evidence: Evidence, content: Step, now: datetime, *, has_status_list: bool) -> tuple[Step, ...]:
    """Build the steps of an offline verification.

    Log and signature come first, because nothing else in a bundle is meaningful until they are verified. The others
    keep their online order, so that both verifications reach the same verdict. Without a status list, which would
    prove that nothing changed since, the steps on status, governance and key stay open.
    """
    return (
        lambda: check_transparency(evidence),
        lambda: check_signature(evidence),
        content,
        lambda: drop_unproven_reasons(check_status(evidence, now), has_status_list),
        lambda: drop_unproven_reasons(check_governance(evidence), has_status_list),
        lambda: drop_unproven_reasons(check_key(evidence), has_status_list),
    )


def _check_content(evidence: Evidence, file_sha256: bytes | None, payload_sha256: bytes | None) -> StepResult:
    """Check the payload hash, then the file hash.

    Stops at a failed payload check; otherwise returns the file's result with the reasons of both.
    """
    result = check_content(evidence, VerifierInput(payload_sha256))
    if file_sha256 is None or result.verdict is not None:
        return result
    of_file = _check_file(evidence, file_sha256)
    return replace(of_file, reasons=tuple(dict.fromkeys((*result.reasons, *of_file.reasons))))


def _check_file(evidence: Evidence, file_sha256: bytes) -> StepResult:
    statement = evidence.statement
    same = {
        Reason.PAYLOAD_HASH_OK: statement.payload_hash == b64url_encode(file_sha256),
        Reason.DOCUMENT_HASH_OK: statement.document_hash == file_sha256.hex(),
    }
    if any(same.values()):
        return StepResult("content", tuple(reason for reason, holds in same.items() if holds))
    if statement.document_hash is None:
        return StepResult("content", (Reason.DOCUMENT_HASH_NOT_STORED,), is_open=True)
    return StepResult("content", (Reason.DOCUMENT_HASH_MISMATCH,), Verdict.ALTERED)


def _build_evidence(bundle: Bundle, current: CurrentStatus, prove_logged: Callable[[], None]) -> Evidence:
    logged_at = _read_logged_at(bundle.log.entry)
    public = signing.load_public(bundle.statement.alg, bundle.public_key)
    return Evidence(
        content=bundle.content,
        signature=bundle.signature,
        status=current.status,
        log_index=bundle.log.index,
        logged_at=logged_at,
        issuer=current.issuer,
        key=KeyFacts(public, current.key_status, current.key_changed_index, current.compromised_at),
        prove_logged=prove_logged,
    )


def _verify_logged(bundle: Bundle, trust: TrustPolicy) -> Checkpoint:
    """Verify that the entry is in a tree signed by a trusted log, and is about this record and key.

    Returns the head of that tree.

    Raises:
        SignatureInvalid: no trusted log signed the checkpoint, or too few witnesses cosigned it.
        ProofInvalid: the path does not lead to the root, or the entry is about another record or key.
    """
    head = trust.verify_checkpoint(bundle.log.checkpoint)
    log_rules.verify_inclusion(
        bundle.log.index, head.size, log_rules.leaf_hash(bundle.log.entry), bundle.log.hashes, head.root
    )
    _verify_copies(bundle, head)
    verify_entry_subject(
        _parse_entry(bundle.log.entry),
        bundle.log.nonce,
        content=bundle.content,
        signature=bundle.signature,
        public_key=bundle.public_key,
    )
    document, kind = Reader(bundle.document, ""), bundle.statement.kind
    verify_status_fields(document.object(kind.noun).value, bundle.status_proof, bundle.log.nonce, kind)
    verify_issuer(document.object("issuer").value, bundle.status_proof, bundle.statement)
    verify_status_entries(bundle.status_proof, size=head.size, root=head.root)
    return head


def _verify_copies(bundle: Bundle, head: Checkpoint) -> None:
    """Verify that the bundle's readable copies equal the proven values, so that their readers are not misled.

    Raises:
        ProofInvalid: a copy differs.
    """
    for part, proven in _expected_copies(bundle.log, head).items():
        copy = bundle.document.get(part)
        if isinstance(proven, dict) and isinstance(copy, Mapping):
            wrong = find_different(copy, proven)
        else:
            wrong = None if copy in (None, proven) else ""
        if wrong is not None:
            raise ProofInvalid(f"/{'/'.join(filter(None, (part, wrong)))} differs from the checkpoint.")


def _expected_copies(log: LogEvidence, head: Checkpoint) -> dict[str, object]:
    """Return the values that the bundle's readable members must have according to the note and the entry."""
    own, others = split_signature_lines(log.checkpoint, head.origin)
    size_and_root = {"tree_size": head.size, "root_hash": sha256_name(head.root)}
    signed: dict[str, object] = {**size_and_root, "signature": own[0].rsplit(" ", 1)[1], "cosignatures": others}
    if head.timestamp_s is not None:
        signed["timestamp"] = _format_timestamp(head.timestamp_s)
    return {
        "inclusion_proof": {**size_and_root, "leaf_hash": sha256_name(log_rules.leaf_hash(log.entry))},
        "signed_tree_head": signed,
        "tlog_proof": LogProof(index=log.index, hashes=log.hashes, checkpoint=log.checkpoint).text,
    }


def _format_timestamp(seconds: int) -> str:
    try:
        return format_time(datetime.fromtimestamp(seconds, UTC))
    except (OSError, OverflowError, ValueError):
        raise ProofInvalid(f"The log signed the time {seconds} s, which is after the year 9999.") from None


def verify_entry_subject(
    entry: Mapping[str, object], nonce: bytes, *, content: SignedContent, signature: str, public_key: bytes
) -> None:
    """Verify that the log entry is about this record and key, and commits to payload and signature.

    Raises:
        ProofInvalid: the entry is about another record or key, or its commitment does not match.
    """
    statement = content.statement
    actual = (entry.get("type"), entry.get("id"), entry.get("issuer_id"), entry.get("kid"), entry.get("alg"))
    named = (statement.kind.minted_entry, str(statement.id), str(statement.issuer_id), statement.kid)
    if actual != (*named, statement.alg.value):
        raise ProofInvalid(f"The log entry is about another {statement.kind.noun}.")
    if entry.get("key") != sha256_name(sha256(public_key)):
        raise ProofInvalid("The log entry names another public key.")
    opened = sha256_name(commitment(nonce, content.encode_committed_payload(), signature))
    if not hmac.compare_digest(str(entry.get("commit")).encode(), opened.encode()):
        raise ProofInvalid("The log entry's commitment does not open to this payload and signature.")


def _parse_entry(raw: bytes) -> dict[str, object]:
    try:
        return entries.parse_entry(raw).members
    except IntegrityFailed as error:
        raise ProofInvalid(error.message) from error


def _read_logged_at(raw: bytes) -> datetime:
    try:
        return parse_time(str(_parse_entry(raw).get("at")))
    except ValidationFailed as error:
        raise ProofInvalid("The log entry has no valid time.") from error
