"""Parts of long data sets are mapped from files that processes share: the same rows, of one tenant, or none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from attestlab.lake import decoded_files, mapped_parts, relations
from attestlab.lake.decoded_files import RowsOfPart, delete_stale
from attestlab.lake.mapped_parts import RECENT_S, MappedParts
from attestlab.lake.parts import LakePart, list_parts
from support.disks import SmallDisk
from support.lake import DATASETS, LakeScenario, LakeTenant

SCHEMA = pa.schema([("n", pa.int64())])
ROWS = 1_000


def start_process(monkeypatch: pytest.MonkeyPatch, *, min_free_bytes: int = 0) -> None:
    """Forget what was mapped, as another process knows nothing of it; every data set is long."""
    monkeypatch.setattr(relations, "MAX_ROWS", 0)
    monkeypatch.setattr(relations, "MAPPED", MappedParts(min_free_bytes=min_free_bytes))


@pytest.fixture
def exported(lake_scenario: LakeScenario, monkeypatch: pytest.MonkeyPatch) -> LakeScenario:
    """A lake of two tenants, read by a process that maps its parts."""
    for number in range(16):
        lake_scenario.act(number)
    lake_scenario.lab.lake.export()
    start_process(monkeypatch)
    return lake_scenario


def read(scenario: LakeScenario, owner: LakeTenant, name: str) -> list[dict[str, object]]:
    return sorted(scenario.seen(owner)[name].arrow().to_pylist(), key=str)


def list_files(scenario: LakeScenario, owner: str = "*") -> list[Path]:
    return sorted((scenario.lab.lake.folder / decoded_files.FOLDER).glob(f"*/{owner}/*{decoded_files.SUFFIX}"))


def find_file(scenario: LakeScenario, owner: LakeTenant) -> Path:
    """The file of the first part."""
    return list_files(scenario, str(owner.caller.tenant_id))[0]


def test_every_read_has_the_same_rows_of_its_own_tenant(
    exported: LakeScenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in DATASETS:
        files = list_files(exported)
        mine, others = read(exported, exported.owner, name), read(exported, exported.other, name)
        for _ in range(2):
            assert read(exported, exported.owner, name) == mine
            assert read(exported, exported.other, name) == others
        assert len(list_files(exported)) > len(files), "the second read makes a file"

    files = list_files(exported)
    start_process(monkeypatch)
    monkeypatch.setattr(relations._OwnedParts, "_decode", None)
    again = read(exported, exported.owner, "signals")

    assert again == read(exported, exported.owner, "signals") != read(exported, exported.other, "signals")
    assert list_files(exported) == files
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert {folder.stat().st_mode & 0o777 for path in files for folder in path.parents[:3]} == {0o700}


def test_later_facts_and_parts_are_added(exported: LakeScenario) -> None:
    counts = [len(read(exported, exported.owner, "signals")) for _ in range(3)]
    files = list_files(exported)
    exported.owner.report()
    counts.append(len(read(exported, exported.owner, "signals")))
    exported.lab.lake.export()
    counts += [len(read(exported, exported.owner, "signals")) for _ in range(3)]

    assert counts == [counts[0]] * 3 + [counts[0] + 1] * 4
    assert set(list_files(exported)) > set(files)


def cut(path: Path, _others: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path, _others: Path) -> None:
    os.truncate(path, 0)


def flip(path: Path, _others: Path) -> None:
    """Change a byte of a value, and keep the time of the file."""
    status, content = path.stat(), bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def put_others_in_its_place(path: Path, others: Path) -> None:
    shutil.copy(others, path)


def add_others(path: Path, others: Path) -> None:
    path.unlink()
    shutil.copy(others, path.with_name(others.name))


@pytest.mark.parametrize("damage", [cut, empty, flip, put_others_in_its_place, add_others])
def test_a_file_with_other_bytes_is_made_again(
    exported: LakeScenario, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path, Path], None]
) -> None:
    expected = read(exported, exported.owner, "signals")
    for owner in (exported.owner, exported.other, exported.other):
        read(exported, owner, "signals")
    mine, others = find_file(exported, exported.owner), find_file(exported, exported.other)
    whole = mine.read_bytes()
    kept = others.read_bytes()

    damage(mine, others)
    assert read(exported, exported.owner, "signals") == expected, "this process had mapped it"
    damage(mine, others)
    start_process(monkeypatch)

    assert [read(exported, exported.owner, "signals") for _ in range(2)] == [expected] * 2
    assert mine.read_bytes() == whole
    assert others.read_bytes() == kept


def test_a_file_of_another_version_is_not_used(exported: LakeScenario, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [read(exported, exported.owner, "signals") for _ in range(2)]
    before = find_file(exported, exported.owner)
    start_process(monkeypatch)
    monkeypatch.setattr(decoded_files, "FORMAT", decoded_files.FORMAT + 1)

    assert [read(exported, exported.owner, "signals") for _ in range(2)] == expected
    assert find_file(exported, exported.owner) != before


def test_a_full_disk_leaves_no_file(exported: LakeScenario, monkeypatch: pytest.MonkeyPatch) -> None:
    start_process(monkeypatch, min_free_bytes=-(1 << 40))
    with SmallDisk.mounted(exported.lab.lake.folder / decoded_files.FOLDER) as disk:
        expected = read(exported, exported.owner, "signals")
        with disk.full():
            found = [read(exported, exported.owner, "signals") for _ in range(2)]
            left = [path for path in disk.folder.rglob("*.*") if path.is_file() and path.stat().st_size]
        start_process(monkeypatch)
        found += [read(exported, exported.owner, "signals") for _ in range(2)]
        made = list_files(exported)

    assert found == [expected] * 4
    assert left == []
    assert made


def test_a_callers_sql_reaches_no_file(exported: LakeScenario) -> None:
    for _ in range(2):
        read(exported, exported.owner, "signals")
    path = find_file(exported, exported.owner)
    connection = exported.seen(exported.owner)["signals"].connect()

    for query in (f"SELECT * FROM read_text('{path}')", f"SELECT * FROM '{path}'", f"SELECT * FROM glob('{path}')"):
        with pytest.raises(duckdb.Error):
            connection.execute(query).fetchall()


def test_a_file_is_deleted_with_its_part(exported: LakeScenario) -> None:
    lake = exported.lab.lake.folder
    for name in ("signals", "audit", "log_entries"):
        for _ in range(2):
            read(exported, exported.owner, name)
    kept = list_files(exported)
    delete_stale(lake)
    assert list_files(exported) == kept

    for part in list_parts(lake / "signals"):
        part.path.unlink()
    for part in list_parts(lake / "audit" / str(exported.owner.caller.tenant_id)):
        os.utime(part.path)
    delete_stale(lake)

    assert {path.parent.parent.name for path in kept} == {"signals", "audit", "log_entries"}
    assert list_files(exported) == [path for path in kept if path.parent.parent.name == "log_entries"]


def make_part(folder: Path, tenant: str, number: int = 0) -> RowsOfPart:
    """Describe a tenant's rows of a part that only `decode` knows."""
    first, last = number * ROWS, (number + 1) * ROWS - 1
    part = LakePart(folder / f"{first:020}-{last:020}.parquet", first, last)
    if not part.path.exists():
        part.path.write_bytes(bytes(2 * ROWS))
    return RowsOfPart.describe(folder / decoded_files.FOLDER / "signals" / tenant, part, SCHEMA)


def decode(part: LakePart) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch([range(part.first, part.last + 1)], schema=SCHEMA)


def age(rows: RowsOfPart) -> None:
    """Let a tenant's files be used last so long ago that they may be removed."""
    before = rows.folder.stat().st_mtime - 2 * RECENT_S
    os.utime(rows.folder, (before, before))


def test_what_was_used_longest_ago_goes_first(tmp_path: Path) -> None:
    names = ("mine", "yours", "theirs", "one more")
    mapped, wanted = MappedParts(min_free_bytes=0), [make_part(tmp_path, name) for name in names]
    for rows in wanted[:2]:
        assert [len(mapped.read([rows], decode).tables) for _ in range(2)] == [0, 1]
    size = sum(path.stat().st_size for path in wanted[0].folder.iterdir())
    small = MappedParts(max_bytes=5 * size // 2, min_free_bytes=0)

    age(wanted[1])
    for rows in wanted[2:]:
        found = [small.read([rows], decode) for _ in range(2)][-1]
        if rows is wanted[2]:
            assert found.tables[0]["n"].to_pylist() == list(range(ROWS))

    assert [bool(list(rows.folder.glob("*"))) for rows in wanted] == [True, False, True, False]
    assert found.missing == [wanted[3].part], "what was used lately is not removed for others"


def test_a_use_is_noted_and_a_removed_file_is_unmapped(tmp_path: Path) -> None:
    mapped, rows = MappedParts(min_free_bytes=0), make_part(tmp_path, "mine")
    for _ in range(2):
        mapped.read([rows], decode)
    age(rows)
    before = rows.folder.stat().st_mtime

    assert mapped.read([rows], decode).tables
    assert rows.folder.stat().st_mtime > before
    shutil.rmtree(rows.folder)
    assert mapped.read([], decode) == ([], [])
    assert mapped._files == {}


def test_one_query_makes_and_compares_a_few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped_parts, "MAX_BYTES_A_READ", 1)
    monkeypatch.setattr(mapped_parts, "MAX_CHECKED_BYTES", 1)
    wanted = [make_part(tmp_path, "mine", number) for number in range(3)]

    counts = []
    for mapped in (MappedParts(min_free_bytes=0), MappedParts(min_free_bytes=0)):
        counts.append([len(mapped.read(wanted, decode).tables) for _ in range(4)])

    assert counts == [[0, 1, 2, 3], [1, 2, 3, 3]]


def test_without_room_on_the_disk_no_file_is_made(tmp_path: Path) -> None:
    mapped, rows = MappedParts(min_free_bytes=1 << 60), make_part(tmp_path, "mine")

    assert [mapped.read([rows], decode) for _ in range(3)] == [([], [rows.part])] * 3
    assert list(rows.folder.iterdir()) == []


MAKER = """
import sys
from pathlib import Path
from time import sleep
import pyarrow as pa
from attestlab.lake.decoded_files import RowsOfPart
from attestlab.lake.mapped_parts import MappedParts
from attestlab.lake.parts import LakePart

def decode(part):
    yield pa.record_batch([range(30_000)], schema=rows.schema)
    print("making", flush=True)
    sleep(600)

folder, part = map(Path, sys.argv[1:])
mapped = MappedParts(min_free_bytes=0)
rows = RowsOfPart.describe(folder, LakePart(part, 0, 999), pa.schema([("n", pa.int64())]))
for _ in range(2):
    mapped.read([rows], decode)
"""


def test_one_process_makes_a_file_and_another_one_after_its_death(tmp_path: Path) -> None:
    rows, mapped = make_part(tmp_path, "mine"), MappedParts(min_free_bytes=0)
    with subprocess.Popen([sys.executable, "-c", MAKER, rows.folder, rows.part.path], stdout=subprocess.PIPE) as maker:
        assert maker.stdout is not None
        assert maker.stdout.readline() == b"making\n"
        found = [mapped.read([rows], decode) for _ in range(3)]
        maker.kill()
    left = list(rows.folder.iterdir())

    assert found == [([], [rows.part])] * 3
    assert [path.suffix for path in left] == [".new"]
    assert mapped.read([rows], decode).tables[0].num_rows == ROWS
    assert [path.suffix for path in rows.folder.iterdir()] == [decoded_files.SUFFIX]
