"""Row digests: every change of a row outside the service is reported with the row's id."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Connection, delete, select, text, update

from attestlab.core.crypto.signing import Algorithm
from attestlab.core.records.integrity import find_unaudited
from attestlab.core.records.row_digest import row_sha256
from attestlab.installation import Installation
from attestlab.issuers import store
from attestlab.issuers.keys import format_key_name
from attestlab.orgs.rules import Caller
from attestlab.orgs.store import tenants

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TENANT = {
    "id": UUID(int=1),
    "name": "T",
    "plan": "FREE",
    "is_operator": False,
    "created_at": NOON,
    "adjusted": None,
    "realm": None,
    "addons": None,
}
NAMES = {
    "tenant": (tenants, lambda row: str(row["id"])),
    "issuer": (store.issuers, lambda row: str(row["id"])),
    "key": (store.keys, lambda row: format_key_name(row["issuer_id"], row["kid"])),
}


class TakenBack(Exception):
    """The damage was looked at and is undone."""


@contextmanager
def damaged(lab: Installation) -> Iterator[Connection]:
    """A transaction to do damage in, of which nothing stays."""
    with pytest.raises(TakenBack), lab.storage.write() as tx:
        yield tx.connection
        raise TakenBack


def faults(connection: Connection, kind: str) -> list[tuple[str, str]]:
    table, name = NAMES[kind]
    return list(find_unaudited(connection, table, resource_type=kind, name=name))


@pytest.fixture
def issuer(lab: Installation, caller: Caller) -> Any:
    """An issuer with a key, changed once since."""
    made = lab.issuers.create({"name": "N", "domain": "n.example"}, caller=caller, alg=Algorithm.ED25519, kid="k")
    return lab.issuers.update(made.issuer.id, {"jurisdiction": "CH"}, caller=caller)


def test_row_digest_has_a_fixed_value() -> None:
    """Computed by hand from the canonical JSON; another value would disown every stored trail."""
    written = (
        b'{"created_at":"2026-11-21T12:00:00+00:00","id":"00000000-0000-0000-0000-000000000001",'
        b'"is_operator":false,"name":"T","plan":"FREE"}'
    )
    assert row_sha256(tenants, TENANT) == sha256(written).hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        {"id": UUID(int=2)},
        {"name": "t"},
        {"plan": None},
        {"is_operator": True},
        {"created_at": NOON + timedelta(microseconds=1)},
    ],
)
def test_row_digest_covers_every_column(change: dict[str, Any]) -> None:
    assert row_sha256(tenants, {**TENANT, **change}) != row_sha256(tenants, TENANT)


def test_null_in_a_later_column_does_not_change_the_digest() -> None:
    """Older fingerprints stay good, and nothing can be hidden in the new column."""
    assert row_sha256(tenants, {**TENANT, "realm": "consumer"}) != row_sha256(tenants, TENANT)


def test_row_digest_is_independent_of_the_timezone() -> None:
    elsewhere = NOON.astimezone(timezone(timedelta(hours=5)))

    assert row_sha256(tenants, {**TENANT, "created_at": elsewhere}) == row_sha256(tenants, TENANT)


def test_incomplete_row_has_no_digest() -> None:
    with pytest.raises(KeyError):
        row_sha256(tenants, {name: value for name, value in TENANT.items() if name != "plan"})


@pytest.mark.both_engines
def test_unchanged_rows_match_their_digests(lab: Installation, issuer: Any) -> None:
    with lab.storage.read() as connection:
        assert [fault for kind in NAMES for fault in faults(connection, kind)] == []


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("name", "M"),
        ("display_name", ""),
        ("trust_tier", "ENTERPRISE"),
        ("jurisdiction", None),
        ("revoked_index", 0),
        ("updated_at", NOON + timedelta(microseconds=1)),
    ],
)
def test_a_changed_column_is_found(lab: Installation, issuer: Any, column: str, value: Any) -> None:
    with damaged(lab) as connection:
        connection.execute(update(store.issuers).values({column: value}))
        found = faults(connection, "issuer")

    assert found == [(str(issuer.issuer.id), "the row differs from what was audited last")]


@pytest.mark.both_engines
def test_an_earlier_state_of_a_row_is_found(lab: Installation, caller: Caller, issuer: Any) -> None:
    """It was true once, and it was audited once; the last line counts."""
    with damaged(lab) as connection:
        connection.execute(update(store.issuers).values(jurisdiction=None))
        assert len(faults(connection, "issuer")) == 1


@pytest.mark.both_engines
def test_deleted_row_is_found(lab: Installation, issuer: Any) -> None:
    with damaged(lab) as connection:
        connection.execute(delete(store.keys))
        found = faults(connection, "key")

    assert found == [(f"{issuer.issuer.id}/k", "the row was audited and is gone")]


@pytest.mark.both_engines
def test_inserted_row_is_found(lab: Installation, issuer: Any) -> None:
    with damaged(lab) as connection:
        row = dict(connection.execute(select(store.keys)).one()._mapping)
        connection.execute(store.keys.insert(), {**row, "kid": "smuggled"})
        found = faults(connection, "key")

    assert found == [(f"{issuer.issuer.id}/smuggled", "the row was never audited")]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE issuers SET id = upper(id)",
        "UPDATE issuers SET created_at = replace(created_at, ' ', 'T')",
        "UPDATE issuers SET updated_at = updated_at || '0'",
        "UPDATE issuers SET name = CAST(name AS BLOB)",
        "UPDATE issuers SET id = 'not an id'",
        "UPDATE issuers SET created_at = 'yesterday'",
        "UPDATE issuers SET revoked_index = 'one'",
        "UPDATE issuers SET revoked_index = 9223372036854775807",
        "UPDATE issuers SET name = CAST(x'ff' AS TEXT)",
    ],
)
def test_noncanonical_values_in_sqlite_are_found(lab: Installation, issuer: Any, damage: str) -> None:
    """What reads alike is not what was written: an id in capitals is found by no query."""
    if not lab.storage.is_sqlite:
        pytest.skip("PostgreSQL has types, which have one spelling")
    with damaged(lab) as connection:
        connection.execute(text("PRAGMA defer_foreign_keys=ON"))
        connection.execute(text(damage))
        found = faults(connection, "issuer")

    assert found


def test_boolean_stored_as_two_is_found(lab: Installation) -> None:
    if not lab.storage.is_sqlite:
        pytest.skip("PostgreSQL has types, which have one spelling")
    with damaged(lab) as connection:
        connection.execute(text("UPDATE tenants SET is_operator = 2"))
        assert len(faults(connection, "tenant")) == 1
