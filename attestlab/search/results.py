"""What the search found, in words for people, and where the dashboards show it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from attestlab.attestations.rules import Status, compute_current_status
from attestlab.core.encoding import format_time
from attestlab.risk.enforcement.store import RiskCaseRecord
from attestlab.risk.rules import CaseStatus, Entity, EntityType
from attestlab.search.rules import FoundType, PageEntry, compose_address
from attestlab.search.store import (
    ApiKeyMatch,
    AttestationMatch,
    DecisionMatch,
    IssuerMatch,
    KeyMatch,
    PersonMatch,
    PolicyMatch,
)


class SearchMatch(NamedTuple):
    """One thing that was found; `url` is the path of its page below the address of the service."""

    type: FoundType
    id: str
    title: str
    subtitle: str
    url: str


class Findings(NamedTuple):
    """What a search found; `truncated` if there is more than was wanted."""

    items: Sequence[SearchMatch]
    truncated: bool


def _title(entity: Entity) -> str:
    return "IP address" if entity.type is EntityType.IP else entity.type.value.capitalize()


def describe_entity(entity: Entity, *, case: RiskCaseRecord | None, lists: Collection[str]) -> SearchMatch:
    """Describe an entity with its open case, and the lists that it is on."""
    facts = [_title(entity)]
    facts += [] if case is None else [f"open case, score {case.max_score:.0f}"]
    facts += [f"on the {name} list" for name in sorted(lists)]
    address = compose_address("risk", entity=entity.key)
    return SearchMatch(FoundType.ENTITY, entity.key, entity.id, ", ".join(facts), address)


def describe_linked_entity(entity: Entity) -> SearchMatch:
    """Describe an entity that signals of others name, by its links, because nothing is known about it alone."""
    subtitle = f"{_title(entity)}, linked to others"
    address = compose_address("risk", graph=entity.key)
    return SearchMatch(FoundType.ENTITY, entity.key, entity.id, subtitle, address)


def describe_case(case: RiskCaseRecord, *, linked: Entity | None = None) -> SearchMatch:
    """Describe a case by its entity, and how it stands; `linked` is the entity by which it was found."""
    state = "Open" if case.status == CaseStatus.OPEN else f"Resolved as {case.outcome}"
    subtitle = f"{state}, {case.entity_type}, score {case.max_score:.0f}, opened {_day(case.opened_at)}"
    subtitle += "" if linked is None else f", linked to {linked.id}"
    address = compose_address("risk", entity=case.entity.key)
    return SearchMatch(FoundType.CASE, str(case.id), case.entity_id, subtitle, address)


def describe_issuer(issuer: IssuerMatch) -> SearchMatch:
    """Describe an issuer by its name, domain and status."""
    subtitle = f"{issuer.domain}, {issuer.status}"
    return SearchMatch(
        FoundType.ISSUER, str(issuer.id), issuer.name, subtitle, compose_address("issuers", issuer=str(issuer.id))
    )


def describe_key(key: KeyMatch) -> SearchMatch:
    """Describe a signing key by its issuer and status; its page counts what depends on it."""
    subtitle = f"Signing key of {key.issuer}, {key.status}"
    address = compose_address("issuers", issuer=str(key.issuer_id), key=f"{key.issuer_id}/{key.kid}")
    return SearchMatch(FoundType.KEY, key.kid, key.kid, subtitle, address)


def describe_api_key(key: ApiKeyMatch) -> SearchMatch:
    """Describe an API key by its name, beginning and status; its page has what it did."""
    subtitle = f"API key {key.prefix}…, {key.status}"
    return SearchMatch(FoundType.KEY, str(key.id), key.name, subtitle, compose_address("access", who=f"key:{key.id}"))


def describe_policy(policy: PolicyMatch) -> SearchMatch:
    """Describe a policy by its category and status."""
    subtitle = f"{policy.category}, {policy.status}"
    return SearchMatch(
        FoundType.POLICY, str(policy.id), policy.name, subtitle, compose_address("policy", policy=str(policy.id))
    )


def describe_decision(decision: DecisionMatch) -> SearchMatch:
    """Describe a decision by its action, effect and day."""
    effect = "allowed" if decision.allowed else "denied"
    subtitle = f"{decision.action} {effect}, {_day(decision.created_at)}"
    address = compose_address("policy", decision=decision.id)
    return SearchMatch(FoundType.DECISION, decision.id, decision.id, subtitle, address)


def describe_attestation(found: AttestationMatch, *, now: datetime) -> SearchMatch:
    """Describe an attestation by its schema, issuer, status as of now and day."""
    status = compute_current_status(Status(found.status), found.expiry_at, now=now)
    subtitle = f"{status.value}, by {found.issuer}, {_day(found.created_at)}"
    address = compose_address("log", q=str(found.id))
    return SearchMatch(FoundType.ATTESTATION, str(found.id), found.schema, subtitle, address)


def describe_person(person: PersonMatch) -> SearchMatch:
    """Describe a person by their address and roles; their page has what they did."""
    facts = [person.email, person.roles.replace(" ", ", "), "" if person.status is None else person.status]
    subtitle = ", ".join(filter(None, facts))
    address = compose_address("access", who=f"person:{person.id}")
    return SearchMatch(FoundType.PERSON, str(person.id), person.name or person.email, subtitle, address)


def describe_page(page: PageEntry) -> SearchMatch:
    """Describe a page of the dashboards by what people come for."""
    return SearchMatch(FoundType.PAGE, page.path, page.name, page.about, compose_address(page.path))


def _day(moment: datetime) -> str:
    return format_time(moment)[:10]
