"""Integrity check of issuers and keys: every row agrees with its log entries, and every chain has a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Protocol

from sqlalchemy import Connection, select

from attestlab.core.counting import plural
from attestlab.core.db.tables import fetch_all
from attestlab.core.encoding import b64url_encode, format_time
from attestlab.issuers import store
from attestlab.issuers.keys import format_key_name
from attestlab.issuers.rules import IssuerStatus
from attestlab.issuers.tables import IssuerKeyRecord, IssuerRecord
from attestlab.log import entries
from attestlab.log import store as log_store
from attestlab.log.entries import EntryType


def find_inconsistencies(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield differences between rows and the newest entries of their chains, as (key or issuer, problem)."""
    keys = fetch_all(connection.execute(select(*store.keys.c)), IssuerKeyRecord)
    for key in keys:
        index = key.log_index if key.changed_index is None else key.changed_index
        subject = entries.key_subject(key.issuer_id, key.kid)
        if wrong := find_differences(connection, subject, build_key_members(key), index=index):
            yield format_key_name(key.issuer_id, key.kid), f"the row differs from the log in {wrong}"
    issuers = fetch_all(connection.execute(select(*store.issuers.c)), IssuerRecord)
    for row in issuers:
        expected = {name: getattr(row, name) for name in ("status", "trust_tier", "risk_rating", "jurisdiction")}
        subject = entries.issuer_subject(row.id)
        wrong = find_differences(connection, subject, expected)
        if wrong or (wrong := _find_renaming(connection, subject, row)):
            yield str(row.id), f"the row differs from the log in {wrong}"
        if _find_revocation_index(connection, subject) != row.revoked_index:
            yield str(row.id), "the row differs from the log in the index of the revocation"
    for kind, count in ((EntryType.KEY_STATUS, len(keys)), (EntryType.ISSUER_STATUS, len(issuers))):
        if (chains := log_store.count_of_subjects(connection, kind)) != count:
            yield "count", f"{plural(chains, 'chain')} of {kind.value}, {plural(count, 'row')}"


def _find_renaming(connection: Connection, subject: str, row: IssuerRecord) -> str:
    """Return what differs from the profile in the newest entry; entries of earlier versions have none."""
    leaf = log_store.newest_of_subject(connection, subject)
    profile = None if leaf is None else entries.parse_entry(leaf.entry).members.get("profile")
    is_same = profile in (None, entries.profile_name(row.name, row.domain))
    return "" if is_same else "name or domain"


def _find_revocation_index(connection: Connection, subject: str) -> int | None:
    """Return the index of the first entry with the status REVOKED; later entries of the chain repeat the status."""
    for leaf in log_store.chain_of(connection, subject):
        if entries.parse_entry(leaf.entry).members.get("status") == IssuerStatus.REVOKED:
            return leaf.index
    return None


def find_differences(
    connection: Connection, subject: str, expected: Mapping[str, object], *, index: int | None = None
) -> str:
    """List the members in which a subject's newest entry differs from its row, and the index if one is given."""
    leaf = log_store.newest_of_subject(connection, subject)
    if leaf is None:
        return "everything: the log has no entry"
    members = entries.parse_entry(leaf.entry).members
    wrong = [name for name, value in expected.items() if members.get(name) != value]
    if index is not None and leaf.index != index:
        wrong.append("the index of the last change")
    return ", ".join(wrong)


class LoggedKey(Protocol):
    """The columns of a key that its log entries have too."""

    @property
    def alg(self) -> str: ...
    @property
    def spki(self) -> bytes: ...
    @property
    def status(self) -> str: ...
    @property
    def compromised_at(self) -> datetime | None: ...


def build_key_members(row: LoggedKey) -> dict[str, object]:
    """Return the members that the newest entry of a key must have."""
    compromised_at = row.compromised_at
    return {
        "alg": row.alg,
        "public_key": b64url_encode(row.spki),
        "status": row.status,
        "compromised_at": None if compromised_at is None else format_time(compromised_at),
    }
