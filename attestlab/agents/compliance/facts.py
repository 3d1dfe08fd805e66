"""Facts of compliance: what the records say of an agent, of an issuer, or of a tenant with all that it has.

Of several agents the worst counts: one without an owner leaves the tenant without. A control for which an entity has
no fact, such as the delegation depth of an issuer, gets None and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Float, Select, and_, case, cast, func, or_, select

from attestlab.agents.compliance.rules import MAX_AUDIT_LINES, ComplianceFacts, EntityKind
from attestlab.agents.effective_scopes import parse_stored
from attestlab.agents.rules import AgentStatus, format_agent_id
from attestlab.agents.sessions.store import sessions, uses
from attestlab.agents.store import agents, keys
from attestlab.agents.witnessing.rules import VoteRequestStatus
from attestlab.agents.witnessing.store import requests
from attestlab.attestations.store import attestations
from attestlab.audit import store as audit_store
from attestlab.issuers import store as issuer_store
from attestlab.issuers.rules import KeyStatus
from attestlab.orgs import store as org_store
from attestlab.orgs.rules import Role
from attestlab.risk.enforcement.store import cases
from attestlab.risk.rules import CaseStatus, EntityType

Conditions = Sequence[ColumnElement[bool]]


def collect_facts(
    connection: Connection, kind: EntityKind, entity_id: UUID, *, tenant_id: UUID, now: datetime
) -> ComplianceFacts:
    """Collect what the records say of an entity, which the tenant has."""
    is_whole = audit_store.is_chain_whole(connection, tenant_id, at_most=MAX_AUDIT_LINES)
    facts = ComplianceFacts(audit_chain_is_whole=is_whole)
    if kind is EntityKind.ISSUER:
        return _add_issuer(connection, facts, entity_id, tenant_id, now)
    if kind is EntityKind.AGENT:
        facts = _add_agents(connection, facts, [agents.c.id == entity_id], now)
        about = (EntityType.USER, format_agent_id(entity_id, tenant_id))
        return replace(facts, open_cases=_count_open_cases(connection, tenant_id, about))
    return _add_tenant(connection, facts, tenant_id, now)


def _add_issuer(
    connection: Connection, facts: ComplianceFacts, issuer_id: UUID, tenant_id: UUID, now: datetime
) -> ComplianceFacts:
    issuer = issuer_store.get(connection.execute, issuer_id, tenant_id=tenant_id)
    newest = select(attestations.c.created_at).where(attestations.c.issuer_id == issuer_id)
    last = connection.execute(newest.order_by(attestations.c.log_index.desc()).limit(1)).scalar()
    return replace(
        facts,
        key_age=_age(_find_oldest_issuer_key(connection, issuer_store.keys.c.issuer_id == issuer_id), now),
        open_cases=_count_open_cases(connection, tenant_id, (EntityType.ISSUER, str(issuer_id))),
        idle=_age(last or issuer.created_at, now),
    )


def _add_tenant(connection: Connection, facts: ComplianceFacts, tenant_id: UUID, now: datetime) -> ComplianceFacts:
    is_usable = or_(agents.c.expires_at.is_(None), agents.c.expires_at > now)
    usable = [agents.c.tenant_id == tenant_id, agents.c.status != AgentStatus.REVOKED.value, is_usable]
    facts = _add_agents(connection, facts, usable, now)
    has_owner = bool(org_store.list_addresses(connection.execute, tenant_id, roles={Role.OWNER.value}))
    of_issuers = _age(_find_oldest_issuer_key(connection, issuer_store.keys.c.tenant_id == tenant_id), now)
    ages = [age for age in (facts.key_age, of_issuers) if age is not None]
    return replace(
        facts,
        owner_is_active=has_owner and facts.owner_is_active is not False,
        key_age=max(ages, default=None),
        open_cases=_count_open_cases(connection, tenant_id),
    )


def _add_agents(
    connection: Connection, facts: ComplianceFacts, are_meant: Conditions, now: datetime
) -> ComplianceFacts:
    """Add the worst facts of these agents; without any, none is known."""
    users = org_store.users
    is_owner = and_(users.c.id == agents.c.owner_user_id, org_store.IS_ACTIVE)
    count, owned, expiring, depth = connection.execute(
        select(
            func.count(),
            func.count(users.c.id),
            func.count(agents.c.expires_at),
            func.max(agents.c.delegation_depth),
        )
        .select_from(agents.outerjoin(users, is_owner))
        .where(*are_meant)
    ).one()
    if not count:
        return facts
    return replace(
        facts,
        owner_is_active=owned == count,
        has_expiry=expiring == count,
        key_age=_age(_find_oldest_agent_key(connection, are_meant), now),
        wildcards=_count_wildcards(connection, are_meant),
        delegation_depth=depth,
        longest_session=_find_longest_session(connection, are_meant, now),
        idle=_age(_find_longest_idle(connection, are_meant), now),
        confirmed_share=_find_least_share(connection, are_meant),
    )


def _find_oldest_agent_key(connection: Connection, are_meant: Conditions) -> datetime | None:
    is_current = and_(keys.c.kid == agents.c.key_id, keys.c.status == KeyStatus.ACTIVE.value)
    return _find_moment(connection, select(func.min(keys.c.created_at)).join(agents, is_current).where(*are_meant))


def _find_oldest_issuer_key(connection: Connection, is_meant: ColumnElement[bool]) -> datetime | None:
    of_issuers = issuer_store.keys.c
    is_active = of_issuers.status == KeyStatus.ACTIVE.value
    return _find_moment(connection, select(func.min(of_issuers.created_at)).where(is_meant, is_active))


def _count_wildcards(connection: Connection, are_meant: Conditions) -> int:
    with_stars = select(agents.c.scopes).where(*are_meant, agents.c.scopes.contains(":*"))
    return sum(parse_stored(scopes).count_wildcards() for scopes in connection.execute(with_stars).scalars())


def _find_longest_session(connection: Connection, are_meant: Conditions, now: datetime) -> timedelta:
    is_open = (sessions.c.ended_at.is_(None), sessions.c.expires_at > now)
    query = select(sessions.c.created_at, sessions.c.expires_at).join(agents, agents.c.id == sessions.c.agent_id)
    rows = connection.execute(query.where(*are_meant, *is_open))
    return max((expires_at - created_at for created_at, expires_at in rows), default=timedelta(0))


def _find_longest_idle(connection: Connection, are_meant: Conditions) -> datetime | None:
    """Find when the agent that is idle for longest last used a session, or else was registered."""
    last = select(uses.c.agent_id, func.max(uses.c.last_used_at).label("at")).group_by(uses.c.agent_id).subquery()
    used = agents.outerjoin(last, last.c.agent_id == agents.c.id)
    query = select(func.min(func.coalesce(last.c.at, agents.c.created_at))).select_from(used)
    return _find_moment(connection, query.where(*are_meant))


def _find_least_share(connection: Connection, are_meant: Conditions) -> float | None:
    """Find the least share of confirmed requests among the agents whose requests were decided."""
    confirmed, denied = VoteRequestStatus.CONFIRMED.value, VoteRequestStatus.DENIED.value
    is_confirmed = case((requests.c.status == confirmed, 1), else_=0)
    share = (cast(func.sum(is_confirmed), Float) / func.count()).label("share")
    of_agent = select(share).join(agents, agents.c.id == requests.c.originator_agent_id)
    shares = of_agent.where(*are_meant, requests.c.status.in_([confirmed, denied])).group_by(agents.c.id).subquery()
    least: float | None = connection.execute(select(func.min(shares.c.share))).scalar()
    return least


def _count_open_cases(connection: Connection, tenant_id: UUID, about: tuple[EntityType, str] | None = None) -> int:
    is_open = [cases.c.tenant_id == tenant_id, cases.c.status == CaseStatus.OPEN.value]
    if about is not None:
        is_open += [cases.c.entity_type == about[0].value, cases.c.entity_id == about[1]]
    count: int = connection.execute(select(func.count()).select_from(cases).where(*is_open)).scalar_one()
    return count


def _find_moment(connection: Connection, query: Select[datetime | None]) -> datetime | None:
    found: datetime | None = connection.execute(query).scalar()
    return found


def _age(since: datetime | None, now: datetime) -> timedelta | None:
    return None if since is None else max(timedelta(0), now - since)
