"""`attestlab keyring rewrap`: all secrets move to another key-encryption key, even if the command is killed."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from attestlab.cli import rekey
from attestlab.core.crypto import keyring
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db import occupancy
from attestlab.core.db.storage import Storage
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import Unavailable
from attestlab.installation import Installation
from attestlab.settings import Settings
from attestlab.webhooks import endpoint_store
from support import fork_server, patient_http
from support.agents import register_agent
from support.attestations import make_mint_body, mint
from support.issuers import register_issuer
from support.server_process import ServerProcess
from support.webhook_endpoints import create_endpoint


def rewrap(server: ServerProcess, **environment: str) -> subprocess.CompletedProcess[str]:
    where = ("--data", str(server.data), "--database-url", server.database_url)
    return fork_server.run_command("keyring", "rewrap", *where, "--json", **environment)


def settings_of(server: ServerProcess) -> Settings:
    return Settings(data=server.data, database_url=server.database_url)


@pytest.fixture
def used(empty_database: str, tmp_path: Path) -> ServerProcess:
    """An installation with an issuer's key, a key for tokens, an e-mail that waits, and a webhook's two secrets."""
    server = ServerProcess.initialised(tmp_path / "data", empty_database)
    with server, server.client() as client:
        mint(client, make_mint_body(register_issuer(client))).raise_for_status()
        register_agent(client)
        client.post("/v1/users", json={"email": "ada@example.org", "role": "member"}).raise_for_status()
        endpoint = create_endpoint(client)
        overlap = {"overlap_seconds": 86_400}
        client.post(f"/v1/webhooks/endpoints/{endpoint['id']}/rotate", json=overlap).raise_for_status()
        sign_in(server)
        server.stop()
    return server


def sign_in(server: ServerProcess) -> str:
    sent = {"email": server.made["owner_email"], "password": server.made["owner_password"]}
    token: str = patient_http.post(server.url + "/v1/auth/login", json=sent).raise_for_status().json()["access_token"]
    return token


def open_webhook_secrets(server: ServerProcess) -> list[str]:
    """The secrets that sign deliveries to the one endpoint."""
    lab = Installation.open(settings_of(server))
    with lab.storage.read() as connection:
        (row,) = endpoint_store.list_with_secrets(connection.execute)
    secrets = lab.webhooks.signing_secrets(row, at=lab.clock.now())
    lab.close()
    return secrets


def works(server: ServerProcess) -> None:
    """It mints with the key that it had, its tokens are good, and nothing is amiss."""
    with server, server.client() as client:
        issuer = client.get("/v1/issuers").json()["items"][0]
        assert mint(client, make_mint_body(issuer)).status_code == 201
        agents = client.get("/v1/agents").json()["items"]
        signed = [client.post(f"/v1/agents/{each['id']}/sign", json={"payload": {}}).status_code for each in agents]
        assert signed == [200] * len(agents)
        bearer = {"Authorization": f"Bearer {sign_in(server)}"}
        assert patient_http.get(server.url + "/v1/me", headers=bearer).status_code == 200
        server.stop()
    server.check()


@pytest.fixture
def used_on_sqlite(tmp_path: Path) -> ServerProcess:
    """An installation with an issuer, where the engine does not matter."""
    server = ServerProcess.initialised(tmp_path / "data", f"sqlite:///{tmp_path / 'records.db'}")
    with server, server.client() as client:
        mint(client, make_mint_body(register_issuer(client))).raise_for_status()
        server.stop()
    return server


@pytest.mark.both_engines
def test_rewrap_is_rejected_while_a_server_runs(used: ServerProcess) -> None:
    old = (used.data / "keyring.key").read_text()
    with used, used.client() as client:
        refused = rewrap(used)
        register_issuer(client)
        used.stop()

    assert (refused.returncode, refused.stdout) == (2, "")
    assert "Stop all, on every machine" in refused.stderr
    assert (used.data / "keyring.key").read_text() == old
    works(used)
    assert rewrap(used).returncode == 0


def test_no_process_opens_an_installation_that_is_being_rewrapped(used_on_sqlite: ServerProcess) -> None:
    storage = Storage(used_on_sqlite.database_url)
    with occupancy.hold_exclusively(storage), pytest.raises(Unavailable, match="being rewrapped"):
        Installation.open(settings_of(used_on_sqlite))
    Installation.open(settings_of(used_on_sqlite)).close()
    storage.close()


def test_server_with_a_replaced_kek_seals_nothing(used_on_sqlite: ServerProcess) -> None:
    """
    The lock is circumvented: the records move to another key while a server runs.
    """
    server = used_on_sqlite
    with server, server.client() as client:
        minted, bearer = client.get("/v1/attestations").json()["items"][0], f"Bearer {sign_in(server)}"
        other = Installation.open(settings_of(server))
        rekey._reseal_all(other, Keyring.create(server.data, file_name=keyring.NEXT_FILE_NAME))
        other.close()
        issuer = {"name": "Late", "domain": "late.example.edu", "alg": "Ed25519"}
        sealing_requests = {
            "a managed key": client.post("/v1/issuers", json=issuer),
            "an e-mail": client.post("/v1/users", json={"email": "late@example.org", "role": "member"}),
            "a remembered secret": patient_http.post(
                server.url + "/v1/api-keys",
                json={"name": "late", "scopes": ["attestations:read"]},
                headers={"Idempotency-Key": "late", "Authorization": bearer},
            ),
        }
        unready = client.get("/readyz")
        found = client.post("/v1/verify", json={"attestation_id": minted["id"]})
        server.stop()

    for what, answer in sealing_requests.items():
        assert (what, answer.status_code) == (what, 503), answer.text
        assert answer.json()["details"]["reason"] == "keyring_mismatch"
    assert (unready.status_code, unready.json()["details"]["checks"]["keyring"]) == (503, "failed")
    assert found.json()["verdict"] == "VALID"
    assert rewrap(server).stdout == '{"ended": true}\n'
    works(server)


def test_every_capability_seals_within_a_transaction() -> None:
    """A secret sealed past `core.crypto.sealing` may be sealed under a replaced key, and lost with it."""
    package = Path(rekey.__file__).parent
    past = re.compile(r"\b_?(keyring|keys|sealing)\.seal(_secret)?\((?!tx)|intent\.sealing\.seal")
    free = ("core", "witness")  # the mechanism, and a separate store whose key never moves
    found = [
        path.relative_to(package)
        for path in package.rglob("*.py")
        if path.relative_to(package).parts[0] not in free and past.search(re.sub(r"\s", "", path.read_text()))
    ]
    assert found == []


@pytest.mark.both_engines
def test_all_secrets_open_only_under_the_new_kek(used: ServerProcess) -> None:
    old, webhook_secrets = (used.data / "keyring.key").read_text(), open_webhook_secrets(used)

    done = rewrap(used)

    assert (done.returncode, done.stderr) == (0, "")
    assert '"issuer_keys": 1, "token_keys": 1' in done.stdout
    assert '"webhook_endpoints": 1, "agent_keys": 1' in done.stdout
    assert len(webhook_secrets) == 2
    assert open_webhook_secrets(used) == webhook_secrets
    assert (used.data / "keyring.key").read_text() != old
    assert (used.data / "keyring.key").stat().st_mode & 0o777 == 0o600
    assert not (used.data / keyring.NEXT_FILE_NAME).exists()
    works(used)
    (used.data / "keyring.key").write_text(old)
    refused = fork_server.run_command("log", "vkey", "--data", str(used.data), "--database-url", used.database_url)
    assert (refused.returncode, refused.stdout) == (2, "")


@pytest.mark.both_engines
def test_rewrap_killed_before_the_commit_starts_over(used: ServerProcess) -> None:
    Keyring.create(used.data, file_name=keyring.NEXT_FILE_NAME)

    assert rewrap(used).returncode == 0

    assert not (used.data / keyring.NEXT_FILE_NAME).exists()
    works(used)


def test_rewrap_killed_after_the_commit_is_completed(used: ServerProcess) -> None:
    lab = Installation.open(settings_of(used))
    new = Keyring.create(used.data, file_name=keyring.NEXT_FILE_NAME)
    rekey._reseal_all(lab, new)
    lab.close()

    done = rewrap(used)

    assert (done.returncode, done.stdout) == (0, '{"ended": true}\n')
    assert Keyring.open(used.data, {}).id == new.id
    works(used)


def test_rewrap_uses_keks_of_the_environment(tmp_path: Path) -> None:
    first, second = (b64url_encode(bytes([number]) * 32) for number in (1, 2))
    data = tmp_path / "data"

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return fork_server.run_command(*arguments, "--data", str(data), **environment)

    run("init", ATTESTLAB_KEK=first)
    missing = run("keyring", "rewrap", ATTESTLAB_KEK=first)
    same = run("keyring", "rewrap", ATTESTLAB_KEK=first, ATTESTLAB_KEK_NEXT=first)
    done = run("keyring", "rewrap", ATTESTLAB_KEK=first, ATTESTLAB_KEK_NEXT=second)

    assert [missing.returncode, same.returncode, done.returncode] == [2, 2, 0]
    assert run("log", "fsck", ATTESTLAB_KEK=second).returncode == 0
    assert run("log", "vkey", ATTESTLAB_KEK=first).returncode == 2


def test_unopenable_secret_aborts_the_rewrap(used: ServerProcess) -> None:
    good = (used.data / "keyring.key").read_text()
    (used.data / "keyring.key").write_text(b64url_encode(bytes(32)) + "\n")

    refused = rewrap(used)

    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    (used.data / "keyring.key").write_text(good)
    works(used)
