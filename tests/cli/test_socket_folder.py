"""The sockets of the dashboards have short paths, whatever the folder for temporary files is."""

from __future__ import annotations

from pathlib import Path

import pytest

from attestlab.core.errors import ValidationFailed
from attestlab.server import dashboards
from attestlab.server.dashboards import MAX_PLACE_BYTES, MAX_SOCKET_PATH_BYTES, open_socket_folder
from support import patient_http
from support.fork_server import start_code

SERVE = "import tempfile; tempfile.tempdir = None; from attestlab.cli.main import main; main()"  # TMPDIR is read again


def make_place(parent: Path, length: int) -> Path:
    """A folder whose path has this many bytes."""
    place = parent
    while (rest := length - len(bytes(place)) - 1) > 0:
        place /= "x" * (rest if rest <= 100 else 50)
    place.mkdir(parents=True, exist_ok=True)
    assert len(bytes(place)) == length
    return place


@pytest.fixture
def long_place(tmp_path: Path) -> Path:
    return make_place(tmp_path, 200)


def test_a_server_starts_with_a_long_path_of_temporary_files(tmp_path: Path, long_place: Path) -> None:
    (data := tmp_path / "data").mkdir()
    with start_code(SERVE, "serve", "--port", "0", "--data", str(data), TMPDIR=str(long_place)) as process:
        url = process.stdout.readline().split()[1]

        assert patient_http.get(f"{url}/healthz").status_code == 200
    assert process.returncode == 0


@pytest.mark.parametrize("length", [MAX_PLACE_BYTES, MAX_PLACE_BYTES + 1])
def test_the_paths_of_sockets_fit(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_socket_folder() as short:
        chosen = make_place(short.folder.parent, length)
        monkeypatch.setattr("tempfile.tempdir", str(chosen))
        with open_socket_folder() as found:
            assert len(found.own_socket) <= MAX_SOCKET_PATH_BYTES
            assert (found.folder.parent == chosen) == (length == MAX_PLACE_BYTES)
            found_folder = found.folder
    chosen.rmdir()

    assert not found_folder.exists()


def test_no_short_folder_is_an_error_with_its_remedy(monkeypatch: pytest.MonkeyPatch, long_place: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(long_place))
    monkeypatch.setattr(dashboards, "_SHORT_PLACES", ())

    message = rf"200 bytes.* at most {MAX_PLACE_BYTES}\. Set TMPDIR"
    with pytest.raises(ValidationFailed, match=message), open_socket_folder():
        pass
