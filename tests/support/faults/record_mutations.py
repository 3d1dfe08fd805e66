"""Random changes of an installation outside the service: single bits, whole rows, bytes of its files."""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

RECORDS = "records.db"
TRIES = 1000
FILES = ("head.guard", "keyring.key")
# When an item of an inbox was last changed, also by its recipient. The digest of the row, which its issuer's auditors
# read, leaves out whether and when the recipient read it; no rule reads the time, only the recipient sees it.
UNVOUCHED = {("inbox_items", "updated_at")}
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?")
Mutation = Callable[[sqlite3.Connection, str, random.Random], str | None]


def mutate(folder: Path, place: str, chance: random.Random) -> str:
    """Change one thing of a table or a file, `place`; what was done, for the message of a missed mutation."""
    if place in FILES:
        return flip_file(folder / place, chance)
    with open_records(folder / RECORDS) as records:
        for _ in range(TRIES):
            mutation = chance.choice(MUTATIONS)
            try:
                done = mutation(records, place, chance)
            except sqlite3.IntegrityError:
                records.rollback()  # the database itself refuses; something else then
            else:
                if done is not None:
                    break
        else:
            raise AssertionError(f"nothing can be changed in {place}; has it rows?")
        records.commit()
    return f"{mutation.__name__} {place} {done}"


def alter(folder: Path, table: str, column: str) -> str | None:
    """Change a value of a column to another one of its kind; None if the column is empty, or the database refuses."""
    with open_records(folder / RECORDS) as records:
        found = a_row(records, table, random.Random(0), f'"{column}"', f'"{column}" IS NOT NULL')
        if found is None:
            return None
        key, value = found
        try:
            done = write(records, table, column, key, "?", find_neighbour(value), value)
        except sqlite3.IntegrityError:
            records.rollback()
            return None
        records.commit()
    return done


def find_neighbour(value: Any) -> Any:
    """Return the value nearest to one that looks like it: the next minute, number, digit or letter."""
    if isinstance(value, bytes):
        return value[:-1] + bytes([value[-1] ^ 1]) if value else b"1"
    if isinstance(value, int | float):
        return value + (1 if isinstance(value, int) else 0.001)
    if _TIME.fullmatch(value):
        return f"{value[:14]}{(int(value[14:16]) + 1) % 60:02}{value[16:]}"
    begun, last = value[:-1], value[-1:]
    return begun + next(each for each in ("01" if last.isdigit() else "ab") if each != last)


@contextmanager
def open_records(path: Path) -> Iterator[sqlite3.Connection]:
    """The records as their owner can open them: no foreign key in the way, and each trigger put back afterwards."""
    records = sqlite3.connect(path)
    triggers = records.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _statement in triggers:
        records.execute(f"DROP TRIGGER {name}")
    records.commit()
    try:
        yield records
    finally:
        for _name, statement in triggers:
            records.execute(statement)
        records.commit()
        records.close()


def flip_file(path: Path, chance: random.Random) -> str:
    content = bytearray(path.read_bytes())
    bit = chance.randrange(len(content) * 8)
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)
    return f"bit {bit} of {path.name}"


def flip_a_bit(records: sqlite3.Connection, table: str, chance: random.Random) -> str | None:
    column = chance.choice(vouched_columns(records, table))
    found = a_row(
        records, table, chance, f'typeof("{column}"), CAST("{column}" AS BLOB), "{column}"', f'"{column}" IS NOT NULL'
    )
    if found is None or found[2] == b"":
        return None
    key, kind, raw, value = found
    if kind == "integer":
        return write(records, table, column, key, "?", value ^ 1 << chance.randrange(31), value)
    bit = chance.randrange(len(raw) * 8)
    changed = bytearray(raw)
    changed[bit // 8] ^= 1 << bit % 8
    return write(records, table, column, key, f"CAST(? AS {'TEXT' if kind == 'text' else 'BLOB'})", bytes(changed), raw)


def take_from_another_row(records: sqlite3.Connection, table: str, chance: random.Random) -> str | None:
    column = chance.choice(vouched_columns(records, table))
    one = a_row(records, table, chance, f'"{column}"')
    other = a_row(records, table, chance, f'"{column}"')
    if one is None or other is None or one[1] == other[1]:
        return None
    return write(records, table, column, one[0], "?", other[1], one[1])


def empty_a_value(records: sqlite3.Connection, table: str, chance: random.Random) -> str | None:
    column = chance.choice(vouched_columns(records, table))
    found = a_row(records, table, chance, f'"{column}"', f'"{column}" IS NOT NULL')
    return None if found is None else write(records, table, column, found[0], "?", None, found[1])


def swap_two_rows(records: sqlite3.Connection, table: str, chance: random.Random) -> str | None:
    column = chance.choice(vouched_columns(records, table))
    one, other = (a_row(records, table, chance, f'"{column}"') for _ in range(2))
    if one is None or other is None or one[1] == other[1]:
        return None
    write(records, table, column, one[0], "?", None, one[1])
    write(records, table, column, other[0], "?", one[1], other[1])
    return write(records, table, column, one[0], "?", other[1], one[1])


def delete_a_row(records: sqlite3.Connection, table: str, chance: random.Random) -> str | None:
    found = a_row(records, table, chance, "*")
    if found is None:
        return None
    records.execute(f"DELETE FROM {table} WHERE {is_row(found[0])}", [*found[0].values()])
    return repr(found[1:])[:200]


def insert_a_copy(records: sqlite3.Connection, table: str, chance: random.Random) -> str | None:
    """Of a row, under another key."""
    names = columns(records, table)
    keys = {row[1] for row in records.execute(f"PRAGMA table_info({table})") if row[5]}
    keys |= set(unique_columns(records, table))
    listed = ", ".join(f'"{name}"' for name in names)
    found = a_row(records, table, chance, listed)
    if found is None:
        return None
    values = [unlike(value, chance) if name in keys else value for name, value in zip(names, found[1:], strict=True)]
    records.execute(f"INSERT INTO {table} ({listed}) VALUES ({', '.join('?' * len(names))})", values)
    return repr(values)[:200]


MUTATIONS: tuple[Mutation, ...] = (
    flip_a_bit,
    flip_a_bit,
    flip_a_bit,
    take_from_another_row,
    empty_a_value,
    swap_two_rows,
    delete_a_row,
    insert_a_copy,
)


def columns(records: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in records.execute(f"PRAGMA table_info({table})")]


def vouched_columns(records: sqlite3.Connection, table: str) -> list[str]:
    """Columns whose changes fsck finds."""
    return [name for name in columns(records, table) if (table, name) not in UNVOUCHED]


def unique_columns(records: sqlite3.Connection, table: str) -> Iterator[str]:
    for _number, index, is_unique, *_rest in records.execute(f"PRAGMA index_list({table})").fetchall():
        if is_unique:
            yield from (row[2] for row in records.execute(f"PRAGMA index_info({index})"))


def a_row(records: sqlite3.Connection, table: str, chance: random.Random, what: str, where: str = "1") -> Any:
    """A random row's key and values."""
    (count,) = records.execute(f"SELECT count(*) FROM {table} WHERE {where}").fetchone()
    if not count:
        return None
    at = chance.randrange(count)
    names = key_columns(records, table)
    found = records.execute(
        f"SELECT {', '.join(names)}, {what} FROM {table} WHERE {where} LIMIT 1 OFFSET {at}"
    ).fetchone()
    return dict(zip(names, found, strict=False)), *found[len(names) :]


def key_columns(records: sqlite3.Connection, table: str) -> list[str]:
    """The columns that find a row again: its number, or the primary key in a table without row numbers."""
    (without_rowid,) = records.execute("SELECT wr FROM pragma_table_list(?)", (table,)).fetchone()
    if not without_rowid:
        return ["rowid"]
    return [row[1] for row in records.execute(f"PRAGMA table_info({table})") if row[5]]


def is_row(key: dict[str, Any]) -> str:
    return " AND ".join(f"{name} = ?" for name in key)


def unlike(value: Any, chance: random.Random) -> Any:
    """Another value of the same kind; nothing stays nothing."""
    if value is None:
        return None
    if isinstance(value, int):
        return value + chance.randrange(1, 1 << 20)
    if isinstance(value, bytes):
        return chance.randbytes(len(value))
    return uuid4().hex if len(value) == 32 else f"{value}{chance.randrange(10)}"


def write(
    records: sqlite3.Connection, table: str, column: str, key: dict[str, Any], how: str, value: Any, before: Any
) -> str | None:
    records.execute(f'UPDATE {table} SET "{column}" = {how} WHERE {is_row(key)}', (value, *key.values()))
    return f"{column} of row {key}: {before!r} -> {value!r}"[:300]
