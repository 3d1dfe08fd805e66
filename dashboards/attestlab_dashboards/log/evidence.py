"""The evidence about the entry that was searched: its bundle, its steps and its audit path, also of a changed copy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import attestlab
from attestlab import Bundle, Lab, Reason, TrustPolicy, Verdict
from attestlab.attestations.verification.steps import StepResult
from attestlab.client.handles.log import EntryHandle
from attestlab.core.errors import AuthRequired, NotFound, PermissionDenied, ProofInvalid, SignatureInvalid
from attestlab_dashboards.log.merkle_layout import AuditPath
from attestlab_dashboards.log.proof_reading import BundleDocument, read_path
from attestlab_dashboards.log.state import Flip, LogState
from attestlab_dashboards.log.step_views import InspectedStep, build_step_views
from attestlab_dashboards.log.subject import Subject, find_subject
from attestlab_dashboards.log.tamper import FlippedCopy, flip_copy, list_obstacles

EVIDENCE: Final = ("find", "file", "flip", "trust", "answer")  # of the state


@dataclass(frozen=True)
class Trust:
    """The keys that were trusted: the log's name and key id, whether the person pinned them, and the witnesses."""

    origin: str
    key_id: str
    is_pinned: bool
    witnesses: tuple[str, ...]


@dataclass(frozen=True)
class Examination:
    """A bundle, each of its steps, its verdict, and what it leaves unproven. Offline: the service was not asked."""

    steps: tuple[InspectedStep, ...]
    verdict: Verdict
    not_checked: tuple[str, ...]


@dataclass(frozen=True)
class EntryEvidence:
    """What is known about the searched entry.

    `document` is the unchanged bundle, or for an entry without one its entry, proof and tree head in the same shape.
    `refusal` says why the head of the path cannot be trusted; empty if it can.
    """

    subject: Subject
    trust: Trust | None = None
    document: BundleDocument | None = None
    path: AuditPath | None = None
    refusal: str = ""
    examination: Examination | None = None
    why_no_bundle: str = ""
    flipped: FlippedCopy | None = None

    @property
    def has_bundle(self) -> bool:
        """Whether the person may read the bundle of the attestation."""
        return self.document is not None and "attestation" in self.document

    @property
    def obstacles(self) -> Mapping[Flip, str]:
        """What the playground cannot flip, with the reason."""
        return {} if self.document is None else list_obstacles(self.document)

    @property
    def is_included(self) -> bool:
        """Whether the entry is in the tree of a head that a trusted log signed."""
        return self.path is not None and self.path.leads_to_root and not self.refusal


def load_evidence(lab: Lab, state: LogState) -> EntryEvidence:
    """Fetch the evidence about the searched entry, flip the bit of the playground in a copy, and verify that."""
    subject = find_subject(lab, state)
    if subject.entry is None:
        return EntryEvidence(subject)
    policy, trust = read_trust(lab, state)
    document, why_no_bundle = _fetch_document(lab, subject)
    flipped = flip_copy(document, state.flip)
    shown = document if flipped is None else flipped.document
    path = read_path(shown).compare(read_path(document))
    examination = None
    if "attestation" in shown:
        digest = state.file or subject.file
        examination = examine(shown, policy, file=digest, answer="" if flipped else state.answer)
    refusal = _find_refusal(policy, shown["signed_tree_head"]["checkpoint"])
    return EntryEvidence(subject, trust, document, path, refusal, examination, why_no_bundle, flipped)


def read_trust(lab: Lab, state: LogState) -> tuple[TrustPolicy, Trust]:
    """Read the pinned policy of the address, or trust the key that the service publishes.

    Raises:
        ValidationFailed: the pinned text is no tlog-policy.
    """
    policy = TrustPolicy.parse(state.trust or lab.log.vkey().trust_policy)
    key = policy.logs[0]
    names = tuple(sorted(witness.name for witness in policy.witnesses.values()))
    return policy, Trust(key.name, key.key_id.hex(), bool(state.trust), names)


def examine(document: BundleDocument, policy: TrustPolicy, *, file: str = "", answer: str = "") -> Examination:
    """Run each step of a bundle offline; `file` is a SHA-256 (hex), `answer` the service's reasons of step 8.

    Raises:
        ValidationFailed: the document is no bundle.
    """
    now = datetime.now(UTC)  # as the facade: a verifier does not trust the service for the time either
    bundle = Bundle.parse(document)
    digest = bytes.fromhex(file) or None
    results = attestlab.examine_bundle(bundle, trust=policy, now=now, file_sha256=digest)
    report = attestlab.verify_bundle(bundle, trust=policy, now=now, file_sha256=digest)
    steps = build_step_views(document, results, file=file, answer=answer)
    return Examination(steps, _conclude(results, answer), report.not_checked)


def _conclude(results: tuple[StepResult, ...], answer: str) -> Verdict:
    """Return the verdict of the first step that failed, in the order of the steps; VALID if none did."""
    failed = next((result.verdict for result in results if result.verdict is not None), None)
    return failed or (Verdict.INVALID if Reason.POLICY_DENIED in answer.split() else Verdict.VALID)


def _fetch_document(lab: Lab, subject: Subject) -> tuple[BundleDocument, str]:
    """Fetch the bundle, or without one the public proof of the entry; returns why there is no bundle as well."""
    entry = subject.entry
    assert entry is not None
    if not subject.is_mint or subject.attestation_id is None:
        return _fetch_public_proof(lab, entry), "It is no mint, so it has no bundle."
    try:
        return lab.attestations.bundle(subject.attestation_id).document, ""
    except NotFound:
        return _fetch_public_proof(lab, entry), "It belongs to another tenant, which alone can export its bundle."
    except AuthRequired:
        return _fetch_public_proof(lab, entry), "A bundle is exported with an API key of its tenant."
    except PermissionDenied as error:
        return _fetch_public_proof(lab, entry), error.message


def _fetch_public_proof(lab: Lab, entry: EntryHandle) -> BundleDocument:
    head = lab.log.head()
    proof = lab.log.proof(entry.log_index, tree_size=head.tree_size)
    return {
        "log_entry": {"entry_b64": entry.entry_b64},
        "inclusion_proof": proof.model_dump(mode="json"),
        "signed_tree_head": {"checkpoint": head.checkpoint},
    }


def _find_refusal(policy: TrustPolicy, checkpoint: str) -> str:
    try:
        policy.verify_checkpoint(checkpoint)
    except (SignatureInvalid, ProofInvalid) as error:
        return error.message
    return ""
