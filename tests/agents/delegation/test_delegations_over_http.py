"""Delegations over HTTP: given, listed, verified by strangers, revoked with everything below, proven and exported."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any
from uuid import uuid4

import httpx
import pytest

from attestlab.agents.delegation.bundle import DelegationBundle, verify_delegation_bundle
from attestlab.agents.delegation.rules import ChainVerdict
from attestlab.core.clock import FixedClock
from attestlab.core.encoding import format_time, parse_time
from attestlab.core.errors import NewerFormat, ValidationFailed
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.log.note.trust_policy import TrustPolicy
from attestlab.orgs.rules import Scope
from support.agents import AGENTS, KeyHolder, register_agent
from support.delegation_biscuits import is_allowed, open_biscuit
from support.log.entries import read_log_entries
from support.orgs import TenantClients, create_api_key, read_audit_trail
from support.outbox import read_events_of_type

pytestmark = pytest.mark.one_world
DELEGATIONS = "/v1/delegations"
WHY = {"reason": "it probes"}


def delegate(client: httpx.Client, parent: dict[str, Any], to: dict[str, Any] | None = None, **fields: Any) -> Any:
    named = {} if to is None else {"child_agent_id": to["id"]}
    return client.post(f"{AGENTS}/{parent['id']}/delegations", json={"scopes": ["docs:read"], **named, **fields})


def make_line(client: httpx.Client, depth: int) -> list[dict[str, Any]]:
    """Delegate from agent to agent; returns the delegations, the first one first."""
    agents = [register_agent(client, scopes=["docs:*", "!docs:delete"]) for _ in range(depth + 1)]
    made = [delegate(client, parent, child) for parent, child in pairwise(agents)]
    assert [answer.status_code for answer in made] == [201] * depth, made[-1].text
    return [answer.json() for answer in made]


def verify(client: httpx.Client, chain: list[str], **fields: Any) -> dict[str, Any]:
    """Verify a chain as a stranger, without a credential."""
    with httpx.Client(base_url=client.base_url, timeout=60) as stranger:
        answer = stranger.post(f"{DELEGATIONS}/verify", json={"chain": chain, **fields})
    assert answer.status_code == 200, answer.text
    verdict: dict[str, Any] = answer.json()
    return verdict


def trust_of(lab: Installation) -> TrustPolicy:
    with lab.storage.read() as connection:
        return TrustPolicy.parse(f"log {lab.log.vkey(connection)}\nquorum none\n".encode())


@pytest.mark.both_engines
def test_a_delegation_is_given_found_verified_and_revoked_with_all_below(
    client: httpx.Client, clients: TenantClients, clock: FixedClock
) -> None:
    root = register_agent(client, scopes=["docs:*", "mail:send", "!docs:delete"])
    child = {"display_name": "Reader", "agent_type": "llm"}
    answer = delegate(client, root, scopes=["docs:*", "!docs:share"], child=child)
    made = answer.json()
    assert answer.status_code == 201, answer.text
    assert answer.headers["Location"] == f"{DELEGATIONS}/{made['delegation_id']}"
    assert (made["scopes"], made["denied_scopes"], made["depth"]) == (["docs:*"], ["docs:delete", "docs:share"], 1)
    assert made["child"]["parent_agent_id"] == root["id"]
    assert made["child"]["effective_scopes"] == ["docs:*", "!docs:delete", "!docs:share"]
    helper = register_agent(client, scopes=["docs:read", "pay:send"])
    clock.advance(timedelta(seconds=1))
    below = delegate(client, made["child"], helper).json()
    assert (below["depth"], below["chain"][0], len(below["chain"])) == (2, made["chain"][0], 2)

    assert client.get(f"{DELEGATIONS}/{below['delegation_id']}").json() == below
    listed = client.get(f"{AGENTS}/{made['child']['id']}/delegations").json()["items"]
    assert [each["delegation_id"] for each in listed] == [below["delegation_id"], made["delegation_id"]]
    for direction, expected in (("given", below), ("received", made)):
        found = client.get(f"{AGENTS}/{made['child']['id']}/delegations?direction={direction}").json()["items"]
        assert [each["delegation_id"] for each in found] == [expected["delegation_id"]]

    verdict = verify(client, below["chain"], required_scope="docs:read")
    assert verdict == {
        **{"verdict": "VALID", "depth": 2, "root_agent_id": root["id"], "leaf_agent_id": helper["id"]},
        **{"effective_scopes": ["docs:read"], "denied_scopes": ["docs:delete", "docs:share"], "reasons": []},
        "expires_at": below["expires_at"],
    }
    assert verify(client, below["chain"], required_scope="docs:delete")["verdict"] == "SCOPE_VIOLATION"

    path = f"{DELEGATIONS}/{made['delegation_id']}/revoke"
    tried = client.post(path, json={**WHY, "dry_run": True}).json()
    assert (tried["revoked_delegations"], tried["terminated_sessions"], tried["dry_run"]) == (2, 0, True)
    assert verify(client, below["chain"])["verdict"] == "VALID"
    revoked = client.post(path, json=WHY).json()
    assert (revoked["revoked_delegations"], revoked["delegation"]["status"]) == (2, "revoked")
    assert verify(client, below["chain"])["verdict"] == "REVOKED"
    assert client.post(path, json=WHY).status_code == 409

    listed = client.get(f"{DELEGATIONS}/revocations?limit=1000").json()["items"]
    ids = [each["id"] for each in listed]
    assert {made["delegation_id"], below["delegation_id"]} <= set(ids)
    assert [each["log_index"] for each in listed] == sorted(each["log_index"] for each in listed)
    assert client.get(f"{AGENTS}/{made['child']['id']}").json()["effective_scopes"] == ["!docs:delete", "!docs:share"]
    released = client.get(f"{AGENTS}/{helper['id']}").json()
    assert (released["effective_scopes"], released["parent_agent_id"]) == (["docs:read", "pay:send"], None)
    assert list(fsck(clients.lab)) == []


def test_each_change_is_an_entry_of_the_log_an_audit_line_and_an_event(
    client: httpx.Client, clients: TenantClients
) -> None:
    (made,) = make_line(client, 1)
    client.post(f"{DELEGATIONS}/{made['delegation_id']}/revoke", json=WHY)

    (first,) = (each for each in read_log_entries(clients.lab, made["log_index"])[:1])
    assert first.members["type"] == "delegation.status"
    assert (first.members["delegation_id"], first.members["status"]) == (made["delegation_id"], "active")
    assert "docs" not in str(first.members), "the log names no scopes"
    assert [action for action, _ in read_audit_trail(clients.lab, made["delegation_id"])] == [
        "delegation.create",
        "delegation.revoke",
    ]
    for kind in ("delegation.created", "delegation.revoked"):
        fact = next(
            each for each in read_events_of_type(clients.lab, kind) if each["delegation_id"] == made["delegation_id"]
        )
        assert (fact["child_agent_id"], fact["depth"]) == (made["child"]["id"], 1)


@pytest.mark.parametrize("scope", ["docs:delete", "mail:send", "pay:*"])
def test_a_parent_gives_only_what_it_may_do(client: httpx.Client, scope: str) -> None:
    root, child = register_agent(client, scopes=["docs:*", "!docs:delete"]), register_agent(client, scopes=["docs:*"])

    answer = delegate(client, root, child, scopes=["docs:read", scope])

    assert (answer.status_code, answer.json()["details"]["reason"]) == (403, "scope_violation")
    assert answer.json()["details"]["scope"] == scope
    assert client.get(f"{AGENTS}/{root['id']}/delegations").json()["items"] == []


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"scopes": []}, "/scopes"),
        ({"scopes": ["docs"]}, "/scopes/0"),
        ({"scopes": ["!docs:read"]}, "/scopes"),
        ({"scopes": ["docs:read"] * 2}, "/scopes/1"),
        ({"expires_at": "2001-01-01T00:00:00Z"}, "/expires_at"),
        ({"signature": "a.b.c"}, "/signature"),
        ({"child": {"display_name": "A"}}, "/child_agent_id"),
        ({"child_agent_id": None}, "/child_agent_id"),
        ({"unknown": 1}, "/unknown"),
    ],
)
def test_a_broken_request_names_its_field_and_changes_nothing(
    client: httpx.Client, fields: dict[str, Any], pointer: str
) -> None:
    root, child = register_agent(client, scopes=["docs:*"]), register_agent(client, scopes=["docs:*"])

    answer = delegate(client, root, child, **fields)

    assert answer.status_code == 400, answer.text
    assert [each["field"] for each in answer.json()["details"]["fields"]] == [pointer]
    assert client.get(f"{AGENTS}/{root['id']}/delegations").json()["items"] == []


def test_a_tree_has_one_parent_a_child_no_cycle_and_eight_levels(client: httpx.Client) -> None:
    line = make_line(client, 8)
    leaf, root = line[-1]["child"], {"id": line[0]["parent_agent_id"]}
    other = register_agent(client, scopes=["docs:*"])

    for parent, child, reason in [
        (leaf, other, "depth_exceeded"),
        (leaf, root, "cycle"),
        (root, root, "cycle"),
        (other, leaf, "already_delegated"),
        (other, root, "delegates_already"),
    ]:
        answer = delegate(client, parent, child)
        assert (answer.status_code, answer.json()["details"]["reason"]) == (409, reason)
    assert verify(client, line[-1]["chain"])["verdict"] == "VALID"


def test_agents_that_may_not_act_neither_give_nor_get(client: httpx.Client, clients: TenantClients) -> None:
    root, child = register_agent(client, scopes=["docs:*"]), register_agent(client, scopes=["docs:*"])
    client.post(f"{AGENTS}/{child['id']}/suspend", json=WHY)

    assert delegate(client, root, child).status_code == 404
    assert delegate(client, child, root).status_code == 404
    assert delegate(client, root, {"id": str(uuid4())}).status_code == 404


def test_suspension_narrowing_and_a_kill_hold_at_once(client: httpx.Client) -> None:
    line = make_line(client, 2)
    chain, middle = line[1]["chain"], line[0]["child"]["id"]

    client.patch(f"{AGENTS}/{middle}", json={"scopes": ["docs:write"]})
    assert verify(client, chain)["effective_scopes"] == []
    client.post(f"{AGENTS}/{middle}/suspend", json=WHY)
    assert verify(client, chain)["reasons"] == [f"The agent {middle} is suspended."]
    killed = client.post(f"{AGENTS}/{line[0]['parent_agent_id']}/kill", json=WHY).json()
    assert (killed["revoked_descendants"], killed["revoked_delegations"]) == (2, 2)
    assert verify(client, chain)["verdict"] == "REVOKED"


def test_a_revoked_agent_leaves_its_children_without_what_it_gave(client: httpx.Client) -> None:
    root = register_agent(client, scopes=["docs:*"])
    born = delegate(client, root, child={"display_name": "Born"}).json()["child"]
    adopted = register_agent(client, scopes=["docs:*", "mail:send"])
    delegate(client, root, adopted)

    client.post(f"{AGENTS}/{root['id']}/revoke", json=WHY)

    assert client.get(f"{AGENTS}/{born['id']}").json()["effective_scopes"] == []
    assert client.get(f"{AGENTS}/{adopted['id']}").json()["effective_scopes"] == ["docs:*", "mail:send"]


def test_an_agent_born_by_a_delegation_never_has_more_than_another_one_gives(client: httpx.Client) -> None:
    root, other = (register_agent(client, scopes=["docs:*", "mail:*"]) for _ in range(2))
    first = delegate(client, root, child={"display_name": "Born", "scopes": ["docs:*", "mail:*"]}).json()
    born = first["child"]
    client.post(f"{DELEGATIONS}/{first['delegation_id']}/revoke", json=WHY)

    second = delegate(client, other, born, scopes=["mail:send"]).json()
    assert second["child"]["effective_scopes"] == ["mail:send"]
    client.post(f"{DELEGATIONS}/{second['delegation_id']}/revoke", json=WHY)

    assert client.get(f"{AGENTS}/{born['id']}").json()["effective_scopes"] == []


def test_an_expired_delegation_ends_and_gives_way(client: httpx.Client, clock: FixedClock) -> None:
    root, child, other = (register_agent(client, scopes=["docs:*"]) for _ in range(3))
    soon = format_time(clock.now() + timedelta(hours=1))
    made = delegate(client, root, child, expires_at=soon).json()
    assert made["expires_at"] == soon
    late = delegate(client, child, other, expires_at=format_time(clock.now() + timedelta(hours=2)))
    assert (late.status_code, late.json()["details"]["fields"][0]["code"]) == (400, "too_late")

    clock.advance(timedelta(hours=1))

    assert verify(client, made["chain"])["verdict"] == "EXPIRED"
    assert client.get(f"{DELEGATIONS}/{made['delegation_id']}").json()["status"] == "expired"
    assert client.get(f"{AGENTS}/{child['id']}").json()["effective_scopes"] == []
    again = delegate(client, other, child).json()
    assert (again["child"]["parent_agent_id"], again["child"]["effective_scopes"]) == (other["id"], ["docs:read"])
    assert verify(client, again["chain"])["verdict"] == "VALID"


def test_the_holder_of_an_own_key_signs_the_hop(client: httpx.Client) -> None:
    holder = KeyHolder()
    root = register_agent(client, scopes=["docs:*"], **holder.prove(client))
    child = register_agent(client, scopes=["docs:*"])
    asked = delegate(client, root, child)
    signed = asked.json()["details"]["signing_input_b64url"]
    assert asked.status_code == 400

    token = f"{signed}.{holder.sign(signed.encode())}"
    forged = f"{signed}.{KeyHolder().sign(signed.encode())}"
    for wrong in (forged, token[:-3], "a.b.c"):
        answer = delegate(client, root, child, signature=wrong)
        assert answer.json()["details"]["fields"][0]["code"] == "signature_invalid"
    other = delegate(client, root, child, scopes=["docs:write"], signature=token)
    assert other.json()["details"]["fields"][0]["code"] == "signature_invalid"
    made = delegate(client, root, child, signature=token)
    assert (made.status_code, made.json()["chain"]) == (201, [token])
    assert verify(client, [token])["verdict"] == "VALID"

    client.post(f"{DELEGATIONS}/{made.json()['delegation_id']}/revoke", json=WHY)
    replayed = delegate(client, root, child, signature=token)
    assert replayed.json()["details"]["fields"][0]["code"] == "used"
    fresh = delegate(client, root, child={"display_name": "Born"})
    assert fresh.json()["details"]["fields"][0]["field"] == "/child"


def test_a_caller_cannot_give_a_scope_of_the_service_it_lacks(client: httpx.Client, clients: TenantClients) -> None:
    root, child = (register_agent(client, scopes=["risk:read", "docs:read"]) for _ in range(2))
    narrow = create_api_key(clients.lab, clients.tenant, Scope.AGENTS_WRITE, Scope.AGENTS_READ)
    with httpx.Client(base_url=client.base_url, headers={"X-API-Key": narrow}, timeout=60) as poor:
        answer = delegate(poor, root, child, scopes=["risk:read"])
        assert (answer.status_code, answer.json()["details"]["required_scope"]) == (403, "risk:read")
        assert delegate(poor, root, child).status_code == 201


@pytest.mark.both_engines
def test_a_stranger_verifies_a_chain_with_a_bundle_and_a_pinned_log(
    client: httpx.Client, clients: TenantClients, clock: FixedClock
) -> None:
    line = make_line(client, 3)
    client.post(f"{AGENTS}/{line[1]['parent_agent_id']}/keys/rotate", json={})
    document = client.get(f"{DELEGATIONS}/{line[2]['delegation_id']}/proof-bundle").json()
    bundle, trust, now = DelegationBundle.parse(document), trust_of(clients.lab), clock.now()

    verified = verify_delegation_bundle(bundle, trust=trust, now=now, required_scope="docs:read")

    assert verified.report.verdict is ChainVerdict.VALID, verified.report.reasons
    assert verified.report.leaf_agent_id == line[2]["child"]["id"]
    assert verified.head is not None
    late = parse_time(line[2]["expires_at"])
    assert verify_delegation_bundle(bundle, trust=trust, now=late).report.verdict is ChainVerdict.EXPIRED
    revoked = {line[1]["delegation_id"]}
    report = verify_delegation_bundle(bundle, trust=trust, now=now, revoked=revoked).report
    assert report.verdict is ChainVerdict.REVOKED


def test_a_bundle_whose_keys_the_log_does_not_prove_is_broken(
    client: httpx.Client, clients: TenantClients, clock: FixedClock
) -> None:
    line, other = make_line(client, 1), make_line(client, 1)
    document, foreign = (
        client.get(f"{DELEGATIONS}/{each[0]['delegation_id']}/proof-bundle").json() for each in (line, other)
    )
    trust, (key,), (theirs,) = trust_of(clients.lab), document["keys"], foreign["keys"]
    changes: list[dict[str, Any]] = [
        {**key, "jwk": theirs["jwk"]},
        {**key, "kid": theirs["kid"]},
        {**key, "agent_id": theirs["agent_id"]},
        {**key, "log_entry": theirs["log_entry"]},
        {**key, "inclusion_proof": {**key["inclusion_proof"], "log_index": 0}},
        {**key, "jwk": {**key["jwk"], "alg": "ES256"}},
        {**key, "jwk": {}},
        {**theirs, "kid": key["kid"], "agent_id": key["agent_id"]},
        theirs,
    ]

    def judge(**members: Any) -> ChainVerdict:
        bundle = DelegationBundle.parse({**document, **members})
        return verify_delegation_bundle(bundle, trust=trust, now=clock.now()).report.verdict

    assert judge() is ChainVerdict.VALID
    for changed in changes:
        assert judge(keys=[changed]) is ChainVerdict.CHAIN_BROKEN, changed
    assert judge(keys=[]) is ChainVerdict.CHAIN_BROKEN
    assert judge(keys=[key, key]) is ChainVerdict.CHAIN_BROKEN
    assert judge(chain=foreign["chain"]) is ChainVerdict.CHAIN_BROKEN
    note = document["signed_tree_head"]["checkpoint"]
    assert judge(signed_tree_head={"checkpoint": note.replace("a", "b")}) is ChainVerdict.CHAIN_BROKEN


@pytest.mark.parametrize("member", ["format", "chain", "keys", "signed_tree_head"])
@pytest.mark.parametrize("value", [None, 7, "x", [], {}, [7], [{}]])
def test_a_document_that_is_no_bundle_is_bad_input(member: str, value: object) -> None:
    document = {"format": "attestlab-delegation/1", "chain": ["a"], "keys": [], "signed_tree_head": {"checkpoint": ""}}
    if (member, value) == ("keys", []):
        return
    with pytest.raises(ValidationFailed):
        DelegationBundle.parse({**document, member: value})


def test_a_newer_bundle_needs_a_newer_verifier() -> None:
    with pytest.raises(NewerFormat, match="attestlab-delegation/2"):
        DelegationBundle.parse({"format": "attestlab-delegation/2"})


def test_a_delegation_is_exported_as_a_biscuit(client: httpx.Client, clock: FixedClock) -> None:
    pytest.importorskip("biscuit_auth", reason="biscuit-python is not installed")
    line = make_line(client, 2)
    path = f"{DELEGATIONS}/{line[1]['delegation_id']}/biscuit"

    exported = client.get(path).json()

    from attestlab.agents.delegation.biscuits import BiscuitExport

    token = open_biscuit(BiscuitExport(**exported))
    assert is_allowed(token, ["docs:read"], at=clock.now())
    assert not is_allowed(token, ["docs:write"], at=clock.now())
    client.post(f"{DELEGATIONS}/{line[0]['delegation_id']}/revoke", json=WHY)
    refused = client.get(path)
    assert (refused.status_code, refused.json()["details"]["verdict"]) == (409, "REVOKED")


@pytest.mark.parametrize("chain", [[], ["a"] * 33, "a", None, [7], ["a" * 40_000]])
def test_what_cannot_be_a_chain_is_bad_input(client: httpx.Client, chain: object) -> None:
    answer = client.post(f"{DELEGATIONS}/verify", json={"chain": chain})

    assert answer.status_code == 400
    assert answer.json()["details"]["fields"][0]["field"].startswith("/chain")


def test_the_list_of_revocations_is_read_in_parts(client: httpx.Client) -> None:
    ids = [make_line(client, 1)[0]["delegation_id"] for _ in range(3)]
    for each in ids:
        client.post(f"{DELEGATIONS}/{each}/revoke", json=WHY)

    read, since = [], -1
    while since is not None:
        part = client.get(f"{DELEGATIONS}/revocations", params={"since": since, "limit": 2}).json()
        read += [each["id"] for each in part["items"]]
        since = part["next_after"]

    assert [each for each in read if each in ids] == ids
