"""The people of a demo world, who can sign in: a change that needs a second person can be tried.

Three run the registry, and three consumers receive what it mints. In the demo of one process (`attestlab.demo`) their
password is public; any other one draws its own.
"""

from __future__ import annotations

import secrets
from typing import Final, NamedTuple

from attestlab.core.crypto import passwords
from attestlab.core.db.transaction import Transaction
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write
from attestlab.core.records.actors import COMMAND_LINE
from attestlab.core.records.audited_write import AuditContext
from attestlab.installation import Installation
from attestlab.orgs import store
from attestlab.orgs.rules import Role
from attestlab.orgs.service import TenantCreated
from attestlab.orgs.tables import UserRecord

PEOPLE: Final = (
    ("ann@demo.example", "Ann Keller", Role.OWNER),
    ("ben@demo.example", "Ben Okafor", Role.ADMIN),
    ("rita@demo.example", "Rita Sousa", Role.REVIEWER),
)


class Consumer(NamedTuple):
    """A consumer of the demo's year, with what they say about themselves; `portfolio` is public or private."""

    address: str
    name: str
    username: str
    bio: str
    portfolio: str


CONSUMERS: Final = (
    Consumer("ada@people.example", "Ada Lovelace", "ada", "I calculate, and take photographs.", "public"),
    Consumer("emmy@people.example", "Emmy Noether", "emmy", "", "private"),
    Consumer("grace@people.example", "Grace Hopper", "grace", "", "private"),
)
PASSWORD: Final = "only for the demo"
_DRAWN_BYTES: Final = 9  # of a password, as urlsafe base64 of 12 characters


def draw_password() -> str:
    """Draw a password for people of one demo."""
    return secrets.token_urlsafe(_DRAWN_BYTES)


def add_people(lab: Installation, tenant: TenantCreated, *, password: str) -> None:
    """Let an owner, an admin and a reviewer of the platform join the demo's tenant."""
    password_hash = passwords.hash_password(password)
    with lab.storage.write() as tx:
        now = lab.clock.now()
        for address, name, role in PEOPLE:
            person = UserRecord(
                new_id(now), tenant.tenant_id, tenant.org_id, address, name, password_hash, role.value, now
            )
            add_person(tx, person)


def add_person(tx: Transaction, person: UserRecord) -> None:
    """Let a person join, as the command line does."""
    deed = AuditContext(person.tenant_id, COMMAND_LINE, "user.create", person.created_at)
    audited_write.insert(tx, store.users, person, deed)
