"""The world of `attestlab demo`: built once a day on a machine, and each copy has other secrets."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pytest

from attestlab.cli import demo_worlds
from attestlab.cli.demo_worlds import open_world
from attestlab.core.clock import FixedClock
from attestlab.core.crypto import keyring, passwords
from attestlab.core.errors import AuthInvalid, Conflict
from attestlab.demos import served
from attestlab.demos.history.year import ReportProgress
from attestlab.demos.served import CREDENTIALS, Credentials
from attestlab.demos.world import DemoWorld, demo_world
from attestlab.installation import Installation
from attestlab.orgs import store
from attestlab.settings import Settings
from attestlab.webhooks import endpoint_store
from support.lab_checks import check_lab

SECRETS = ("secret", "password_hash", "sealed", "token", "invitation_sha256")
SHOWN = ("api_key", "owner_password", "people_password", "share_key")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world as the demo builds it, but without a past, and with a webhook."""
    folder = tmp_path_factory.mktemp("original") / "world"

    def found(folder: Path, **_: object) -> DemoWorld:
        world = demo_world(folder, history=False)
        world.lab.webhooks.create("Ledger", "https://ledger.example/hook", ["attestation.*"], caller=world.caller)
        return world

    with patch.object(served, "demo_world", found):
        served.create_world(folder)
    return folder


@pytest.fixture(autouse=True)
def built(original: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The worlds that were built, each like the original, with a cache of this test."""
    found: list[Path] = []

    def create_world(folder: Path, *, report_progress: ReportProgress) -> Credentials:
        report_progress(0.5)
        shutil.copytree(original, folder, dirs_exist_ok=True)
        found.append(folder)
        shown = served.read_credentials(folder)
        assert shown is not None
        return shown

    monkeypatch.setattr(served, "create_world", create_world)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("caches")))
    monkeypatch.delenv(keyring.ENVIRONMENT_NAME, raising=False)
    return found


def open_lab(folder: Path) -> closing[Installation]:
    return closing(Installation.open(Settings(data=folder, database_url=None)))


def test_two_copies_share_the_past_and_no_secret(tmp_path: Path, built: list[Path]) -> None:
    one, two = (open_world(tmp_path / name) for name in ("one", "two"))

    assert len(built) == 1
    assert [name for name in one if one[name] != two[name]] == [name for name in one if name in SHOWN]
    assert not list_secrets(tmp_path / "one") & list_secrets(tmp_path / "two")
    assert len({(tmp_path / name / keyring.FILE_NAME).read_text() for name in ("one", "two")}) == 2
    signing = []
    for name, own, foreign in [("one", one, two), ("two", two, one)]:
        with open_lab(tmp_path / name) as lab:
            check_lab(lab)
            require_opened_by(lab, own, foreign)
            signing += list_signing_secrets(lab)
    assert len(set(signing)) == 2


def list_secrets(folder: Path) -> set[bytes | str]:
    """All values of columns that hold a secret, its hash, or what it is sealed in."""
    with closing(sqlite3.connect(folder / "records.db")) as records:
        tables = [name for (name,) in records.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = [(table, row[1]) for table in tables for row in records.execute(f'PRAGMA table_info("{table}")')]
        secret = [(table, name) for table, name in columns if any(word in name for word in SECRETS)]
        values = {value for table, name in secret for (value,) in records.execute(f'SELECT "{name}" FROM "{table}"')}
    assert {table for table, _ in secret} >= {"api_keys", "users", "webhook_endpoints", "issuer_keys", "token_keys"}
    return values - {None}


def list_signing_secrets(lab: Installation) -> list[str]:
    """The secrets that sign webhooks."""
    with lab.storage.read() as connection:
        endpoints = endpoint_store.list_with_secrets(connection.execute)
    return [secret for row in endpoints for secret in lab.webhooks.signing_secrets(row, at=lab.clock.now())]


def require_opened_by(lab: Installation, own: Credentials, foreign: Credentials) -> None:
    """Require that a world takes its own key and password, and neither those of a copy nor those of the original."""
    with lab.storage.read() as connection:
        assert str(lab.orgs.authenticate(connection, str(own["api_key"])).tenant_id) == own["tenant_id"]
        with pytest.raises(AuthInvalid):
            lab.orgs.authenticate(connection, str(foreign["api_key"]))
        ann = store.find_user_by_address(connection.execute, "ann@demo.example")
    assert ann is not None
    known = [passwords.matches(str(each["people_password"]), ann.password_hash) for each in (own, foreign)]
    assert known == [True, False]


def test_a_demo_keeps_its_secrets(tmp_path: Path, built: list[Path]) -> None:
    made = open_world(tmp_path / "demo")

    assert (open_world(tmp_path / "demo"), len(built)) == (made, 1)


def test_on_another_day_another_world_is_built(
    tmp_path: Path, built: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in (1, 1, 2):
        clock = partial(FixedClock, datetime(2026, 11, day, 23, 59, tzinfo=UTC))
        monkeypatch.setattr(demo_worlds, "SystemClock", clock)
        open_world(tmp_path / f"{day}-{len(list(tmp_path.iterdir()))}")

    assert len(built) == 2


def test_a_folder_with_files_keeps_them(tmp_path: Path, built: list[Path]) -> None:
    (tmp_path / "keyring.notes").write_text("mine")
    open_world(tmp_path)

    assert built == [tmp_path]
    assert (tmp_path / "keyring.notes").read_text() == "mine"


def test_a_key_of_the_environment_is_not_replaced(
    tmp_path: Path, built: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(keyring.ENVIRONMENT_NAME, "A" * 43)
    open_world(tmp_path / "demo")

    assert built == [tmp_path / "demo"]


def test_a_copy_that_broke_off_is_not_opened_with_the_secrets_of_the_original(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as during:
        during.setattr(served, "renew_secrets", stop)
        with pytest.raises(KeyboardInterrupt):
            open_world(tmp_path / "demo")

    assert not (tmp_path / "demo" / CREDENTIALS).exists()
    with pytest.raises(Conflict):
        demo_world(tmp_path / "demo", history=False)  # as `open_world` calls it then
