"""The secrets of a demo world that was copied: its API key, passwords and webhook secrets are not the original's.

The keys of the log and of issuers stay, since the past is signed with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from attestlab.core.crypto import passwords
from attestlab.core.db.transaction import Transaction
from attestlab.core.records import audited_write
from attestlab.core.records.actors import COMMAND_LINE
from attestlab.core.records.audited_write import AuditContext
from attestlab.demos.people import CONSUMERS, PEOPLE, draw_password
from attestlab.installation import Installation
from attestlab.orgs import store
from attestlab.webhooks import endpoint_store


@dataclass(frozen=True)
class FreshSecrets:
    """The secrets that open a demo."""

    api_key: str = field(repr=False)
    owner_password: str = field(repr=False)
    people_password: str = field(repr=False)


def renew_secrets(lab: Installation, *, api_key: str, owner_email: str) -> FreshSecrets:
    """Replace the secrets that the builder of a world knows, in one transaction.

    Args:
        lab: the demo, which no server serves yet.
        api_key: the first key of its tenant, which opens nothing afterwards.
        owner_email: of the tenant's first person.

    Raises:
        AuthInvalid: the API key is of another installation.
    """
    own, shared = draw_password(), draw_password()
    hashes = {owner_email: passwords.hash_password(own)}
    addresses = [*(address for address, _, _ in PEOPLE), *(each.address for each in CONSUMERS)]
    hashes |= dict.fromkeys(addresses, passwords.hash_password(shared))
    with lab.storage.read() as connection:
        caller = lab.orgs.authenticate(connection, api_key)
        endpoints = endpoint_store.list_with_secrets(connection.execute)
    owners = {row.id: lab.orgs.service_caller(row.tenant_id) for row in endpoints}
    with lab.storage.write() as tx:
        _replace_passwords(tx, hashes, lab.clock.now())
        for endpoint_id, owner in owners.items():
            lab.webhooks.rotate(endpoint_id, caller=owner, tx=tx)
        key = lab.api_keys.replace_secret(UUID(caller.actor_id), caller=caller, tx=tx)
    return FreshSecrets(key.secret, own, shared)


def _replace_passwords(tx: Transaction, hashes: Mapping[str, str], at: datetime) -> None:
    for address, password_hash in hashes.items():
        person = store.find_user_by_address(tx.exec, address)
        if person is not None:
            deed = AuditContext(person.tenant_id, COMMAND_LINE, "user.change_password", at)
            audited_write.change(tx, store.users, person, {"password_hash": password_hash}, deed)
