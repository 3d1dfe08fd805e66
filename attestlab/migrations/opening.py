"""Open the records of an installation: locked for others that would change their tables, and migrated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from attestlab import migrations
from attestlab.core.db import occupancy
from attestlab.core.db.occupancy import Occupancy
from attestlab.core.db.storage import Storage
from attestlab.settings import Settings


@contextmanager
def open_records(
    settings: Settings, exclusive_lock: Occupancy | None = None
) -> Iterator[tuple[Storage, Occupancy | None]]:
    """Lock and migrate the records before a key is read; on an error, release the lock and close them."""
    storage, shared_lock = Storage(settings.records_url), None
    try:
        shared_lock = occupancy.share(storage) if exclusive_lock is None else None
        migrations.upgrade(storage)
        yield storage, shared_lock
    except BaseException:
        if shared_lock is not None:
            shared_lock.release()
        storage.close()
        raise
