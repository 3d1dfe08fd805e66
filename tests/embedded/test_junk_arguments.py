"""Whatever a person passes to a public verb, it returns, or raises an error of ours in one line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

import attestlab
from attestlab.client.analysis.rows import Rows
from attestlab.client.lab import Lab
from attestlab.client.own_keys import OwnKey
from attestlab.core.errors import AttestLabError
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from support.lab_walk import CLAIMS, POLICY
from support.new_labs import open_new_lab
from support.property_tests import examples
from support.server_process import ServerProcess

DEEP: list[Any] = []
for _ in range(5_000):
    DEEP = [DEEP]
JUNK: tuple[Any, ...] = (
    *(None, 7, -1, 2.5, float("nan"), 10**400, True, "", "x", "a\0b", "\ud800", "..", "~no-such-user/x"),
    *("x" * 70_000, b"\xff", [None], {"a": {"b": object()}}, {7: 7}, object(), len, {1}, datetime(1, 1, 1), DEEP),
    *((1, 2, 3, 4), "{" * 5_000, "2026-13-01"),
)
LOGIN = {"subject_id": "u", "outcome": "success", "occurred_at": "2026-11-01T09:00:00Z"}
REASON = "a reason that is long enough"
NOUNS = (
    *("attestations", "audit", "cases", "challenges", "decisions", "issuers", "lists", "log", "people", "policies"),
    *("signals", "webhooks", "verifications", "agents", "agent_sessions", "delegations", "witness", "compliance"),
    *("runs", "views", "annotations"),
    *("api_keys", "sessions"),
)
OF_PEOPLE = ("api_keys", "sessions", "views")  # lists that only a signed-in person reads
CLAIM = ("door", "locked", "yes")
LISTINGS = (*(noun for noun in NOUNS if noun not in ("log", "verifications", *OF_PEOPLE)), "checkpoints", "events")
OBJECTS = (
    *("agent", "agent_key", "agent_session", "agent_tokens", "attestation", "bundle", "case", "delegation"),
    *("delegation_proof", "endpoint", "issuer", "policy", "replay", "run", "run_proof", "signal", "vote_request"),
    "view",
)
OPTIONS = {
    "options": (
        "kid",
        "alg",
        "expiry_at",
        "expires_at",
        "metadata",
        "id",
        "content_type",
        "pack_id",
        "audience",
        "card",
        "evidence",
        "confidence",
        "ttl_seconds",
        "latency_ms",
        "agent",
    ),
    "changes": ("scopes", "expires_at", "owner_user_id", "metadata", "no_such_change"),
    "filters": ("status", "since", "limit", "no_such_filter"),
    "profile": ("jurisdiction", "no_such_part"),
    "circumstances": ("ip", "no_such_circumstance"),
    "frames": ("mine", "signals"),
    "state": ("days", "source", "page", "no_such_parameter"),
}
SKIPPED = {"close"}  # it takes nothing, and ends the lab


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with open_new_lab(tmp_path_factory.mktemp("lab")) as opened:
        yield opened


@pytest.fixture(scope="module")
def subjects(lab: Lab) -> dict[str, Any]:
    return make_subjects(lab, sign_in(lab, lab._door.installation))


def sign_in(lab: Lab, installation: Installation) -> Lab:
    """The lab of an owner of another tenant, who signed in."""
    tenant = installation.orgs.create_tenant("Junk", plan=Plan.ENTERPRISE)
    return lab.as_(tenant.owner_email, password=tenant.owner_password)


def sign_in_at(running: ServerProcess, lab: Lab) -> Lab:
    """Do so with a lab that is connected to a server."""
    with closing(running.open_lab()) as installation:
        return sign_in(lab, installation)


def make_subjects(lab: Lab, person: Lab) -> dict[str, Any]:
    """What has verbs: the lab, its nouns, and an object of each kind that has some; views are those of `person`."""
    issuer = lab.issuers.create("Registrar", "registrar.example")
    minted = lab.mint(b"x", issuer=issuer, schema="degree", claims=CLAIMS)
    signal = lab.signals.add("gateway", "behavior", 91, "user:u-1")
    agent = lab.agents.register("Orchestrator", scopes=["docs:*"])
    delegation = agent.delegate({"display_name": "Worker"}, ["docs:read"])
    opened = agent.session()
    return {
        "lab": lab,
        **{noun: getattr(lab, noun) for noun in NOUNS},
        "views": person.views,
        "view": person.views.save("Logins", "risk", "source=login"),
        "annotation": lab.annotations.add("2026-11-02", "Campaign of a partner"),
        "agent": agent,
        "agent_key": OwnKey.generate(),
        "agent_session": lab.agent_sessions[opened.id],
        "agent_tokens": opened,
        "delegation": delegation,
        "delegation_proof": delegation.proof(),
        "attestation": minted,
        "bundle": minted.bundle(),
        "case": lab.cases[0],
        "decision": lab.policies.evaluate("MINT", {}),
        "endpoint": lab.webhooks.create("https://receiver.invalid/", "key.*"),
        "entry": lab.lists.add("deny", "user:u-2", reason=REASON),
        "issuer": issuer,
        "policy": lab.policies.create(POLICY.format(door="junk")),
        "replay": lab.policies.replay(POLICY.format(door="replayed"), pa.table({"jurisdiction": ["CH"]})),
        "signal": signal,
        "run": lab.runs.start(agent, ["read"]),
        "run_proof": lab.runs.start(agent, ["read"]).complete("canceled").proof(),
        "vote_request": lab.witness.ask(CLAIM, of=agent),
    }


@pytest.fixture(scope="module")
def valid(subjects: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return make_values(subjects, tmp_path_factory.mktemp("valid"))


def make_values(subjects: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A value for each parameter that would be right somewhere."""
    issuer, minted = subjects["issuer"], subjects["attestation"]
    file = folder / "rows.parquet"
    named = {
        **{"document": b"x", "file": b"x", "media": b"x", "path": file, "issuer": issuer, "schema": "degree"},
        **{"claims": CLAIMS, "what": minted.id, "reason": REASON, "query": "select 1", "items": [], "signals": []},
        **{"who": subjects["lab"].me().tenant_id, "name": "N", "domain": "n.example", "key": issuer.active_key.kid},
        **{"kid": "kid-1", "type": "SUSPEND_ISSUER", "request": uuid4(), "index": 0, "older": 1, "case": uuid4()},
        **{"policy": subjects["policy"].id, "action": "MINT", "context": {}, "decision": subjects["decision"]},
        **{"source": "s", "signal_type": "behavior", "score": 1, "entity": "user:u", "event_type": "login.failed"},
        **{"subject_id": "u", "outcome": "success", "subject_ref": "r", "rules": [], "list_name": "deny"},
        **{"escalation_threshold": 80, "entry": uuid4(), "count": 1, "before": "DENY", "after": "ALLOW"},
        **{"url": "https://receiver.invalid/", "events": "key.*", "endpoint": uuid4(), "delivery": uuid4()},
        **{"title": "T", "to": "ada@people.example", "username": "ada", "since": "2026-11-01"},
        **{"agent": subjects["agent"].id, "child": {"display_name": "C"}, "scopes": ["docs:read"], "payload": {"a": 1}},
        **{"display_name": "A", "session": uuid4(), "refresh_token": "alr_x", "token": "als_x", "agent_id": uuid4()},
        **{"delegation": uuid4(), "chain": ["a.b.c"], "challenge": "c", "audience": "https://lab.invalid/"},
        **{"now": datetime(2026, 11, 1, tzinfo=UTC), "signing_input": "e30.e30"},
        **{"regulation": "GDPR", "until": "2026-11-02"},
        **{"parent_id": uuid4(), "child_id": uuid4()},
        **{"parent_id": uuid4(), "child_id": uuid4(), "claim": CLAIM, "of": subjects["agent"].id},
        **{
            **{"hour": 8, "weekday": 0, "recipients": [uuid4()]},
            **{"view": uuid4(), "annotation": uuid4(), "at": "2026-11-01", "page": "risk"},
            "undo_seconds": 10,
            "text": "A new device.",
            "rule": "old-key",
            "person": uuid4(),
            "by": "device",
            "cases": [],
            "ownerless_grace_days": 7,
            "card": {"name": "Agent"},
        },
        **{
            "run": uuid4(),
            "steps": ["read"],
            "step_id": "read",
            "inputs": b"x",
            "outputs": b"x",
            "status": "completed",
        },
        **{"orchestration_id": uuid4(), "inputs_hash": "0" * 64, "outputs_hash": "0" * 64},
        **{"verdict": "confirm", "request_id": uuid4(), "claim_sha256": "x"},
        "logins": [{**LOGIN, "kind": kind} for kind in (None, "takeover")],
        "contexts": pa.table({"jurisdiction": ["CH"]}),
    }
    return {**named, "thresholds": ("far-away", "jurisdiction"), "document_of_policy": POLICY.format(door="new")}


def make_listing(lab: Any, name: str) -> Any:
    """What a verb of a lab that lists returns, waiting or async; nothing of it is read yet."""
    verbs = {"checkpoints": lambda: lab.log.checkpoints(), "events": lambda: lab.webhooks.events()}
    return verbs[name]() if name in verbs else getattr(lab, name).list()


def list_verbs(subject: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in dir(subject):
        if inspect.isfunction(getattr(type(subject), name, None)) and name not in SKIPPED:
            yield name, getattr(subject, name)


def list_calls(verb: Callable[..., Any], valid: dict[str, Any]) -> Iterator[tuple[str, Callable[[Any], object]]]:
    """The calls of a verb in which one parameter is open and the others are right."""
    parameters = inspect.signature(verb).parameters.values()
    needed = {each.name: valid[each.name] for each in parameters if each.default is each.empty and each.kind < 2}
    needed |= {each.name: valid[each.name] for each in parameters if each.default is each.empty and each.kind == 3}
    for each in parameters:
        if each.kind is each.VAR_KEYWORD:
            for option in OPTIONS[each.name]:
                yield option, lambda junk, option=option: verb(**{**needed, option: junk})  # type: ignore[misc]
        elif each.kind is each.VAR_POSITIONAL:
            yield each.name, lambda junk: verb(*needed.values(), junk)
        else:
            yield each.name, lambda junk, name=each.name: verb(**{**needed, name: junk})  # type: ignore[misc]


def show(junk: Any) -> str:
    try:
        return f"{junk!r:.30}"
    except (RecursionError, ValueError):
        return type(junk).__name__


def consume(result: object) -> None:
    if isinstance(result, Rows):
        result.arrow()
    elif isinstance(result, Iterator):
        next(result, None)


def choose_junk(number: int, count: int) -> tuple[Any, ...]:
    """Some `count` pieces of junk for the `number`th parameter; all parameters together get all of it."""
    share = max(1, len(JUNK) // count)
    return JUNK[number % share :: share]


def name_foreign(error: Exception, verb: str, parameter: str, junk: object) -> list[str]:
    """Name a call whose error is not ours, or too long for a line."""
    call = f"{verb}({parameter}={show(junk)})"
    if not isinstance(error, AttestLabError):
        return [f"{call}: {type(error).__name__}: {error!s:.100}"]
    return [f"{call}: {str(error)[:200]!r}"] if "\n" in str(error) or len(str(error)) > 2_000 else []


def list_foreign(of: str, subject: Any, valid: dict[str, Any], *, count: int) -> list[str]:
    """The calls of the verbs of an object with junk whose errors are not ours, or have several lines."""
    foreign, number = [], 0
    for name, verb in list_verbs(subject):
        for parameter, call in list_calls(verb, valid):
            number += 1
            for junk in choose_junk(number, count):
                try:
                    consume(call(junk))
                except Exception as error:
                    foreign += name_foreign(error, f"{of}.{name}", parameter, junk)

    assert number > 0 or of == "verifications"
    return foreign


def list_indices() -> Iterator[Any]:
    """Junk as a position, and as each bound of a slice."""
    yield from (*JUNK, *(slice(each, None) for each in JUNK), *(slice(0, each) for each in JUNK), slice(None, None, 0))


def list_foreign_indices(of: str, subject: Any) -> list[str]:
    """The junk at which an index raises an error that is not ours, or has several lines."""
    foreign = []
    for junk in list_indices():
        try:
            subject[junk]
        except Exception as error:
            foreign += name_foreign(error, of, "index", junk)
    return foreign


@pytest.mark.more_in_soak
@pytest.mark.parametrize("of", ["lab", *NOUNS, *OBJECTS])
def test_a_verb_refuses_junk_in_one_line(
    subjects: dict[str, Any], valid: dict[str, Any], of: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert list_foreign(of, subjects[of], valid, count=examples(3, many=len(JUNK))) == []


@pytest.mark.parametrize("noun", NOUNS)
def test_an_index_refuses_junk_in_one_line(subjects: dict[str, Any], noun: str) -> None:
    assert list_foreign_indices(noun, subjects[noun]) == []


@pytest.mark.parametrize("name", LISTINGS)
def test_an_index_of_a_list_refuses_junk_in_one_line(lab: Lab, subjects: dict[str, Any], name: str) -> None:
    found = make_listing(lab, name)

    assert list_foreign_indices(name, found) == []
    assert [*found][:2] == found[:2]
    assert len(found) == len(found.arrow())


@pytest.mark.parametrize("number", range(len(JUNK)))
def test_what_cannot_be_opened_or_connected_is_refused_in_one_line(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    junk = JUNK[number]
    monkeypatch.chdir(tmp_path)
    calls: list[Callable[[], object]] = [
        *(lambda: attestlab.open(junk), lambda: attestlab.connect(junk), lambda: attestlab.connect_async(junk)),
        lambda: attestlab.open("sqlite:///records.db", data=junk),
        lambda: attestlab.connect("http://127.0.0.1:1", junk, sleep=lambda pause_s: None),
        lambda: attestlab.connect("http://127.0.0.1:1", timeout_s=junk, sleep=lambda pause_s: None),
    ]
    for call in calls:
        with pytest.raises(AttestLabError) as caught:
            call()
        assert "\n" not in str(caught.value)
    if not (isinstance(junk, int) and 0 <= junk < 2**63) or isinstance(junk, bool):
        with pytest.raises(AttestLabError):
            attestlab.demo(junk)
