"""SQLite on a network file system: `init` finds the mount and refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from attestlab.core import mounts
from attestlab.core.db.storage import Storage
from attestlab.core.errors import ValidationFailed
from attestlab.core.mounts import find_network_file_system
from attestlab.installation import Installation
from attestlab.settings import Settings

LOCAL = "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw"


def mount(point: Path, kind: str) -> str:
    return f"42 21 0:50 / {str(point).replace(' ', chr(92) + '040')} rw,relatime shared:9 - {kind} server:/export rw"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "a share" / "lab"


def set_mounts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *lines: str) -> None:
    listed = tmp_path / "mountinfo"
    listed.write_text("\n".join([LOCAL, *lines]) + "\n")
    monkeypatch.setattr(mounts, "MOUNTS", listed)


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "fuse.sshfs"])
def test_init_refuses_sqlite_on_a_network_file_system(
    kind: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_mounts(monkeypatch, tmp_path, mount(folder.parent, kind))

    with pytest.raises(ValidationFailed, match=rf"network file system \({kind}\).*or PostgreSQL: --database-url"):
        Installation.init(Settings(data=folder, database_url=None))
    assert not folder.exists()


def test_the_innermost_and_newest_mount_counts(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network, local = mount(folder.parent, "nfs4"), mount(folder, "xfs")
    for lines, found in (
        ([network], "nfs4"),
        ([network, local], None),
        ([local, network], None),
        ([local, mount(folder, "cifs")], "cifs"),
        ([mount(folder / "deeper", "nfs")], None),
    ):
        set_mounts(monkeypatch, tmp_path, *lines)

        assert find_network_file_system(folder / "records.db") == found


def test_this_machine_has_no_list_or_a_readable_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_network_file_system(tmp_path / "records.db") in {None, *mounts.NETWORK_FILE_SYSTEMS}
    monkeypatch.setattr(mounts, "MOUNTS", tmp_path / "missing")
    assert find_network_file_system(tmp_path) is None


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("mysql://ada:secret@host/lab", "mysql://***@host/lab"),
        ("MSSQL+pyodbc://host/lab?password=secret", "MSSQL+pyodbc://host/lab"),
        ("postgresq://host/lab", "postgresq://host/lab"),
        ("://", "://"),
        ("", ""),
        ("127.0.0.1/x", "127.0.0.1/x"),
        ("ada:secret@127.0.0.1/x", "***@127.0.0.1/x"),
        ("ada:secret?secret@127.0.0.1/x", "***"),
        ("127.0.0.1/x?password=secret@secret", "***"),
        ("records.db", "records.db"),
        ("sqlite:records.db", "sqlite:records.db"),
        ("sqlite://records.db", "sqlite://records.db"),
        ("postgresql:/host/lab", "postgresql:/host/lab"),
        ("postgresql://ada:secret@host:port/lab", "postgresql://***@host:port/lab"),
    ],
)
def test_what_is_no_database_url_is_named_without_its_password(url: str, shown: str, tmp_path: Path) -> None:
    forms = "Pass sqlite:///path/to/records.db, or postgresql://user:password@host:port/name."
    for use in (Storage, lambda each: Installation.init(Settings(data=tmp_path / "lab", database_url=each))):
        if not url and use is not Storage:
            continue  # no URL at all is the folder's own database
        with pytest.raises(ValidationFailed) as refused:
            use(url)

        assert refused.value.message == f"{shown!r} is no database URL. {forms}"
    assert list(tmp_path.iterdir()) == []
