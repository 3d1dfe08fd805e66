"""Parts that a process reads again come from memory: the same rows, of the same tenant, and never too many."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from attestlab.core.errors import Unavailable
from attestlab.lake import decoded_parts, relations
from attestlab.lake.decoded_parts import DecodedParts
from attestlab.lake.parts import LakePart, Parts, find_parts
from support.lake import DATASETS, LakeScenario, LakeTenant, corrupt_parquet

ROWS = 1_000


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> DecodedParts:
    """The memory of this test alone."""
    memory = DecodedParts()
    monkeypatch.setattr(relations, "DECODED", memory)
    return memory


@pytest.fixture
def exported(lake_scenario: LakeScenario, decoded: DecodedParts) -> LakeScenario:
    for number in range(16):
        lake_scenario.act(number)
    lake_scenario.lab.lake.export()
    return lake_scenario


def read(scenario: LakeScenario, owner: LakeTenant, name: str) -> list[dict[str, object]]:
    facts = scenario.seen(owner)[name]
    return sorted(facts.arrow().to_pylist(), key=str)


def count_decoded(memory: DecodedParts) -> int:
    return sum(table is not None for table in memory._tables.values())


def make_parts(folder: Path, count: int) -> Parts:
    chain = []
    for number in range(count):
        chain.append(LakePart(folder / f"{number}", number * ROWS, (number + 1) * ROWS - 1))
        chain[-1].path.touch()
    return Parts(chain, count * ROWS)


def decode(part: LakePart) -> pa.Table:
    return pa.table({"n": range(part.first, part.last + 1)})


@pytest.mark.both_engines
@pytest.mark.parametrize("name", DATASETS)
def test_every_read_has_the_same_rows_of_its_own_tenant(
    exported: LakeScenario, decoded: DecodedParts, name: str
) -> None:
    mine = read(exported, exported.owner, name)
    assert count_decoded(decoded) == 0, "a part that is read once takes no memory"
    others = read(exported, exported.other, name)

    for _ in range(2):
        assert read(exported, exported.owner, name) == mine
        assert read(exported, exported.other, name) == others
        assert count_decoded(decoded) > 0


def test_later_facts_are_added_to_those_in_memory(exported: LakeScenario, decoded: DecodedParts) -> None:
    before = [len(read(exported, exported.owner, "signals")) for _ in range(3)]
    exported.owner.report()
    after = len(read(exported, exported.owner, "signals"))
    exported.lab.lake.export()

    assert [*before, after] == [before[0]] * 3 + [before[0] + 1]
    assert [len(read(exported, exported.owner, "signals")) for _ in range(3)] == [after] * 3


def test_a_damaged_file_is_not_served_from_memory(exported: LakeScenario, decoded: DecodedParts) -> None:
    expected, *_ = [read(exported, exported.owner, "signals") for _ in range(3)]
    kept = count_decoded(decoded)
    corrupt_parquet(find_parts(exported.lab.lake.folder / "signals").chain[0].path)

    assert read(exported, exported.owner, "signals") == expected, "the records have the facts"
    assert count_decoded(decoded) == kept


def test_a_part_that_cannot_be_decoded_is_unavailable(
    exported: LakeScenario, decoded: DecodedParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    read(exported, exported.owner, "signals")
    path = find_parts(exported.lab.lake.folder / "signals").chain[0].path
    monkeypatch.setattr(
        relations, "find_parts", lambda folder, *_, found=find_parts: _corrupt_after(found(folder), path)
    )

    with pytest.raises(Unavailable, match="lake rebuild"):
        for _ in range(2):
            read(exported, exported.owner, "signals")


def _corrupt_after(parts: Parts, path: Path) -> Parts:
    """Damage a part between its check and its read."""
    corrupt_parquet(path)
    return parts


def test_the_parts_used_longest_ago_are_forgotten(tmp_path: Path) -> None:
    parts = make_parts(tmp_path, 3)
    size = decode(parts.chain[0]).nbytes
    memory = DecodedParts(max_bytes=4 * size)

    for variant in ("mine", "mine", "yours", "yours"):
        found = memory.read(parts, variant, decode)
        assert memory._bytes == sum(table.nbytes for table in memory._tables.values() if table is not None)
        assert memory._bytes <= 4 * size
    assert found is not None
    assert pa.concat_tables(found)["n"].to_pylist() == list(range(3 * ROWS))
    assert memory.read(parts, "yours", decode) is not None
    assert memory.read(parts, "mine", decode) is None


def test_a_changed_file_and_another_variant_are_decoded_again(tmp_path: Path) -> None:
    parts, decoded = make_parts(tmp_path, 1), []

    def decode_and_record(part: LakePart) -> pa.Table:
        decoded.append(part)
        return decode(part)

    memory = DecodedParts()
    for _ in range(3):
        memory.read(parts, "mine", decode_and_record)
    assert len(decoded) == 1
    assert memory.read(parts, "yours", decode_and_record) is None
    parts.chain[0].path.write_bytes(b"changed")
    assert memory.read(parts, "mine", decode_and_record) is None


def test_long_data_sets_and_parts_that_are_read_once_take_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoded_parts, "MAX_ROWS", 2 * ROWS)
    monkeypatch.setattr(decoded_parts, "MAX_KEYS", 3)
    memory, long = DecodedParts(), make_parts(tmp_path, 3)

    assert [memory.read(long, "all", decode) for _ in range(3)] == [None] * 3
    assert memory.read(Parts([], 0), "all", decode) is None
    for variant in range(10):
        assert memory.read(make_parts(tmp_path, 1), variant, decode) is None
    assert len(memory._tables) == 3
