"""Agents in Python, through both doors: registered, bounded, delegated to, asked, stopped; and keys of their own."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from attestlab.client.lab import Lab
from attestlab.client.own_keys import OwnKey
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import (
    AttestLabError,
    AuthInvalid,
    Conflict,
    NotFound,
    PermissionDenied,
    ServiceFailed,
    ValidationFailed,
)
from support.server_process import ServerProcess
from support.two_doors import DOORS, open_doors


@pytest.fixture(scope="module")
def labs(running: ServerProcess) -> Iterator[dict[str, Lab]]:
    with open_doors(running, "Robots") as opened:
        yield opened


@pytest.fixture(params=DOORS)
def lab(request: pytest.FixtureRequest, labs: dict[str, Lab]) -> Lab:
    return labs[request.param]


def test_an_agent_is_registered_found_changed_and_ended(lab: Lab) -> None:
    name = f"Reader {uuid4()}"
    agent = lab.agents.register(name, scopes=["docs:*"], agent_type="llm", expires_at="2099-01-01")

    assert lab.agents[agent.agent_id].id == lab.agents[agent.id].id == lab.agents[0].id == agent.id
    assert [each.id for each in lab.agents.list(q=name, status="active", agent_type="llm")] == [agent.id]
    changed = agent.update(scopes="docs:read", expires_at=None, metadata={"team": "billing"})
    assert (changed.effective_scopes, changed.expires_at, changed.metadata) == (
        ["docs:read"],
        None,
        {"team": "billing"},
    )
    assert agent.suspend("night").resume("day").revoke("old").status == "revoked"
    with pytest.raises(Conflict):
        agent.resume("again")
    assert lab.agents.df().set_index("id").loc[str(agent.id), "status"] == "revoked"


def test_a_session_acts_as_its_agent_until_it_is_ended(lab: Lab) -> None:
    agent = lab.agents.register("Auditor", scopes=["agents:read"])
    opened = agent.session(minutes=5)
    acting = lab.as_(opened)

    assert (acting.me().name, acting.agents[agent.id].id) == ("Auditor", agent.id)
    assert [each.id for each in lab.agent_sessions.list(agent_id=agent.id, status="active")] == [opened.id]
    with pytest.raises(PermissionDenied):
        acting.agents.register("Another")
    following = opened.refresh()
    assert lab.agent_sessions.introspect(opened.token).active is False
    assert lab.agent_sessions.introspect(following.token).agent_id == agent.id
    agent.suspend("it misbehaves")
    with pytest.raises(AuthInvalid):
        lab.as_(following).me()
    assert {opened.token, opened.refresh_token} & set(f"{opened!r} {opened._repr_html_()}".split()) == set()


def test_a_dry_run_counts_what_the_kill_ends(lab: Lab) -> None:
    root = lab.agents.register("Root", scopes=["docs:*", "!docs:delete"])
    made = root.delegate({"display_name": "Leaf"}, ["docs:read"])
    leaf = lab.agents[made.child.id]
    opened = leaf.session()

    counted = root.kill(dry_run=True)
    assert (counted.revoked_descendants, counted.terminated_sessions, counted.revoked_delegations) == (1, 1, 1)
    assert lab.agent_sessions.introspect(opened.token).active
    with pytest.raises(ValidationFailed, match="reason"):
        root.kill()
    killed = root.kill("it probes")
    assert counted.to_dict() | {"dry_run": False, "agent": None} == killed.to_dict() | {"agent": None}
    assert leaf.reload().status == "revoked"
    assert not lab.agent_sessions.introspect(opened.token).active
    assert ("DRY RUN" in counted._repr_html_(), "KILLED" in killed._repr_html_()) == (True, True)


def test_a_chain_is_verified_by_the_service_and_offline_and_revoked(lab: Lab, tmp_path: Path) -> None:
    root = lab.agents.register("Lender", scopes=["docs:*", "!docs:delete"])
    made = root.delegate(lab.agents.register("Borrower", scopes=["docs:*"]), ["docs:read"])

    assert (made.scopes, made.denied_scopes) == (["docs:read"], ["docs:delete"])
    assert lab.delegations[made.id].chain == root.delegations("given")[0].chain == made.chain
    assert lab.delegations[0].id == made.id
    assert lab.delegations.verify(made.chain, "docs:delete").verdict == "SCOPE_VIOLATION"
    proof = made.proof()
    pinned = lab.log.vkey().trust_policy
    assert proof.verify(trust=pinned).effective_scopes == made.verify().effective_scopes == ["docs:read"]
    assert proof.save(tmp_path / "chain.json").stat().st_size > 1_000
    assert len(made.biscuit().revocation_ids) > 0
    assert made.revoke("look", dry_run=True).dry_run
    assert made.verify().valid
    lab.delegations.revoke(made, "given back")
    assert (made.verify().verdict, proof.verify(trust=pinned).verdict) == ("REVOKED", "VALID")
    assert made.id in {each.id for each in lab.delegations.revocations(since=made.log_index)}
    assert lab.delegations.df().set_index("id").loc[str(made.id), "revoked_because"]


def test_an_agent_with_a_key_of_its_own_needs_no_shared_secret(lab: Lab, tmp_path: Path) -> None:
    saved = OwnKey.generate().save(tmp_path / "agent.pem", password="only for this test")
    key = OwnKey.load(saved, password="only for this test")
    agent = lab.agents.register("Holder", scopes=["docs:*", "agents:read"], key=key)

    assert (agent.custody, agent.public_key) == ("external", key.public_key)
    assert Path(saved).stat().st_mode & 0o077 == 0
    opened = agent.session(["agents:read"], key=key)
    assert lab.as_(opened).me().name == "Holder"
    assert agent.sign({"seen": 7}, key=key).kid == agent.key_id
    made = agent.delegate(lab.agents.register("Reader", scopes=["docs:*"]), ["docs:read"], key=key)
    assert made.verify("docs:read").valid
    with pytest.raises(ValidationFailed, match="Pass key="):
        agent.sign({"seen": 7})
    newer = OwnKey.generate()
    rotated = agent.rotate(newer)
    assert [each.kid for each in lab.agents.keys(agent)] == [rotated.new_kid, rotated.old_kid]
    with pytest.raises(AuthInvalid):
        agent.session(key=key)
    assert agent.session(key=newer).agent_id == agent.id
    reported = lab.agents.compromise_key(agent, rotated.new_kid, "stolen")
    assert (reported.status, agent.reload().status) == ("compromised", "suspended")


def test_agents_vote_about_a_claim_until_it_is_decided(lab: Lab) -> None:
    reader, auditor = (lab.agents.register(f"{name} {uuid4()}") for name in ("Reader", "Auditor"))
    claim = {"subject": "invoice 7", "claim_type": "total", "claim_value": "12.00 EUR"}
    asked = lab.witness.ask(claim, of=reader, required_witnesses=2, ttl_seconds=300)

    assert (asked.claim.claim_value, asked.status, asked.min_trust_score) == ("12.00 EUR", "pending", 0.5)
    assert lab.witness[asked.id].request_id == lab.witness[0].id == asked.id
    assert [each.id for each in lab.witness.list(originator_agent_id=reader.id, status="pending")] == [asked.id]
    with pytest.raises(PermissionDenied, match="independent"):
        asked.vote(reader, "confirm")
    asked.vote(auditor.agent_id, "confirm", evidence="the sum of its lines", confidence=0.9)
    with pytest.raises(Conflict, match="has voted"):
        asked.vote(auditor, "deny")
    last = lab.witness.vote(asked.id, lab.agents.register("Second auditor"), "confirm")
    assert (last.status, last.confirm, asked.reload().status) == ("confirmed", 2, "confirmed")
    consensus = asked.consensus()
    assert (consensus.votes[0].agent_id, consensus.votes[0].evidence) == (auditor.id, "the sum of its lines")
    assert lab.witness.consensus(asked).decided_at == last.attested_at
    assert str(asked.id) in asked.reload()._repr_html_()
    for shown in (asked.reload(), last, consensus):
        assert "2 confirm, 0 deny, 0 abstain" in shown._repr_html_()
    rows = lab.sql("SELECT * FROM witness_votes WHERE request_id = ?", [str(asked.id)]).df().set_index("id")
    assert rows.loc[str(last.vote_id), "request_status"] == "confirmed"
    assert str(last.vote_id) in set(lab.witness.votes.df()["id"])


def test_a_claim_of_three_texts_is_subject_type_and_value(lab: Lab) -> None:
    reader = lab.agents.register("Reader of doors")

    assert lab.witness.ask(("door", "locked", "yes"), of=reader.agent_id).claim.claim_type == "locked"
    with pytest.raises(ValidationFailed, match="2 parts"):
        lab.witness.ask(("door", "locked"), of=reader)  # type: ignore[arg-type]  # what a person may pass
    with pytest.raises(ValidationFailed, match="claim"):
        lab.witness.ask("the door is locked", of=reader)  # type: ignore[arg-type]


def test_the_holder_of_an_own_key_signs_its_vote_after_a_look_at_it(lab: Lab) -> None:
    key, asked = OwnKey.generate(), lab.witness.ask(("door", "locked", "yes"), of=lab.agents.register("Guard"))
    holder = lab.agents.register("Holder of a key", key=key)

    with pytest.raises(ValidationFailed, match="Pass key="):
        asked.vote(holder, "confirm")
    with pytest.raises(ValidationFailed, match="OwnKey"):
        asked.vote(holder, "confirm", key="no key")  # type: ignore[arg-type]
    assert asked.reload().confirm == 0
    with pytest.raises(ServiceFailed, match="this vote"):  # the claim that the holder saw is another one
        other = asked.model_copy(update={"claim": asked.claim.model_copy(update={"claim_value": "no"})})
        other._client = asked._client
        other.vote(holder, "confirm", key=key)
    acting = lab.as_(holder.session(key=key))  # it has no scope, so it passes the request, not its id
    voted = acting.witness.vote(asked, holder, "confirm", evidence="seen", confidence=1, key=key)
    (counted,) = asked.consensus().votes
    assert (voted.confirm, counted.kid, counted.confidence) == (1, holder.key_id, 1.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("typ", "agent-statement+jwt"), ("iss", "2"), ("request_id", "2"), ("claim_sha256", "B"), ("v", 2)),
        *(("verdict", "deny"), ("evidence_sha256", "B"), ("confidence", 0.9), ("more", 1)),
    ],
)
def test_a_key_signs_no_other_vote_than_its_holder_wants(name: str, value: object) -> None:
    agent_id, request_id = UUID(int=1), UUID(int=3)
    header = {"alg": "EdDSA", "kid": "k", "typ": "agent-vote+jwt"}
    claims = {
        **{"v": 1, "iss": str(agent_id), "jti": str(uuid4()), "iat": 1, "request_id": str(request_id)},
        **{"claim_sha256": "A", "verdict": "confirm", "evidence_sha256": None, "confidence": 0.5},
    }
    key = OwnKey.generate()

    def sign(header: dict[str, Any], claims: dict[str, Any]) -> str:
        return key.sign_vote(
            prepare(header, claims),
            agent_id=agent_id,
            request_id=request_id,
            claim_sha256="A",
            verdict="confirm",
            confidence=0.5,
        )

    assert sign(header, claims).count(".") == 2
    changed = (header | {name: value}, claims) if name in header else (header, claims | {name: value})
    with pytest.raises(ServiceFailed, match="this vote"):
        sign(*changed)


def prepare(header: dict[str, Any], claims: dict[str, Any]) -> str:
    return ".".join(b64url_encode(canonical(part)) for part in (header, claims))


@pytest.mark.parametrize(
    "change",
    [
        {"typ": "agent-delegation+jwt"},
        {"typ": "agent-assertion+jwt"},
        {"iss": "01a21817-5f3c-7abc-8def-0123456789ac"},
        {"statement": {"seen": 8}},
        {"statement": None},
    ],
)
def test_a_key_signs_no_other_statement_than_its_holder_wants(change: dict[str, Any]) -> None:
    agent = UUID("01a21817-5f3c-7abc-8def-0123456789ab")
    header = {"alg": "EdDSA", "kid": "agk_1", "typ": change.pop("typ", "agent-statement+jwt")}
    claims = {"iss": str(agent), "iat": 1, "jti": str(uuid4()), "statement": {"seen": 7}}
    key = OwnKey.generate()

    assert key.sign_statement(
        prepare({**header, "typ": "agent-statement+jwt"}, claims), agent_id=agent, payload={"seen": 7}
    )
    with pytest.raises(ServiceFailed, match="signed nothing"):
        key.sign_statement(prepare(header, {**claims, **change}), agent_id=agent, payload={"seen": 7})


def test_a_key_signs_no_wider_delegation_than_its_holder_wants(labs: dict[str, Lab]) -> None:
    lab, key = labs["in process"], OwnKey.generate()
    agent = lab.agents.register("Parent", scopes=["docs:*", "!docs:delete"], key=key)
    child = lab.agents.register("Child")
    with pytest.raises(ValidationFailed) as asked:
        agent.delegate(child, ["docs:read"])
    proposed = str(asked.value.details["signing_input_b64url"])

    wanted: dict[str, Any] = {"parent_id": agent.id, "child_id": child.id, "scopes": ["docs:read"]}

    assert key.sign_hop(proposed, **wanted)  # the deny is the service's
    assert key.sign_hop(proposed, **wanted | {"child_id": child.agent_id, "expires_at": lab.now() + timedelta(days=31)})
    others: list[dict[str, Any]] = [
        *({"scopes": ["docs:write"]}, {"scopes": ["docs:read", "!docs:list"]}, {"parent_id": child.id}),
        *({"child_id": agent.id}, {"child_id": uuid4()}, {"expires_at": lab.now() + timedelta(days=1)}),
    ]
    for other in others:
        with pytest.raises(ServiceFailed, match="signed nothing"):
            key.sign_hop(proposed, **wanted | other)
    with pytest.raises(ServiceFailed, match="signed nothing"):
        key.sign_statement(proposed, agent_id=agent.id, payload={})


def test_a_key_is_not_shown_nor_pickled(tmp_path: Path) -> None:
    key = OwnKey.generate()
    other = tmp_path / "other.pem"
    other.write_text("no key")

    assert repr(key) == f"OwnKey(public_key={key.public_key!r})"
    with pytest.raises(ValidationFailed, match=r"OwnKey\.save"):
        pickle.dumps(key)
    with pytest.raises(ValidationFailed, match="cannot be read as a key"):
        OwnKey.load(other)
    with pytest.raises(ValidationFailed):
        OwnKey.load(tmp_path / "none.pem")
    with pytest.raises(ValidationFailed, match="is no key"):
        OwnKey(other)  # type: ignore[arg-type]  # junk
    with pytest.raises(ValidationFailed, match="cannot be read as a key"):
        OwnKey.load(key.save(tmp_path / "locked.pem", password="right"), password="wrong")


WRONG: tuple[Callable[[Lab], object], ...] = (
    lambda lab: lab.agents.register("x", scopes=["no scope"]),
    lambda lab: lab.agents.register("x", colour="red"),  # type: ignore[call-arg]  # no such option
    lambda lab: lab.agents.register("x", key="secret"),  # type: ignore[arg-type]  # no key
    lambda lab: lab.agents["Reader"],
    lambda lab: lab.agents.list(state="active"),  # type: ignore[call-arg]  # no such filter
    lambda lab: lab.agents.register("x").delegate("Reader", ["docs:read"]),
    lambda lab: lab.agents.register("x", scopes=["docs:*"]).session(minutes=2_000),
    lambda lab: lab.delegations.verify([]),
    lambda lab: lab.delegations.verify(7),  # type: ignore[arg-type]  # no chain
    lambda lab: lab.agent_sessions.refresh("no id", "x"),
)


@pytest.mark.parametrize("call", WRONG)
def test_a_wrong_argument_is_refused_in_one_line(labs: dict[str, Lab], call: Callable[[Lab], object]) -> None:
    with pytest.raises(ValidationFailed) as refused:
        call(labs["in process"])

    assert "\n" not in str(refused.value)


def test_what_does_not_exist_is_not_found(lab: Lab) -> None:
    nowhere: tuple[Callable[[], object], ...] = (
        lambda: lab.agents[uuid4()],
        lambda: lab.agent_sessions[uuid4()],
        lambda: lab.delegations.proof(uuid4()),
        lambda: lab.agents.register("Parent", scopes=["docs:*"]).delegate(uuid4(), ["docs:read"]),
    )
    for read in nowhere:
        with pytest.raises(NotFound):
            read()
    with pytest.raises(AttestLabError):
        lab.agents.register("Parent").delegate({"display_name": "Child"}, ["docs:read"])
