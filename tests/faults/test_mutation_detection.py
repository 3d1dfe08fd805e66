"""fsck finds every change of the records and their files that was made outside the service."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest

from attestlab.installation import Installation
from attestlab.integrity.audited_tables import AUDITED
from attestlab.integrity.fsck import fsck
from attestlab.migrations import VERSION_TABLE
from attestlab.migrations.models import metadata
from attestlab.settings import Settings
from support.faults import record_mutations
from support.faults.founded_records import CLOCK, founded

MUTATIONS = 100  # of each place in the soak, by chance; here each place is changed a few times
FLIPS = 300
PARTS = 8  # of the columns of all tables
THE_LOG = ("log_head", "log_leaves", "log_tiles", "log_checkpoints")
# What serves only later scores and is deleted when none depends on it, and what proves a key or opens a page for some
# minutes and is deleted then; no check covers it.
SHORT_LIVED = {"risk_bulk_progress", "risk_velocity_events"} | {
    *(f"risk_login_{name}" for name in ("documents", "learning", "backfill")),
    *("agent_challenges", "agent_assertions", "billing_portal_links"),
}
# How far deliveries to webhooks are: each request to a receiver changes it, and events can be delivered again.
# What was noticed of use, and limits nothing: when a session was last used, how often a protection was verified on a
# day. Which events of Stripe took effect: one that comes again only asks Stripe again.
# When a trust score is computed again, which happens with the next evidence as well.
OPERATIONAL = {
    *("webhook_endpoint_health", "webhook_deliveries", "webhook_attempts", "webhook_dispatch"),
    *("credential_uses", "agent_session_uses", "agent_trust_due", "protection_days", "billing_provider_events"),
}
COVERED = [*sorted({table.name for table in metadata().sorted_tables} - SHORT_LIVED - OPERATIONAL), VERSION_TABLE]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return founded(tmp_path_factory.mktemp("small") / "data", external_keys=3)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return founded(tmp_path_factory.mktemp("large") / "data", external_keys=260)


def first_problem(folder: Path) -> object:
    """What `attestlab log fsck` would print first, also where it cannot open the records."""
    try:
        lab = Installation.open(Settings(data=folder), clock=CLOCK)
    except Exception as error:
        return error
    problems = fsck(lab)
    try:
        return next(problems, None)
    except sqlite3.DatabaseError as error:  # of a file so damaged that not even the look at it can be ended
        return error
    finally:
        with suppress(sqlite3.DatabaseError):  # a damaged file may refuse even the end of a look at it
            problems.close()
        lab.close()


def test_unchanged_folder_has_no_problems(small: Path, large: Path, tmp_path: Path) -> None:
    """
    Nor has what was only opened as the mutations open it.
    """
    for world in (small, large):
        copy = shutil.copytree(world, tmp_path / world.parent.name)
        with record_mutations.open_records(copy / record_mutations.RECORDS):
            pass
        assert first_problem(copy) is None


def test_every_table_has_rows_to_change(large: Path) -> None:
    with sqlite3.connect(large / record_mutations.RECORDS) as records:
        empty = [table for table in COVERED if not records.execute(f"SELECT count(*) FROM {table}").fetchone()[0]]
    records.close()
    assert empty == []


@pytest.mark.parametrize("quarter", range(4))
def test_every_random_mutation_of_a_data_folder_is_found(
    small: Path, large: Path, tmp_path: Path, quarter: int, is_long: bool
) -> None:
    """
    One in each place; in the soak hundreds, by other chances each time, which a failure names. The log's tables are
    changed in the world that has full tiles.
    """
    seed = random.SystemRandom().getrandbits(32) if is_long else quarter
    chance = random.Random(seed)
    for place in (*COVERED, *record_mutations.FILES) * (MUTATIONS // 4 if is_long else 1):
        copy = shutil.copytree(large if place in THE_LOG else small, tmp_path / "data")
        done = record_mutations.mutate(copy, place, chance)
        assert first_problem(copy), f"{done}, by random.Random({seed})"
        shutil.rmtree(copy)


@pytest.mark.parametrize("part", range(PARTS))
def test_a_changed_value_of_each_column_is_found(small: Path, tmp_path: Path, part: int, is_long: bool) -> None:
    """
    Of each column of each table; in the bounded form of those that no digest of a row includes. What is not found is
    listed with its reason, and nothing is listed that is found.
    """
    wanted = list_columns() if is_long else list_undigested()
    missed, empty = set(), set()
    for table, column in wanted[part::PARTS]:
        copy = shutil.copytree(small, tmp_path / "data")
        if record_mutations.alter(copy, table, column) is None:
            empty.add((table, column))
        elif first_problem(copy) is None:
            missed.add((table, column))
        shutil.rmtree(copy)

    assert missed == record_mutations.UNVOUCHED & set(wanted[part::PARTS])
    assert not empty & set(list_undigested()), "the world has no such value"


def list_columns() -> list[tuple[str, str]]:
    """The columns of all tables that fsck covers."""
    return [
        (table.name, column.name) for table in metadata().sorted_tables if table.name in COVERED for column in table.c
    ]


def list_undigested() -> list[tuple[str, str]]:
    """The columns of audited tables that the digest of a row leaves out."""
    tables = [(table, column) for table, _kind, _name in AUDITED for column in table.c]
    return [(table.name, column.name) for table, column in tables if not column.info.get("digested", True)]


def test_flipped_bit_in_the_file_is_found_or_changes_no_row(small: Path, tmp_path: Path, is_long: bool) -> None:
    """
    A file has room that holds nothing: a flip there is no damage, and need not be found. Small pages leave less of it.
    """
    chance, untouched, flips = random.Random(9), 0, FLIPS if is_long else FLIPS // 8
    packed = shutil.copytree(small, tmp_path / "packed")
    pack(packed / record_mutations.RECORDS)
    before = contents(packed / record_mutations.RECORDS)
    for _ in range(flips):
        copy = shutil.copytree(packed, tmp_path / "data")
        done = record_mutations.flip_file(copy / record_mutations.RECORDS, chance)
        if first_problem(copy) is None:
            assert contents(copy / record_mutations.RECORDS) == before, done
            untouched += 1
        shutil.rmtree(copy)
    assert untouched < flips * 3 // 4, "most of the file is used"


def pack(path: Path) -> None:
    """Put the same rows on pages of 2 KiB, as full as they get; each empty table and index has a page too."""
    with sqlite3.connect(path) as records:
        for pragma in ("journal_mode = DELETE", "page_size = 2048"):
            records.execute(f"PRAGMA {pragma}").fetchall()
        records.execute("VACUUM")
        records.execute("PRAGMA journal_mode = WAL").fetchall()
    records.close()


def contents(path: Path) -> list[object]:
    """Everything that the tables of a database hold, and how they are made."""
    with sqlite3.connect(path) as records:
        records.text_factory = bytes
        found: list[object] = records.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
        for table in COVERED:
            quoted = ", ".join(f'quote("{name.decode()}")' for name in record_mutations.columns(records, table))
            found += records.execute(f"SELECT {quoted} FROM {table} ORDER BY 1").fetchall()
    records.close()
    return found
