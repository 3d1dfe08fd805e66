"""Rules of risk: entities, the scale of scores, thresholds, and the factors of a score (CONTRACT section 8)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from attestlab.core.addresses import (
    MIN_PREFIX_BITS,
    list_networks,
    parse_address,
    parse_network,
    read_network,
    spell_address,
)
from attestlab.core.encoding import format_time
from attestlab.core.errors import PermissionDenied, ValidationFailed
from attestlab.core.placeholders import is_placeholder
from attestlab.core.text_forms import describe_form

MAX_SCORE = 100.0
AGENT_SOURCE = "agent"  # of what the service and the tenant's people find about machine agents
SIGNAL_THRESHOLD = 60.0  # a score of the service's own detectors becomes a signal from here on
DEFAULT_ESCALATION_THRESHOLD = 80.0
MAX_NAME_LENGTH = 64
MAX_ENTITY_ID_LENGTH = 256
MAX_DETAILS_BYTES = 8_192  # of a signal's details as JSON
SCORE_DECIMALS = 4
SCORE_CLASSES = 10  # of the whole scale, of equal width; the last one includes its end
MAX_RECENT_SIGNALS = 1_000  # of an entity that a policy considers: its newest of `RECENT`
RECENT = timedelta(hours=24)
UNKNOWN_MEMBER = "extra_forbidden"  # the code of the fault, in rows as in bodies
CLOCK_SKEW = timedelta(minutes=1)  # a sender's clock may be ahead by as much

NAME_PATTERN = describe_form(
    rf"^[a-z0-9_]{{1,{MAX_NAME_LENGTH}}}$", f"Use 1 to {MAX_NAME_LENGTH} characters of a-z, 0-9 and _."
)
_NAME = re.compile(NAME_PATTERN)
ENTITY_ID = re.compile(rf"[^\x00-\x1f\x7f\ud800-\udfff]{{1,{MAX_ENTITY_ID_LENGTH}}}")

ENTITY_MEMBERS = {  # of a signal's details or of a raw event's data: they name entities of these types
    "user": "user",
    "user_id": "user",
    "subject_id": "user",
    "device": "device",
    "device_id": "device",
    "ip": "ip",
    "ip_address": "ip",
    "document": "document",
    "document_id": "document",
    "session": "session",
    "session_id": "session",
    "issuer": "issuer",
    "issuer_id": "issuer",
    "attestation": "attestation",
    "attestation_id": "attestation",
}

_LOWER_CASE_ID = re.compile(r"(?:sha256:)?[0-9A-Fa-f]{64}|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
# What is written like an address, also as a number (`0x7f.1`), or contains one (`http://203.0.113.9/`); a hash of an
# address has no such punctuation.
_LIKE_ADDRESS = re.compile(
    r"(?=.*[.:/*])[\s0-9A-Fa-fXx.:/*,%\[\]-]+|[0-9]+|0[Xx][0-9A-Fa-f]+|.*\b\d{1,3}(?:\.\d{1,3}){3}\b.*"
)


class EntityType(StrEnum):
    """The kind of thing that a signal is about."""

    USER = "user"
    DEVICE = "device"
    IP = "ip"
    DOCUMENT = "document"
    SESSION = "session"
    ISSUER = "issuer"
    ATTESTATION = "attestation"


_OWN_TYPES = frozenset({EntityType.DOCUMENT, EntityType.ISSUER, EntityType.ATTESTATION})  # whose ids are ours


class ScoreScale(StrEnum):
    """The scale of a submitted score: 0 to 100, or 0 to 1."""

    PERCENT = "percent"
    UNIT = "unit"


class ListName(StrEnum):
    """A list of entities that a tenant has decided about."""

    ALLOW = "allow"
    DENY = "deny"


class CaseStatus(StrEnum):
    """The status of a case."""

    OPEN = "open"
    RESOLVED = "resolved"


class CaseOutcome(StrEnum):
    """What a case turned out to be; the label of its signals in backtests."""

    FRAUD = "fraud"
    LEGITIMATE = "legitimate"
    INCONCLUSIVE = "inconclusive"


class Entity(NamedTuple):
    """The user, device, address or other thing that a signal is about."""

    type: EntityType
    id: str

    @property
    def key(self) -> str:
        """The entity as one text, `type:id`, for addresses and titles."""
        return write_entity_key(self.type, self.id)

    @classmethod
    def of_list(cls, kind: str, entity_id: str) -> Entity:
        """Validate the kind and the id of a list's entry.

        Raises:
            ValidationFailed: they are none that something can be recorded about (`of_sent`), or an entry about them
                could not hold (`require_listable`).
        """
        require_listable(cls.of(kind, entity_id))  # what is too wide has another remedy than bits of a host
        return cls.of_sent(kind, entity_id)

    @classmethod
    def of_sent(cls, kind: str, entity_id: str) -> Entity:
        """Validate a kind and an id that a client sends to record something about; `of` reads what was recorded.

        Raises:
            ValidationFailed: the kind or id is none, or would be stored as that of another address (`require_address`).
        """
        entity = cls.of(kind, entity_id)
        require_address(kind, entity_id)
        return entity

    @classmethod
    def of(cls, kind: str, entity_id: str) -> Entity:
        """Validate a kind and an id; an id that has several spellings gets the one of `spell_id`.

        Raises:
            ValidationFailed: the kind is unknown, or the id is empty, too long or has control characters.
        """
        if kind not in EntityType.__members__.values():
            message = f"{kind[:40]!r} is no entity type. Use one of {', '.join(EntityType)}."
            raise ValidationFailed.of("/entity_type", "unknown", message)
        if not ENTITY_ID.fullmatch(entity_id):
            message = f"An entity's id has 1 to {MAX_ENTITY_ID_LENGTH} characters and no control characters."
            raise ValidationFailed.of("/entity_id", "entity_id", message)
        return cls(EntityType(kind), spell_id(kind, entity_id))


def write_entity_key(kind: str, entity_id: str) -> str:
    """Write the type and the id of an entity as one text; the first colon divides them.

    >>> write_entity_key("ip", "2001:db8::1")
    'ip:2001:db8::1'
    """
    return f"{kind}:{entity_id}"


def spell_id(kind: str, entity_id: str) -> str:
    """Return the one spelling of an entity's id: of an address, a SHA-256 or a UUID; other ids are their text.

    Blanks around an id are no part of it, unless it has nothing else: then it is a placeholder, kept as it was sent.

    >>> spell_id("ip", "2001:DB8::0009"), spell_id("document", "sha256:" + "AB" * 32)[:4], spell_id("user", " Ada")
    ('2001:db8::9', 'abab', 'Ada')
    """
    entity_id = entity_id.strip() or entity_id
    if kind == EntityType.IP:
        return spell_address(entity_id) or entity_id
    return entity_id.lower().removeprefix("sha256:") if _has_own_spelling(kind, entity_id) else entity_id


def names_nothing(kind: str, entity_id: str) -> bool:
    """Whether an id is a placeholder, such as `unknown`, `0.0.0.0` or zeros, which many share.

    >>> names_nothing("device", "N/A"), names_nothing("ip", "::"), names_nothing("device", "7f3c")
    (True, True, False)
    """
    address = parse_address(entity_id.strip()) if kind == EntityType.IP else None
    return is_placeholder(entity_id) if address is None else address.is_unspecified


def require_named(entity: Entity, field: str = "/entity_id") -> None:
    """Require that an id identifies something.

    Raises:
        ValidationFailed: it is a placeholder.
    """
    if names_nothing(entity.type, entity.id):
        message = (
            f"{entity.id[:40]!r} is a placeholder, which names no {entity.type}: all that have none would count as "
            "one. Send an id, or nothing where there is none."
        )
        raise ValidationFailed.of(field, "placeholder", message)


def require_known_members(members: Mapping[str, object], known: frozenset[str]) -> None:
    """Require that a row has no other members than these.

    Raises:
        ValidationFailed: it has others; the error names them.
    """
    if unknown := sorted(members.keys() - known):
        message = f"Unknown members: {', '.join(unknown)[:200]}."
        raise ValidationFailed.of(f"/{unknown[0][:64]}", UNKNOWN_MEMBER, message)


def _has_own_spelling(kind: str, entity_id: str) -> bool:
    """Whether capitals make no difference: in hashes and UUIDs of ours, and in no id that others chose."""
    return kind in _OWN_TYPES and _LOWER_CASE_ID.fullmatch(entity_id) is not None


def spell_filter(kind: str | None, entity_id: str | None) -> str | None:
    """Return the id that a filter names, in its one spelling if the type is known."""
    return spell_id(kind, entity_id) if kind and entity_id else entity_id


def list_matching_ids(kind: str, entity_id: str) -> tuple[str, ...]:
    """List the ids of list entries that hold for an entity: its own, and of an address each network around it.

    >>> "203.0.113.0/24" in list_matching_ids("ip", "203.0.113.9"), list_matching_ids("user", "ada")
    (True, ('ada', ' ada', 'ada '))
    """
    spelt = spell_id(kind, entity_id)
    is_address = kind == EntityType.IP
    # Entries written before ids had one spelling are in the client's, which is often upper case, or with a blank.
    upper = (spelt.upper(),) if is_address or _has_own_spelling(kind, spelt) else ()
    older = (entity_id, *upper, f" {spelt}", f"{spelt} ")
    return tuple(dict.fromkeys((spelt, *older, *(list_networks(spelt) if is_address else ()))))


def require_listable(entity: Entity) -> None:
    """Require that an entry of a list can hold for an entity, and for no more than it.

    Raises:
        ValidationFailed: the id is a placeholder, or written like an address and none, or the network is too wide.
    """
    require_named(entity)
    if entity.type is not EntityType.IP:
        return
    require_address(entity.type, entity.id)
    network = parse_network(entity.id)
    if network is not None and network.prefixlen < MIN_PREFIX_BITS[network.version]:
        message = (
            f"{entity.id} is too wide: a network on a list has a prefix of at least "
            f"/{MIN_PREFIX_BITS[network.version]}. Send several narrower ones."
        )
        raise ValidationFailed.of("/entity_id", "too_wide", message)


def require_address(kind: str, entity_id: str, field: str = "/entity_id") -> None:
    """Require that the id of an `ip` which is written like an address is one, or is a network without bits of a host.

    What is not written like one, such as the hash of an address, is an id that the client chose.

    Raises:
        ValidationFailed: it is neither; the message names the address or network that was probably meant.
    """
    if kind == EntityType.IP and may_be_malformed(entity_id.strip()):
        try:
            read_network(entity_id)
        except ValueError as error:
            raise ValidationFailed.of(field, "address", str(error)) from None


def may_be_malformed(text: str) -> bool:
    """Whether a text is no plain address, but is written like an address or a network, or contains one."""
    address = parse_address(text)
    return "%" in text if address is not None else _LIKE_ADDRESS.fullmatch(text) is not None


class Factor(NamedTuple):
    """One reason for a score, with words that explain it; `contribution` is its part, in points of 0 to 100."""

    name: str
    value: float | int | str | bool
    weight: float
    contribution: float
    explanation: str = ""

    def content(self) -> dict[str, object]:
        """Return the factor as an element of `details.factors`."""
        return self._asdict()


def sum_factors(factors: Iterable[Factor]) -> float:
    """Return the score that the factors explain: the sum of their contributions, with four decimals."""
    return round(math.fsum(factor.contribution for factor in factors), SCORE_DECIMALS)


def require_name(field: str, value: str) -> str:
    """Require the name of a source, a signal type or an action.

    Raises:
        ValidationFailed: it is not 1 to 64 lowercase letters, digits or underscores.
    """
    if not _NAME.fullmatch(value):
        message = f"{value[:40]!r} is not acceptable: use 1 to {MAX_NAME_LENGTH} of a-z, 0-9 and _."
        raise ValidationFailed.of(f"/{field}", "name", message)
    return value


def require_open_source(source: str, actor_type: str) -> None:
    """Require that an agent's session records nothing of the source that its own trust and cases follow.

    Raises:
        PermissionDenied: the actor is an agent, and the source is `agent`.
    """
    if actor_type == "AGENT" and source == AGENT_SOURCE:
        message = (
            f"An agent records no signal of the source {AGENT_SOURCE!r}, which says how agents behave. Use another."
        )
        raise PermissionDenied(message, details={"reason": "reserved_source", "source": source})


def to_percent(score: float, scale: ScoreScale = ScoreScale.PERCENT) -> float:
    """Return a submitted score on the scale of 0 to 100.

    Raises:
        ValidationFailed: the score is not a number within its scale.
    """
    limit = MAX_SCORE if scale is ScoreScale.PERCENT else 1.0
    if not 0 <= score <= limit:  # not true of NaN either
        message = f"{score!r} is outside of 0 to {limit:g}, the scale {scale.value!r}. Use `score_scale` for the other."
        raise ValidationFailed.of("/score", "out_of_range", message)
    percent = float(score) if scale is ScoreScale.PERCENT else round(score * MAX_SCORE, SCORE_DECIMALS)
    return abs(percent)  # -0.0 is 0


def warn_about_scale(source: str, highest: float | None) -> str | None:
    """Return a warning about a source whose highest score is at most 1: it probably sends the scale of 0 to 1.

    >>> warn_about_scale("gateway", 0.97), warn_about_scale("gateway", 41)
    ("All recent scores of 'gateway' are at most 1 of 100. If its scale is 0 to 1, send score_scale: unit.", None)
    """
    if highest is None or not 0 < highest <= 1:
        return None
    return f"All recent scores of {source!r} are at most 1 of 100. If its scale is 0 to 1, send score_scale: unit."


def resolve_occurrence(occurred_at: datetime | None, now: datetime) -> datetime:
    """Return when something occurred: now if no time was sent, or if the sender's clock is slightly ahead.

    Raises:
        ValidationFailed: the time is later than now by more than `CLOCK_SKEW`.
    """
    if occurred_at is None:
        return now
    if occurred_at > now + CLOCK_SKEW:
        message = f"{format_time(occurred_at)} is later than now, {format_time(now)}. Send the time of the occurrence."
        raise ValidationFailed.of("/occurred_at", "future", message)
    return min(occurred_at, now)
