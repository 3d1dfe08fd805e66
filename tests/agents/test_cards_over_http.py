"""Cards and keys of agents over HTTP: `a2a-sdk`, joserfc and jwcrypto judge what strangers and tenants get."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import jwcrypto.jwk
import jwcrypto.jws
import pytest
from joserfc import jws as joserfc_jws
from joserfc.jwk import KeySet

from attestlab.core.clock import FixedClock
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.encoding import b64url_decode, b64url_encode
from attestlab.orgs.rules import Plan, Scope
from support.agents import AGENTS, KeyHolder, open_session, register_agent
from support.in_process_server import make_client
from support.orgs import TenantClients, read_audit_trail

pytestmark = [
    pytest.mark.one_world,
    pytest.mark.filterwarnings("ignore:EdDSA is deprecated:joserfc.errors.SecurityWarning"),
]
CARD = {"url": "https://agents.north.example/reader", "version": "2.1.0"}


@pytest.fixture
def stranger(clients: TenantClients) -> Iterator[httpx.Client]:
    with clients.anonymous() as made:
        yield made


def read_card(client: httpx.Client, agent: dict[str, Any]) -> dict[str, Any]:
    answer = client.get(f"{AGENTS}/{agent['id']}/card")
    assert answer.status_code == 200, answer.text
    card: dict[str, Any] = answer.json()
    return card


def read_jwks(client: httpx.Client, agent: dict[str, Any]) -> dict[str, Any]:
    answer = client.get(f"{AGENTS}/{agent['id']}/jwks.json")
    assert answer.status_code == 200, answer.text
    jwks: dict[str, Any] = answer.json()
    return jwks


def judge_with_a2a(card: dict[str, Any], jwks: dict[str, Any]) -> None:
    """Let the SDK of A2A read the card and verify its signature with the published keys."""
    a2a_signing = pytest.importorskip("a2a.utils.signing", reason="a2a-sdk is not installed")
    from a2a.types import AgentCard
    from google.protobuf.json_format import ParseDict
    from jwt import PyJWK

    keys = {key["kid"]: PyJWK({name: key[name] for name in key if name != "status"}) for key in jwks["keys"]}
    verify = a2a_signing.create_signature_verifier(lambda kid, jku: keys[kid], ["EdDSA"])
    verify(ParseDict(card, AgentCard()))


def judge_with_jose(card: dict[str, Any], jwks: dict[str, Any]) -> None:
    """Let two JOSE libraries verify the detached signature with the published keys."""
    [signature] = card["signatures"]
    payload = canonical({name: value for name, value in card.items() if name != "signatures"})
    token = f"{signature['protected']}.{b64url_encode(payload)}.{signature['signature']}"
    joserfc_jws.deserialize_compact(token, KeySet.import_key_set(jwks), algorithms=["EdDSA"])
    judged = jwcrypto.jws.JWS()
    judged.allowed_algs = ["EdDSA"]
    judged.deserialize(token, jwcrypto.jwk.JWKSet.from_json(json.dumps(jwks)))


def sign_card(client: httpx.Client, agent: dict[str, Any], signature: str | None = None) -> httpx.Response:
    body = {} if signature is None else {"signature": signature}
    return client.put(f"{AGENTS}/{agent['id']}/card/signature", json=body)


def ask_what_to_sign(client: httpx.Client, agent: dict[str, Any]) -> str:
    refused = sign_card(client, agent)
    assert refused.status_code == 400, refused.text
    text: str = refused.json()["details"]["signing_input_b64url"]
    return text


def register_with_own_key(client: httpx.Client, **fields: Any) -> tuple[KeyHolder, dict[str, Any]]:
    holder = KeyHolder()
    return holder, register_agent(client, **holder.prove(client), **fields)


def publish(client: httpx.Client, agent: dict[str, Any]) -> None:
    answer = client.patch(f"{AGENTS}/{agent['id']}", json={"discoverable": True})
    assert answer.status_code == 200, answer.text


@pytest.mark.both_engines
def test_a_discoverable_agent_has_a_public_card_that_others_verify(
    client: httpx.Client, stranger: httpx.Client
) -> None:
    agent = register_agent(client, scopes=["docs:*", "!docs:delete"], card=CARD)
    publish(client, agent)

    card, jwks = read_card(stranger, agent), read_jwks(stranger, agent)

    assert (card["name"], card["version"]) == ("Invoice reader", "2.1.0")
    assert [each["url"] for each in card["supportedInterfaces"]] == [CARD["url"]]
    assert [each["id"] for each in card["skills"]] == ["docs:*"]
    judge_with_a2a(card, jwks)
    judge_with_jose(card, jwks)
    assert read_card(client, agent) == card
    by_name = stranger.get(f"{AGENTS}/{agent['agent_id']}/card")
    assert by_name.json() == card


def test_the_card_of_another_agent_is_private(client: httpx.Client, clients: TenantClients) -> None:
    agent = register_agent(client)
    other = clients.lab.orgs.create_tenant("Southfield Robots", plan=Plan.ENTERPRISE)
    paths = [f"{AGENTS}/{agent['id']}/{kind}" for kind in ("card", "jwks.json")]
    with (
        clients.anonymous() as stranger,
        clients.with_key(tenant=other) as foreign,
        clients.with_key(Scope.ISSUERS_READ) as blind,
    ):
        assert [client.get(path).status_code for path in paths] == [200, 200]
        for each in (stranger, foreign, blind):
            assert [each.get(path).status_code for path in paths] == [404, 404]

        publish(client, agent)
        for each in (stranger, foreign, blind):
            assert [each.get(path).status_code for path in paths] == [200, 200]
        misnamed = f"maip:00000000:{agent['agent_id'][-26:]}"
        assert stranger.get(f"{AGENTS}/{misnamed}/card").status_code == 404


def test_an_agent_reads_its_own_card_without_any_scope(client: httpx.Client, clients: TenantClients) -> None:
    agent, other = register_agent(client), register_agent(client)
    with make_client(clients.url, token=open_session(client, agent, scopes=[])["token"]) as session:
        assert session.get(f"{AGENTS}/{agent['id']}/card").status_code == 200
        assert session.get(f"{AGENTS}/{other['id']}/card").status_code == 404


def test_an_unchanged_card_has_one_etag(client: httpx.Client, stranger: httpx.Client) -> None:
    agent = register_agent(client, scopes=["docs:read"])
    publish(client, agent)
    for kind in ("card", "jwks.json"):
        path = f"{AGENTS}/{agent['id']}/{kind}"
        first = stranger.get(path)
        again = stranger.get(path, headers={"If-None-Match": first.headers["ETag"]})
        assert (again.status_code, again.content) == (304, b"")

    client.patch(f"{AGENTS}/{agent['id']}", json={"display_name": "Another name"})
    assert stranger.get(f"{AGENTS}/{agent['id']}/card", headers={"If-None-Match": "*"}).status_code == 304
    changed = stranger.get(f"{AGENTS}/{agent['id']}/card")
    judge_with_a2a(changed.json(), read_jwks(stranger, agent))
    assert changed.json()["name"] == "Another name"


@pytest.mark.both_engines
def test_the_holder_of_an_own_key_signs_the_card_once(
    client: httpx.Client, clients: TenantClients, stranger: httpx.Client
) -> None:
    holder, agent = register_with_own_key(client, card=CARD)
    publish(client, agent)
    assert "signatures" not in read_card(stranger, agent)

    text = ask_what_to_sign(client, agent)
    signed = sign_card(client, agent, f"{text}.{holder.sign(text.encode())}")

    assert signed.status_code == 200, signed.text
    card = read_card(stranger, agent)
    assert card == signed.json()
    judge_with_a2a(card, read_jwks(stranger, agent))
    judge_with_jose(card, read_jwks(stranger, agent))
    assert sign_card(client, agent, f"{text}.{holder.sign(text.encode())}").status_code == 200
    assert [each for each in read_audit_trail(clients.lab, agent["id"]) if each[0] == "agent.sign_card"] == [
        ("agent.sign_card", "API_KEY")
    ]


@pytest.mark.parametrize("change", [{"display_name": "Other"}, {"scopes": ["docs:read"]}, {"card": None}])
def test_a_card_that_changed_has_no_signature_until_its_holder_signs_again(
    client: httpx.Client, change: dict[str, Any]
) -> None:
    holder, agent = register_with_own_key(client, card=CARD)
    text = ask_what_to_sign(client, agent)
    token = f"{text}.{holder.sign(text.encode())}"
    sign_card(client, agent, token)

    client.patch(f"{AGENTS}/{agent['id']}", json=change)

    assert "signatures" not in read_card(client, agent)
    assert sign_card(client, agent, token).status_code == 400
    text = ask_what_to_sign(client, agent)
    assert "signatures" in sign_card(client, agent, f"{text}.{holder.sign(text.encode())}").json()


def test_signatures_that_are_not_of_this_card_change_nothing(client: httpx.Client) -> None:
    holder, agent = register_with_own_key(client)
    text = ask_what_to_sign(client, agent)
    header, payload = text.split(".")
    good = holder.sign(text.encode())
    statement = f"{b64url_encode(json.dumps({'alg': 'EdDSA', 'kid': agent['key_id']}).encode())}.{payload}"
    other_payload = f"{header}.{b64url_encode(b64url_decode(payload).replace(b'1.0', b'1.1'))}"
    wrong = {
        "another key": f"{text}.{KeyHolder().sign(text.encode())}",
        "another card": f"{other_payload}.{holder.sign(other_payload.encode())}",
        "another type": f"{statement}.{holder.sign(statement.encode())}",
        "padding": f"{text}.{good}==",
        "no JWS": "x",
        "letters outside of ASCII": f"ä{text}.{good}",
        "no signature": f"{text}.",
    }
    for what, token in wrong.items():
        refused = sign_card(client, agent, token)
        assert refused.status_code == 400, what
        assert refused.json()["details"]["fields"][0]["field"] == "/signature", what

    assert "signatures" not in read_card(client, agent)


def test_the_service_signs_alone_where_it_holds_the_key(client: httpx.Client) -> None:
    agent = register_agent(client)

    for signature in (None, "a.b.c"):
        refused = sign_card(client, agent, signature)
        assert refused.status_code == 400
        assert refused.json()["details"]["fields"][0]["code"] == "external_only"


def test_an_agent_signs_no_card_of_another(client: httpx.Client, clients: TenantClients) -> None:
    _, agent = register_with_own_key(client)
    scoped = register_agent(client, scopes=["agents:write"])
    with make_client(clients.url, token=open_session(client, scoped)["token"]) as session:
        assert sign_card(session, agent).status_code == 403


@pytest.mark.both_engines
def test_what_a_stranger_sees_of_keys_follows_their_status(
    client: httpx.Client, stranger: httpx.Client, clock: FixedClock
) -> None:
    agent = register_agent(client)
    publish(client, agent)
    clock.advance(timedelta(seconds=1))
    rotated = client.post(f"{AGENTS}/{agent['id']}/keys/rotate", json={}).json()
    new = rotated["new_key"]["kid"]
    keys = read_jwks(stranger, agent)["keys"]
    assert [(key["kid"], key["status"]) for key in keys] == [(new, "active"), (agent["key_id"], "rotated")]
    judge_with_jose(read_card(stranger, agent), {"keys": keys})

    client.post(f"{AGENTS}/{agent['id']}/keys/{new}/compromise", json={"reason": "Stolen."})

    assert [key["kid"] for key in read_jwks(stranger, agent)["keys"]] == [agent["key_id"]]
    assert stranger.get(f"{AGENTS}/{agent['id']}/card").status_code == 404
    assert "signatures" not in read_card(client, agent)


def test_a_revoked_agent_has_no_public_card_but_its_keys_stay(client: httpx.Client, stranger: httpx.Client) -> None:
    agent = register_agent(client)
    publish(client, agent)

    client.post(f"{AGENTS}/{agent['id']}/revoke", json={"reason": "Replaced."})

    assert stranger.get(f"{AGENTS}/{agent['id']}/card").status_code == 404
    assert [key["kid"] for key in read_jwks(stranger, agent)["keys"]] == [agent["key_id"]]
    assert "signatures" not in read_card(client, agent)


def test_a_key_with_the_scope_to_read_agents_reads_cards(clients: TenantClients, client: httpx.Client) -> None:
    agent = register_agent(client)
    unknown = ("nothing", "01a21817-5f3c-7abc-8def-0123456789ab", "maip:0193b5a0:01M8C1EQSWFAY8VVR14D2PF2DB")
    with clients.with_key(Scope.AGENTS_READ) as reader:
        assert reader.get(f"{AGENTS}/{agent['id']}/card").status_code == 200
        for each in unknown:
            assert reader.get(f"{AGENTS}/{each}/card").status_code == 404
            assert reader.get(f"{AGENTS}/{each}/jwks.json").status_code == 404
