"""The requirements that a route declares for its caller. The access table and its tests read the same declarations."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

from attestlab.core.errors import PermissionDenied, TenantIdentityUnverified

PUBLIC: Final = None


class WebCaller(Protocol):
    """An authenticated caller, as far as the web layer reads it; capabilities know its class."""

    @property
    def tenant_id(self) -> UUID:
        """The tenant that the caller acts for."""
        ...

    @property
    def credential_id(self) -> str:
        """The id of the key or session."""
        ...

    @property
    def actor_type(self) -> str:
        """`USER` for a signed-in person, `AGENT` for an agent."""
        ...

    @property
    def realm(self) -> str:
        """`tenant` or `consumer`."""
        ...

    @property
    def roles(self) -> frozenset[str]:
        """The roles of a person; empty for a key."""
        ...

    @property
    def scopes(self) -> frozenset[str]:
        """The scopes of the credential."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """What a caller must have. `Requirement()` accepts any valid credential.

    `roles` are alternatives; only people have roles. `people_roles` are alternatives for people and let keys pass.
    `user_only` excludes keys; `tenant_only` excludes consumers and their keys. `no_agents` excludes sessions of
    agents; with `agents_without_scope` they pass without the scope, and the route itself lets each reach its own.
    `or_else` names what the route itself accepts of a request without any credential.
    """

    scope: str | None = None
    roles: tuple[str, ...] = ()
    people_roles: tuple[str, ...] = ()
    user_only: bool = False
    tenant_only: bool = False
    realm: str | None = None
    no_agents: bool = False
    agents_without_scope: bool = False
    or_else: str | None = None

    def require(self, caller: WebCaller) -> None:
        """Reject a caller who lacks a requirement.

        Raises:
            PermissionDenied: `details` names the missing requirement.
        """
        if self.user_only and caller.actor_type != "USER":
            raise PermissionDenied("This needs a signed-in person.", details={"required_credential": "jwt"})
        if self.tenant_only and caller.realm == "consumer":
            raise PermissionDenied("This is for tenants, not for consumers.", details={"required_realm": "tenant"})
        if self.realm is not None and caller.realm != self.realm:
            raise PermissionDenied(f"This is for {self.realm} accounts.", details={"required_realm": self.realm})
        roles = self.people_roles if self.people_roles and caller.actor_type == "USER" else self.roles
        if roles and not caller.roles.intersection(roles):
            message = f"This needs the role {' or '.join(roles)}."
            raise PermissionDenied(message, details={"required_roles": list(roles)})
        if self.no_agents and caller.actor_type == "AGENT":
            message = "This is for people and their keys, not for agents."
            raise PermissionDenied(message, details={"required_credential": "api_key"})
        if self.agents_without_scope and caller.actor_type == "AGENT":
            return
        if self.scope is not None and self.scope not in caller.scopes:
            raise PermissionDenied(f"This needs the scope {self.scope}.", details={"required_scope": self.scope})

    def describe(self) -> str:
        """Describe the requirement in words, for the access table.

        >>> Requirement(scope="issuers:read").describe()
        'scope `issuers:read`'
        >>> Requirement(roles=("owner", "admin"), user_only=True).describe()
        'a signed-in `owner` or `admin`'
        """
        who = " or ".join(f"`{role}`" for role in self.roles) or (
            "any credential of a tenant" if self.tenant_only else ""
        )
        if self.people_roles:
            who = f"any key of a tenant, or a person who is {' or '.join(f'`{role}`' for role in self.people_roles)}"
        if self.user_only:
            who = f"a signed-in {who or 'person'}"
        parts = [who, f"of the {self.realm} realm" if self.realm else "", f"scope `{self.scope}`" if self.scope else ""]
        words = ", ".join(part for part in parts if part) or "any valid credential"
        return words if self.or_else is None else f"{words}, or {self.or_else}"


Access = str | Requirement | None  # a scope, more than that, or PUBLIC


def requirement_of(access: Access) -> Requirement | None:
    """Return the requirement of a route; a scope alone is shorthand for `Requirement(scope=...)`."""
    return Requirement(scope=access) if isinstance(access, str) else access


def users_with(roles: Collection[str]) -> Requirement:
    """Require a signed-in person with any of these roles."""
    return Requirement(roles=tuple(roles), user_only=True)


def require_same_tenant(claimed: str | None, caller: WebCaller) -> None:
    """Reject a request whose X-Tenant-ID header is not the tenant of its credential.

    Raises:
        TenantIdentityUnverified: the header has another tenant, or is malformed.
    """
    if claimed is not None and claimed.lower() != str(caller.tenant_id):
        raise TenantIdentityUnverified
