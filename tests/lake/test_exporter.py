"""The lake shows every fact of the records exactly once, whatever is exported, even if the exporter is killed."""

from __future__ import annotations

import itertools
import random
import shutil
import signal
import threading
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from attestlab.core.errors import Conflict, Unavailable
from attestlab.installation import Installation
from attestlab.lake import datasets
from attestlab.lake.parts import find_parts, write_part
from attestlab.lake.service import PARTS_A_SWEEP, Lake
from attestlab.orgs.rules import Caller
from attestlab.settings import Settings
from support.fork_server import ForkServer
from support.lake import (
    LakeScenario,
    LakeTenant,
    corrupt_parquet,
    read_lake_ids,
    read_recorded_ids,
    read_recorded_statuses,
    require_complete_lake,
)

KILLS = 60
STEPS = 9  # of an exporter until it is killed, on average


def files_of(lab: Installation) -> list[Path]:
    """Every part, in order."""
    return sorted(lab.lake.folder.rglob("*.parquet"))


@pytest.mark.both_engines
def test_view_equals_records_at_every_export_position(lake_scenario: LakeScenario) -> None:
    """
    Sweeps and exports come at random moments of a random story; after every few the lake is the records.
    """
    chance = random.Random(5)
    for number in range(24):
        lake_scenario.act(number)
        chance.choice([lambda: 0, lambda: 0, lake_scenario.lab.lake.sweep, lake_scenario.lab.lake.export])()
        if number % 6 == 5:
            require_complete_lake(lake_scenario)
    assert len(files_of(lake_scenario.lab)) > 12


def test_unexported_lake_is_complete(lake_scenario: LakeScenario) -> None:
    for number in range(8):
        lake_scenario.act(number)

    require_complete_lake(lake_scenario)
    assert not lake_scenario.lab.lake.folder.exists()


def test_sweep_writes_a_few_whole_parts(lake_scenario: LakeScenario) -> None:
    for number in range(12):
        lake_scenario.act(number)

    assert lake_scenario.lab.lake.sweep() == PARTS_A_SWEEP
    assert {part.last - part.first for part in find_parts(lake_scenario.lab.lake.folder / "log_entries").chain} == {3}
    while lake_scenario.lab.lake.sweep():
        pass
    widths = {int(path.stem[21:]) - int(path.stem[:20]) for path in files_of(lake_scenario.lab)}
    assert widths == {3}
    assert {path.parent.name for path in files_of(lake_scenario.lab)} >= {"log_entries", "attestations", "ends"}


def test_deleted_lake_is_rebuilt_identically(lake_scenario: LakeScenario) -> None:
    """
    Every file is the same to the last byte, for a part follows from the records and its name.
    """
    for number in range(20):
        lake_scenario.act(number)
    lake_scenario.lab.lake.export()
    before = {path: path.read_bytes() for path in files_of(lake_scenario.lab)}
    shutil.rmtree(lake_scenario.lab.lake.folder)

    lake_scenario.lab.lake.export()

    assert {path: path.read_bytes() for path in files_of(lake_scenario.lab)} == before
    lake_scenario.lab.lake.rebuild()
    assert {path: path.read_bytes() for path in files_of(lake_scenario.lab)} == before


def test_lost_part_is_read_from_records_and_rewritten(lake_scenario: LakeScenario) -> None:
    for number in range(16):
        lake_scenario.act(number)
    lake_scenario.lab.lake.export()
    lost = sorted((lake_scenario.lab.lake.folder / "attestations").iterdir())[1]
    content = lost.read_bytes()
    lost.unlink()

    require_complete_lake(lake_scenario)
    lake_scenario.lab.lake.export()
    assert lost.read_bytes() == content
    require_complete_lake(lake_scenario)


def test_part_without_a_column_is_read_from_records_and_rewritten(lake_scenario: LakeScenario) -> None:
    """
    It was written before there was such a column, and its value there is unknown.
    """
    for number in range(16):
        lake_scenario.act(number)
    lake_scenario.lab.lake.export()
    parts = find_parts(lake_scenario.lab.lake.folder / "attestations").chain
    before = {part.path: part.path.read_bytes() for part in parts}
    for part in parts[1:]:
        pq.write_table(pq.read_table(part.path).drop_columns(["decision_id", "key_created_at"]), part.path)

    times = (
        lake_scenario.seen(lake_scenario.owner)["attestations"]
        .sql("select count(*), count(key_created_at) from this")
        .fetchall()
    )
    assert times == [(len(lake_scenario.owner.minted), len(lake_scenario.owner.minted))]
    require_complete_lake(lake_scenario)
    lake_scenario.lab.lake.export()
    assert {path: path.read_bytes() for path in before} == before


def test_invalid_parquet_is_read_from_records_and_rewritten(lake_scenario: LakeScenario) -> None:
    for number in range(16):
        lake_scenario.act(number)
    lake_scenario.lab.lake.export()
    before = {path: path.read_bytes() for path in files_of(lake_scenario.lab)}
    for path, content in before.items():
        path.write_bytes(content[:9] + b"garbage")

    require_complete_lake(lake_scenario)
    lake_scenario.lab.lake.export()
    assert {path: path.read_bytes() for path in before} == before


def flipped(content: bytes, bit: int) -> bytes:
    """The content with one other bit."""
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_no_row_is_read_from_a_part_with_a_flipped_bit(lake_scenario: LakeScenario) -> None:
    """
    120 bits all over a part: in pages, their heads, the schema, the footer and the digest itself.
    """
    for number in range(8):
        lake_scenario.act(number)
    lake_scenario.lab.lake.export()
    dataset, facts_seen = datasets.ATTESTATIONS, lake_scenario.seen(lake_scenario.owner)["attestations"]
    part = find_parts(lake_scenario.lab.lake.folder / dataset.name, dataset.columns).chain[0]
    before, content = facts_seen.arrow().sort_by("log_index"), part.path.read_bytes()
    chance = random.Random(14)
    for turn in range(120):
        part.path.write_bytes(flipped(content, chance.randrange(len(content) * 8)))
        found = find_parts(part.path.parent, dataset.columns).chain
        assert part.path not in [each.path for each in found]
        if turn % 12 == 0:
            assert facts_seen.arrow().sort_by("log_index").equals(before), "the records have the rows"
    part.path.write_bytes(content)
    assert part.path in [each.path for each in find_parts(part.path.parent, dataset.columns).chain]


def test_damaged_part_is_rewritten(lake_scenario: LakeScenario) -> None:
    for number in range(8):
        lake_scenario.act(number)
    lake_scenario.lab.lake.export()
    before = {path: path.read_bytes() for path in files_of(lake_scenario.lab)}
    for path in before:
        corrupt_parquet(path)

    require_complete_lake(lake_scenario)
    lake_scenario.lab.lake.export()
    assert {path: path.read_bytes() for path in before} == before


def test_part_without_digest_is_rewritten(lake_scenario: LakeScenario) -> None:
    for number in range(8):
        lake_scenario.act(number)
    lake_scenario.lab.lake.export()
    before = {path: path.read_bytes() for path in files_of(lake_scenario.lab)}
    for path in before:
        pq.write_table(pq.read_table(path), path)

    require_complete_lake(lake_scenario)
    lake_scenario.lab.lake.export()
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("verb", ["df", "arrow", "to_parquet"])
def test_part_damaged_after_its_check_is_rejected(
    lake_scenario: LakeScenario, tmp_path: Path, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        lake_scenario.act(number)
    lake_scenario.lab.lake.export()
    for part in find_parts(lake_scenario.lab.lake.folder / "attestations").chain:
        corrupt_parquet(part.path)
    monkeypatch.setattr("attestlab.core.parquet_digest.is_intact", lambda _path: True)  # a moment ago it was
    arguments = [tmp_path / "out.parquet"] if verb == "to_parquet" else []

    with pytest.raises(Unavailable, match="lake rebuild") as refused:
        getattr(lake_scenario.seen(lake_scenario.owner)["attestations"], verb)(*arguments)

    assert str(lake_scenario.lab.lake.folder) not in refused.value.message


def test_overlapping_parts_are_read_once(lake_scenario: LakeScenario) -> None:
    """
    An export with other part sizes, or a copied file, adds names; the longest from each beginning is followed.
    """
    for number in range(12):
        lake_scenario.act(number)
    lake_scenario.lab.lake.export()
    folder = lake_scenario.lab.lake.folder / "log_entries"
    first, second = (pq.read_table(part.path) for part in find_parts(folder).chain[:2])
    for name, table in {"0-5": first, "2-7": second}.items():
        low, high = name.split("-")
        write_part(folder, int(low) + 1, int(high), table.slice(0, 0))

    require_complete_lake(lake_scenario)


def test_attestations_have_their_status(lake_scenario: LakeScenario) -> None:
    """
    A mint is exported long before its end; the view joins the end from the log, wherever each of the two is.
    """
    for number in range(24):
        lake_scenario.act(number)
        lake_scenario.lab.lake.sweep()
    lake_scenario.owner.mint()
    lake_scenario.owner.mint(supersedes=lake_scenario.owner.minted[-1])

    for owner in (lake_scenario.owner, lake_scenario.other):
        columns = "id, status, superseded_by"
        rows = lake_scenario.lab.lake(owner.caller).attestations.sql(f"select {columns} from this").fetchall()
        assert {row[0]: tuple(row[1:]) for row in rows} == read_recorded_statuses(
            lake_scenario.lab, owner.caller.tenant_id
        )
    statuses = {
        status for status, _ in read_recorded_statuses(lake_scenario.lab, lake_scenario.owner.caller.tenant_id).values()
    }
    assert statuses == {"VALID", "REVOKED", "SUPERSEDED"}


@pytest.mark.both_engines
def test_verification_has_its_verdict(lake_scenario: LakeScenario) -> None:
    for number in range(2):
        lake_scenario.act(number)
    lake_scenario.owner.revoke()
    lake_scenario.owner.verify()

    rows = lake_scenario.lab.lake(lake_scenario.owner.caller).verifications.sql(
        "select verdict, valid, count from this order by seq"
    )
    assert rows.fetchall() == [("VALID", True, 1), ("REVOKED", False, 1)]


def test_lake_ahead_of_records_is_rejected_until_rebuild(lake_scenario: LakeScenario) -> None:
    """
    Facts that the records do not know any more are none.
    """
    for number in range(8):
        lake_scenario.act(number)
    lake_scenario.lab.lake.export()
    part = files_of(lake_scenario.lab)[0]
    last = find_parts(part.parent).chain[-1]
    shutil.copy(last.path, part.parent / f"{last.last + 1:020d}-{last.last + 90:020d}.parquet")

    with pytest.raises(Conflict, match="lake rebuild") as refused:
        lake_scenario.seen(lake_scenario.owner)[
            part.parent.name if part.parent.name in lake_scenario.seen(lake_scenario.owner) else "audit"
        ].df()
    assert str(lake_scenario.lab.lake.folder) not in refused.value.message
    with pytest.raises(Conflict, match="lake rebuild"):
        lake_scenario.lab.lake.export()
    lake_scenario.lab.lake.rebuild()
    require_complete_lake(lake_scenario)


@pytest.mark.both_engines
def test_two_exporters_write_one_lake(lake_scenario: LakeScenario) -> None:
    """
    The second exporter does nothing in a sweep, and waits for its turn in an explicit export.
    """
    for number in range(24):
        lake_scenario.act(number)
    lab = lake_scenario.lab
    lake = Lake(storage=lab.storage, folder=lab.lake.folder, clock=lab.clock, rows_a_part=3)
    threads = [threading.Thread(target=which.export) for which in (lake, lake_scenario.lab.lake, lake)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    require_complete_lake(lake_scenario)


def test_concurrent_reads_and_writes(lake_scenario: LakeScenario) -> None:
    """
    Every look is one moment: the log has no gap and is never shorter than in the look before.
    """
    over, seen, faults = threading.Event(), [0], []

    def analyse() -> None:
        try:
            while not over.is_set():
                mine = lake_scenario.lab.lake(lake_scenario.owner.caller)
                (count, last) = mine.log_entries.sql("select count(*), max(log_index) from this").fetchall()[0]
                assert count == last + 1
                assert count >= seen[-1]
                seen.append(count)
                assert mine.attestations.sql("select count(*) - count(distinct id) from this").fetchall() == [(0,)]
        except BaseException as error:
            faults.append(error)

    thread = threading.Thread(target=analyse)
    thread.start()
    number = 0
    while (len(seen) < 6 or number < 24) and not faults and number < 400:
        lake_scenario.act(number)
        lake_scenario.lab.lake.sweep()
        number += 1
    over.set()
    thread.join()

    assert faults == []
    assert len(set(seen)) > 3
    require_complete_lake(lake_scenario)


def test_killed_exporter_writes_every_fact_once(fork_server: ForkServer, tmp_path: Path, is_long: bool) -> None:
    """
    A process that mints, decides and exports is killed again and again; the next continues where its parts end.
    """
    settings = Settings(data=tmp_path / "data")
    founded = Installation.init(settings)[0]
    founded.close()
    chance = random.Random("kill the exporter")
    folder = settings.data / "lake"
    for number in itertools.count():
        if number >= (KILLS if is_long else KILLS // 6) and _has_parts(folder, "log_entries", "attestations"):
            break
        out = tmp_path / f"{number}.out"
        child = fork_server.start("export", str(settings.data), out=out, errors=out)
        steps = chance.randrange(1, 2 * STEPS)
        while not (out.exists() and out.stat().st_size >= steps):
            assert child.poll() is None, out.read_text()
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.02))
        child.send_signal(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL, out.read_text()

    lab = Installation.open(settings)
    caller = _operator(lab)
    lake_scenario = LakeScenario(lab, None, LakeTenant(lab, caller, caller.tenant_id, ""), None)  # type: ignore[arg-type]  # one tenant, no clock
    assert read_lake_ids(lake_scenario, lake_scenario.owner) == read_recorded_ids(lab, caller.tenant_id)
    for dataset in datasets.ALL:
        folder = lab.lake.folder / dataset.name / (str(caller.tenant_id) if dataset.by_tenant else "")
        _require_named_for_what_they_hold(folder, dataset.number)
    lab.close()


def _has_parts(folder: Path, *names: str) -> bool:
    """Whether the killed processes got far enough to have merged parts."""
    return all((chain := find_parts(folder / name).chain) and chain[-1].last > 18 for name in names)


def _operator(lab: Installation) -> Caller:
    from attestlab.lake import store

    with lab.storage.read() as connection:
        return lab.orgs.service_caller(store.get_operator_id(connection))


def _require_named_for_what_they_hold(folder: Path, number: str) -> None:
    """No part holds a number that its name does not say, nor one twice."""
    for part in find_parts(folder).chain:
        held = pq.read_table(part.path)[number].to_pylist()
        assert len(held) == len(set(held))
        assert all(part.first <= each <= part.last for each in held)
