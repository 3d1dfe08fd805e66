"""Protections of a consumer: content that they protect by its hash, and credentials that they show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, TypedDict, Unpack
from uuid import UUID

from attestlab.client import arguments, consumer_cards
from attestlab.client.analysis.records import Records
from attestlab.client.arguments import File, FileDigest
from attestlab.client.handles.attestations import AttestationHandle, ExportVerbs, get_attestation
from attestlab.client.handles.base import Handle
from attestlab.client.service_client import ServiceClient, path_of
from attestlab.protections.rules import MAX_FILE_NAME_LENGTH, Visibility
from attestlab.protections.shapes import ProtectionOut, VerificationDayOut, VerificationDaysOut

PROTECTIONS = "/v1/consumer/protections"
_KINDS = frozenset({"image", "video", "audio"})


class ProtectionOptions(TypedDict, total=False):
    """The optional parts of a protection (docs/protections.md)."""

    description: str
    category: str
    content_type: str
    visibility: str


class ProtectionChanges(TypedDict, total=False):
    """What a protection may change; its attestation has none of it."""

    title: str
    description: str
    category: str
    visibility: str


class VerificationDaysHandle(VerificationDaysOut, Handle):
    """How often a protection was verified, by UTC day: `items` is a table, newest first."""

    shown_fields: ClassVar = ("total", "day_count")
    items: Records[VerificationDayOut]

    @property
    def day_count(self) -> int:
        """The number of days, also those without a verification."""
        return len(self.items)


class ProtectionHandle(ProtectionOut, ExportVerbs, Handle):
    """A protection as its owner sees it; `verify`, `bundle` and `sd_jwt` are about its attestation."""

    shown_fields: ClassVar = ("id", "title", "visibility", "attestation_status", "verification_count")

    def _repr_html_(self) -> str:
        return consumer_cards.draw_protection(self)

    def record(self) -> AttestationHandle:
        """Fetch the attestation of the protection.

        Returns:
            The attestation, whose claims name the hash and the kind of content.

        Raises:
            NotFound: a received credential was declined since.

        >>> photo = sofia.protect(b"a photo to record", title="Bridge")
        >>> photo.record().document_hash == photo.content_hash
        True
        """
        return get_attestation(self._client, self.attestation_id)

    def update(self, **changes: Unpack[ProtectionChanges]) -> ProtectionHandle:
        """Change texts or visibility; `lab.protections.update` explains the arguments and errors.

        >>> sofia.protect(b"a photo to rename", title="Bridge").update(title="Old bridge").title
        'Old bridge'
        """
        return update_protection(self._client, self.id, changes)

    def publish(self) -> ProtectionHandle:
        """Make the protection public, which everyone sees in the portfolio; returns it as it is then.

        >>> sofia.protect(b"a photo to publish", title="Harbour").publish().visibility
        'public'
        """
        return update_protection(self._client, self.id, {"visibility": Visibility.PUBLIC})

    def unlist(self) -> ProtectionHandle:
        """Take the protection out of the portfolio, but not its page off its address; returns it as it is then.

        >>> sofia.protect(b"a photo to unlist", title="Harbour", visibility="public").unlist().visibility
        'unlisted'
        """
        return update_protection(self._client, self.id, {"visibility": Visibility.UNLISTED})

    def revoke(self, reason: str) -> ProtectionHandle:
        """Revoke the attestation of own content permanently; `reason` has 1 to 1,000 characters.

        Returns:
            The protection, which stays in list and portfolio, marked REVOKED.

        Raises:
            Conflict: it is revoked already, or a received credential, which only its issuer can revoke.

        >>> sofia.protect(b"a photo to revoke", title="Harbour").revoke("not mine").attestation_status.value
        'REVOKED'
        """
        return revoke_protection(self._client, self.id, reason)

    def remove(self) -> None:
        """Delete the protection with its texts and counts; its attestation stays as it is.

        >>> photo = sofia.protect(b"a photo to remove", title="Harbour")
        >>> photo.remove()
        >>> photo.id in [each.id for each in sofia.protections]
        False
        """
        self._client.delete(f"{PROTECTIONS}{path_of(self.id)}")

    def verification_days(self, days: int = 30) -> VerificationDaysHandle:
        """Count the verifications by UTC day; `lab.protections.verification_days` explains the arguments and errors.

        >>> sofia.protect(b"a photo to count", title="Harbour").verification_days(days=7).items.df().shape
        (7, 3)
        """
        return count_verifications(self._client, self.id, days)


ProtectionLike = UUID | str | ProtectionHandle


def protect_file(client: ServiceClient, file: File, title: str, options: ProtectionOptions) -> ProtectionHandle:
    """Protect a file, which is hashed here and sent nowhere; without a `content_type` by the kind that its name has."""
    digest = arguments.hash_file(file)
    body = {
        "content_type": _find_kind(digest),
        **options,
        "content_hash": digest.sha256,
        "file_name": digest.name and digest.name[:MAX_FILE_NAME_LENGTH],
        "file_size": digest.size_bytes,
    }
    return _create(client, title, body)


def show_received(
    client: ServiceClient, attestation_id: UUID, title: str, options: Mapping[str, object]
) -> ProtectionHandle:
    """Show a received credential among the consumer's protections."""
    return _create(client, title, {**options, "attestation_id": attestation_id})


def update_protection(client: ServiceClient, protection_id: UUID, changes: Mapping[str, object]) -> ProtectionHandle:
    """Change the texts or the visibility of a protection."""
    body = {name: value for name, value in changes.items() if value is not None}
    return ProtectionHandle.parse(client, client.patch(f"{PROTECTIONS}{path_of(protection_id)}", body))


def revoke_protection(client: ServiceClient, protection_id: UUID, reason: str) -> ProtectionHandle:
    """Revoke the attestation of own content."""
    body = {"reason": arguments.read_text(reason, name="reason")}
    return ProtectionHandle.parse(client, client.post(f"{PROTECTIONS}{path_of(protection_id, 'revoke')}", body))


def count_verifications(client: ServiceClient, protection_id: UUID, days: int) -> VerificationDaysHandle:
    """Count the verifications of a protection by day."""
    asked = {"days": arguments.read_count(days, name="days")}
    answer = client.get(f"{PROTECTIONS}{path_of(protection_id, 'verifications')}", asked)
    return VerificationDaysHandle.parse(client, answer)


def _create(client: ServiceClient, title: str, body: Mapping[str, object]) -> ProtectionHandle:
    sent = {name: value for name, value in body.items() if value is not None}
    named = {"title": arguments.read_text(title, name="title"), **sent}
    return ProtectionHandle.parse(client, client.post(PROTECTIONS, named))


def _find_kind(digest: FileDigest) -> str:
    """Find the kind of content by the name of its file, as the page `/protect` does."""
    media_type = digest.media_type or ""
    kind = media_type.partition("/")[0]
    if kind in _KINDS:
        return kind
    return "document" if kind == "text" or media_type == "application/pdf" else "other"
