"""Rules for callers: plans, scopes, and the format of API keys (CONTRACT section 3).

A key is `<prefix>_<environment>_` (for consumers `<consumer prefix>_`) and 32 base62 characters. The last six are
the CRC-32 of the first 26, so that a typo is detected without a query. The 26 random characters carry 154 bits; the
checksum protects against typing errors, never against an attacker.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import count
from uuid import UUID

from attestlab.core.errors import AuthInvalid, PermissionDenied, ValidationFailed
from attestlab.core.joiners import drop_joiners
from attestlab.core.records.actors import NO_ATTRIBUTION, ActorType

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
RANDOM_LENGTH = 26
CHECKSUM_LENGTH = 6
PREFIX_LENGTH = 6
MAX_NAME_LENGTH = 200
MAX_SLUG_LENGTH = 40  # of a chosen slug; a number that makes it unique may be appended
MAX_CONSUMER_KEYS = 5  # active keys per account
CONSUMER_KEY_TTL = timedelta(days=90)
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_BODY = re.compile(f"[0-9A-Za-z]{{{RANDOM_LENGTH + CHECKSUM_LENGTH}}}")


class Scope(StrEnum):
    """An action that a tenant key may be allowed to perform (SPEC, Key types; from `risk:read` on CONTRACT 11.0)."""

    ATTESTATIONS_MINT = "attestations:mint"
    ATTESTATIONS_READ = "attestations:read"
    ATTESTATIONS_REVOKE = "attestations:revoke"
    ISSUERS_READ = "issuers:read"
    ISSUERS_WRITE = "issuers:write"
    USERS_READ = "users:read"
    USERS_WRITE = "users:write"
    AUDIT_READ = "audit:read"
    RISK_READ = "risk:read"
    RISK_WRITE = "risk:write"
    POLICIES_READ = "policies:read"
    POLICIES_WRITE = "policies:write"
    WEBHOOKS_READ = "webhooks:read"
    WEBHOOKS_WRITE = "webhooks:write"
    BILLING_READ = "billing:read"
    BILLING_WRITE = "billing:write"
    AGENTS_READ = "agents:read"
    AGENTS_WRITE = "agents:write"


class Plan(StrEnum):
    """A tenant's subscription (SPEC, Limits by tier)."""

    FREE = "FREE"
    STARTER = "STARTER"
    PROFESSIONAL = "PROFESSIONAL"
    ENTERPRISE = "ENTERPRISE"


class AddOn(StrEnum):
    """What a tenant can have in addition to its plan (CONTRACT 11.6)."""

    EXTRA_VERIFICATIONS = "extra_verifications"
    EXTRA_ISSUERS = "extra_issuers"
    EXTRA_AGENTS = "extra_agents"
    WEBHOOK_PACK = "webhook_pack"
    PRIORITY_SUPPORT = "priority_support"


class ConsumerScope(StrEnum):
    """A scope that only consumers have, besides minting and reading attestations."""

    CONSUMER_READ = "consumer:read"
    CONSUMER_WRITE = "consumer:write"
    VERIFY_READ = "verify:read"


class Role(StrEnum):
    """A person's role in a tenant; people of the operator may also have a platform role."""

    OWNER = "owner"
    ADMIN = "admin"
    ANALYST = "analyst"
    MEMBER = "member"
    SUPER_ADMIN = "super_admin"
    CONTENT_ADMIN = "content_admin"
    REVIEWER = "reviewer"


class Realm(StrEnum):
    """The kind of account behind a credential."""

    TENANT = "tenant"
    CONSUMER = "consumer"
    PLATFORM = "platform"


PLATFORM_ROLES = frozenset({Role.SUPER_ADMIN, Role.CONTENT_ADMIN, Role.REVIEWER})
CONSUMER_SCOPES: frozenset[Scope | ConsumerScope] = frozenset(
    {*ConsumerScope, Scope.ATTESTATIONS_MINT, Scope.ATTESTATIONS_READ}
)
_READ_SCOPES = frozenset(
    {
        Scope.ATTESTATIONS_READ,
        Scope.ISSUERS_READ,
        Scope.RISK_READ,
        Scope.POLICIES_READ,
        Scope.WEBHOOKS_READ,
        Scope.BILLING_READ,
    }
)
_GROUP_WRITES = frozenset(
    {Scope.RISK_WRITE, Scope.POLICIES_WRITE, Scope.WEBHOOKS_WRITE, Scope.BILLING_WRITE, Scope.AGENTS_WRITE}
)
SCOPES_OF_ROLES: dict[Role, frozenset[Scope]] = {
    Role.OWNER: frozenset(Scope),
    Role.ADMIN: frozenset(Scope),
    Role.ANALYST: _READ_SCOPES
    | {Scope.AUDIT_READ, Scope.USERS_READ, Scope.RISK_WRITE, Scope.POLICIES_WRITE, Scope.AGENTS_READ},
    Role.MEMBER: _READ_SCOPES | {Scope.ATTESTATIONS_MINT},
    Role.SUPER_ADMIN: frozenset(Scope) - _GROUP_WRITES - {Scope.AGENTS_READ},
    Role.CONTENT_ADMIN: frozenset(),
    Role.REVIEWER: _READ_SCOPES | {Scope.AUDIT_READ},
}


class OrgStatus(StrEnum):
    ACTIVE = "ACTIVE"


class ApiKeyStatus(StrEnum):
    """Status of an API key. REVOKED and EXPIRED are final; EXPIRED is derived from the clock and never stored."""

    ACTIVE = "ACTIVE"
    REVOKED = "REVOKED"
    EXPIRED = "EXPIRED"


class Environment(StrEnum):
    """The environment marker in a key; production rejects `dev`."""

    LIVE = "live"
    DEV = "dev"


@dataclass(frozen=True)
class Caller:
    """The authenticated caller, derived from the credential only."""

    tenant_id: UUID
    actor_type: ActorType
    actor_id: str  # the id of the key, the person or the agent
    scopes: frozenset[Scope | ConsumerScope] = field(repr=False)
    plan: str
    adjusted: str | None = field(default=None, repr=False)  # set by the operator, see `plans.allowance_for`
    realm: Realm = Realm.TENANT
    roles: frozenset[Role] = frozenset()
    credential_id: str = ""  # the key's id again, or that of the person's or agent's session
    expires_at: datetime | None = None  # of the credential; checked by the code that authenticates the caller
    addons: str | None = field(default=None, repr=False)  # quantities by key, see `plans.allowance_for`
    actor_name: str = field(default="", repr=False)  # of an agent; others have theirs in the records
    agent_scopes: tuple[str, ...] = field(default=(), repr=False)  # of an agent's session, also those of tool servers
    on_behalf_of: UUID | None = None  # the person for whom an agent acts
    only_reads: bool = False  # the service draws a report for the person, who does nothing themselves

    @property
    def attribution(self) -> Mapping[str, object]:
        """What audit entries add of an agent: its session, and the id of the person for whom it acts, or null."""
        if self.actor_type != "AGENT":
            return NO_ATTRIBUTION
        person = None if self.on_behalf_of is None else str(self.on_behalf_of)
        return {"session_id": self.credential_id, "on_behalf_of": person}


def checksum(random_part: str) -> str:
    """Compute the zero-padded base62 CRC-32 of the random part.

    >>> checksum("0" * 26)
    '3vSKjy'
    """
    value, digits = zlib.crc32(random_part.encode("ascii")), ""
    for _ in range(CHECKSUM_LENGTH):
        value, digit = divmod(value, 62)
        digits = ALPHABET[digit] + digits
    return digits


def compose_api_key(prefix: str, environment: Environment, random_part: str) -> str:
    """Compose an API key from 26 random base62 characters."""
    return f"{prefix}_{environment}_{random_part}{checksum(random_part)}"


def api_key_environment(secret: str, *, prefix: str) -> Environment:
    """Parse a key's environment after verifying its format and checksum.

    Raises:
        AuthInvalid: the text is not one of our keys, or was mistyped.
    """
    for environment in Environment:
        lead = f"{prefix}_{environment}_"
        if secret.startswith(lead):
            _require_sound(secret[len(lead) :])
            return environment
    raise AuthInvalid


def compose_consumer_key(prefix: str, random_part: str) -> str:
    """Compose a consumer's key from 26 random base62 characters."""
    return f"{prefix}_{random_part}{checksum(random_part)}"


def is_consumer_key(secret: str, *, prefix: str) -> bool:
    """Whether the text has the format of a consumer's key and a valid checksum."""
    lead = f"{prefix}_"
    return secret.startswith(lead) and _is_sound(secret[len(lead) :])


def _require_sound(body: str) -> None:
    if not _is_sound(body):
        raise AuthInvalid


def _is_sound(body: str) -> bool:
    return _BODY.fullmatch(body) is not None and checksum(body[:RANDOM_LENGTH]) == body[RANDOM_LENGTH:]


def key_status(stored: str, expires_at: datetime | None, now: datetime) -> ApiKeyStatus:
    """Return the status of a key at this time."""
    is_over = expires_at is not None and now >= expires_at
    return ApiKeyStatus.EXPIRED if is_over and stored == ApiKeyStatus.ACTIVE else ApiKeyStatus(stored)


def require_scopes_within(wanted: Set[Scope], held: Set[Scope | ConsumerScope]) -> None:
    """Require that a new key gets no scope that its creator lacks.

    Raises:
        PermissionDenied: `details.required_scope` is the first scope that the creator lacks.
    """
    for scope in Scope:
        if scope in wanted and scope not in held:
            message = f"A key cannot have the scope {scope}, because its creator lacks it."
            raise PermissionDenied(message, details={"required_scope": scope.value})


def key_prefix(secret: str) -> str:
    """Return the leading characters that identify a key to people; far too few to guess the rest."""
    return secret[: secret.rindex("_") + 1 + PREFIX_LENGTH]


def validate_display_name(field: str, text: str, *, max_length: int = MAX_NAME_LENGTH) -> str:
    """Validate and trim a display name: one line, 1 to 200 characters, none of them invisible or unassigned.

    Characters that change the writing direction count as invisible, because they make a name display as another.
    Zero-width joiners and non-joiners between visible characters are allowed, because many scripts need them.
    """
    trimmed = text.strip()
    if not 0 < len(trimmed) <= max_length or any(map(_is_invisible, drop_joiners(trimmed))):
        message = f"{field} must be one line of 1 to {max_length} printable characters."
        raise ValidationFailed.of(f"/{field}", "one_line", message)
    return trimmed


def _is_invisible(character: str) -> bool:
    """Whether a character is control, format, surrogate, private or unassigned, or a line or paragraph separator."""
    category = unicodedata.category(character)
    return category[0] == "C" or category in ("Zl", "Zp")


def slug(name: str) -> str:
    """Derive a URL slug from a name, at most 40 characters.

    >>> slug("Universität Zürich, Archiv"), slug("株式会社")
    ('universitat-zurich-archiv', 'tenant')
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub("[^a-z0-9]+", "-", plain).strip("-")[:MAX_SLUG_LENGTH].strip("-") or "tenant"


def validate_slug(text: str) -> str:
    """Validate a slug that a caller chose.

    Raises:
        ValidationFailed: it is not a valid slug.
    """
    if len(text) > MAX_SLUG_LENGTH or not _SLUG.fullmatch(text):
        message = f"A slug must be 1 to {MAX_SLUG_LENGTH} characters a-z and 0-9, with single hyphens between them."
        raise ValidationFailed.of("/slug", "slug", message)
    return text


def free_slug(wanted: str, taken: Set[str]) -> str:
    """Return `wanted`, or `wanted` with the first free number from 2.

    >>> free_slug("acme", {"acme", "acme-3"}), free_slug("acme", {"acme", "acme-2", "acme-3"})
    ('acme-2', 'acme-4')
    """
    if wanted not in taken:
        return wanted
    return next(numbered for number in count(2) if (numbered := f"{wanted}-{number}") not in taken)
