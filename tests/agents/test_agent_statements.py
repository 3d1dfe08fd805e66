"""Statements of agents: signed as one type of token, wrapped, verified by libraries of others."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from datetime import timedelta
from typing import Any

import httpx
import pytest
from joserfc import jws
from joserfc.jwk import OKPKey

from attestlab.core.clock import FixedClock
from support.agents import AGENTS, KeyHolder, register_agent
from support.orgs import TenantClients, read_audit_trail

pytestmark = [
    pytest.mark.one_world,
    pytest.mark.filterwarnings("ignore:EdDSA is deprecated:joserfc.errors.SecurityWarning"),
]
STATEMENT = {"payload": {"invoice": 7, "paid": True}}


def read_parts(token: str) -> tuple[dict[str, Any], dict[str, Any]]:
    header, payload, _ = (urlsafe_b64decode(part + "==") for part in token.split("."))
    return json.loads(header), json.loads(payload)


def verify_outside(token: str, agent: dict[str, Any]) -> None:
    """Verify a statement with a JOSE library of others."""
    key = OKPKey.import_key({"kty": "OKP", "crv": "Ed25519", "x": agent["public_key"]})
    jws.deserialize_compact(token, key, algorithms=["EdDSA"])


def sign(client: httpx.Client, agent: dict[str, Any], **more: Any) -> httpx.Response:
    return client.post(f"{AGENTS}/{agent['id']}/sign", json={**STATEMENT, **more})


@pytest.mark.both_engines
def test_a_managed_key_signs_a_typed_wrapped_statement(
    client: httpx.Client, clients: TenantClients, clock: FixedClock
) -> None:
    agent = register_agent(client)

    signed = sign(client, agent).json()

    header, payload = read_parts(signed["jws"])
    assert header == {"alg": "EdDSA", "kid": agent["key_id"], "typ": "agent-statement+jwt"}
    assert sorted(payload) == ["iat", "iss", "jti", "statement"]
    assert (payload["iss"], payload["statement"]) == (agent["id"], STATEMENT["payload"])
    assert payload["iat"] == int(clock.now().timestamp())
    assert signed["kid"] == agent["key_id"]
    verify_outside(signed["jws"], agent)
    assert read_audit_trail(clients.lab, agent["id"])[-1] == ("agent.sign", "API_KEY")


def test_what_looks_like_another_token_stays_wrapped(client: httpx.Client) -> None:
    agent = register_agent(client)
    hop = {"v": 1, "parent": agent["id"], "child": agent["id"], "scopes": ["docs:*"], "iss": "me", "aud": "you"}

    header, payload = read_parts(sign(client, agent, payload=hop).json()["jws"])

    assert header["typ"] == "agent-statement+jwt"
    assert payload["statement"] == hop
    assert payload["iss"] == agent["id"]
    assert "aud" not in payload


@pytest.mark.both_engines
def test_the_holder_of_an_own_key_signs_what_the_service_says(client: httpx.Client) -> None:
    holder = KeyHolder()
    agent = register_agent(client, **holder.prove(client))

    asked = sign(client, agent)
    details = asked.json()["details"]
    signing_input = details["signing_input_b64url"]
    chosen = {"iat": details["iat"], "jti": details["jti"]}
    token = f"{signing_input}.{holder.sign(signing_input.encode())}"
    signed = sign(client, agent, **chosen, signature=token)

    assert (asked.status_code, details["fields"][0]["code"]) == (400, "signature_required")
    assert signed.json() == {"jws": token, "kid": agent["key_id"]}
    verify_outside(token, agent)


@pytest.mark.parametrize(
    "fault", ["another key", "another payload", "another jti", "old", "padded", "nothing", "prefix"]
)
def test_another_signature_than_of_this_statement_is_refused(
    client: httpx.Client, clock: FixedClock, fault: str
) -> None:
    holder = KeyHolder()
    agent = register_agent(client, **holder.prove(client))
    details = sign(client, agent).json()["details"]
    signing_input, chosen = details["signing_input_b64url"], {"iat": details["iat"], "jti": details["jti"]}
    token, payload = f"{signing_input}.{holder.sign(signing_input.encode())}", STATEMENT["payload"]
    match fault:
        case "another key":
            token = f"{signing_input}.{KeyHolder().sign(signing_input.encode())}"
        case "another payload":
            payload = {"invoice": 8}
        case "another jti":
            chosen["jti"] = agent["id"]
        case "old":
            clock.advance(timedelta(minutes=6))
        case "padded":
            token += "=="
        case "nothing":
            token = "."
        case "prefix":
            token = token[:-2]

    refused = sign(client, agent, payload=payload, **chosen, signature=token)

    place = "/iat" if fault == "old" else "/signature"
    assert (refused.status_code, refused.json()["details"]["fields"][0]["field"]) == (400, place), refused.text


def test_a_managed_key_takes_no_signature(client: httpx.Client) -> None:
    agent = register_agent(client)

    refused = sign(client, agent, signature="a.b.c")

    assert refused.json()["details"]["fields"][0]["code"] == "external_only"


def test_a_suspended_agent_states_nothing(client: httpx.Client) -> None:
    agent = register_agent(client)
    client.post(f"{AGENTS}/{agent['id']}/suspend", json={"reason": "a test"})

    refused = sign(client, agent)

    assert (refused.status_code, refused.json()["details"]["status"]) == (409, "suspended")


@pytest.mark.parametrize("body", [{}, {"payload": None}, {"payload": "x"}, {"payload": {"a": "b" * 16_384}}])
def test_what_is_no_statement_is_refused(client: httpx.Client, body: dict[str, Any]) -> None:
    agent = register_agent(client)

    answer = client.post(f"{AGENTS}/{agent['id']}/sign", json=body)

    assert (answer.status_code, answer.json()["details"]["fields"][0]["field"]) == (400, "/payload")
