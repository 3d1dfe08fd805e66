"""The challenges of the demo's year: users whose logins looked like another person's, and what became of them.

The users prove themselves elsewhere. As docs/risk.md advises, their results are raw events about them, and the deny
list gets the addresses of those who failed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from uuid import UUID

from attestlab.core.db.transaction import Transaction
from attestlab.demos.history.login_signals import ScoredLogin, read_scored_logins
from attestlab.demos.registry_year.scheduled_actions import ScheduledAction
from attestlab.demos.risk_world.records import Kind
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.risk.normalization.service import CHALLENGE_PASSED
from attestlab.risk.rules import Entity, EntityType, ListName

CHALLENGE_FAILED = "challenge.failed"  # a name of the demo's own; no mapping knows it
_MIN_SCORE = 55
_ROBOT = "login-robot"
_DAY_OF_ROBOT, _DAYS_BETWEEN_ROBOTS = 201, 40
_UNTIL_CHALLENGED, _UNTIL_ANSWERED = timedelta(seconds=20), timedelta(minutes=3)
_UNTIL_DENIED, _DENIED_FOR = timedelta(minutes=40), timedelta(days=180)


class PastChallenges:
    """Who was challenged by `caller`, and the lists that followed; each verb joins the transaction that it gets."""

    def __init__(self, lab: Installation, caller: Caller) -> None:
        self._lab = lab
        self._caller = caller
        self._challenged: dict[ScoredLogin, UUID] = {}

    def list_actions(self) -> Iterator[ScheduledAction]:
        """Yield the challenges with their results, and those of the robot, which is on the allow list."""
        *older, recent, newest = read_scored_logins()
        challenged = [*filter(_is_challenged, older), recent]  # which keeps their source from falling silent
        answered = [each for each in challenged if each.kind is not Kind.DEVICE_FARM]  # which never answers
        yield from (_schedule(login, _UNTIL_CHALLENGED, self._challenge) for login in (*challenged, newest))
        yield from (_schedule(login, _UNTIL_ANSWERED, self._report) for login in answered)
        failed = {_get_address(login): login for login in reversed(answered) if login.kind.is_attack}
        yield from (_schedule(login, _UNTIL_DENIED, self._deny) for login in failed.values())
        yield ScheduledAction(_DAY_OF_ROBOT, self._allow_robot)
        for days_ago in range(_DAY_OF_ROBOT - 1, 0, -_DAYS_BETWEEN_ROBOTS):
            yield ScheduledAction(days_ago, self._challenge_robot)

    def _challenge(self, login: ScoredLogin, tx: Transaction) -> None:
        reason = f"A login scored {login.score:g} points."
        made = self._lab.risk.challenges.create(
            login.user, reason=reason, risk_score=int(login.score), caller=self._caller, tx=tx
        )
        self._challenged[login] = made.id

    def _report(self, login: ScoredLogin, tx: Transaction) -> None:
        """Report the result; an attacker fails."""
        self._lab.risk.normalization.record(
            CHALLENGE_FAILED if login.kind.is_attack else CHALLENGE_PASSED,
            Entity(EntityType.USER, login.user),
            data={"decision_id": str(self._challenged[login])},
            occurred_at=self._lab.clock.now(),
            caller=self._caller,
            tx=tx,
        )

    def _deny(self, login: ScoredLogin, tx: Transaction) -> None:
        reason, until = f"{login.user} failed a challenge from it.", self._lab.clock.now() + _DENIED_FOR
        address = Entity(EntityType.IP, _get_address(login))
        self._lab.risk.lists.add(ListName.DENY, address, reason=reason, expires_at=until, caller=self._caller, tx=tx)

    def _allow_robot(self, tx: Transaction) -> None:
        robot, reason = Entity(EntityType.USER, _ROBOT), "It tests the sign-in page."
        self._lab.risk.lists.add(ListName.ALLOW, robot, reason=reason, caller=self._caller, tx=tx)

    def _challenge_robot(self, tx: Transaction) -> None:
        reason = "It signed in from a new device."
        self._lab.risk.challenges.create(_ROBOT, reason=reason, caller=self._caller, tx=tx)


def _is_challenged(login: ScoredLogin) -> bool:
    return login.score >= _MIN_SCORE and json.loads(login.details)["outcome"] == "success"


def _get_address(login: ScoredLogin) -> str:
    return str(json.loads(login.details)["ip"])


def _schedule(login: ScoredLogin, after: timedelta, act: Callable[[ScoredLogin, Transaction], None]) -> ScheduledAction:
    """Return what is done some time after a login."""
    return ScheduledAction((login.before_end - after) / timedelta(days=1), partial(act, login))
