"""Header injection: names of issuers, tenants and recipients cannot alter the service's e-mails."""

from __future__ import annotations

import time
from email import message_from_bytes
from email.header import decode_header, make_header
from email.message import Message

from support import patient_http
from support.attestations import make_mint_body, mint
from support.issuers import register_issuer
from support.server_process import ServerProcess, run_json_command
from support.timeouts import WAIT_TIMEOUT_S

TAKE_OVER = "=?utf-8?q?Reset=0D=0AReply-To:_e=40x.org=0D=0A=0D=0A=3Ca_href=3Dx=3E?="
NAMES = ["From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version", "Content-Type"]
NAMES += ["Content-Transfer-Encoding"]


def letters(server: ServerProcess, count: int) -> list[bytes]:
    """Returns the mails that the server received, once there are this many."""
    folder, until = server.data / "maildir" / "new", time.monotonic() + WAIT_TIMEOUT_S
    while len(found := list(folder.glob("*")) if folder.exists() else []) < count:
        assert time.monotonic() < until, f"{len(found)} of {count} mails; {server.errors()}"
        time.sleep(0.02)
    return [path.read_bytes() for path in sorted(found)]


def subject_of(letter: Message) -> str:
    return str(make_header(decode_header(letter["Subject"].replace("\n", ""))))


def test_encoded_words_in_names_are_read_as_typed(server: ServerProcess) -> None:
    records = ("--data", str(server.data), "--database-url", server.database_url)
    made = run_json_command("tenant", "create", TAKE_OVER, "--plan", "ENTERPRISE", *records, "--json")
    login = {"email": made["owner_email"], "password": made["owner_password"]}
    with server.client(key=made["api_key"]) as client:
        issuer = register_issuer(client, name=TAKE_OVER)
        assert mint(client, make_mint_body(issuer, recipient_email="ada@people.example")).status_code == 201
        token = client.post("/v1/auth/login", json=login).raise_for_status().json()["access_token"]
    with patient_http.open_client(base_url=server.url, headers={"Authorization": f"Bearer {token}"}) as owner:
        owner.post("/v1/users", json={"email": "bob@people.example", "role": "member"}).raise_for_status()

    raw = letters(server, 2)
    read = [message_from_bytes(letter) for letter in raw]

    assert [letter.keys() for letter in read] == [NAMES] * 2
    assert {subject_of(letter) for letter in read} == {
        f"{TAKE_OVER} has issued an attestation to you",
        f"Invitation to {TAKE_OVER}",
    }
    assert not any(b"\nReply-To" in letter or b"=0D=0A" in letter.partition(b"\n\n")[0] for letter in raw)


def test_a_recipient_in_the_form_of_an_encoded_word_is_refused(server: ServerProcess) -> None:
    address = "=?utf-8?q?=0d=0abcc?=@people.example"
    with server.client() as client:
        answer = mint(client, make_mint_body(register_issuer(client), recipient_email=address))

    assert answer.status_code == 400, answer.text
    assert answer.json()["details"]["fields"][0]["field"] == "/recipient_email"
