"""The services of risk, as an installation opens them."""

from __future__ import annotations

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.risk.account_takeover.service import AccountTakeover
from attestlab.risk.activity import write_activity
from attestlab.risk.drift import Activity
from attestlab.risk.enforcement.cases import Cases, RiskPreferences
from attestlab.risk.enforcement.comments import Comments
from attestlab.risk.enforcement.impartiality import Impartiality, IsOfOwnTree
from attestlab.risk.enforcement.lists import Challenges, EntityLists
from attestlab.risk.enforcement.triage import Triage
from attestlab.risk.entities.service import Entities, FindIssuances
from attestlab.risk.links import write_links
from attestlab.risk.media.service import MediaScans
from attestlab.risk.normalization import service as normalization
from attestlab.risk.normalization.service import Normalization
from attestlab.risk.signals import recording
from attestlab.risk.signals.bulk import SignalRecording
from attestlab.risk.signals.service import FindExported, Signals
from attestlab.risk.velocity import Velocity


class Risk:
    """The services of risk: signals and the paths that lead to them, and what follows from them."""

    def __init__(
        self,
        *,
        storage: Storage,
        clock: Clock,
        find_issuances: FindIssuances,
        find_exported: FindExported,
        is_of_own_tree: IsOfOwnTree,
    ) -> None:
        impartiality = Impartiality(is_of_own_tree)
        self.signals = Signals(storage=storage, clock=clock, find_exported=find_exported)
        self.bulk = SignalRecording(storage=storage, clock=clock)
        self.velocity = Velocity(storage=storage, clock=clock)
        self.logins = AccountTakeover(storage=storage, clock=clock)
        self.backfill = self.logins.backfill
        confirm_user = self.logins.confirm_user
        self.normalization = Normalization(
            storage=storage, clock=clock, confirm_user=confirm_user, impartiality=impartiality
        )
        self.media = MediaScans(storage=storage, clock=clock)
        self.entities = Entities(storage=storage, clock=clock, find_issuances=find_issuances)
        self.activity = Activity(storage=storage, clock=clock)
        self.cases = Cases(storage=storage, clock=clock, confirm_user=confirm_user, impartiality=impartiality)
        self.triage = Triage(storage=storage, clock=clock, confirm_user=confirm_user, impartiality=impartiality)
        self.comments = Comments(storage=storage, clock=clock, impartiality=impartiality)
        self.challenges = Challenges(storage=storage, clock=clock)
        self.lists = EntityLists(storage=storage, clock=clock, impartiality=impartiality)
        self.preferences = RiskPreferences(storage=storage, clock=clock)

    def write_numbered(self, tx: Transaction) -> None:
        """Number and insert a transaction's raw events and signals, and add to what they count in; a commit hook."""
        normalization.NUMBERED.write(tx)
        recording.NUMBERED.write(tx)
        write_links(tx)
        write_activity(tx)

    def close(self) -> None:
        """End the child processes of media scans."""
        self.media.close()

    def prune(self, tx: Transaction, *, at_most: int) -> bool:
        """Delete at most `at_most` rows of each kind that is kept for days only; returns whether there may be more.

        As many outcomes that can no longer be undone become labels. A running server calls this every few seconds,
        until it returns False.
        """
        self.bulk.prune(tx)
        done = (
            self.velocity.prune(tx, at_most=at_most),
            self.logins.prune(tx, at_most=at_most),
            self.triage.settle(tx, at_most=at_most),
        )
        return at_most in done
