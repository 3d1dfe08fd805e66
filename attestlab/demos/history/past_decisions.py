"""A year of policy decisions: an employer verifies documents under a profile that it made, and its policy decides."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from random import Random
from uuid import UUID

from attestlab.attestations.policy_context import build_record_context
from attestlab.attestations.store import AttestationEvidence
from attestlab.core.db.transaction import Transaction
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.policy.active_policies import PolicyQuery
from attestlab.policy.decisions import record_decision
from attestlab.policy.formats.toml import parse_toml
from attestlab.policy.language.document import Category, TargetType

PROFILE = "Employment checks"
_POLICY = """
name = "Employment checks"
category = "VERIFY"
target_type = "VERIFICATION_PROFILE"
target_id = "{profile_id}"
default_effect = "DENY"

[[rules]]
id = "old-key"
effect = "DENY"
priority = 10
reason = "A key of an issuer whose identity is not proven was made over 200 days ago."
when = {{ all = [
  {{ attr = "key.age_days", op = "gt", value = 200 }},
  {{ attr = "trust_tier", op = "in", value = ["BASIC", "SELF_SIGNED"] }},
] }}

[[rules]]
id = "proven-issuer"
effect = "ALLOW"
priority = 20
when = {{ attr = "trust_tier", op = "in", value = ["VERIFIED", "ENTERPRISE"] }}

[[rules]]
id = "known-domain"
effect = "ALLOW"
priority = 30
when = {{ all = [
  {{ attr = "trust_tier", op = "eq", value = "BASIC" }},
  {{ attr = "jurisdiction", op = "in", value = ["CH", "DE", "FR", "GB", "NL", "PT"] }},
] }}
"""


class EmploymentChecks:
    """The verification profile of an employer, and the decisions of its policy, which two people put in force."""

    def __init__(self, lab: Installation, caller: Caller, *, author: Caller, activator: Caller, seed: int) -> None:
        self._lab = lab
        self._caller = caller
        self._random = Random(f"{seed}:checks")
        profile_id = self._create_policy(author, activator)
        self._query = PolicyQuery(Category.VERIFY, TargetType.VERIFICATION_PROFILE, profile_id)

    def decide(self, tx: Transaction, known: Sequence[AttestationEvidence], times: Sequence[datetime]) -> None:
        """Record a decision about one of the attestations at each of the times."""
        decisions, tenant_id = self._lab.policy_decisions, self._caller.tenant_id
        for at in times:
            context = build_record_context(self._random.choice(known), now=at)
            pending = decisions.evaluate_in(tx, self._query, context, tenant_id=tenant_id, look_up_risk=_refuse_risk)
            assert pending is not None, "the policy of the profile is active"
            record_decision(tx, pending, actor=self._caller, at=at)

    def draw_times(self, count: int, start: datetime, end: datetime) -> list[datetime]:
        """Draw sorted times of a span."""
        span = (end - start).total_seconds()
        return sorted(start + timedelta(milliseconds=int(self._random.random() * span * 1000)) for _ in range(count))

    def _create_policy(self, author: Caller, activator: Caller) -> UUID:
        """Create the profile, and activate its policy after a simulation; returns the profile's id."""
        lab = self._lab
        profile = lab.verification_profiles.create(PROFILE, caller=author)
        policy = lab.policies.create(parse_toml(_POLICY.format(profile_id=profile.id)), caller=author)
        with lab.simulations.of(policy.id, caller=activator) as simulation:
            digest = simulation.report().digest
        examined = lab.policies.examine(policy.id, caller=activator)
        lab.policies.activate(policy.id, examined, simulation_digest=digest, caller=activator)
        return profile.id


def _refuse_risk(_tenant_id: UUID, entities: Collection[object]) -> Mapping[str, str | int | None]:
    """Stand for the look-up of risk, which the policy of the profile never asks for."""
    raise AssertionError(f"The policy of {PROFILE!r} tests the risk of {entities}.")
