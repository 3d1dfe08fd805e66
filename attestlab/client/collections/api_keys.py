"""`lab.api_keys`: the keys of the tenant, which owners and admins create, see and revoke."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Unpack
from uuid import UUID

from attestlab.client import arguments
from attestlab.client.analysis.listing import Listing
from attestlab.client.collections.base import Collection
from attestlab.client.collections.filters import NoFilterArgs
from attestlab.client.handles.base import Handle
from attestlab.client.own_examples import name_in_examples
from attestlab.client.service_client import ServiceClient, path_of
from attestlab.orgs.shapes import ApiKeyMadeOut, ApiKeyOut


class ApiKeyHandle(ApiKeyOut, Handle):
    """An API key, without its secret, which only its creation returns."""

    shown_fields: ClassVar = ("name", "prefix", "status", "scopes", "last_used_at", "id")


class CreatedApiKeyHandle(ApiKeyMadeOut, Handle):
    """A new API key; `secret` is the whole key, which is shown once. Neither `repr` nor the card has it."""

    shown_fields: ClassVar = ("name", "prefix", "status", "scopes", "id")


ApiKeyLike = UUID | str | ApiKeyHandle | CreatedApiKeyHandle


@name_in_examples("api_keys")
class ApiKeyCollection(Collection[ApiKeyHandle]):
    """The tenant's API keys, newest first, revoked ones included; for a signed-in owner or admin.

    `lab.as_("ann@demo.example", password=...)` signs a person in.
    """

    noun = "an API key"
    path = "/v1/api-keys"

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, ApiKeyHandle)

    def list(self, *, limit: int | None = None, **filters: Unpack[NoFilterArgs]) -> Listing[ApiKeyHandle]:
        """List the keys of the tenant, newest first, revoked and expired ones included; there are no filters.

        Args:
            limit: how many at most; all by default.

        Returns:
            The keys with their scopes and last use, which are read page by page when they are wanted.

        Raises:
            ValidationFailed: `limit` is no number from 0, or there is a filter.
            PermissionDenied: the caller is no signed-in owner or admin.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> key = ann.api_keys.create("Weekly report", scopes=["attestations:read"])
        >>> ann.api_keys.list(limit=1)[0].name
        'Weekly report'
        """
        return self._list(limit, filters)

    def create(self, name: str, *, scopes: Iterable[str]) -> CreatedApiKeyHandle:
        """Create a key with some of the caller's own scopes.

        Args:
            name: by which people recognise it, 1 to 200 characters in one line.
            scopes: such as `["attestations:mint"]`; docs/access.md lists them.

        Returns:
            The key with its `secret`, which is shown once.

        Raises:
            ValidationFailed: an argument is not acceptable; the message names the limit.
            PermissionDenied: the caller is no signed-in owner or admin, or lacks one of the scopes.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> ann.api_keys.create("Nightly mints", scopes=["attestations:mint"]).secret.startswith("al_live_")
        True
        """
        body = {
            "name": arguments.read_text(name, name="name"),
            "scopes": arguments.read_texts(scopes, name="scopes"),
        }
        return CreatedApiKeyHandle.parse(self._client, self._client.post(self.path, body))

    def revoke(self, key: ApiKeyLike, reason: str | None = None) -> ApiKeyHandle:
        """Revoke a key permanently: the next request with it is refused.

        Args:
            key: the key, or its id.
            reason: for people and the audit trail, 1 to 1,024 characters.

        Returns:
            The key as it is then; one that was revoked before stays as it is.

        Raises:
            NotFound: the tenant has no such key.
            PermissionDenied: the caller is no signed-in owner or admin.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> key = ann.api_keys.create("Old script", scopes=["attestations:read"])
        >>> ann.api_keys.revoke(key, "the script is gone").status
        'REVOKED'
        """
        body = {} if reason is None else {"reason": arguments.read_text(reason, name="reason")}
        return self._change(key, "revoke", body)

    def compromise(self, key: ApiKeyLike, reason: str) -> ApiKeyHandle:
        """Flag a key as compromised, which also revokes it.

        Args:
            key: the key, or its id.
            reason: what is known, 1 to 1,024 characters; the audit trail keeps it.

        Returns:
            The key as it is then.

        Raises:
            NotFound: the tenant has no such key.
            PermissionDenied: the caller is no signed-in owner or admin.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> key = ann.api_keys.create("Leaked script", scopes=["attestations:read"])
        >>> ann.api_keys.compromise(key, "found in a public repository").compromised_at is None
        False
        """
        return self._change(key, "compromise", {"reason": arguments.read_text(reason, name="reason")})

    def _change(self, key: ApiKeyLike, verb: str, body: dict[str, str]) -> ApiKeyHandle:
        place = path_of(arguments.read_id(key, self.noun))
        return self._parse(self._client.post(f"{self.path}{place}/{verb}", body))
