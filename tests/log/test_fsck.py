"""Fsck finds every change, wherever it was made, and says where."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, select, text

from attestlab.core.clock import FixedClock
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.records.integrity import Problem
from attestlab.log import entries
from attestlab.log.entries import EntryType
from attestlab.log.store import checkpoints, heads, leaves, tiles
from attestlab.log.tables import IMMUTABILITY_DDL
from support.log.instance import ISSUER_ID, LogInstance

pytestmark = pytest.mark.both_engines

TABLES = {"log_leaves": leaves, "log_tiles": tiles, "log_checkpoints": checkpoints, "log_head": heads}


def disarm(connection: Connection) -> None:
    """Take the triggers away, as someone who owns the database can."""
    for statement in IMMUTABILITY_DDL[connection.dialect.name]:
        words = statement.split()
        if words[1] == "TRIGGER":
            table = statement.split(" ON ")[1].split()[0]
            on = "" if connection.dialect.name == "sqlite" else f" ON {table}"
            connection.exec_driver_sql(f"DROP TRIGGER {words[2]}{on}")


def change(log_instance: LogInstance, statement: str, **values: Any) -> list[Problem]:
    """What fsck says after one statement behind the service's back."""
    with log_instance.storage.engine.begin() as connection:
        disarm(connection)
        assert connection.execute(text(statement), values).rowcount == 1
    return log_instance.problems()


@pytest.fixture
def full_world(log_instance: LogInstance, clock: FixedClock) -> LogInstance:
    """Two full tiles, five checkpoints, and a chain of two status entries, on either engine."""
    return fill(log_instance, clock)


@pytest.fixture
def file_world(sqlite_log_instance: LogInstance, clock: FixedClock) -> LogInstance:
    """The same in a SQLite file, for questions that no engine answers differently."""
    return fill(sqlite_log_instance, clock)


def fill(log_instance: LogInstance, clock: FixedClock) -> LogInstance:
    log_instance.grow(300)
    subject = entries.key_subject(ISSUER_ID, "k")
    for status in ("pending", "active"):
        with log_instance.storage.write() as tx:
            said = entries.key_status_entry(
                log_instance.log.next_status_link(tx, subject),
                issuer_id=ISSUER_ID,
                kid="k",
                alg="Ed25519",
                public_spki=b"spki",
                status=status,
                at=clock.now(),
            )
            log_instance.log.append(tx, said, kind=EntryType.KEY_STATUS, subject=subject)
    log_instance.grow(520)
    return log_instance


def test_a_sound_log_has_no_problems(full_world: LogInstance) -> None:
    assert full_world.problems() == []


@pytest.mark.parametrize(
    ("statement", "kind", "where"),
    [
        ('UPDATE log_leaves SET entry = leaf_hash WHERE "index" = 7', "leaf_hash", "leaf 7"),
        ('UPDATE log_leaves SET leaf_hash = entry WHERE "index" = 7', "leaf_hash", "leaf 7"),
        ("UPDATE log_leaves SET kind = 'key.status' WHERE \"index\" = 7", "leaf", "leaf 7"),
        ('UPDATE log_leaves SET subject = NULL WHERE "index" = 300', "leaf", "leaf 300"),
        ('DELETE FROM log_leaves WHERE "index" = 7', "gap", "leaf 7"),
        ('DELETE FROM log_leaves WHERE "index" = 519', "head", "log_head"),
        ('DELETE FROM log_tiles WHERE level = 0 AND "index" = 1', "tile", "tile 0/1"),
        ('UPDATE log_tiles SET "index" = 5 WHERE level = 0 AND "index" = 1', "tile", "tile 0/5"),
        ("DELETE FROM log_checkpoints WHERE size = 300", "checkpoint", "checkpoint 301"),
        ("DELETE FROM log_checkpoints WHERE size = 520", "checkpoint", "checkpoint 520"),
        ("DELETE FROM log_checkpoints WHERE size = 0", "checkpoint", "checkpoint 300"),
        ("UPDATE log_checkpoints SET previous_size = 301 WHERE size = 520", "checkpoint", "checkpoint 520"),
        ("UPDATE log_checkpoints SET size = 521 WHERE size = 520", "checkpoint", "checkpoint 521"),
        ("UPDATE log_checkpoints SET at = '2026-11-21 12:00:01' WHERE size = 300", "checkpoint", "checkpoint 300"),
        ("UPDATE log_head SET size = 519", "head", "log_head"),
        ("UPDATE log_head SET origin = 'log.example/b'", "log_key", "log_head"),
        ("UPDATE log_head SET vkey = 'log.example/b+00000000+AAAA'", "log_key", "log_head"),
        ("DELETE FROM log_head", "head", "log_head"),
    ],
)
def test_a_change_is_found_where_it_was_made(file_world: LogInstance, statement: str, kind: str, where: str) -> None:
    problems = change(file_world, statement)
    assert (kind, where) in [(problem.kind, problem.where) for problem in problems]


def test_a_replayed_entry_is_found(file_world: LogInstance) -> None:
    with file_world.storage.write() as tx:
        again = file_world.log.entries(tx.connection, 3, 1)[0].entry
        file_world.log.append(tx, again, kind=EntryType.MINTED)
    assert [(problem.kind, problem.where) for problem in file_world.problems()] == [("duplicate", "leaf 520")]


def test_a_status_entry_that_leaves_one_out_is_found(file_world: LogInstance, clock: FixedClock) -> None:
    """
    A correctly logged entry can still lie about its chain: its seq jumps over one that was never published.
    """
    subject = entries.key_subject(ISSUER_ID, "k")
    with file_world.storage.write() as tx:
        link = file_world.log.next_status_link(tx, subject)
        said = entries.key_status_entry(
            entries.Link(link.seq + 1, link.prev),
            issuer_id=ISSUER_ID,
            kid="k",
            alg="Ed25519",
            public_spki=b"spki",
            status="revoked",
            at=clock.now(),
        )
        file_world.log.append(tx, said, kind=EntryType.KEY_STATUS, subject=subject)
    assert [(problem.kind, problem.where) for problem in file_world.problems()] == [("status_chain", "leaf 520")]


def test_foreign_keyring_is_reported(file_world: LogInstance, tmp_path_factory: pytest.TempPathFactory) -> None:
    file_world.keyring = Keyring.create(tmp_path_factory.mktemp("other"))
    assert [problem.kind for problem in file_world.problems()] == ["log_key"]


def test_a_missing_guard_is_found(file_world: LogInstance) -> None:
    file_world.guard.path.unlink()
    assert [problem.kind for problem in file_world.problems()] == ["head_guard"]


def test_unreadable_rows_are_reported_as_a_problem(sqlite_log_instance: LogInstance) -> None:
    sqlite_log_instance.grow(10)
    (problem,) = change(
        sqlite_log_instance, "UPDATE log_leaves SET entry = 'text where bytes belong' WHERE \"index\" = 7"
    )
    assert problem.kind == "unreadable"


def test_every_random_bit_of_every_column_is_noticed(full_world: LogInstance) -> None:
    """
    One bit in one value of one row, a few hundred times over all tables.
    """
    chance = random.Random(20261121)
    engine = full_world.storage.engine
    with engine.begin() as connection:
        disarm(connection)
    for round_number in range(100):
        table = TABLES[chance.choice(list(TABLES))]
        column = chance.choice([c for c in table.c if (table.name, c.name) != ("log_head", "id")])
        key = list(table.primary_key.columns)
        with engine.begin() as connection:
            rows = connection.execute(select(*key, column).where(column.is_not(None))).all()
            row = chance.choice(rows)
            where = [k == value for k, value in zip(key, row, strict=False)]
            changed = flipped(row[-1], chance)
            connection.execute(table.update().where(*where).values({column.name: changed}))
        assert full_world.problems(), f"round {round_number}: {table.name}.{column.name} {row[-1]!r} -> {changed!r}"
        with engine.begin() as connection:
            now = [k == (changed if k.name == column.name else v) for k, v in zip(key, row, strict=False)]
            connection.execute(table.update().where(*now).values({column.name: row[-1]}))
    assert full_world.problems() == []


def flipped(value: Any, chance: random.Random) -> Any:
    """The value with one bit changed, in its own type; a key moves far away so that it meets no other."""
    if isinstance(value, bytes):
        at = chance.randrange(len(value))
        return value[:at] + bytes([value[at] ^ 1 << chance.randrange(8)]) + value[at + 1 :]
    if isinstance(value, str):
        at = chance.randrange(len(value))
        return value[:at] + chr(ord(value[at]) ^ 1 << chance.randrange(5)) + value[at + 1 :]
    if isinstance(value, int):
        return value ^ 1 << chance.randrange(11, 20)
    return value + timedelta(seconds=1 << chance.randrange(10))
