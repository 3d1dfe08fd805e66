"""The world of `attestlab demo`: built once a day on a machine, and each copy has other secrets."""

from __future__ import annotations

import os
import shutil
import signal
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
        assert records.execute("SELECT count(*) FROM token_keys").fetchone() == (0,), "made at the first sign-in"
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


@pytest.mark.parametrize("step", ["copy_world", "rewrap", "served.renew_credentials"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_start_that_is_killed_shares_no_secret(tmp_path: Path, original: Path, step: str, moment: str) -> None:
    """Whenever the copy breaks off, the next start makes another one, with other secrets."""
    killed_at(tmp_path / "demo", step, moment)
    assert not (tmp_path / "demo" / CREDENTIALS).exists()

    own = open_world(tmp_path / "demo")

    foreign = served.read_credentials(original)
    assert foreign is not None
    assert [name for name in SHOWN if own[name] == foreign[name]] == []
    assert not list_secrets(tmp_path / "demo") & list_secrets(original)
    assert list_names(tmp_path / "demo") == list_names(original)


def list_names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def killed_at(folder: Path, step: str, moment: str) -> None:
    """Start in another process, which is killed before or after a step."""
    child = os.fork()
    if child == 0:
        owner = served if step.startswith("served.") else demo_worlds
        name = step.rpartition(".")[2]
        run = getattr(owner, name)

        def die(*arguments: object) -> None:
            if moment == "after":
                run(*arguments)
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(owner, name, die)
        open_world(folder)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def test_a_folder_with_a_part_of_a_world_is_refused(tmp_path: Path, original: Path) -> None:
    """The file that marks a demo as whole is not there."""
    shutil.copytree(original, tmp_path / "demo", ignore=shutil.ignore_patterns(CREDENTIALS))

    with pytest.raises(Conflict):
        demo_world(tmp_path / "demo", history=False)  # as `open_world` calls it then
