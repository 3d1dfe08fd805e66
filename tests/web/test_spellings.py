"""Every field of every route that takes a time, a hash, an address, a device, a country or an e-mail address."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from attestlab.core.errors import ValidationFailed
from attestlab.core.text_forms import SHA256_HEX
from attestlab.installation import Installation
from attestlab.orgs.role_rules import normalize_address
from attestlab.orgs.rules import Caller, Scope
from attestlab.server.app import describe_api
from support.attestations import make_mint_body, mint
from support.in_process_server import make_client, serve_in_thread
from support.issuers import register_issuer

JsonObject = dict[str, Any]
# A field that is new here wants a decision: which spellings it takes, and what a placeholder in it means.
FIELDS = {
    "EmailInput": {"email"},
    "InboxDeliveryInput": {"recipient_email"},
    "IssuerInput": {"jurisdiction"},
    "IssuerPatch": {"jurisdiction"},
    "LoginAttemptInput": {"ip", "device_id", "country"},
    "LoginInput": {"email"},
    "MintInput": {"recipient_email"},
    "PasswordForgottenInput": {"email"},
    "SignupInput": {"email"},
    "SupersedeInput": {"recipient_email"},
    "UserInput": {"email"},
}
_FIELD = re.compile(r"(?:.*_)?(?:ip|address|device|device_id|country|jurisdiction|email)")

pytestmark = pytest.mark.one_world


@pytest.fixture(scope="module")
def document() -> JsonObject:
    found: JsonObject = json.loads(describe_api())
    return found


@pytest.fixture
def client(lab: Installation, caller: Caller) -> Iterator[httpx.Client]:
    """A client with every scope."""
    key = lab.api_keys.create("Sweep", scopes=frozenset(Scope), caller=caller).secret
    with serve_in_thread(lab) as url, make_client(url, key=key) as opened:
        yield opened


def list_queries(document: JsonObject, wanted: str) -> list[tuple[str, str]]:
    """List path and name of the query parameters with this text in their schema, of reads without a path parameter."""
    return [
        (path, parameter["name"])
        for path, item in document["paths"].items()
        if "get" in item and "{" not in path
        for parameter in item["get"].get("parameters", [])
        if parameter.get("in") == "query" and wanted in json.dumps(parameter)
    ]


def test_the_fields_with_spellings_are_known(document: JsonObject) -> None:
    schemas = document["components"]["schemas"]
    sent = {name: schema.get("properties", {}) for name, schema in schemas.items() if name.endswith(("Input", "Patch"))}
    found = {name: {each for each in members if _FIELD.fullmatch(each)} for name, members in sent.items()}

    assert {name: members for name, members in found.items() if members} == FIELDS


@pytest.mark.parametrize(
    "spelling", ["Ada@EXAMPLE.org", " ada@example.org", "ada@\uff45xample.org", "ada@example\u3002org"]
)
def test_an_account_has_one_address(spelling: str) -> None:
    """The case of all of it, and a full-width domain or dot."""
    assert normalize_address(spelling) == "ada@example.org"


@pytest.mark.parametrize("spelling", ["ada@example.org.", "ada\uff20example.org", "unknown", "ada@.example.org"])
def test_what_is_no_address_is_refused_with_a_reason(spelling: str) -> None:
    with pytest.raises(ValidationFailed, match="Invalid e-mail address"):
        normalize_address(spelling)


def find_faults(answer: httpx.Response) -> set[str]:
    """Find the fields that a 400 complains about."""
    return {fault["field"] for fault in answer.json()["details"].get("fields", [])} if answer.is_client_error else set()


@pytest.mark.parametrize("text", ["2026-01-02 03:04:05z", "2026-01-02T03:04:05 00:00", "2026-01-02T23:59:60Z"])
def test_every_time_of_a_query_is_taken_in_each_spelling(client: httpx.Client, document: JsonObject, text: str) -> None:
    queries = list_queries(document, '"date-time"')
    assert len(queries) >= 10

    refused = [
        (path, name) for path, name in queries if f"/{name}" in find_faults(client.get(path, params={name: text}))
    ]

    assert refused == []


def test_every_hash_of_a_query_has_one_form(document: JsonObject) -> None:
    hashes = [(path, name) for path, name in list_queries(document, "hash") if "hash" in name]
    described = list_queries(document, json.dumps(SHA256_HEX)[1:-1])

    assert hashes
    assert set(hashes) <= set(described)


@pytest.mark.parametrize("spell", [str.upper, "sha256:{}".format, lambda text: f"sha256:{text.upper()}"])
def test_a_hash_is_looked_up_in_each_spelling(client: httpx.Client, document: JsonObject, spell: Any) -> None:
    for path, name in list_queries(document, json.dumps(SHA256_HEX)[1:-1]):
        answers = [client.get(path, params={name: text}) for text in ("ab" * 32, spell("ab" * 32))]
        assert find_faults(answers[1]) == find_faults(answers[0])
        assert answers[0].status_code == answers[1].status_code


@pytest.mark.parametrize("name", ["document_hash", "claims"])
def test_a_mint_takes_no_hash_of_zeros(client: httpx.Client, name: str) -> None:
    body = make_mint_body(register_issuer(client))
    claims = {**body["claims"], "document": {"sha256": "0" * 64}}
    changes = {"claims": claims} if name == "claims" else {"document_hash": "0" * 64}
    answer = mint(client, {**body, **changes})

    assert answer.status_code == 400
    assert "no document has such a hash" in answer.json()["details"]["fields"][0]["message"]


def test_a_country_of_an_issuer_is_taken_in_each_spelling(client: httpx.Client) -> None:
    for sent, country in (("xk", "XK"), ("uk", "GB"), ("ch", "CH")):
        assert register_issuer(client, name=f"Issuer {sent}", jurisdiction=sent)["jurisdiction"] == country
    refused = client.post("/v1/issuers", json={"name": "Issuer", "domain": "z.example", "jurisdiction": "ZZ"})

    assert "names no country" in refused.text
