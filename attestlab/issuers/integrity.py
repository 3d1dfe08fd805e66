"""Issuers and keys against the log, both ways: no standing in a row that the log does not tell, and none lost."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, select

from attestlab.core.db.transaction import AnyRow
from attestlab.core.strict_json import b64url_encode, format_time
from attestlab.issuers import store
from attestlab.issuers.keys import format_key_name
from attestlab.issuers.rules import IssuerStatus
from attestlab.log import entries
from attestlab.log import store as log_store
from attestlab.log.entries import EntryType


def find_inconsistencies(connection: Connection) -> Iterator[tuple[str, str]]:
    """Where rows and the newest entry of their chain differ, as (key or issuer, what is wrong)."""
    keys = connection.execute(select(*store.keys.c)).all()
    for row in keys:
        place = row.log_index if row.changed_index is None else row.changed_index
        subject = entries.key_subject(row.issuer_id, row.kid)
        if wrong := _find_differences(connection, subject, _expected_key_members(row), place=place):
            yield format_key_name(dict(row._mapping)), f"the log says otherwise about {wrong}"
    issuers = connection.execute(select(*store.issuers.c)).all()
    for row in issuers:
        told = {name: getattr(row, name) for name in ("status", "trust_tier", "risk_rating", "jurisdiction")}
        subject = entries.issuer_subject(row.id)
        if wrong := _find_differences(connection, subject, told):
            yield str(row.id), f"the log says otherwise about {wrong}"
        if _find_revocation_index(connection, subject) != row.revoked_index:
            yield str(row.id), "the log says otherwise about which entry revoked it"
    for kind, found in ((EntryType.KEY_STATUS, keys), (EntryType.ISSUER_STATUS, issuers)):
        if (chains := log_store.count_of_subjects(connection, kind)) != len(found):
            yield "count", f"{chains} chains of {kind.value}, {len(found)} rows"


def _find_revocation_index(connection: Connection, subject: str) -> int | None:
    """Where its chain first says that it is revoked; what is changed of it later says so too."""
    chain = log_store.chain_of(connection, subject)
    says = (
        entry.index for entry in chain if entries.parse_entry(entry.entry).members.get("status") == IssuerStatus.REVOKED
    )
    return next(says, None)


def _find_differences(
    connection: Connection, subject: str, told: dict[str, object], *, place: int | None = None
) -> str:
    """What the newest entry of a subject says otherwise; also where it stands, if a place is named."""
    found = log_store.newest_of_subject(connection, subject)
    if found is None:
        return "everything: there is no entry"
    said = entries.parse_entry(found.entry).members
    wrong = [name for name, value in told.items() if said.get(name) != value]
    if place is not None and found.index != place:
        wrong.append("where it changed last")
    return ", ".join(wrong)


def _expected_key_members(row: AnyRow) -> dict[str, object]:
    compromised_at = row.compromised_at
    return {
        "alg": row.alg,
        "public_key": b64url_encode(row.spki),
        "status": row.status,
        "compromised_at": None if compromised_at is None else format_time(compromised_at),
    }
