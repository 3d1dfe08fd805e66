"""Scenarios: the policies that decide together, before and after a draft is active.

The platform's policies, the tenant's default and the issuer's own decide together about an issuer. So a draft of a
tenant's default is simulated for several targets: each that has specific policies, and all others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection

from attestlab.core.crypto.canonical_json import canonical_trusted, sha256_hex
from attestlab.policy import store
from attestlab.policy.active_policies import compile_member
from attestlab.policy.attribute_registry import load_own_attributes, load_registry
from attestlab.policy.evaluation.binder import bind
from attestlab.policy.evaluation.policy_set import PolicySet, PolicySetMember
from attestlab.policy.language.ast import Rule
from attestlab.policy.language.attributes import Attribute
from attestlab.policy.language.document import Document, TargetType
from attestlab.policy.store import ActiveVersion, PolicyPlace
from attestlab.simulation.store import list_active_digests, list_own_targets

DRAFT = "draft"
"""The id of a document without a policy; it sorts last among its kind, like a new policy."""


class Target(NamedTuple):
    """The target of decisions; `id` is None for the tenant's default."""

    type: str
    id: UUID | None


@dataclass(frozen=True)
class PolicyDraft:
    """The version to simulate; with the id of a policy it replaces that policy's active version."""

    document: Document
    policy_id: UUID | None = None
    version: int | None = None

    @property
    def id(self) -> str:
        """The policy's id, as members of a set have it."""
        return DRAFT if self.policy_id is None else str(self.policy_id)

    @property
    def target(self) -> Target:
        """The target of the draft."""
        return Target(self.document.target_type.value, self.document.target_id)


@dataclass(frozen=True)
class TargetSets:
    """The enforced policies of one target, now and with the draft; None represents every target not named."""

    target: Target | None
    before: tuple[PolicySetMember, ...]
    after: tuple[PolicySetMember, ...]


@dataclass(frozen=True)
class ScenarioSets:
    """The sets of all targets; `members` are the policies in them, each once."""

    places: tuple[TargetSets, ...]
    members: tuple[PolicySetMember, ...]

    @classmethod
    def of(cls, places: Iterable[TargetSets], *more: PolicySetMember) -> ScenarioSets:
        """Build the sets of these targets, with further policies that are evaluated but not enforced."""
        places = tuple(places)
        found = [member for place in places for member in (*place.before, *place.after)]
        return cls(places, tuple(dict.fromkeys([*found, *more])))

    def attributes(self) -> dict[str, Attribute]:
        """Return every attribute that a rule uses, by path."""
        return {path: each for member in self.members for path, each in member.policy.attributes().items()}


@dataclass(frozen=True)
class Scenario:
    """A draft together with the active policies.

    `baseline_digest` identifies everything else that the result depends on, except the history: the active versions
    for the action, and the tenant's attributes.
    """

    draft: PolicySetMember
    sets: ScenarioSets
    baseline_digest: str = ""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The draft's enforced rules, in decision order."""
        return self.draft.policy.enforced_rules


def build_scenario(connection: Connection, draft: PolicyDraft, tenant_id: UUID) -> Scenario:
    """Return the active policies for the draft's action, without and with the draft.

    Raises:
        ValidationFailed: the draft is invalid under the tenant's attributes.
    """
    own = load_own_attributes(connection.execute, tenant_id)
    registry = load_registry(connection.execute, tenant_id, draft.document.target_type)
    member = PolicySetMember(draft.id, draft.document.digest, bind(draft.document, registry))
    is_platform = draft.target.id is None and store.is_operator(connection.execute, tenant_id)
    places = []
    for target in _iterate_targets(connection, draft, tenant_id):
        found = _list_active_versions(connection, draft, target or draft.target, tenant_id)
        with_draft = [*(row for row in found if str(row.policy_id) != draft.id), None]
        after = sorted(with_draft, key=lambda row: _sort_key(row, draft, is_platform=is_platform))
        places.append(
            TargetSets(
                target,
                _only_enforced(compile_member(row, False, own) for row in found),
                _only_enforced(member if row is None else compile_member(row, False, own) for row in after),
            )
        )
    return Scenario(
        member,
        ScenarioSets.of(places, member),
        compute_baseline_digest(connection, draft.document.category.value, tenant_id),
    )


def compute_baseline_digest(connection: Connection, action: str, tenant_id: UUID) -> str:
    """Return the SHA-256 of the active versions for an action and of the tenant's attributes."""
    own = load_own_attributes(connection.execute, tenant_id)
    versions = [[str(row.policy_id), row.digest] for row in list_active_digests(connection, action, tenant_id)]
    return sha256_hex(canonical_trusted({"attributes": own, "in_force": versions}))


def load_recorded_set(connection: Connection, members: str, tenant_id: UUID) -> PolicySet:
    """Load the policy set that a decision names: `[[policy id, version, in shadow]]`.

    Raises:
        sqlalchemy.exc.NoResultFound, ValueError, TypeError: a version does not exist, or the text is malformed.
    """
    own = load_own_attributes(connection.execute, tenant_id)
    recorded = [(UUID(policy_id), version, bool(shadow)) for policy_id, version, shadow in json.loads(members)]
    return PolicySet(
        compile_member(store.get_member(connection.execute, each, n), shadow, own) for each, n, shadow in recorded
    )


def _iterate_targets(connection: Connection, draft: PolicyDraft, tenant_id: UUID) -> Iterator[Target | None]:
    yield None
    if draft.document.target_type is TargetType.TENANT_DEFAULT:
        for row in list_own_targets(connection, draft.document.category.value, tenant_id):
            yield Target(row.target_type, row.target_id)


def _list_active_versions(
    connection: Connection, draft: PolicyDraft, target: Target, tenant_id: UUID
) -> list[ActiveVersion]:
    place = PolicyPlace(tenant_id, draft.document.category.value, target.type, target.id)
    found = store.list_active_versions(connection.execute, place)
    return [row for row in found if not row.in_shadow]


def _sort_key(row: ActiveVersion | None, draft: PolicyDraft, *, is_platform: bool) -> tuple[bool, bool, str]:
    """Return the order of `policy.store.list_active_versions`: the platform's, the tenant's default, the target's,
    each by id.
    """
    if row is None:
        last = "g" if draft.policy_id is None else str(draft.policy_id)  # after every hex digit
        return (not is_platform, draft.target.id is not None, last)
    is_default = json.loads(row.document)["target_type"] == TargetType.TENANT_DEFAULT
    return (not row.is_platform, not is_default, str(row.policy_id))


def _only_enforced(members: Iterable[PolicySetMember]) -> tuple[PolicySetMember, ...]:
    return tuple(member for member in members if member.is_enforced)
