"""Where policies have their say: before a mint, at the end of a verification, before a bundle is handed out.

A decision is made by the policies of one tenant and the platform's, and kept in that tenant's trail, whatever
came of it. Where two tenants decide, each keeps its own, and neither sees the other's rules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from typing import Any
from uuid import UUID

from attestlab.attestations import policy_context
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import PermissionDenied
from attestlab.core.records.audit import Actor
from attestlab.issuers.store import SigningKey
from attestlab.orgs.rules import Caller
from attestlab.policy import decisions, rules
from attestlab.policy.active_policies import PolicyQuery
from attestlab.policy.decisions import Decisions, PendingDecision
from attestlab.policy.language.document import Category, TargetType


@dataclass(frozen=True)
class AnonymousActor:
    """Who had a decision made without saying who they are; so also another tenant's caller, who is not to be named."""

    actor_type: str = "SERVICE"
    actor_id: str = "verifier"


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """What a set of policies says, to be kept; `actor` is who had it asked."""

    asked: PendingDecision
    actor: Actor


Opinions = tuple[RecordedDecision, ...]
ANYBODY = AnonymousActor()


@dataclass(frozen=True)
class Profile:
    """A verification profile of the caller's own tenant."""

    id: UUID
    caller: Caller


class PolicyEnforcement:
    """Asks `Decisions` the questions of this capability."""

    def __init__(self, asks: Decisions) -> None:
        self.decisions = asks

    def minting(
        self, tx: Transaction, key: SigningKey, *, caller: Caller, now: datetime
    ) -> str | PermissionDenied | None:
        """Ask the issuer's policies about a mint and keep what they say.

        The id of the decision that allows it, a refusal where they deny it, None where there are none to ask.
        Under the writer's lock, so that none that was switched on before is passed by.
        """
        about = policy_context.of_mint(key, now=now)
        question = _of_issuer(Category.MINT, key.issuer_id)
        asked = self.decisions.ask_now(tx, question, about, tenant_id=caller.tenant_id)
        if asked is None:
            return None
        decision_id: str = decisions.write(tx, asked, actor=caller, at=now)["id"]
        return decision_id if asked.allowed else _refusal("this mint", RecordedDecision(asked, caller), decision_id)

    def verifying(self, row: Any, *, profile: Profile | None, now: datetime) -> Opinions:
        """What the issuer's policies say of a verification, and those of the profile that was named."""
        about = policy_context.of_row(row, now=now)
        question = _of_issuer(Category.VERIFY, row.issuer_id)
        issuers = self.decisions.ask(question, about, tenant_id=row.tenant_id)
        if profile is None:
            return _opinions((issuers, ANYBODY))
        question = PolicyQuery(Category.VERIFY, TargetType.VERIFICATION_PROFILE, profile.id)
        own = self.decisions.ask(question, about, tenant_id=profile.caller.tenant_id)
        return _opinions((issuers, ANYBODY), (own, profile.caller))

    def exporting(self, row: Any, *, caller: Caller | None, now: datetime) -> Opinions:
        """What the issuer's policies say of handing out a proof bundle; `caller` is None for anybody with the link."""
        question = _of_issuer(Category.BUNDLE_EXPORT, row.issuer_id)
        asked = self.decisions.ask(question, policy_context.of_row(row, now=now), tenant_id=row.tenant_id)
        return _opinions((asked, caller or ANYBODY))


def keep(tx: Transaction, opinions: Opinions, *, what: str, at: datetime) -> PermissionDenied | None:
    """Write every opinion down; what is to be said to whoever had them asked about `what`, where one denies."""
    refusal = None
    for opinion in opinions:
        row = decisions.write(tx, opinion.asked, actor=opinion.actor, at=at)
        if not opinion.asked.allowed:
            refusal = refusal or _refusal(what, opinion, row["id"])
    return refusal


class PolicyStep:
    """Step 8 of one verification; `opinions` are there once it was taken."""

    def __init__(self, gate: PolicyEnforcement, row: Any, profile: Profile | None, now: datetime) -> None:
        self.opinions: Opinions = ()
        self._ask: Callable[[], Opinions] = partial(gate.verifying, row, profile=profile, now=now)

    def __call__(self) -> bool:
        """Whether nobody denies; nobody's opinion is no objection."""
        self.opinions = self._ask()
        return all(opinion.asked.allowed for opinion in self.opinions)


@lru_cache(maxsize=1_024)
def _of_issuer(action: Category, issuer_id: UUID) -> PolicyQuery:
    """The same question is the same object, by which its answers are found at once."""
    return PolicyQuery(action, TargetType.ISSUER, issuer_id)


def _opinions(*asked: tuple[PendingDecision | None, Actor]) -> Opinions:
    return tuple(RecordedDecision(found, actor) for found, actor in asked if found is not None)


def _refusal(what: str, opinion: RecordedDecision, decision_id: str) -> PermissionDenied:
    if isinstance(opinion.actor, AnonymousActor):
        return rules.denied_to_strangers(what, decision_id=decision_id)
    said = opinion.asked.decision
    return rules.denied(
        what,
        reasons=said.reasons,
        matched_policy=said.matched_policy,
        matched_rule=said.matched_rule,
        matched_rules=said.matched_rules,
        decision_id=decision_id,
    )
