"""Readiness checks of an installation: records, log, head guard, keyring and time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from attestlab.core.crypto import sealing
from attestlab.core.db.unreachable import ping
from attestlab.installation import Installation


def list_checks(lab: Installation) -> dict[str, Callable[[], None]]:
    """Return the readiness checks by name; each raises an error if its part does not work."""
    checks = {
        "records": _check_records,
        "log": _check_log,
        "head_guard": _check_head_guard,
        "keyring": _check_keyring,
        "time": _check_time,
    }
    return {name: partial(check, lab) for name, check in checks.items()}


def _check_records(lab: Installation) -> None:
    with lab.storage.read() as connection:
        ping(connection)


def _check_log(lab: Installation) -> None:
    with lab.storage.read() as connection:
        lab.log.check_guard(connection)


def _check_head_guard(lab: Installation) -> None:
    lab.guard.ensure_durable()
    with lab.storage.read() as connection:
        if lab.guard.read() is None:
            lab.log.check_guard(connection)


def _check_keyring(lab: Installation) -> None:
    with lab.storage.read() as connection:
        sealing.require_same(connection, lab.keyring)


def _check_time(lab: Installation) -> None:
    with lab.storage.read() as connection:
        lab.log.time.require_credible(connection)
