"""Rewrap: reseals every secret of an installation under a new key-encryption key.

The new key is synced to disk before it seals anything, the records change in one transaction, and
only then does the new key replace the old one. If the command is killed, the installation opens with
one of the two keys, and repeating the command completes the rewrap. It takes the exclusive lock, so it
fails while a server runs; even so, a process that holds the replaced key seals nothing
(`core.crypto.sealing`). Stored responses that contain a secret can no longer be matched to their
Idempotency-Key afterwards; a retry is rejected, never executed twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import count

from attestlab.agents import store as agent_store
from attestlab.core.crypto import keyring, sealing
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db import occupancy
from attestlab.core.db.occupancy import Occupancy
from attestlab.core.db.storage import Storage
from attestlab.core.errors import NoInstallation, ValidationFailed
from attestlab.core.terminal_bar import OnProgress
from attestlab.installation import Installation
from attestlab.issuers import store as issuer_store
from attestlab.log import store as log_store
from attestlab.mail import store as mail_store
from attestlab.settings import Settings
from attestlab.webhooks import endpoint_store


@dataclass(frozen=True)
class Rewrapped:
    """The number of resealed secrets, not counting the log's own key."""

    issuer_keys: int
    token_keys: int
    mails: int
    webhook_endpoints: int
    agent_keys: int

    def public(self) -> dict[str, int]:
        """Return the object that the command prints."""
        return asdict(self)


def _ignore_progress(_done: int, _of: int) -> None:
    """Report progress to no one."""


def rewrap(
    settings: Settings, environ: Mapping[str, str], *, progress: OnProgress = _ignore_progress
) -> Rewrapped | None:
    """Rewrap to a new key; returns None if an earlier rewrap only had to replace the key file.

    Raises:
        NoInstallation: there is none.
        ValidationFailed: one of the two keys is missing or cannot be used.
        IntegrityFailed: a sealed secret does not open; nothing was changed.
        Unavailable: a server or another command has the installation open.
    """
    storage = Storage(settings.records_url)
    try:
        with occupancy.hold_exclusively(storage) as exclusive_lock:
            return _rewrap(settings, environ, storage, exclusive_lock, progress)
    finally:
        storage.close()


def _rewrap(
    settings: Settings, environ: Mapping[str, str], storage: Storage, exclusive_lock: Occupancy, progress: OnProgress
) -> Rewrapped | None:
    is_in_file = not environ.get(keyring.ENVIRONMENT_NAME)
    if is_in_file and _is_under_next(settings, storage):
        keyring.activate_next(settings.data)
        return None
    lab = Installation.open(settings, exclusive_lock=exclusive_lock)
    try:
        if is_in_file:
            with suppress(FileNotFoundError):
                (settings.data / keyring.NEXT_FILE_NAME).unlink()  # of an earlier rewrap that changed nothing
            Keyring.create(settings.data, file_name=keyring.NEXT_FILE_NAME)
        done = _reseal_all(lab, Keyring.open_next(settings.data, environ), progress)
    finally:
        lab.close()
    if is_in_file:
        keyring.activate_next(settings.data)
    return done


def _reseal_all(lab: Installation, new: Keyring, progress: OnProgress = _ignore_progress) -> Rewrapped:
    if new.id == lab.keyring.id:
        raise ValidationFailed.of(keyring.NEXT_ENVIRONMENT_NAME, "same_key", "The new key is the one in use.")
    with lab.storage.write() as tx:
        mails, endpoints = mail_store.list_waiting(tx), endpoint_store.list_with_secrets(tx.exec)
        managed_keys = len(issuer_store.list_managed_keys(tx)) + len(agent_store.list_managed_keys(tx))
        total = managed_keys + len(mails) + len(endpoints)
        numbers = count(1)

        def advance() -> None:
            progress(next(numbers), total)

        sealing.replace_kek(tx, new)
        lab.log.rewrap(tx, new)
        return Rewrapped(
            issuer_keys=lab.signing_keys.rewrap(tx, new, on_sealed=advance),
            token_keys=lab.identity.tokens.rewrap(tx, new, at=lab.clock.now()),
            mails=lab.mails.rewrap(tx, new, on_sealed=advance),
            webhook_endpoints=lab.webhooks.rewrap(tx, new, on_sealed=advance),
            agent_keys=lab.agents.keys.rewrap(tx, new, on_sealed=advance),
        )


def _is_under_next(settings: Settings, storage: Storage) -> bool:
    """Whether the records are resealed already, and the new key's file has not yet replaced the old one."""
    if not (settings.data / keyring.NEXT_FILE_NAME).exists():
        return False
    with storage.read() as connection:
        head = log_store.head(connection)
    if head is None:
        raise NoInstallation(settings.data)
    return Keyring.open_next(settings.data, {}).has_sealed(head.sealed_key)
