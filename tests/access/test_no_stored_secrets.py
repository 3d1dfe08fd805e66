"""Issued secrets are stored nowhere: not in the database, its log, a backup or the server's output."""

from __future__ import annotations

import base64
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import make_url

from support import patient_http
from support.orgs import extract_token
from support.server_process import ServerProcess
from support.timeouts import WAIT_TIMEOUT_S
from support.webhook_endpoints import create_endpoint

WANTED = 100


def sign_in(server: ServerProcess) -> dict[str, Any]:
    sent = {"email": server.made["owner_email"], "password": server.made["owner_password"]}
    answer: dict[str, Any] = patient_http.post(server.url + "/v1/auth/login", json=sent).raise_for_status().json()
    return answer


def keys_of_the_owner(server: ServerProcess, token: str) -> Iterator[str]:
    """Also under an Idempotency-Key, so that the response with the secret is stored."""
    with patient_http.open_client(base_url=server.url, headers={"Authorization": f"Bearer {token}"}) as owner:
        for number in range(40):
            body = {"name": f"Key {number}", "scopes": ["issuers:read"]}
            made = owner.post("/v1/api-keys", json=body, headers={"Idempotency-Key": f"key-{number}"})
            yield made.raise_for_status().json()["secret"]


def tokens(server: ServerProcess) -> Iterator[str]:
    """Returns the tokens of ten sessions, each refreshed twice."""
    for _ in range(10):
        pair = sign_in(server)
        yield from (pair["access_token"], pair["refresh_token"])
        for _ in range(2):
            sent = {"refresh_token": pair["refresh_token"]}
            pair = patient_http.post(server.url + "/v1/auth/refresh", json=sent).raise_for_status().json()
            yield from (pair["access_token"], pair["refresh_token"])


def invitations(server: ServerProcess, token: str) -> Iterator[str]:
    """Returns the mailed tokens; the e-mails themselves have left the installation."""
    with patient_http.open_client(base_url=server.url, headers={"Authorization": f"Bearer {token}"}) as owner:
        for number in range(5):
            owner.post("/v1/users", json={"email": f"p{number}@x.example", "role": "member"}).raise_for_status()
    folder = server.data / "maildir" / "new"
    until = time.monotonic() + WAIT_TIMEOUT_S
    while len(mails := list(folder.glob("*")) if folder.exists() else []) < 5 and time.monotonic() < until:
        time.sleep(0.1)
    yield from (extract_token(mail.read_text()) for mail in mails)


def webhook_secrets(server: ServerProcess) -> Iterator[str]:
    """Returns the secrets of an endpoint, each rotated away but the last; also under an Idempotency-Key."""
    with server.client() as client:
        endpoint = create_endpoint(client)
        yield endpoint["secret"]
        for number in range(3):
            path, headers = f"/v1/webhooks/endpoints/{endpoint['id']}/rotate", {"Idempotency-Key": f"rotation-{number}"}
            rotated = client.post(path, json={"overlap_seconds": 60}, headers=headers)
            yield rotated.raise_for_status().json()["secret"]


def spellings(secret: str) -> Iterator[bytes]:
    """Returns a secret in plain, in hexadecimal, in base64 at any offset of a longer text, and in UTF-16."""
    raw = secret.encode()
    yield from (raw, raw.hex().encode(), secret.encode("utf-16-le"))
    for before in range(3):
        text = base64.b64encode(bytes(before) + raw)
        yield text[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]


def places(server: ServerProcess) -> Iterator[tuple[str, bytes]]:
    """Returns every file of the installation, and a backup of its database."""
    for path in server.data.rglob("*"):
        if path.is_file() and "maildir" not in path.parts:
            yield path.name, path.read_bytes()
    url = make_url(server.database_url)
    yield from of_sqlite(Path(url.database or "")) if url.get_backend_name() == "sqlite" else of_postgresql(server)


def of_sqlite(path: Path) -> Iterator[tuple[str, bytes]]:
    for found in path.parent.glob(path.name + "*"):
        yield found.name, found.read_bytes()
    copied = path.parent / "backup.db"
    with sqlite3.connect(path) as source, sqlite3.connect(copied) as target:
        source.backup(target)
    yield "backup", copied.read_bytes()


def of_postgresql(server: ServerProcess) -> Iterator[tuple[str, bytes]]:
    """Returns the database's own files and log segments, and all rows as a dump."""
    with psycopg.connect(server.database_url, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        folder = Path(connection.execute("SHOW data_directory").fetchone()[0])  # type: ignore[index]
        oid = connection.execute("SELECT oid FROM pg_database WHERE datname = current_database()").fetchone()[0]  # type: ignore[index]
        for path in [*(folder / "base" / str(oid)).iterdir(), *sorted((folder / "pg_wal").iterdir())[-4:]]:
            if path.is_file():
                yield f"{path.parent.name}/{path.name}", path.read_bytes()
        for (table,) in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall():
            with connection.cursor().copy(f'COPY "{table}" TO STDOUT') as rows:
                yield f"dump of {table}", b"".join(bytes(row) for row in rows)


def test_none_of_a_hundred_secrets_is_stored_in_any_encoding(server: ServerProcess) -> None:
    token = sign_in(server)["access_token"]
    secrets = [
        server.made["api_key"],
        server.made["owner_password"],
        *keys_of_the_owner(server, token),
        *tokens(server),
        *invitations(server, token),
        *webhook_secrets(server),
    ]
    assert len(set(secrets)) == len(secrets) > WANTED
    patterns = {pattern: secret for secret in secrets for pattern in spellings(secret)}

    found = {
        (place, patterns[pattern][:12])
        for place, content in places(server)
        for pattern in patterns
        if pattern in content
    }

    assert found == set()


def test_the_search_finds_a_stored_secret(server: ServerProcess) -> None:
    """A key's name, which is stored in clear, is found in the database, its log and the backup."""
    with server.client() as client:
        client.post("/v1/issuers", json={"name": "A needle in a haystack", "domain": "r.example"}).raise_for_status()

    found = {
        place
        for place, content in places(server)
        for pattern in spellings("A needle in a haystack")
        if pattern in content
    }

    assert {place.partition(" ")[0] for place in found} & {"backup", "dump"}
    assert [place for place in found if place.endswith(("-wal", ".db")) or place.startswith(("pg_wal", "dump"))]
