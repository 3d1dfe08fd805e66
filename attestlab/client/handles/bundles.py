"""Proof bundles and their verification in this process, which needs no service (CONTRACT section 7)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import ClassVar, cast
from uuid import UUID

from attestlab.attestations.bundle.bundle import Bundle
from attestlab.attestations.bundle.report import OfflineReport
from attestlab.attestations.bundle.verifier import verify_bundle
from attestlab.attestations.rules import RECEIPT, Verdict
from attestlab.attestations.verification.steps import State
from attestlab.client import arguments, card_contents
from attestlab.client.arguments import File
from attestlab.client.cards import CardRow, CardTone, draw_card, join, write_code, write_steps
from attestlab.client.file_replacement import replace_file
from attestlab.client.handles.base import Handle
from attestlab.client.service_client import Json, ServiceClient
from attestlab.core.counting import plural
from attestlab.log.note.trust_policy import TrustPolicy

_RESULTS = {State.OK: "ok", State.FAILED: "FAILED", State.OPEN: "open", State.NOT_CHECKED: "not checked"}
_PASSED = {"ok": True, "FAILED": False}


class OfflineVerificationHandle(Handle):
    """An offline verification: its verdict, the result of each step, and what no bundle can prove."""

    shown_fields: ClassVar = ("verdict", "attestation_id", "reasons", "tree_size")

    verdict: Verdict
    valid: bool
    reasons: list[str]
    steps: dict[str, str]
    attestation_id: UUID  # of the attestation, or of another record that `noun` names
    noun: str = "attestation"
    origin: str | None
    tree_size: int | None
    as_of: int | None = None  # the status was compared with the status list of this many entries
    issuer_known_as: str | None = None  # what the log proves and the issuer's tier verifies: its name or its domain
    not_checked: list[str]

    def _repr_html_(self) -> str:
        return _draw_verification(self)


class StoredBundleHandle(Handle):
    """A proof bundle of an attestation or a receipt, with its verification in this process."""

    shown_fields: ClassVar[tuple[str, ...]] = ("issuer_name", "log_index", "tree_size")

    issuer_name: str
    log_index: int
    tree_size: int
    document: dict[str, object]

    def verify(self, *, file: File | None = None, trust: TrustPolicy | str | None = None) -> OfflineVerificationHandle:
        """Verify the bundle in this process.

        Args:
            file: the document that must match the attested one: a path, its bytes, or an open binary file.
            trust: the pinned log and witnesses, as C2SP tlog-policy text or parsed; by default the key that the
                service itself publishes, which proves that bundle and service agree, not that the service is honest.

        Returns:
            One verdict, the result of each step, and what no bundle can prove; `as_of` is the number of log entries
            that the status covers.

        Raises:
            ValidationFailed: the bundle or the file cannot be read.

        >>> bundle = next(lab.attestations.list(schema="degree")).bundle()
        >>> bundle.verify(trust=lab.log.vkey().trust_policy, file=b"another file").verdict.value
        'ALTERED'
        """
        bundle = Bundle.parse(self.document)
        digest = None if file is None else bytes.fromhex(arguments.hash_file(file).sha256)
        report = verify_bundle(bundle, trust=read_trust(self._client, trust), now=datetime.now(UTC), file_sha256=digest)
        return _show_report(self._client, bundle, report)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the bundle as a JSON file, for `attestlab verify`; returns its path.

        A file that was there before is replaced by the whole bundle, and otherwise stays as it is.

        Args:
            path: of the file, which is replaced.

        Raises:
            ValidationFailed: it cannot be written.

        >>> bundle = next(lab.attestations.list(schema="degree")).bundle()
        >>> lab.verify(bundle.save("diploma.json")).verdict.value
        'VALID'
        """
        with replace_file(path) as draft:
            draft.write_text(json.dumps(self.document))
        return arguments.read_path(path)


class BundleHandle(StoredBundleHandle):
    """A proof bundle: everything that a verifier needs besides the log's key."""

    shown_fields: ClassVar = ("attestation_id", "schema_name", "log_index", "tree_size")

    attestation_id: UUID
    schema_name: str

    def _repr_html_(self) -> str:
        return _draw_bundle(self)


class ReceiptBundleHandle(StoredBundleHandle):
    """The proof bundle of a receipt: everything that a verifier needs besides the log's key."""

    shown_fields: ClassVar = ("receipt_id", "receipt_type", "log_index", "tree_size")

    receipt_id: UUID
    receipt_type: str


def read_trust(client: ServiceClient, trust: TrustPolicy | str | None) -> TrustPolicy:
    """Read a trust policy, parsed or as text; None is the key that the service itself publishes."""
    if isinstance(trust, TrustPolicy):
        return trust
    if trust is not None:
        return TrustPolicy.parse(arguments.read_text(trust, name="trust"))
    return TrustPolicy.without_witnesses(str(client.get("/v1/log/vkey")["vkey"]))


def build_bundle(client: ServiceClient, document: Mapping[str, object]) -> BundleHandle | ReceiptBundleHandle:
    """Build the handle of a bundle.

    Raises:
        ValidationFailed: the document is not a bundle.
    """
    parsed = Bundle.parse(document)
    noun = parsed.statement.kind.noun
    record, issuer, head = (cast(Json, document[name]) for name in (noun, "issuer", "signed_tree_head"))
    fields = {
        f"{noun}_id": parsed.statement.id,
        "issuer_name": issuer["name"],
        "log_index": parsed.log.index,
        "tree_size": head["tree_size"],
        "document": dict(document),
    }
    if noun == RECEIPT.noun:
        return ReceiptBundleHandle.parse(client, {**fields, "receipt_type": record["receipt_type"]})
    return BundleHandle.parse(client, {**fields, "schema_name": record["schema"]})


def read_bundle(client: ServiceClient, what: object) -> StoredBundleHandle:
    """Read a bundle: a dict, the path of its JSON file, or that file's bytes.

    Raises:
        ValidationFailed: it is none of them.
    """
    if isinstance(what, StoredBundleHandle):
        return what
    if isinstance(what, Bundle):
        return build_bundle(client, what.document)
    if isinstance(what, Mapping):
        return build_bundle(client, arguments.read_mapping(what, name="the bundle"))
    raw = what if isinstance(what, bytes) else arguments.read_file(cast("str", what))
    return build_bundle(client, Bundle.read(raw).document)


def fetch_bundle(client: ServiceClient, attestation_id: UUID) -> BundleHandle:
    """Fetch the bundle of an attestation."""
    return cast(BundleHandle, build_bundle(client, client.get(f"/v1/attestations/{attestation_id}/proof-bundle")))


def _show_report(client: ServiceClient, bundle: Bundle, report: OfflineReport) -> OfflineVerificationHandle:
    results = report.report.results
    fields: dict[str, object] = {
        "verdict": report.verdict,
        "valid": report.verdict is Verdict.VALID,
        "reasons": [reason.value for result in results for reason in result.reasons],
        "steps": {result.step: _RESULTS[result.state] for result in results},
        "attestation_id": bundle.statement.id,
        "noun": bundle.statement.kind.noun,
        "origin": report.origin,
        "tree_size": report.tree_size,
        "as_of": report.as_of,
        "issuer_known_as": None if report.issuer is None else report.issuer.known_as,
        "not_checked": list(report.not_checked),
    }
    return OfflineVerificationHandle.parse(client, fields)


def _draw_verification(verification: OfflineVerificationHandle) -> str:
    """Draw the card of a verification in this process."""
    verdict = verification.verdict.value
    steps = [(name.capitalize(), _PASSED.get(result)) for name, result in verification.steps.items()]
    first, *others = verification.not_checked
    rows = [
        CardRow(verification.noun.capitalize(), write_code(verification.attestation_id)),
        CardRow("Issuer", verification.issuer_known_as),
        CardRow(
            "Log",
            verification.origin and f"{verification.origin}, {plural(verification.tree_size or 0, 'entry', 'entries')}",
        ),
        CardRow("Steps", write_steps(steps)),
        CardRow("Not checked", f"{first}; and {len(others)} more"),
    ]
    tone, sentence = card_contents.tone_of_verdict(verdict), card_contents.SENTENCES[verdict]
    return draw_card(tone, verdict, sentence, rows, foot="Verified here, offline.")


def _draw_bundle(bundle: BundleHandle) -> str:
    """Draw the card of a proof bundle."""
    rows = [
        CardRow("Issuer", bundle.issuer_name),
        CardRow("Log entry", f"{bundle.log_index:,} of {bundle.tree_size:,}"),
        CardRow("Attestation", write_code(bundle.attestation_id)),
    ]
    foot = join("Nothing is verified yet: ", write_code("bundle.verify(file=...)"))
    return draw_card(CardTone.CALM, "BUNDLE", card_contents.name_schema(bundle.schema_name), rows, foot=foot)
