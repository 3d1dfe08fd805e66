"""The year of the demo's registry, action by action, on the installation's own clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial
from importlib.resources import as_file, files
from itertools import chain
from operator import attrgetter
from random import Random

from attestlab.blog.post_import import import_post
from attestlab.core.db.transaction import Transaction
from attestlab.demos.agent_fleet.past import PastAgents
from attestlab.demos.history.rewound_clock import RewoundClock
from attestlab.demos.registry_year.challenges import PastChallenges
from attestlab.demos.registry_year.changes import CHANGES, Proceedings
from attestlab.demos.registry_year.checks import Checks
from attestlab.demos.registry_year.receipts import PastReceipts
from attestlab.demos.registry_year.receivers import Receivers
from attestlab.demos.registry_year.recipients import Recipients
from attestlab.demos.registry_year.registry import RegistryDesk
from attestlab.demos.registry_year.rhythms import draw_batches
from attestlab.demos.registry_year.scheduled_actions import ScheduledAction
from attestlab.demos.registry_year.team import Team
from attestlab.demos.registry_year.usage import PastUsage
from attestlab.installation import Installation
from attestlab.issuers.service import IssuerWithKeys
from attestlab.orgs.rules import Caller

_REVOKED = (
    ("Northfield University", "The thesis was withdrawn."),
    ("Canton Archive", "The box was sealed with a wrong number."),
    ("Harbour Training", "The participant left before the exam."),
    ("Delta Clinics", "Entered for the wrong patient."),
)
_DAYS_BETWEEN_CORRECTIONS = 11
_DAYS_BETWEEN_SWEEPS = 30


class RegistryYear:
    """What the registry and its people did; `live_until` does what is due, each action at its time.

    `mint_times` multiplies the attestations of each batch; `password` is that of the consumers.
    """

    def __init__(
        self,
        lab: Installation,
        clock: RewoundClock,
        *,
        caller: Caller,
        issuers: Sequence[IssuerWithKeys],
        team: Team,
        password: str,
        seed: int,
        mint_times: int = 1,
    ) -> None:
        self._lab = lab
        self._clock = clock
        registry = RegistryDesk(lab, caller, issuers, seed=seed)
        actions = [
            *(
                ScheduledAction(batch.days_ago, partial(registry.mint, batch))
                for batch in draw_batches(seed=seed, times=mint_times)
            ),
            *_list_actions(registry, team, seed),
            *Checks(registry, caller, seed=seed).list_actions(),
            *PastChallenges(lab, team["ben"]).list_actions(),
            *list_posts(lab, caller),
            *Recipients(registry, caller, password=password, seed=seed).list_actions(),
            *PastReceipts(registry, caller, seed=seed).list_actions(),
        ]
        actions += Receivers(lab, clock, team["ben"], seed=seed).list_actions(actions)
        usage = PastUsage(
            lab,
            caller,
            payer=team["ann"],
            usual_issuer=registry.get_id("Northfield University"),
            lost_issuer=registry.get_id("Delta Clinics"),
            seed=seed,
        )
        actions += usage.list_actions(clock.now() + clock.behind)
        actions += PastAgents(lab, team, seed=seed).list_actions(clock.now() + clock.behind)
        self._waiting = deque(sorted(actions, key=attrgetter("days_ago"), reverse=True))

    def live_until(self, behind: timedelta) -> None:
        """Do what is due while the clock moves to `behind` the other one."""
        while self._waiting and timedelta(days=self._waiting[0].days_ago) >= behind:
            action = self._waiting.popleft()
            self._clock.move_to(timedelta(days=action.days_ago))
            action.look()
            with self._lab.storage.write() as tx:
                action.act(tx)


def _list_actions(registry: RegistryDesk, team: Team, seed: int) -> Iterator[ScheduledAction]:
    yield from chain.from_iterable(Proceedings(change, registry, team).list_actions() for change in CHANGES)
    yield from _list_key_actions(registry, team)
    yield from _list_corrections(registry, team, seed)
    for days_ago in range(360, 0, -_DAYS_BETWEEN_SWEEPS):
        yield ScheduledAction(days_ago, registry.expire)


def list_posts(lab: Installation, caller: Caller) -> Iterator[ScheduledAction]:
    """Yield the posts of the registry's blog: two that stay public, one that is archived, and a draft."""

    def write(name: str, tx: Transaction, *, publish: bool = True) -> None:
        with as_file(files("attestlab.demos").joinpath("posts")) as folder:
            import_post(lab.blog, folder / name, publish=publish, caller=caller, tx=tx)

    def archive(slug: str, tx: Transaction) -> None:
        lab.blog.archive(lab.blog.find(slug, tx=tx).id, caller=caller, tx=tx)

    yield ScheduledAction(301.4, partial(write, "badges-as-svg.md"))
    yield ScheduledAction(203.6, partial(write, "why-a-log.md"))
    yield ScheduledAction(92.1, partial(archive, "badges-as-svg"))
    yield ScheduledAction(51.7, partial(write, "when-a-key-leaves.md"))
    yield ScheduledAction(4.5, partial(write, "year-in-numbers.md", publish=False))


def _list_key_actions(registry: RegistryDesk, team: Team) -> Iterator[ScheduledAction]:
    ann, ben = team["ann"], team["ben"]
    yield ScheduledAction(212.3, partial(registry.rotate, "Northfield University", ben))
    yield ScheduledAction(188.4, partial(registry.rotate, "Harbour Training", ann))
    yield ScheduledAction(151.2, partial(registry.rotate, "Maker Guild", ben))
    stolen = "A laptop with access to the key was stolen."
    lose = partial(registry.lose_key, "Delta Clinics", stolen, before_report=timedelta(days=3), caller=ben)
    yield ScheduledAction(58.3, lambda tx: lose(tx=tx))
    yield ScheduledAction(27.1, partial(registry.rotate, "Northfield University", ann))


def _list_corrections(registry: RegistryDesk, team: Team, seed: int) -> Iterator[ScheduledAction]:
    """Yield revocations and corrected attestations, by turns."""
    random = Random(f"{seed}:corrections")
    for number, days_ago in enumerate(range(320, 2, -_DAYS_BETWEEN_CORRECTIONS)):
        issuer, reason = _REVOKED[number % len(_REVOKED)]
        caller, at = team["ann" if number % 3 else "ben"], days_ago - random.random()
        yield ScheduledAction(at, partial(registry.revoke, issuer, reason, caller))
        if number % 2:
            yield ScheduledAction(at - 0.2, partial(registry.supersede, issuer, caller))
