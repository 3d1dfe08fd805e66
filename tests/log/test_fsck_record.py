"""The record of the last check: what is written is read again, and nothing else counts as a check of this log."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from attestlab.core.clock import FixedClock
from attestlab.log.fsck_record import FSCK_RECORD, FsckRecord, FsckSummary
from support import patient_http
from support.log.instance import ORIGIN, LogInstance
from support.log.server import serve_log

AT = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SUMMARY = FsckSummary(ORIGIN, AT, tree_size=300, problems=2)


@pytest.fixture
def record(tmp_path: Path) -> FsckRecord:
    """The record of a folder in which nothing was checked yet."""
    return FsckRecord(tmp_path / FSCK_RECORD)


@pytest.mark.parametrize("tree_size", [300, 301])
def test_a_written_check_is_read_again(record: FsckRecord, tree_size: int) -> None:
    record.write(FsckSummary(ORIGIN, AT, tree_size=7, problems=0))
    record.write(SUMMARY)

    assert record.read(origin=ORIGIN, tree_size=tree_size) == SUMMARY


def test_without_a_check_there_is_none(record: FsckRecord) -> None:
    assert record.read(origin=ORIGIN, tree_size=300) is None


@pytest.mark.parametrize(("origin", "tree_size"), [("other.example/log", 300), (ORIGIN, 299)])
def test_a_check_of_other_records_does_not_count(record: FsckRecord, origin: str, tree_size: int) -> None:
    record.write(SUMMARY)

    assert record.read(origin=origin, tree_size=tree_size) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[]",
        b"null",
        b'{"origin": "o"}',
        b'{"origin": "o", "at": "now", "tree_size": 1, "problems": 0}',
        b'{"origin": "o", "at": 1, "tree_size": 1, "problems": 0}',
        b'{"origin": "o", "at": "2026-11-21T12:00:00.000Z", "tree_size": null, "problems": 0}',
    ],
)
def test_a_damaged_record_is_none(record: FsckRecord, content: bytes) -> None:
    record.path.write_bytes(content)

    assert record.read(origin="o", tree_size=1) is None


def test_the_head_shows_the_last_check(tmp_path: Path, record: FsckRecord) -> None:
    instance = LogInstance.create_in(tmp_path, FixedClock(AT))
    instance.grow(5)
    with serve_log(instance) as address, patient_http.open_client(base_url=address) as client:
        before = client.get("/v1/log/head")
        record.write(FsckSummary(ORIGIN, AT, tree_size=4, problems=1))
        after = client.get("/v1/log/head", headers={"If-None-Match": before.headers["etag"]})
    instance.storage.close()

    assert before.json()["last_fsck"] is None
    assert after.status_code == 200
    assert after.json()["last_fsck"] == {"at": "2026-11-21T12:00:00.000Z", "tree_size": 4, "problems": 1}
