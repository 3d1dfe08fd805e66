"""Issuers, their keys, and requests to change their standing."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cached_property
from typing import ClassVar, Self
from uuid import UUID

from attestlab.client import arguments, card_contents
from attestlab.client.analysis.records import Records
from attestlab.client.exploring import LiveView, explore
from attestlab.client.handles.base import Handle
from attestlab.client.service_client import Json, ServiceClient, path_of
from attestlab.core.errors import Conflict, NotFound, ValidationFailed
from attestlab.core.lookups import Lookups
from attestlab.governance.shapes import (
    ApprovalOut,
    BlastRadiusOut,
    IssuerRequestOut,
    MonthCountOut,
    RecipientCountOut,
    SchemaCountOut,
)
from attestlab.issuers.shapes import IssuerOut, KeyOut, RotatedOut, WithdrawnKeyOut

_MAX_SUGGESTIONS = 3


class KeyHandle(KeyOut, Handle):
    """A signing key of an issuer."""

    shown_fields: ClassVar = ("kid", "alg", "status", "custody", "created_at")


class RotationHandle(RotatedOut, Handle):
    """A rotation: the old key and the one that replaces it."""

    shown_fields: ClassVar = ("old_kid", "new_kid")

    @property
    def old_kid(self) -> str:
        """The id of the key that was replaced."""
        return self.old_key.kid

    @property
    def new_kid(self) -> str:
        """The id of the key that signs from now on."""
        return self.new_key.kid


class WithdrawnKeyHandle(WithdrawnKeyOut, Handle):
    """A key that was revoked or reported as compromised, and how many attestations it affects."""

    shown_fields: ClassVar = ("kid", "status", "reason", "affected_attestations", "log_index")


class IssuerRequestHandle(IssuerRequestOut, Handle):
    """A request to change an issuer's status or ratings."""

    shown_fields: ClassVar = ("id", "type", "target_issuer_id", "status", "reason")

    approvals: Records[ApprovalOut]

    def approve(self) -> IssuerRequestHandle:
        """Approve the request; `lab.issuers.approve` explains the result and errors.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> ben = lab.as_("ben@demo.example", password="only for the demo")
        >>> issuer = lab.issuers.create("Open School", "open.example")
        >>> request = ann.issuers.request("SUSPEND_ISSUER", issuer, "the school has closed")
        >>> ben.issuers.requests(issuer)[0].approve().status
        'APPROVED'
        """
        return change_request(self._client, self.id, "approve")

    def reject(self, reason: str) -> IssuerRequestHandle:
        """Reject the request.

        `lab.issuers.reject` explains the arguments and errors.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> issuer = lab.issuers.create("Night School", "night.example")
        >>> ann.issuers.request("SUSPEND_ISSUER", issuer, "closed").reject("it is open again").status
        'REJECTED'
        """
        return change_request(self._client, self.id, "reject", {"reason": reason})

    def execute(self) -> IssuerRequestHandle:
        """Make the requested change; `lab.issuers.execute` explains the result and errors.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> ben = lab.as_("ben@demo.example", password="only for the demo")
        >>> issuer = lab.issuers.create("Old School", "old.example")
        >>> request = ann.issuers.request("SUSPEND_ISSUER", issuer, "the school has closed")
        >>> ben.issuers.approve(request).execute().status
        'EXECUTED'
        """
        return change_request(self._client, self.id, "execute")


class BlastRadiusHandle(BlastRadiusOut, Handle):
    """The attestations that depend on an issuer or a key."""

    shown_fields: ClassVar = ("issuer_id", "kid", "attestations", "valid", "truncated")

    by_schema: Records[SchemaCountOut]
    by_month: Records[MonthCountOut]
    by_recipient: Records[RecipientCountOut]


class IssuerHandle(IssuerOut, Handle):
    """An issuer with its keys."""

    shown_fields: ClassVar = ("name", "domain", "status", "trust_tier", "risk_rating", "id")

    keys: Records[KeyOut]

    @classmethod
    def parse(cls, client: ServiceClient, answer: object) -> Self:
        """Build the handle, and remember the issuer's name for the cards of its attestations."""
        found = super().parse(client, answer)
        client.issuer_names[str(found.id)] = found.name
        return found

    def _repr_html_(self) -> str:
        return card_contents.draw_issuer(self)

    def explore(self, **state: object) -> LiveView:
        """Show the issuer on the page of issuers in a cell: what is clicked in it is data for the next cell.

        Args:
            state: what the page shows at first, such as `days=90` (`Lab.explore`).

        Returns:
            The view: its `state`, `rows`, `sql`, `python`, `set`, `save` and panes, as `Lab.explore` explains.

        Raises:
            MissingExtra: a package of the extra `notebook` is not installed.
            ValidationFailed: the page has no such parameter or value; the message names those that it has.

        >>> lab.issuers["Delta Clinics"].explore(days=90).rows("keys").columns[:2]
        ['name', 'kid']
        """
        return explore(self._client, "issuers", {"issuer": str(self.id), **state})

    @property
    def active_key(self) -> KeyHandle:
        """The newest active key that the service holds, with which it signs.

        Raises:
            Conflict: the issuer has none.
        """
        usable = [key for key in self.keys if key.status == "active" and key.custody == "managed"]
        if not usable:
            raise Conflict(
                f"{self.name} has no active key that the service holds. "
                "Add one with `lab.issuers.add_key`, or sign by yourself and pass `kid`, `alg` and `signature`."
            )
        newest = max(usable, key=lambda key: key.created_at)
        return KeyHandle.parse(self._client, newest.model_dump())

    def rotate_key(self, kid: str | None = None, *, new_kid: str | None = None) -> RotationHandle:
        """Replace a key, by default the active one, with a new key that the service holds.

        `lab.issuers.rotate_key` explains the arguments and errors.

        >>> lab.issuers["Northfield University"].rotate_key().new_kid
        'northfield-4'
        """
        return rotate_key(self._client, kid or self.active_key.kid, new_kid=new_kid, alg=self._alg_of(kid))

    def blast_radius(self, kid: str | None = None) -> BlastRadiusHandle:
        """Count the attestations that depend on the issuer, or on one of its keys.

        `lab.issuers.blast_radius` explains the arguments and errors.

        >>> northfield = lab.issuers["Northfield University"]
        >>> northfield.blast_radius("northfield-1").valid
        108
        """
        return count_blast_radius(self._client, self.id, kid)

    def _alg_of(self, kid: str | None) -> str:
        if kid is None:
            return self.active_key.alg
        found = next((key.alg for key in self.keys if key.kid == kid), None)
        if found is None:
            raise ValidationFailed(
                f"{self.name} has no key {arguments.show(kid)}. Its keys: {', '.join(k.kid for k in self.keys)}."
            )
        return found


IssuerLike = UUID | str | IssuerHandle


class IssuerLookup:
    """Finds the issuers that one call names: it requests each id once, and once the list that has the names.

    It lives as long as its call, so the next call sees an issuer's new name or key.
    """

    def __init__(self, client: ServiceClient) -> None:
        self._client = client
        self._lookups = Lookups()

    def find(self, what: IssuerLike) -> IssuerHandle:
        """Find an issuer by id, name or domain; names are compared without regard to case.

        Raises:
            NotFound: the tenant has no such issuer; the message names similar ones.
            ValidationFailed: two issuers have the name, or it is no name.
        """
        if isinstance(what, IssuerHandle):
            return what
        if isinstance(what, str) and not arguments.is_uuid(what):
            return self._lookups.find(what, lambda: self._find_by_name(what))
        issuer_id = arguments.read_id(what, "an issuer")
        return self._lookups.find(issuer_id, lambda: self._get(issuer_id))

    def _get(self, issuer_id: UUID) -> IssuerHandle:
        return IssuerHandle.parse(self._client, self._client.get(path_of("v1", "issuers", issuer_id)))

    def _find_by_name(self, name: str) -> IssuerHandle:
        wanted = name.strip().casefold()
        found = [item for item in self._all_issuers if wanted in _list_names(item)]
        if not found:
            raise _unknown_issuer(name, [str(item["name"]) for item in self._all_issuers])
        if len(found) > 1:
            ids = ", ".join(str(item["id"]) for item in found[:_MAX_SUGGESTIONS])
            message = f"{len(found)} issuers are called {arguments.show(name)}. Pass the id of one: {ids}."
            raise ValidationFailed(message)
        return IssuerHandle.parse(self._client, found[0])

    @cached_property
    def _all_issuers(self) -> list[Json]:
        return list(self._client.iterate("/v1/issuers"))


def find_issuer(client: ServiceClient, what: IssuerLike) -> IssuerHandle:
    """Find one issuer (`IssuerLookup.find`); a call that names several uses one lookup for all."""
    return IssuerLookup(client).find(what)


def rotate_key(client: ServiceClient, kid: str, *, new_kid: str | None, alg: str) -> RotationHandle:
    """Replace a key with a new key that the service holds."""
    body = {"new_kid": new_kid or next_kid(arguments.read_text(kid, name="The key's id")), "alg": alg}
    return RotationHandle.parse(client, client.post(path_of("v1", "issuers", "keys", kid, "rotate"), body))


def next_kid(kid: str) -> str:
    """Name the key after `kid`.

    >>> next_kid("registrar-1"), next_kid("registrar")
    ('registrar-2', 'registrar-2')
    """
    stem, hyphen, number = kid.rpartition("-")
    return f"{stem}-{int(number) + 1}" if hyphen and number.isdecimal() else f"{kid}-2"


def count_blast_radius(client: ServiceClient, issuer_id: UUID, kid: str | None) -> BlastRadiusHandle:
    """Count the attestations that depend on an issuer or a key."""
    answer = client.get(path_of("v1", "issuers", issuer_id, "blast-radius"), {"kid": kid})
    return BlastRadiusHandle.parse(client, answer)


def change_request(
    client: ServiceClient, request_id: UUID, change: str, body: dict[str, object] | None = None
) -> IssuerRequestHandle:
    """Approve, reject or execute a request."""
    answer = client.post(path_of("v1", "governance", "issuer-requests", request_id, change), body)
    return IssuerRequestHandle.parse(client, answer)


def _list_names(item: Json) -> set[str]:
    """List what an issuer is called, without regard to case."""
    return {str(item.get(member) or "").casefold() for member in ("name", "domain", "display_name")}


def _unknown_issuer(name: str, names: list[str]) -> NotFound:
    close = get_close_matches(name, names, n=_MAX_SUGGESTIONS, cutoff=0.5) or names[:_MAX_SUGGESTIONS]
    hint = f"Similar: {', '.join(close)}." if close else "Register one with `lab.issuers.create(name, domain)`."
    return NotFound("issuer", f"by the name {arguments.show(name)}", remedy=hint)
