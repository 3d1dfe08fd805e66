"""Changes of an issuer's standing in the demo's year: one person asks, another approves, the first executes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from attestlab.core.db.transaction import Transaction
from attestlab.demos.registry_year.registry import RegistryDesk
from attestlab.demos.registry_year.scheduled_actions import ScheduledAction
from attestlab.demos.registry_year.team import Team
from attestlab.governance.rules import RequestType
from attestlab.governance.shapes import IssuerRequestIn
from attestlab.issuers.rules import RiskRating, TrustTier
from attestlab.orgs.rules import Caller


class GovernedChange(NamedTuple):
    """A change that was asked for; approved and executed some days later, rejected, or still waiting."""

    days_ago: float
    issuer: str
    type: RequestType
    reason: str
    asked_by: str
    approved_by: str | None = None
    rejected_because: str | None = None
    tier: TrustTier | None = None
    risk: RiskRating | None = None


_CLUB, _TRAINING, _WORKSHOP, _PRESS = "Rowing Club Aare", "Harbour Training", "Ana's Workshop", "Orchard Press"
_TIER, _RISK, _SUSPEND = RequestType.CHANGE_TRUST_TIER, RequestType.CHANGE_RISK_RATING, RequestType.SUSPEND_ISSUER
CHANGES: Sequence[GovernedChange] = (
    GovernedChange(264.1, _CLUB, _TIER, "Bylaws and domain are checked.", "ben", "rita", tier=TrustTier.VERIFIED),
    GovernedChange(129.3, _TRAINING, _RISK, "Two exams without supervision.", "ann", "rita", risk=RiskRating.MEDIUM),
    GovernedChange(
        96.2,
        _PRESS,
        _TIER,
        "They print for two universities.",
        "ben",
        rejected_because="The extract of the register is missing.",
        tier=TrustTier.VERIFIED,
    ),
    GovernedChange(
        43.4, _WORKSHOP, _RISK, "It vouches for holders who vouch for it.", "ben", "rita", risk=RiskRating.HIGH
    ),
    GovernedChange(35.2, _WORKSHOP, _SUSPEND, "90 signals of mutual attestation in a month.", "ben", "ann"),
    GovernedChange(13.3, _PRESS, _RISK, "Its mints tripled within two months.", "ann", "rita", risk=RiskRating.MEDIUM),
    GovernedChange(1.2, _PRESS, _SUSPEND, "One device sent it 60 generated pictures.", "ben"),
)
_UNTIL_DECIDED, _UNTIL_EXECUTED = 0.9, 1.2  # days after the request


class Proceedings:
    """The steps of one change, each in the transaction that it gets."""

    def __init__(self, change: GovernedChange, registry: RegistryDesk, team: Team) -> None:
        self.change = change
        self._governance = registry.lab.governance
        self._registry = registry
        self._team = team

    def list_actions(self) -> Iterator[ScheduledAction]:
        """Yield the steps with their times."""
        decided = self.change.days_ago - _UNTIL_DECIDED
        yield ScheduledAction(self.change.days_ago, self._ask)
        if self.change.approved_by is not None:
            yield ScheduledAction(decided, partial(self._approve, self._team[self.change.approved_by]))
            yield ScheduledAction(self.change.days_ago - _UNTIL_EXECUTED, self._execute)
        elif self.change.rejected_because is not None:
            yield ScheduledAction(decided, partial(self._reject, self.change.rejected_because))

    def _ask(self, tx: Transaction) -> None:
        wish = IssuerRequestIn(
            type=self.change.type,
            target_issuer_id=self._registry.get_id(self.change.issuer),
            reason=self.change.reason,
            new_trust_tier=self.change.tier,
            new_risk_rating=self.change.risk,
        )
        self._id = self._governance.request(wish, caller=self._team[self.change.asked_by], tx=tx).id

    def _approve(self, caller: Caller, tx: Transaction) -> None:
        self._governance.approve(self._id, caller=caller, tx=tx)

    def _reject(self, reason: str, tx: Transaction) -> None:
        self._governance.reject(self._id, reason=reason, caller=self._team["rita"], tx=tx)

    def _execute(self, tx: Transaction) -> None:
        self._governance.execute(self._id, caller=self._team[self.change.asked_by], tx=tx)
