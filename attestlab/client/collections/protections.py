"""`lab.protections`: content that the consumer protects by its hash, and credentials that they show."""

from __future__ import annotations

from typing import Unpack

from attestlab.client import arguments
from attestlab.client.analysis.listing import Listing
from attestlab.client.collections.base import Collection
from attestlab.client.collections.filters import ProtectionFilterArgs
from attestlab.client.handles.attestations import AttestationLike, read_attestation_id
from attestlab.client.handles.protections import (
    PROTECTIONS,
    ProtectionChanges,
    ProtectionHandle,
    ProtectionLike,
    ProtectionOptions,
    VerificationDaysHandle,
    count_verifications,
    revoke_protection,
    show_received,
    update_protection,
)
from attestlab.client.own_examples import name_in_examples
from attestlab.client.service_client import ServiceClient, path_of
from attestlab.protections.shapes import ProtectionsQuery


@name_in_examples("protections")
class ProtectionCollection(Collection[ProtectionHandle]):
    """The consumer's protections, newest first; `lab.protect` adds one.

    It needs a consumer's key, or a consumer who signed in (`lab.as_`).
    """

    noun = "a protection"
    path = PROTECTIONS
    query = ProtectionsQuery

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, ProtectionHandle)

    def list(self, *, limit: int | None = None, **filters: Unpack[ProtectionFilterArgs]) -> Listing[ProtectionHandle]:
        """List the protections that match all filters, newest first.

        Args:
            limit: how many at most; all by default.
            filters: `visibility` is `public`, `unlisted` or `private`; `category` matches exactly. None is no filter.

        Returns:
            The protections, which are read page by page when they are wanted.

        Raises:
            ValidationFailed: there is no such filter, or it does not take this value.
            PermissionDenied: the caller is no consumer; when the protections are read.

        >>> photo = sofia.protect(b"a photo to find", title="Tower", category="towers")
        >>> [each.title for each in sofia.protections.list(category="towers")]
        ['Tower']
        """
        return self._list(limit, filters)

    def show(self, credential: AttestationLike, title: str, **options: Unpack[ProtectionOptions]) -> ProtectionHandle:
        """Show a received credential among the protections; nothing is minted.

        Args:
            credential: an item of the inbox, or its attestation: the object, its id or the address of its page.
            title: what the owner calls it, 1 to 200 characters in one line.
            options: `description`, `category` and `visibility`, which is `private` by default.

        Returns:
            The protection, whose `source` is `received`.

        Raises:
            NotFound: the consumer received no such attestation.
            Conflict: it is shown already; `error.details["protection_id"]` names the protection.
            ValidationFailed: an argument is not acceptable.

        >>> minted = lab.mint(issuer="Canton Archive", schema="course-credit", claims={"student_name": "Ada"})
        >>> delivered = minted.deliver("sofia")
        >>> sofia.protections.show(sofia.inbox[0], "My course").visibility
        'private'
        """
        return show_received(self._client, read_attestation_id(credential), title, options)

    def update(self, protection: ProtectionLike, **changes: Unpack[ProtectionChanges]) -> ProtectionHandle:
        """Change the title, description, category or visibility of a protection; its attestation stays as it is.

        Args:
            protection: the protection or its id.
            changes: what is left out, or None, stays as it is.

        Returns:
            The protection as it is then.

        Raises:
            NotFound: the consumer has no such protection.
            ValidationFailed: there is no such change, or it does not take this value.

        >>> photo = sofia.protect(b"a photo to describe", title="Tower")
        >>> sofia.protections.update(photo, description="At noon.").description
        'At noon.'
        """
        return update_protection(self._client, arguments.read_id(protection, self.noun), changes)

    def revoke(self, protection: ProtectionLike, reason: str) -> ProtectionHandle:
        """Revoke the attestation of own content permanently.

        Args:
            protection: the protection or its id.
            reason: 1 to 1,000 characters; the log contains only a commitment to it.

        Returns:
            The protection, which stays in list and portfolio, marked REVOKED.

        Raises:
            NotFound: the consumer has no such protection.
            Conflict: it is revoked already, or a received credential, which only its issuer can revoke.

        >>> photo = sofia.protect(b"a photo to take back", title="Tower")
        >>> sofia.protections.revoke(photo, "not mine").attestation_status.value
        'REVOKED'
        """
        return revoke_protection(self._client, arguments.read_id(protection, self.noun), reason)

    def remove(self, protection: ProtectionLike) -> None:
        """Delete a protection with its texts and counts; its attestation stays as it is, so revoke it first.

        Args:
            protection: the protection or its id.

        Raises:
            NotFound: the consumer has no such protection.

        >>> photo = sofia.protect(b"a photo to delete", title="Tower", category="mistakes")
        >>> sofia.protections.remove(photo)
        >>> sofia.protections.list(category="mistakes")[:]
        Records(0 Protection)
        """
        self._client.delete(f"{self.path}{path_of(arguments.read_id(protection, self.noun))}")

    def verification_days(self, protection: ProtectionLike, days: int = 30) -> VerificationDaysHandle:
        """Count the verifications of a protection by UTC day, newest first.

        Args:
            protection: the protection or its id.
            days: how many, today included, 1 to 365.

        Returns:
            `items` has the VALID and the other verifications of each day, also as a table (`.items.df()`); `total`
            is their sum. They are at most 5 seconds late, and views of pages do not count.

        Raises:
            NotFound: the consumer has no such protection.
            ValidationFailed: `days` is out of range.

        >>> photo = sofia.protect(b"a photo to watch", title="Tower")
        >>> sofia.protections.verification_days(photo, days=2).items.df().columns.to_list()
        ['day', 'valid', 'other']
        """
        return count_verifications(self._client, arguments.read_id(protection, self.noun), days)
