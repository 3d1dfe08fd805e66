"""The services of consumers' accounts, made together: they share the records, the clock, the counters and the mails."""

from __future__ import annotations

from attestlab.consumer.accounts.addresses import Addresses
from attestlab.consumer.accounts.service import Accounts
from attestlab.consumer.accounts.signups import Signups
from attestlab.consumer.accounts.verification import EmailVerification
from attestlab.identity.service import Identity
from attestlab.mail.service import Mails
from attestlab.orgs.members import OnAccountOpened
from attestlab.orgs.service import Orgs


class ConsumerAccounts:
    """Sign-ups, verification, addresses and accounts; `on_address_verified` delivers what waited for an address."""

    def __init__(
        self, *, identity: Identity, orgs: Orgs, mails: Mails, portal_url: str, on_address_verified: OnAccountOpened
    ) -> None:
        storage, clock, counters = identity.storage, identity.clock, identity.counters
        self.signups = Signups(
            storage=storage,
            clock=clock,
            counters=counters,
            mails=mails,
            orgs=orgs,
            identity=identity,
        )
        self.verification = EmailVerification(
            storage=storage,
            clock=clock,
            counters=counters,
            signups=self.signups,
            identity=identity,
            on_address_verified=on_address_verified,
        )
        self.addresses = Addresses(storage=storage, clock=clock, counters=counters, mails=mails)
        self.accounts = Accounts(storage=storage, clock=clock, identity=identity, orgs=orgs, portal_url=portal_url)
