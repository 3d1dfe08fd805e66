"""An installation moves to another key-encryption key, and loses nothing on the way."""

from __future__ import annotations

import subprocess
from pathlib import Path

import httpx
import nursery
import pytest
from running_server import RunningServer, mint, mint_body, register_issuer

from attestlab import rewrapping
from attestlab.core import keyring
from attestlab.core.keyring import Keyring
from attestlab.core.wire import b64url_encode
from attestlab.lab import Lab
from attestlab.settings import Settings

pytestmark = pytest.mark.both_engines


def rewrap(server: RunningServer, **environment: str) -> subprocess.CompletedProcess[str]:
    where = ("--data", str(server.data), "--database-url", server.database_url)
    return nursery.run("keyring", "rewrap", *where, "--json", **environment)


def settings_of(server: RunningServer) -> Settings:
    return Settings(data=server.data, database_url=server.database_url)


@pytest.fixture
def used(empty_database: str, tmp_path: Path) -> RunningServer:
    """An installation with an issuer's key, a key for tokens and an e-mail that waits."""
    server = RunningServer.initialised(tmp_path / "data", empty_database)
    with server, server.client() as client:
        mint(client, mint_body(register_issuer(client))).raise_for_status()
        client.post("/v1/users", json={"email": "ada@example.org", "role": "member"}).raise_for_status()
        sign_in(server)
        server.stop()
    return server


def sign_in(server: RunningServer) -> str:
    sent = {"email": server.made["owner_email"], "password": server.made["owner_password"]}
    token: str = httpx.post(server.url + "/v1/auth/login", json=sent).raise_for_status().json()["access_token"]
    return token


def works(server: RunningServer) -> None:
    """It mints with the key that it had, its tokens are good, and nothing is amiss."""
    with server, server.client() as client:
        issuer = client.get("/v1/issuers").json()["items"][0]
        assert mint(client, mint_body(issuer)).status_code == 201
        bearer = {"Authorization": f"Bearer {sign_in(server)}"}
        assert httpx.get(server.url + "/v1/me", headers=bearer).status_code == 200
        server.stop()
    server.check()


def test_everything_opens_under_the_new_key_and_nothing_under_the_old(used: RunningServer) -> None:
    old = (used.data / "keyring.key").read_text()

    done = rewrap(used)

    assert (done.returncode, done.stderr) == (0, "")
    assert '"issuer_keys": 1, "token_keys": 1' in done.stdout
    assert (used.data / "keyring.key").read_text() != old
    assert (used.data / "keyring.key").stat().st_mode & 0o777 == 0o600
    assert not (used.data / keyring.NEXT_FILE_NAME).exists()
    works(used)
    (used.data / "keyring.key").write_text(old)
    refused = nursery.run("log", "vkey", "--data", str(used.data), "--database-url", used.database_url)
    assert (refused.returncode, refused.stdout) == (2, "")


def test_a_move_that_was_cut_off_before_the_records_changed_is_begun_anew(used: RunningServer) -> None:
    Keyring.create(used.data, file_name=keyring.NEXT_FILE_NAME)

    assert rewrap(used).returncode == 0

    assert not (used.data / keyring.NEXT_FILE_NAME).exists()
    works(used)


def test_a_move_that_was_cut_off_behind_the_records_is_ended(used: RunningServer) -> None:
    lab = Lab.open(settings_of(used))
    new = Keyring.create(used.data, file_name=keyring.NEXT_FILE_NAME)
    rewrapping._sealed_anew(lab, new)
    lab.close()

    done = rewrap(used)

    assert (done.returncode, done.stdout) == (0, '{"ended": true}\n')
    assert Keyring.open(used.data, {}).id == new.id
    works(used)


def test_a_key_of_the_environment_moves_to_another_one(tmp_path: Path) -> None:
    first, second = (b64url_encode(bytes([number]) * 32) for number in (1, 2))
    data = tmp_path / "data"

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return nursery.run(*arguments, "--data", str(data), **environment)

    run("init", ATTESTLAB_KEK=first)
    missing = run("keyring", "rewrap", ATTESTLAB_KEK=first)
    same = run("keyring", "rewrap", ATTESTLAB_KEK=first, ATTESTLAB_KEK_NEXT=first)
    done = run("keyring", "rewrap", ATTESTLAB_KEK=first, ATTESTLAB_KEK_NEXT=second)

    assert [missing.returncode, same.returncode, done.returncode] == [2, 2, 0]
    assert run("log", "fsck", ATTESTLAB_KEK=second).returncode == 0
    assert run("log", "vkey", ATTESTLAB_KEK=first).returncode == 2


def test_what_does_not_open_changes_nothing(used: RunningServer) -> None:
    good = (used.data / "keyring.key").read_text()
    (used.data / "keyring.key").write_text(b64url_encode(bytes(32)) + "\n")

    refused = rewrap(used)

    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    (used.data / "keyring.key").write_text(good)
    works(used)
