"""What the signed-in person may do here, by the rules that the service applies: they hide and disable buttons."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple
from uuid import UUID

from attestlab import Lab
from attestlab.client.handles.issuers import IssuerRequestHandle
from attestlab.core.errors import AttestLabError
from attestlab.governance import rules
from attestlab.governance.rules import REQUESTERS, RequestType
from attestlab.orgs.rules import Caller, Role, Scope
from attestlab_dashboards.people import read_people

_NO_NAMES: Final[Mapping[str, str]] = MappingProxyType({})


class Viewer(NamedTuple):
    """The signed-in person, as the service sees them; `names` are those of the tenant's people, by id."""

    caller: Caller
    names: Mapping[str, str] = _NO_NAMES

    @property
    def id(self) -> str:
        """The id of the person."""
        return self.caller.actor_id

    def name_person(self, person_id: str) -> str:
        """Name a person: "you", their name, or the end of the id of one whose name the viewer may not read."""
        return "you" if person_id == self.id else self.names.get(person_id, f"person …{person_id[-6:]}")

    @property
    def may_request(self) -> bool:
        """Whether they may request and execute changes of issuers."""
        return not self.caller.roles.isdisjoint(REQUESTERS)

    @property
    def may_decide(self) -> bool:
        """Whether they may approve or reject any request at all."""
        return self.may_request or rules.is_platform(self.caller)

    @property
    def may_change_keys(self) -> bool:
        """Whether they may register issuers, and rotate, revoke and report keys."""
        return Scope.ISSUERS_WRITE in self.caller.scopes

    def find_approval_obstacle(self, request: IssuerRequestHandle) -> str:
        """Return why they may not approve a request now; empty if they may."""
        try:
            rules.require_may_approve(
                RequestType(request.type),
                requested_by=request.requested_by,
                tenant_id=request.tenant_id,
                caller=self.caller,
            )
            rules.require_not_approved_by([approval.user_id for approval in request.approvals], self.caller)
        except AttestLabError as error:
            return error.message
        return ""

    def has_to_decide(self, request: IssuerRequestHandle) -> bool:
        """Whether an open request waits for them: to approve it, or once it is approved, to carry it out."""
        if request.status == "PENDING":
            return self.may_decide and not self.find_approval_obstacle(request)
        return self.may_request and request.tenant_id == self.caller.tenant_id

    def find_rejection_obstacle(self, request: IssuerRequestHandle) -> str:
        """Return why they may not reject a request; its requester may withdraw it."""
        return "" if request.requested_by == self.id else self._find_foreign_obstacle(request)

    def _find_foreign_obstacle(self, request: IssuerRequestHandle) -> str:
        try:
            rules.require_may_approve(
                RequestType(request.type), requested_by="", tenant_id=request.tenant_id, caller=self.caller
            )
        except AttestLabError as error:
            return error.message
        return ""


def read_viewer(lab: Lab) -> Viewer:
    """Ask the service who is signed in."""
    me = lab.me()
    return Viewer(
        Caller(
            tenant_id=UUID(str(me.tenant_id)),
            actor_type="USER",
            actor_id=str(me.id),
            scopes=frozenset(Scope(scope) for scope in me.credential.scopes if scope in set(Scope)),
            plan=me.plan,
            roles=frozenset(Role(role) for role in me.roles),
        )
    )


def read_viewer_with_names(lab: Lab) -> Viewer:
    """Ask the service who is signed in, and how the people of the tenant are called."""
    return read_viewer(lab)._replace(names=read_people(lab))
