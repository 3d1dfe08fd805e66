"""The exported log is a plain C2SP tile tree, written so that a web server may show it at any moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.errors import Conflict
from attestlab.log import store
from attestlab.log.export import ExportResult, export
from attestlab.log.merkle import hashing
from attestlab.log.note.note import TreeHead, sign_checkpoint
from attestlab.log.service import unseal_signer
from support.log.instance import ORIGIN, LogInstance, make_entry


def exported(log_instance: LogInstance, folder: Path) -> ExportResult:
    with log_instance.storage.read() as connection:
        return export(log_instance.log, connection, folder)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_an_export_has_the_files_of_tlog_tiles_and_no_others(
    log_instance: LogInstance, tmp_path: Path, clock: FixedClock
) -> None:
    log_instance.grow(300)
    assert exported(log_instance, tmp_path / "out").size == 300

    assert files(tmp_path / "out") == {
        "checkpoint",
        "tile/entries/000",
        "tile/entries/001.p/44",
        "tile/0/000",
        "tile/0/001.p/44",
        "tile/1/000.p/1",
    }
    log_instance.trust().verify_checkpoint((tmp_path / "out" / "checkpoint").read_text())
    bundle = hashing.decode_bundle((tmp_path / "out" / "tile/entries/001.p/44").read_bytes())
    assert bundle == [make_entry(n, clock) for n in range(256, 300)]


def test_a_later_export_writes_only_what_is_new(log_instance: LogInstance, tmp_path: Path) -> None:
    log_instance.grow(300)
    exported(log_instance, tmp_path / "out")
    first = tmp_path / "out" / "tile/0/000"
    before = first.stat().st_mtime_ns
    log_instance.grow(600)
    assert exported(log_instance, tmp_path / "out") == ExportResult(size=600, files=2 + 2 + 1 + 1)
    assert first.stat().st_mtime_ns == before


def test_interrupted_export_is_completed(log_instance: LogInstance, tmp_path: Path) -> None:
    """
    Without a checkpoint nothing in the folder is relied on; a half-written tile would stay for good.
    """
    log_instance.grow(300)
    exported(log_instance, tmp_path / "out")
    (tmp_path / "out" / "checkpoint").unlink()
    (tmp_path / "out" / "tile/0/000").write_bytes(b"torn")
    exported(log_instance, tmp_path / "out")
    assert len((tmp_path / "out" / "tile/0/000").read_bytes()) == hashing.TILE_BYTES


def test_an_empty_log_exports_its_checkpoint_alone(log_instance: LogInstance, tmp_path: Path) -> None:
    assert exported(log_instance, tmp_path / "out") == ExportResult(size=0, files=1)
    assert files(tmp_path / "out") == {"checkpoint"}


def test_export_rejects_a_folder_with_other_files(log_instance: LogInstance, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("years of work")
    with pytest.raises(Conflict, match="another folder"):
        exported(log_instance, tmp_path / "out")
    assert files(tmp_path / "out") == {"thesis.tex"}


def test_export_rejects_a_folder_of_another_log(
    log_instance: LogInstance, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, clock: FixedClock
) -> None:
    other = LogInstance.create_in(tmp_path_factory.mktemp("other"), clock)
    exported(other, tmp_path / "out")
    other.storage.close()
    with pytest.raises(Conflict, match="no earlier export"):
        exported(log_instance, tmp_path / "out")


def test_export_rejects_a_folder_with_a_fork(log_instance: LogInstance, tmp_path: Path) -> None:
    """
    The log's own key signed another tree of an earlier size: nothing may paint that over.
    """
    log_instance.grow(300)
    with log_instance.storage.read() as connection:
        signer = unseal_signer(store.head(connection) or pytest.fail("no log"), log_instance.keyring)
    forked = sign_checkpoint(signer, TreeHead(ORIGIN, 2, bytes(32)), at_s=1_795_262_400)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "checkpoint").write_text(forked)

    with pytest.raises(Conflict, match="evidence"):
        exported(log_instance, tmp_path / "out")
    assert (tmp_path / "out" / "checkpoint").read_text() == forked


def test_the_checkpoint_is_written_last(
    log_instance: LogInstance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A reader of the new checkpoint finds every tile it needs.
    """
    written: list[str] = []
    whole = Path.replace

    def replace(self: Path, target: Path) -> Path:
        written.append(target.name)
        return whole(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    log_instance.grow(300)
    exported(log_instance, tmp_path / "out")
    assert written.index("checkpoint") == len(written) - 1
