"""An installation moves to another key-encryption key: everything that is sealed is sealed anew.

The new key is on disk before anything is sealed under it, the records change in one transaction, and
only then does the new key take the old one's place. Killed at any moment, the installation opens with
one of the two, and the same command ends what was begun. It holds the installation alone, so it is
refused while a server runs; a process that holds the replaced key nevertheless seals nothing (`core.crypto.sealing`).
Answers that are remembered under Idempotency-Keys and hold a secret are not known again afterwards; a repeat
is refused, never done twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from attestlab.core.crypto import keyring, sealing
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db import occupancy
from attestlab.core.db.occupancy import Occupancy
from attestlab.core.db.storage import Storage
from attestlab.core.errors import NotFound, ValidationFailed
from attestlab.installation import Installation
from attestlab.log import store as log_store
from attestlab.settings import Settings


@dataclass(frozen=True)
class Rewrapped:
    """How much was sealed anew; the log's own key comes on top."""

    issuer_keys: int
    token_keys: int
    mails: int

    def public(self) -> dict[str, int]:
        """As the command line prints it."""
        return asdict(self)


def rewrap(settings: Settings, environ: Mapping[str, str]) -> Rewrapped | None:
    """Move to a fresh key; None where an earlier move had come so far that only the files were left to exchange.

    Raises:
        NotFound: there is no installation.
        ValidationFailed: one of the two keys is missing or cannot be used.
        IntegrityFailed: something that is sealed does not open; nothing was changed.
        Unavailable: a server or another command has the installation open.
    """
    storage = Storage(settings.records_url)
    try:
        with occupancy.hold_exclusively(storage) as alone:
            return _rewrapped(settings, environ, storage, alone)
    finally:
        storage.close()


def _rewrapped(settings: Settings, environ: Mapping[str, str], storage: Storage, alone: Occupancy) -> Rewrapped | None:
    is_in_file = not environ.get(keyring.ENVIRONMENT_NAME)
    if is_in_file and _is_under_next(settings, storage):
        keyring.activate_next(settings.data)
        return None
    lab = Installation.open(settings, alone=alone)
    try:
        if is_in_file:
            with suppress(FileNotFoundError):
                (settings.data / keyring.NEXT_FILE_NAME).unlink()  # of a move that changed nothing
            Keyring.create(settings.data, file_name=keyring.NEXT_FILE_NAME)
        done = _sealed_anew(lab, Keyring.open_next(settings.data, environ))
    finally:
        lab.close()
    if is_in_file:
        keyring.activate_next(settings.data)
    return done


def _sealed_anew(lab: Installation, new: Keyring) -> Rewrapped:
    if new.id == lab.keyring.id:
        raise ValidationFailed.of(keyring.NEXT_ENVIRONMENT_NAME, "same_key", "The new key is the one in use.")
    with lab.storage.write() as tx:
        sealing.replace_kek(tx, new)
        lab.log.rewrap(tx, new)
        return Rewrapped(
            issuer_keys=lab.signing_keys.rewrap(tx, new),
            token_keys=lab.identity.tokens.rewrap(tx, new, at=lab.clock.now()),
            mails=lab.mails.rewrap(tx, new),
        )


def _is_under_next(settings: Settings, storage: Storage) -> bool:
    """Whether the records were sealed anew already, and the key that did it waits beside the old one."""
    if not (settings.data / keyring.NEXT_FILE_NAME).exists():
        return False
    with storage.read() as connection:
        head = log_store.head(connection)
    if head is None:
        raise NotFound("installation in", Path(settings.data))
    return Keyring.open_next(settings.data, {}).has_sealed(head.sealed_key)
