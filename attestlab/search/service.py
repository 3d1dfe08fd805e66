"""Service of the search: finds entities, cases, issuers, keys, policies, decisions, attestations, people and pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.orgs.rules import Caller
from attestlab.risk import links
from attestlab.risk.enforcement import store as enforcement_store
from attestlab.risk.enforcement.store import RiskCaseRecord
from attestlab.risk.rules import Entity, EntityType
from attestlab.search import results, rules, store
from attestlab.search.results import Findings, SearchMatch
from attestlab.search.rules import FoundType, Span
from attestlab.search.shapes import TenantSearchQuery

MAX_FOLLOWED = 10  # entities whose links lead to further cases
MAX_FOLLOWED_LINKS = 100  # of each, those last seen


@dataclass(frozen=True, eq=False)
class _Search:
    """One search: the text as what it may be, for whom, and how many of each type are wanted."""

    execute: Execute
    caller: Caller
    text: str
    ids: tuple[UUID, UUID] | None
    spans: list[Span]
    now: datetime
    limit: int

    @cached_property
    def entities(self) -> list[Entity]:
        """The entities that are found by their own signals and entries of lists."""
        return store.find_entities(self.execute, self.tenant_id, self.spans, now=self.now, limit=self.limit)

    @cached_property
    def linked_entities(self) -> list[Entity]:
        """The entities that are found by links alone: signals about others name them."""
        found = store.find_linked_entities(self.execute, self.tenant_id, self.spans, limit=self.limit)
        known = set(self.entities)
        return [entity for entity in found if entity not in known]

    @property
    def tenant_id(self) -> UUID:
        """The tenant in which the search looks."""
        return self.caller.tenant_id


class Search:
    """The search of tenants; it reads, and records nothing."""

    def __init__(self, *, storage: Storage, clock: Clock) -> None:
        self.storage = storage
        self.clock = clock

    def find(self, query: TenantSearchQuery, *, caller: Caller) -> Findings:
        """Find what a text begins or is a part of, among what the caller may read; what they may not is left out.

        Exact matches are first in their type, and no type takes the place of another (`share_fairly`).
        """
        types = rules.select_types(query.types, caller)
        with self.storage.read() as connection:
            search = _Search(
                connection.execute,
                caller,
                query.q,
                rules.parse_id_range(query.q),
                [Span.of_prefix(prefix) for prefix in rules.list_prefixes(query.q)],
                self.clock.now(),
                query.limit + 1,  # one more shows that there is more
            )
            groups = [_put_exact_first(_FINDERS[kind](search), query.q) for kind in types]
        return Findings(rules.share_fairly(groups, query.limit), truncated=sum(map(len, groups)) > query.limit)


def _put_exact_first(found: list[SearchMatch], text: str) -> list[SearchMatch]:
    wanted = text.casefold()
    return sorted(found, key=lambda each: wanted not in (each.title.casefold(), each.id.casefold()))


def _find_entities(search: _Search) -> list[SearchMatch]:
    execute, tenant_id = search.execute, search.tenant_id
    cases = enforcement_store.find_open_cases(execute, tenant_id, search.entities)
    lists = enforcement_store.find_lists_of(execute, tenant_id, search.entities, now=search.now)
    found = [
        results.describe_entity(entity, case=cases.get(entity), lists=lists.get(entity, ()))
        for entity in sorted(search.entities, key=lambda entity: (entity not in cases, entity.id))
    ]
    return [*found, *map(results.describe_linked_entity, search.linked_entities)][: search.limit]


def _find_cases(search: _Search) -> list[SearchMatch]:
    """Find cases by their id and entity, then the open ones of entities that are linked to what was found."""
    found = store.find_cases(search.execute, search.tenant_id, search.ids, search.spans, limit=search.limit)
    described = {case.id: results.describe_case(case) for case in found}
    if len(found) < search.limit:
        for case, linked in _find_linked_cases(search).items():
            described.setdefault(case.id, results.describe_case(case, linked=linked))
    return list(described.values())[: search.limit]


def _find_linked_cases(search: _Search) -> dict[RiskCaseRecord, Entity]:
    """Find the open cases of entities that are linked to the first ones found, highest scores first."""
    others: dict[Entity, Entity] = {}
    for entity in [*search.linked_entities, *search.entities][:MAX_FOLLOWED]:
        newest = links.list_newest(search.execute, search.tenant_id, entity, limit=MAX_FOLLOWED_LINKS)
        for link in newest:
            for end in ((link.first_type, link.first_id), (link.second_type, link.second_id)):
                others.setdefault(Entity(EntityType(end[0]), end[1]), entity)
    open_cases = enforcement_store.find_open_cases(search.execute, search.tenant_id, others)
    found = sorted(open_cases.items(), key=lambda each: (-each[1].max_score, each[1].id))
    return {case: others[entity] for entity, case in found}


def _find_issuers(search: _Search) -> list[SearchMatch]:
    found = store.find_issuers(search.execute, search.tenant_id, search.text, search.ids, limit=search.limit)
    return list(map(results.describe_issuer, found))


def _find_keys(search: _Search) -> list[SearchMatch]:
    signing = store.find_keys(search.execute, search.tenant_id, search.text, limit=search.limit)
    found = list(map(results.describe_key, signing))
    if rules.may_find_api_keys(search.caller):
        api_keys = store.find_api_keys(search.execute, search.tenant_id, search.text, search.ids, limit=search.limit)
        found += map(results.describe_api_key, api_keys)
    return found


def _find_policies(search: _Search) -> list[SearchMatch]:
    found = store.find_policies(search.execute, search.tenant_id, search.text, search.ids, limit=search.limit)
    return list(map(results.describe_policy, found))


def _find_decisions(search: _Search) -> list[SearchMatch]:
    span = rules.parse_decision_range(search.text)
    if span is None:
        return []
    found = store.find_decisions(search.execute, search.tenant_id, span, limit=search.limit)
    return list(map(results.describe_decision, found))


def _find_attestations(search: _Search) -> list[SearchMatch]:
    digests = rules.parse_hash_range(search.text)
    found = store.find_attestations(search.execute, search.tenant_id, search.ids, digests, limit=search.limit)
    return [results.describe_attestation(each, now=search.now) for each in found]


def _find_people(search: _Search) -> list[SearchMatch]:
    found = store.find_people(search.execute, search.tenant_id, search.text, search.ids, limit=search.limit)
    return list(map(results.describe_person, found))


def _find_pages(search: _Search) -> list[SearchMatch]:
    return list(map(results.describe_page, rules.find_pages(search.text, search.caller)))


_FINDERS: Mapping[FoundType, Callable[[_Search], list[SearchMatch]]] = {
    FoundType.ENTITY: _find_entities,
    FoundType.CASE: _find_cases,
    FoundType.ISSUER: _find_issuers,
    FoundType.KEY: _find_keys,
    FoundType.POLICY: _find_policies,
    FoundType.DECISION: _find_decisions,
    FoundType.ATTESTATION: _find_attestations,
    FoundType.PERSON: _find_people,
    FoundType.PAGE: _find_pages,
}
