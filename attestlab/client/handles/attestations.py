"""Attestations and their verification."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Protocol
from uuid import UUID

from pydantic import BaseModel, PrivateAttr

from attestlab.attestations.shapes import AttestationOut, MintOut, RevokedOut
from attestlab.attestations.verification.shapes import VerifyOut
from attestlab.client import arguments, card_contents
from attestlab.client.analysis.records import Records
from attestlab.client.arguments import File
from attestlab.client.cards import CardRow, CardTone, draw_card, join, write_code
from attestlab.client.handles.badges import BadgeFormat, BadgeHandle, fetch_badge
from attestlab.client.handles.base import Handle
from attestlab.client.handles.bundles import BundleHandle, fetch_bundle
from attestlab.client.handles.inbox_deliveries import InboxDeliveryHandle, deliver_attestation
from attestlab.client.handles.sd_jwts import SdJwtHandle, fetch_sd_jwt
from attestlab.client.service_client import ServiceClient
from attestlab.core.errors import AttestLabError


class VerificationHandle(VerifyOut, Handle):
    """A verification by the service: exactly one verdict, and a reason code for every check that ran."""

    shown_fields: ClassVar = ("verdict", "attestation_id", "reasons")
    _file_sha256: str | None = PrivateAttr(default=None)

    @property
    def file_sha256(self) -> str | None:
        """The SHA-256 (hex) of the file that was compared with the attested one; None without a file."""
        return self._file_sha256

    def _repr_html_(self) -> str:
        return card_contents.draw_verification(self, self.file_sha256)


class RevocationHandle(RevokedOut, Handle):
    """A revocation, with the index of its entry in the log."""

    shown_fields: ClassVar = ("attestation_id", "status", "revocation_reason", "log_index")


class ExportVerbs:
    """What one does with an attestation that one may read: verify it, and export it in each of its forms."""

    _client: ServiceClient

    @property
    def url(self) -> str:
        """The address of the public page."""
        return f"{self._client.public_url}/a/{read_attestation_id(self)}"

    def verify(self, *, file: File | None = None) -> VerificationHandle:
        """Verify the attestation, with its document or without.

        Args:
            file: the document: a path, its bytes, or an open binary file. It is hashed here and sent nowhere.

        Returns:
            One verdict, and a reason code for every check that ran; `file_sha256` is the hash of the file (hex).

        Raises:
            ValidationFailed: `file` cannot be read.

        >>> diploma = next(lab.attestations.list(schema="degree"))
        >>> diploma.verify().verdict.value, diploma.verify(file=b"another file").verdict.value
        ('VALID', 'ALTERED')
        """
        return verify_attestation(self._client, read_attestation_id(self), file=file)

    def bundle(self) -> BundleHandle:
        """Fetch the proof bundle, which verifies offline.

        Returns:
            The bundle: `document` is its JSON, `save` writes it for `attestlab verify`.

        >>> next(lab.attestations.list(schema="degree")).bundle().verify().valid
        True
        """
        return fetch_bundle(self._client, read_attestation_id(self))

    def badge(self, format: BadgeFormat = "png") -> BadgeHandle:
        """Fetch the Open Badge of the attestation, baked into a picture, which a notebook shows.

        Args:
            format: that of the picture, `png` or `svg`.

        Returns:
            The picture: `content` is its bytes, `credential` the signed badge in it (a compact JWT).

        Raises:
            Conflict: the attestation is not VALID, its schema is no badge, or no key of its issuer can sign here.

        >>> badge = next(lab.attestations.list(schema="skill-badge", status="VALID")).badge()
        >>> badge.format, badge.content[:4], lab.verify(badge.content).verdict.value
        ('png', b'\\x89PNG', 'VALID')
        """
        return fetch_badge(self._client, read_attestation_id(self), format)

    def sd_jwt(self) -> SdJwtHandle:
        """Fetch the attestation as SD-JWT VC, whose holder chooses which claims a verifier sees.

        Returns:
            The credential: `credential` is its text, `save` writes it to a file.

        Raises:
            Conflict: the attestation is not VALID, or no key of its issuer can sign here.
            PermissionDenied: a policy denies the export.

        >>> exported = next(lab.attestations.list(schema="degree", status="VALID")).sd_jwt()
        >>> exported.credential.endswith("~")
        True
        """
        return fetch_sd_jwt(self._client, read_attestation_id(self))


class _AttestationVerbs(ExportVerbs, Handle):
    """What its issuer does with an attestation, minted just now or found."""

    id: UUID
    issuer_id: UUID

    @property
    def issuer_name(self) -> str | None:
        """The issuer's name, if this lab has met the issuer; `lab.issuers[attestation.issuer_id]` fetches it."""
        return self._client.issuer_names.get(str(self.issuer_id))

    def deliver(
        self, to: str | Iterable[str], *, safe_metadata: Mapping[str, object] | None = None
    ) -> Records[InboxDeliveryHandle]:
        """Deliver the attestation to people, by e-mail address or username.

        `lab.attestations.deliver` explains the arguments and errors.

        Returns:
            The delivery to each, in their order; also a table (`.df()`).

        Raises:
            Conflict: it is not VALID, or would have more than 20 recipients.

        >>> diploma = next(lab.attestations.list(schema="degree", status="VALID"))
        >>> diploma.deliver(["sofia", "charles@people.example"]).df()["delivery_state"].to_list()
        ['DELIVERED', 'PENDING']
        """
        return deliver_attestation(self._client, read_attestation_id(self), to, safe_metadata)

    def revoke(self, reason: str) -> RevocationHandle:
        """Revoke the attestation permanently; `reason` is for people and the audit trail, 1 to 1,024 characters.

        Returns:
            When it was revoked and why, with the index of this entry in the log.

        Raises:
            Conflict: it is not VALID any more.

        >>> badge = next(lab.attestations.list(schema="skill-badge", status="VALID"))
        >>> badge.revoke("earned by another person").status.value
        'REVOKED'
        """
        return revoke_attestation(self._client, self.id, reason)


class MintHandle(MintOut, _AttestationVerbs):
    """An attestation that was minted just now, with its proof of inclusion in the log."""

    shown_fields: ClassVar = ("id", "schema_id", "status", "log_index", "document_hash")

    def _repr_html_(self) -> str:
        return card_contents.draw_attestation(self, self.issuer_name)

    @property
    def schema(self) -> str:  # type: ignore[override]  # pydantic's deprecated class method of this name
        """The schema of the claims."""
        return self.schema_id


class AttestationHandle(AttestationOut, _AttestationVerbs):
    """An attestation with its current status."""

    shown_fields: ClassVar = ("id", "schema_id", "status", "log_index", "created_at")

    def _repr_html_(self) -> str:
        return card_contents.draw_attestation(self, self.issuer_name)

    @property
    def schema(self) -> str:  # type: ignore[override]  # pydantic's deprecated class method of this name
        """The schema of the claims."""
        return self.schema_id

    @property
    def claims(self) -> dict[str, object]:
        """The claims that the issuer states."""
        found = self.payload.get("claims")
        return dict(found) if isinstance(found, Mapping) else {}


class HasAttestationId(Protocol):
    """An object that is about one attestation."""

    @property
    def attestation_id(self) -> UUID:
        """The attestation's id."""
        ...


AttestationLike = UUID | str | HasAttestationId


class RejectedItem(BaseModel):
    """An item that was not minted; `item` counts from 0, as in an error's message."""

    item: int
    code: str
    message: str


class MintResults(list[MintHandle | AttestLabError]):
    """For each item, in order, its attestation, or the error for which it alone was refused.

    `rejected` has the errors, also as a table (`rejected.df()`).
    """

    def __init__(self, results: Iterable[MintHandle | AttestLabError] = ()) -> None:
        super().__init__(results)
        errors = ((place, each) for place, each in enumerate(self) if isinstance(each, AttestLabError))
        self.rejected = Records(
            (RejectedItem(item=place, code=each.code, message=each.message) for place, each in errors), RejectedItem
        )

    def __repr__(self) -> str:
        count = len(self.rejected)
        return f"MintResults({len(self) - count:,} minted, {count:,} rejected)"

    def _repr_html_(self) -> str:
        return _draw_results(self)


def read_attestation_id(what: object) -> UUID:
    """Read the id of an attestation: a UUID, its text, the address of its page, or an object about it.

    Raises:
        ValidationFailed: it is none of them.
    """
    own = getattr(what, "attestation_id", None)
    if isinstance(own, UUID):
        return own
    if isinstance(what, str) and "/a/" in what:
        what = what.split("/a/", 1)[1].partition("?")[0].partition("#")[0].partition("/")[0]
    return arguments.read_id(what, "an attestation")


def verify_attestation(
    client: ServiceClient, attestation_id: UUID, *, file: File | None = None, profile: UUID | None = None
) -> VerificationHandle:
    """Verify an attestation by the service."""
    body: dict[str, object] = {"attestation_id": attestation_id}
    digest = None if file is None else arguments.hash_file(file)
    if digest is not None:
        body["document_hash_hex"] = digest.sha256
    if profile is not None:
        body["verification_profile_id"] = profile
    verified = VerificationHandle.parse(client, client.post("/v1/verify", body, is_read=True))
    verified._file_sha256 = None if digest is None else digest.sha256
    return verified


def revoke_attestation(client: ServiceClient, attestation_id: UUID, reason: str) -> RevocationHandle:
    """Revoke an attestation."""
    answer = client.post(f"/v1/attestations/{attestation_id}/revoke", {"reason": reason})
    return RevocationHandle.parse(client, answer)


def get_attestation(client: ServiceClient, attestation_id: UUID) -> AttestationHandle:
    """Get an attestation.

    Raises:
        NotFound: the tenant has no such attestation.
    """
    return AttestationHandle.parse(client, client.get(f"/v1/attestations/{attestation_id}"))


def _draw_results(results: MintResults) -> str:
    """Draw the card of many mints: how many there are, and the first reasons of those that were refused."""
    rejected = results.rejected
    rows = [
        CardRow("Minted", f"{len(results) - len(rejected):,}"),
        CardRow("Rejected", f"{len(rejected):,}"),
        *(CardRow(f"Item {each.item:,}", each.message) for each in rejected[: card_contents.MAX_LINES]),
    ]
    title = f"{len(results) - len(rejected):,} of {len(results):,} items were minted"
    foot = join("All reasons: ", write_code("results.rejected.df()")) if rejected else None
    return draw_card(CardTone.WARN if rejected else CardTone.GOOD, "MINTED", title, rows, foot=foot)
