"""Tables of the log. Leaves, full tiles and checkpoints are append-only; triggers reject updates and deletes.

Partial tiles are not stored: they are derived from the leaves and the full tiles.
"""

from datetime import datetime
from typing import Annotated, NamedTuple

from sqlalchemy import DDL, BigInteger, Index, Text, event, text
from sqlmodel import Field, SQLModel

from attestlab.core.db.tables import model_of, short_repr
from attestlab.core.records.hash_chain import SEQUENCE_TYPE

# Leaf hashes are random, so a plain index on a million of them writes one page per leaf (measured: a batch of 30
# takes 3.7 times as long as on an empty log). Within segments of 4,096 leaves inserts stay on the last few
# pages (1.0 times), and a lookup probes every segment: 0.4 ms at a million leaves.
SEGMENT_BITS = 12


@short_repr
class LogHeadRecord(NamedTuple):
    """The single row with the size and root of the log; a transaction that appends locks it.

    `sealed_key` is the log's private key as the keyring sealed it.
    """

    id: Annotated[int, Field(primary_key=True, sa_column_kwargs={"autoincrement": False})]
    origin: Annotated[str, Field(max_length=255)]
    size: Annotated[int, Field(sa_type=BigInteger)]
    root: bytes
    vkey: Annotated[str, Field(max_length=400)]
    sealed_key: Annotated[bytes, Field(repr=False)]


LogHead = model_of(LogHeadRecord, "log_head")


@short_repr
class LogLeafRecord(NamedTuple):
    """One entry of the log. `kind` and `subject` repeat members of the entry, so that queries can use them."""

    index: Annotated[int, Field(primary_key=True, sa_type=SEQUENCE_TYPE, sa_column_kwargs={"autoincrement": False})]  # type: ignore[assignment]  # overrides tuple.index
    leaf_hash: bytes
    entry: bytes
    kind: Annotated[str, Field(max_length=32)]
    subject: Annotated[str | None, Field(max_length=160)]


LogLeaf = model_of(
    LogLeafRecord,
    "log_leaves",
    Index("ix_log_leaves_segment_hash", text(f'("index" >> {SEGMENT_BITS})'), "leaf_hash"),
    Index("ix_log_leaves_subject", "subject", "index", sqlite_where=text("subject IS NOT NULL")),
)


@short_repr
class LogTileRecord(NamedTuple):
    """A full tile: 256 hashes of C2SP tlog-tiles."""

    level: Annotated[int, Field(primary_key=True, sa_column_kwargs={"autoincrement": False})]
    index: Annotated[int, Field(primary_key=True, sa_type=BigInteger, sa_column_kwargs={"autoincrement": False})]  # type: ignore[assignment]  # overrides tuple.index
    data: bytes


LogTile = model_of(LogTileRecord, "log_tiles")


@short_repr
class LogCheckpointRecord(NamedTuple):
    """A signed tree head, verbatim; `at` is the time in the log's own timestamped signature.

    `previous_size` is the size of the checkpoint before (None for the first), so that a missing checkpoint is noticed.
    """

    size: Annotated[int, Field(primary_key=True, sa_type=SEQUENCE_TYPE, sa_column_kwargs={"autoincrement": False})]
    previous_size: Annotated[int | None, Field(sa_type=BigInteger)]
    root: bytes
    note: Annotated[str, Field(sa_type=Text)]
    at: datetime


LogCheckpoint = model_of(LogCheckpointRecord, "log_checkpoints")


@short_repr
class LogCosignatureRecord(NamedTuple):
    """A witness's signature line over the checkpoint of `tree_size`, and the time that the line states.

    `line` ends with its line feed, and `vkey` is the witness's key, under which it verifies. A witness may cosign the
    same size again later.
    """

    seq: Annotated[int, Field(primary_key=True, sa_type=SEQUENCE_TYPE, sa_column_kwargs={"autoincrement": False})]
    tree_size: Annotated[int, Field(sa_type=BigInteger, index=True)]
    vkey: Annotated[str, Field(max_length=400)]
    line: Annotated[str, Field(sa_type=Text)]
    at: datetime
    hash: bytes


LogCosignature = model_of(LogCosignatureRecord, "log_cosignatures", Index("ix_log_cosignatures_vkey", "vkey", "seq"))


Guard = tuple[str, str]  # a table, and a statement that protects it

APPEND_ONLY_TABLES = ("log_leaves", "log_tiles", "log_checkpoints", "log_cosignatures")
_SHRINKS = "NEW.size < OLD.size OR (NEW.size = OLD.size AND NEW.root <> OLD.root) OR NEW.origin <> OLD.origin"


def _sqlite_guards() -> list[Guard]:
    def refuse(table: str, verb: str, condition: str = "") -> Guard:
        name, when = f"{table}_no_{verb.lower()}", f"WHEN {condition} " if condition else ""
        return table, (
            f"CREATE TRIGGER {name} BEFORE {verb} ON {table} {when}"
            f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        )

    written_once = [refuse(table, verb) for table in APPEND_ONLY_TABLES for verb in ("UPDATE", "DELETE")]
    return [*written_once, refuse("log_head", "DELETE"), refuse("log_head", "UPDATE", _SHRINKS)]


def _postgresql_guards() -> list[Guard]:
    function = (
        "CREATE OR REPLACE FUNCTION log_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END$$"
    )

    def refuse(table: str, verbs: str, scope: str = "STATEMENT") -> Guard:
        name = f"{table}_no_{verbs.split()[0].lower()}"
        return (
            table,
            f"CREATE TRIGGER {name} BEFORE {verbs} ON {table} FOR EACH {scope} EXECUTE FUNCTION log_append_only()",
        )

    head = [refuse("log_head", "DELETE OR TRUNCATE"), refuse("log_head", "UPDATE", f"ROW WHEN ({_SHRINKS})")]
    written_once = [refuse(table, "UPDATE OR DELETE OR TRUNCATE") for table in APPEND_ONLY_TABLES]
    return [*((table, function) for table in (*APPEND_ONLY_TABLES, "log_head")), *written_once, *head]


_GUARDS = {"sqlite": _sqlite_guards(), "postgresql": _postgresql_guards()}

# By dialect, for the migrations; `create_all` makes the same.
IMMUTABILITY_DDL = {dialect: [statement for _, statement in guards] for dialect, guards in _GUARDS.items()}

for _dialect, _guards in _GUARDS.items():
    for _table, _statement in _guards:
        _ddl = DDL(_statement.replace("%", "%%")).execute_if(dialect=_dialect)  # type: ignore[no-untyped-call]
        event.listen(SQLModel.metadata.tables[_table], "after_create", _ddl)
