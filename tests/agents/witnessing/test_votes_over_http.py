"""Votes over HTTP: requested, cast with managed and own keys, refused, counted, decided once and expired."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from attestlab.agents.witnessing import rules, store
from attestlab.agents.witnessing.rules import MAX_ABSTENTIONS, Voter, VoteTally, VoteVerdict
from attestlab.core.clock import FixedClock
from attestlab.core.crypto.canonical_json import canonical, sha256_b64url
from attestlab.core.encoding import b64url_decode, b64url_encode, format_time
from attestlab.core.errors import Conflict, PermissionDenied
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.orgs.rules import Plan, Scope
from support.agents import AGENTS, KeyHolder, open_session, register_agent
from support.in_process_server import make_client
from support.orgs import TenantClients, read_audit_trail
from support.outbox import read_events_of_type
from support.votes import CLAIM, REQUESTS, get_consensus, request_votes, sign_vote, vote

pytestmark = pytest.mark.one_world


def expire(lab: Installation) -> None:
    """Make due expiries permanent, as the sweeper does."""
    with lab.storage.write() as tx:
        lab.agents.expire(tx, at_most=100)


def read_decisions(lab: Installation, request: dict[str, Any]) -> list[dict[str, Any]]:
    """The events that say how a request ended."""
    events = read_events_of_type(lab, "witness.decided")
    return [event for event in events if event["request_id"] == request["request_id"]]


def code_of(answer: httpx.Response) -> tuple[int, str | None]:
    """The status of a refusal, and its reason."""
    return answer.status_code, answer.json()["details"].get("reason")


@pytest.mark.both_engines
def test_votes_confirm_a_claim_and_the_event_is_published_once(
    client: httpx.Client, clients: TenantClients, clock: FixedClock
) -> None:
    originator, voters = register_agent(client), [register_agent(client) for _ in range(3)]
    answer = client.post(
        REQUESTS, json={"originator_agent_id": originator["agent_id"], "claim": CLAIM, "required_witnesses": 2}
    )
    made = answer.json()
    assert answer.headers["Location"] == f"{REQUESTS}/{made['request_id']}"
    assert made["claim_sha256"] == sha256_b64url(canonical(CLAIM))
    assert (made["status"], made["decided_at"], made["min_trust_score"]) == ("pending", None, 0.5)
    assert made["expires_at"] == format_time(clock.now() + timedelta(days=1))

    first = vote(client, made, voters[0], verdict="abstain").json()
    second = vote(client, made, voters[1], evidence="seen in the ledger", confidence=0.9).json()
    assert (first["status"], second["status"], second["confirm"], second["abstain"]) == ("pending", "pending", 1, 1)
    third = vote(client, made, voters[2]).json()

    assert (third["status"], third["confirm"], third["deny"], third["abstain"]) == ("confirmed", 2, 0, 1)
    consensus = get_consensus(client, made)
    verdicts = sorted((each["verdict"], each["evidence"] or "", each["confidence"]) for each in consensus["votes"])
    assert verdicts == [("abstain", "", None), ("confirm", "", None), ("confirm", "seen in the ledger", 0.9)]
    assert consensus["decided_at"] == third["attested_at"]
    assert client.get(f"{REQUESTS}/{made['request_id']}").json()["status"] == "confirmed"
    published = {"request_id": made["request_id"], "status": "confirmed", "decided_at": third["attested_at"]}
    assert read_decisions(clients.lab, made) == [published]
    trail = [action for action, _ in read_audit_trail(clients.lab, made["request_id"])]
    assert trail == ["witness_request.create", *["witness_request.count"] * 3]
    assert read_audit_trail(clients.lab, third["vote_id"]) == [("witness_vote.create", "API_KEY")]
    assert list(fsck(clients.lab)) == []


@pytest.mark.both_engines
def test_as_many_denies_as_required_deny_a_claim(client: httpx.Client, clients: TenantClients) -> None:
    originator = register_agent(client)
    made = request_votes(client, originator, required_witnesses=1)

    assert vote(client, made, register_agent(client), verdict="deny").json()["status"] == "denied"
    confirmed = request_votes(client, originator, required_witnesses=1)
    vote(client, confirmed, register_agent(client))
    request_votes(client, originator)

    with clients.lab.storage.read() as connection:
        counted = store.count_decisions(connection.execute, UUID(originator["id"]))
    assert counted == (1, 2)


def test_an_agents_own_session_votes_for_itself_without_any_scope(client: httpx.Client, clients: TenantClients) -> None:
    agent, other = register_agent(client), register_agent(client)
    made = request_votes(client)
    session = open_session(client, agent)

    with make_client(clients.url, token=session["token"]) as own:
        for_another, for_itself = vote(own, made, other), vote(own, made, agent)
        unread = own.get(f"{REQUESTS}/{made['request_id']}")

    assert code_of(for_another) == (403, "another_agent")
    assert for_itself.status_code == 201
    assert unread.status_code == 403
    assert read_audit_trail(clients.lab, for_itself.json()["vote_id"]) == [("witness_vote.create", "AGENT")]


def test_a_key_without_the_scope_does_not_vote(client: httpx.Client, clients: TenantClients) -> None:
    made = request_votes(client)
    with clients.with_key(Scope.AGENTS_READ) as reader:
        refused = vote(reader, made, register_agent(client))

    assert refused.status_code == 403


@pytest.mark.both_engines
def test_the_holder_of_an_own_key_signs_its_vote(client: httpx.Client, clients: TenantClients) -> None:
    holder = KeyHolder()
    agent = register_agent(client, **holder.prove(client))
    made = request_votes(client)

    asked = vote(client, made, agent, evidence="seen")
    token = sign_vote(asked, holder)
    counted = vote(client, made, agent, evidence="seen", signature=token)

    assert asked.json()["details"]["fields"][0]["code"] == "signature_required"
    assert counted.status_code == 201, counted.text
    assert [each["jws"] for each in get_consensus(client, made)["votes"]] == [token]
    assert list(fsck(clients.lab)) == []


@pytest.mark.both_engines
def test_a_signed_vote_with_the_id_of_another_one_is_refused(client: httpx.Client, clients: TenantClients) -> None:
    holder = KeyHolder()
    agent = register_agent(client, **holder.prove(client))
    first, second = request_votes(client), request_votes(client)
    cast = vote(client, first, register_agent(client)).json()  # the id of a stranger's vote, of another request
    header, payload = vote(client, second, agent).json()["details"]["signing_input_b64url"].split(".")

    reused = canonical(json.loads(b64url_decode(payload)) | {"jti": cast["vote_id"]})
    signed = f"{header}.{b64url_encode(reused)}"
    refused = vote(client, second, agent, signature=f"{signed}.{holder.sign(signed.encode())}")

    assert refused.status_code == 400, refused.text
    (fault,) = refused.json()["details"]["fields"]
    assert (fault["field"], fault["code"]) == ("/signature", "used")
    assert cast["vote_id"] in refused.text
    assert [len(get_consensus(client, each)["votes"]) for each in (first, second)] == [1, 0]
    assert list(fsck(clients.lab)) == []


FAULTS = ("another key", "another verdict", "another request", "old", "padded", "nothing", "not ASCII", "prefix")


@pytest.mark.parametrize("fault", FAULTS)
def test_another_signature_than_of_this_vote_is_refused(client: httpx.Client, clock: FixedClock, fault: str) -> None:
    holder = KeyHolder()
    agent = register_agent(client, **holder.prove(client))
    made, fields = request_votes(client), {"verdict": "confirm"}
    asked = vote(client, made, agent)
    token = sign_vote(asked, holder)
    match fault:
        case "another key":
            token = sign_vote(asked, KeyHolder())
        case "another verdict":
            fields["verdict"] = "deny"
        case "another request":
            made = request_votes(client)
        case "old":
            clock.advance(timedelta(minutes=5, seconds=1))
        case "padded":
            token += "=="
        case "nothing":
            token = "."
        case "not ASCII":
            token = "ä.ö.ü"
        case "prefix":
            token = token[:-2]

    refused = vote(client, made, agent, **fields, signature=token)

    assert refused.status_code == 400, refused.text
    code = "not_recent" if fault == "old" else "signature_invalid"
    assert [(each["field"], each["code"]) for each in refused.json()["details"]["fields"]] == [("/signature", code)]
    assert get_consensus(client, made)["votes"] == []


def test_a_managed_key_takes_no_signature(client: httpx.Client) -> None:
    refused = vote(client, request_votes(client), register_agent(client), signature="a.b.c")

    assert refused.json()["details"]["fields"][0]["code"] == "external_only"


@pytest.mark.both_engines
def test_the_originator_and_its_tree_are_not_independent(client: httpx.Client) -> None:
    parent = register_agent(client, scopes=["docs:read"])
    children = [
        client.post(
            f"{AGENTS}/{parent['id']}/delegations", json={"scopes": ["docs:read"], "child": {"display_name": "Child"}}
        ).json()["child"]
        for _ in range(2)
    ]
    made = request_votes(client, children[0])

    for agent, because in ((children[0], "originator"), (parent, "same_tree"), (children[1], "same_tree")):
        refused = vote(client, made, agent)
        assert code_of(refused) == (403, "not_independent")
        assert refused.json()["details"]["because"] == because
    assert get_consensus(client, made)["votes"] == []


def test_a_child_that_left_the_tree_after_the_request_is_not_independent(
    client: httpx.Client, clock: FixedClock
) -> None:
    parent, child = register_agent(client, scopes=["docs:read"]), register_agent(client, scopes=["docs:read"])
    body = {"scopes": ["docs:read"], "child_agent_id": child["id"]}
    given = client.post(f"{AGENTS}/{parent['id']}/delegations", json=body).json()
    before = request_votes(client, parent)
    clock.advance(timedelta(seconds=1))
    client.post(f"/v1/delegations/{given['delegation_id']}/revoke", json={"reason": "to vote"})
    clock.advance(timedelta(seconds=1))

    assert code_of(vote(client, before, child)) == (403, "not_independent")
    assert vote(client, request_votes(client, parent), child).status_code == 201


def test_less_trust_than_the_request_asks_for_is_refused(client: httpx.Client) -> None:
    made = request_votes(client, min_trust_score=0.501)

    refused = vote(client, made, register_agent(client))

    assert code_of(refused) == (403, "trust_too_low")
    assert refused.json()["details"]["trust_score"] == 0.5


def test_a_second_vote_and_one_after_the_decision_are_conflicts(client: httpx.Client) -> None:
    agent, made = register_agent(client), request_votes(client, required_witnesses=2)
    vote(client, made, agent, verdict="abstain")

    twice = vote(client, made, agent)
    vote(client, made, register_agent(client))
    assert vote(client, made, register_agent(client)).json()["status"] == "confirmed"
    late = vote(client, made, register_agent(client))

    assert code_of(twice) == (409, "has_voted")
    assert (late.status_code, late.json()["details"]["status"]) == (409, "confirmed")


@pytest.mark.both_engines
def test_fifty_votes_at_once_decide_once(client: httpx.Client, clients: TenantClients) -> None:
    agents = [register_agent(client) for _ in range(50)]
    made = request_votes(client, required_witnesses=3)

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda agent: vote(client, made, agent), agents))

    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [201] * 3 + [409] * 47
    consensus = get_consensus(client, made)
    assert (consensus["status"], consensus["confirm"], len(consensus["votes"])) == ("confirmed", 3, 3)
    assert len(read_decisions(clients.lab, made)) == 1


def test_fifty_votes_of_one_agent_at_once_count_once(client: httpx.Client) -> None:
    agent, made = register_agent(client), request_votes(client, required_witnesses=10)

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: vote(client, made, agent), range(50)))

    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 49
    assert get_consensus(client, made)["confirm"] == 1


@pytest.mark.parametrize("abstentions", [MAX_ABSTENTIONS - 1, MAX_ABSTENTIONS])
def test_only_abstentions_have_a_limit(abstentions: int) -> None:
    tally = VoteTally(0, 0, abstentions)
    rules.require_room(tally, VoteVerdict.DENY)
    if abstentions < MAX_ABSTENTIONS:
        rules.require_room(tally, VoteVerdict.ABSTAIN)
    else:
        with pytest.raises(Conflict, match="100 agents have abstained"):
            rules.require_room(tally, VoteVerdict.ABSTAIN)


def test_an_agent_with_a_key_of_the_originator_is_not_independent() -> None:
    """No tenant has a public key twice, so that only the rule can show it."""
    first, second = uuid4(), uuid4()
    originator = Voter(first, [first], [b"old", b"new"])
    rules.require_independent(Voter(second, [second], [b"another"]), originator)

    with pytest.raises(PermissionDenied) as refused:
        rules.require_independent(Voter(second, [second], [b"old"]), originator)

    assert refused.value.details == {"reason": "not_independent", "because": "same_key"}


@pytest.mark.both_engines
def test_a_request_expires_at_every_read_and_then_for_good(
    client: httpx.Client, clients: TenantClients, clock: FixedClock
) -> None:
    made = request_votes(client, ttl_seconds=300)
    still_pending = request_votes(client)
    vote(client, made, register_agent(client))
    clock.advance(timedelta(seconds=300))

    for _ in range(2):
        assert get_consensus(client, made)["status"] == "expired"
        assert get_consensus(client, made)["decided_at"] == made["expires_at"]
        listed = client.get(REQUESTS, params={"status": "expired"}).json()["items"]
        assert [each["request_id"] for each in listed] == [made["request_id"]]
        pending = client.get(REQUESTS, params={"status": "pending"}).json()["items"]
        assert [each["request_id"] for each in pending] == [still_pending["request_id"]]
        late = vote(client, made, register_agent(client))
        assert (late.status_code, late.json()["details"]["status"]) == (409, "expired")
        expire(clients.lab)

    expected = {"request_id": made["request_id"], "status": "expired", "decided_at": made["expires_at"]}
    assert read_decisions(clients.lab, made) == [expected]
    assert read_audit_trail(clients.lab, made["request_id"])[-1] == ("witness_request.expire", "SERVICE")
    assert list(fsck(clients.lab)) == []


def test_a_suspended_agent_neither_requests_nor_votes(client: httpx.Client) -> None:
    made, agent = request_votes(client), register_agent(client)
    client.post(f"{AGENTS}/{agent['id']}/suspend", json={"reason": "a test"})

    refused = client.post(REQUESTS, json={"originator_agent_id": agent["id"], "claim": CLAIM})

    for answer in (vote(client, made, agent), refused):
        assert (answer.status_code, answer.json()["details"]["status"]) == (409, "suspended")


def test_a_vote_after_a_rotation_names_the_new_key(client: httpx.Client, clients: TenantClients) -> None:
    agent, first, second = register_agent(client), request_votes(client), request_votes(client)
    vote(client, first, agent)
    rotated = client.post(f"{AGENTS}/{agent['id']}/keys/rotate").json()
    vote(client, second, agent)

    kids = [get_consensus(client, made)["votes"][0]["kid"] for made in (first, second)]
    assert kids == [rotated["old_key"]["kid"], rotated["new_key"]["kid"]]
    assert list(fsck(clients.lab)) == []


def test_another_tenants_request_and_agents_are_unknown(client: httpx.Client, clients: TenantClients) -> None:
    made, agent = request_votes(client), register_agent(client)
    stranger = clients.lab.orgs.create_tenant("Stranger", plan=Plan.ENTERPRISE)

    with clients.with_key(tenant=stranger) as theirs:
        theirs_made = request_votes(theirs)
        answers = [
            theirs.get(f"{REQUESTS}/{made['request_id']}"),
            theirs.get(f"{REQUESTS}/{made['request_id']}/consensus"),
            vote(theirs, made, register_agent(theirs)),
            vote(theirs, theirs_made, agent),
            theirs.post(REQUESTS, json={"originator_agent_id": agent["id"], "claim": CLAIM}),
        ]
        listed = theirs.get(REQUESTS).json()["items"]

    assert [answer.status_code for answer in answers] == [404] * 5
    assert [each["request_id"] for each in listed] == [theirs_made["request_id"]]


def test_requests_are_listed_by_page_and_by_originator(client: httpx.Client, clock: FixedClock) -> None:
    agent = register_agent(client)
    made = []
    for originator in (agent, None, agent):
        made.append(request_votes(client, originator))
        clock.advance(timedelta(seconds=1))

    first = client.get(REQUESTS, params={"limit": 2}).json()
    rest = client.get(REQUESTS, params={"limit": 2, "cursor": first["next_cursor"]}).json()
    own = client.get(REQUESTS, params={"originator_agent_id": agent["id"]}).json()["items"]

    assert [each["request_id"] for each in (*first["items"], *rest["items"])] == [
        each["request_id"] for each in reversed(made)
    ]
    assert [each["request_id"] for each in own] == [made[2]["request_id"], made[0]["request_id"]]


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"claim": {**CLAIM, "subject": "x" * 1001}}, "/claim/subject"),
        ({"claim": {**CLAIM, "claim_value": ""}}, "/claim/claim_value"),
        ({"claim": {"subject": "a", "claim_type": "b"}}, "/claim/claim_value"),
        ({"required_witnesses": 0}, "/required_witnesses"),
        ({"required_witnesses": 11}, "/required_witnesses"),
        ({"min_trust_score": 1.1}, "/min_trust_score"),
        ({"ttl_seconds": 299}, "/ttl_seconds"),
        ({"ttl_seconds": 604_801}, "/ttl_seconds"),
    ],
)
def test_what_is_no_request_is_refused(client: httpx.Client, fields: dict[str, Any], place: str) -> None:
    body = {"originator_agent_id": register_agent(client)["id"], "claim": CLAIM, **fields}

    refused = client.post(REQUESTS, json=body)

    assert (refused.status_code, refused.json()["details"]["fields"][0]["field"]) == (400, place)
    assert client.get(REQUESTS).json()["items"] == []


@pytest.mark.parametrize(
    "fields", [{"verdict": "yes"}, {"evidence": "x" * 4001}, {"evidence": ""}, {"confidence": 1.01}, {"confidence": -1}]
)
def test_what_is_no_vote_is_refused(client: httpx.Client, fields: dict[str, Any]) -> None:
    made = request_votes(client)

    refused = vote(client, made, register_agent(client), **fields)

    assert (refused.status_code, refused.json()["details"]["fields"][0]["field"]) == (400, f"/{next(iter(fields))}")
    assert get_consensus(client, made)["votes"] == []


def test_an_unknown_request_is_a_404(client: httpx.Client) -> None:
    unknown = {"request_id": str(uuid4())}
    assert vote(client, unknown, register_agent(client)).status_code == 404
    assert client.get(f"{REQUESTS}/{unknown['request_id']}/consensus").status_code == 404
