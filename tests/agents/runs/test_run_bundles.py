"""Proof bundles of runs: what a stranger verifies offline, and forgeries, none of which is valid."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import Any

import httpx
import pytest

from attestlab.agents.runs import rules
from attestlab.agents.runs.bundle import FORMAT, RunBundle, RunVerdict
from attestlab.agents.runs.rules import RunStatus
from attestlab.core.encoding import b64_decode, b64_encode
from attestlab.core.errors import NewerFormat, ValidationFailed
from attestlab.log.note.trust_policy import TrustPolicy
from support.agents import KeyHolder, register_agent
from support.log.published import LOG_VKEY
from support.orgs import TenantClients
from support.run_bundles import judge, make_bundle, mutate, name_verdict, pin_log
from support.runs import RUNS, complete, digest, record_step, sign_step, start_run

pytestmark = pytest.mark.one_world


@pytest.fixture
def trust(clients: TenantClients) -> TrustPolicy:
    return pin_log(clients.lab)


def rehash(bundle: dict[str, Any]) -> dict[str, Any]:
    """Give a changed bundle the hash that it should have."""
    read = RunBundle.parse(bundle)
    status = RunStatus(read.status.value)
    hashed = rules.hash_run(read.orchestration_id, read.agent_id, read.plan, read.recorded_steps, status)
    return {**bundle, "run_hash": hashed}


@pytest.mark.both_engines
def test_a_stranger_verifies_a_run_with_the_pinned_log_alone(client: httpx.Client, trust: TrustPolicy) -> None:
    bundle = make_bundle(client)

    report = judge(bundle, trust)

    assert (report.verdict, report.reason, report.chain_ok) == (RunVerdict.VALID, None, True)
    assert report.head is not None
    assert report.head.size > bundle["inclusion_proof"]["log_index"]
    assert bundle["format"] == FORMAT
    assert len({step["agent_id"] for step in bundle["steps"]}) == len(bundle["keys"]) == 2


def test_a_valid_run_names_the_steps_that_do_not_chain(client: httpx.Client, trust: TrustPolicy) -> None:
    run = start_run(client)
    record_step(client, run, "read")
    record_step(client, run, "sum", inputs_hash=digest("something else"))
    complete(client, run)

    report = judge(client.get(f"{RUNS}/{run['orchestration_id']}/proof-bundle").json(), trust)

    assert (report.verdict, report.chain_ok, report.unchained) == (RunVerdict.VALID, False, ("sum",))


@pytest.mark.parametrize("recorded", [0, 1])
def test_a_canceled_run_is_proven_with_the_steps_that_it_has(
    client: httpx.Client, trust: TrustPolicy, recorded: int
) -> None:
    run = start_run(client)
    for step_id in ("read", "sum")[:recorded]:
        record_step(client, run, step_id)
    complete(client, run, status="canceled")

    bundle = client.get(f"{RUNS}/{run['orchestration_id']}/proof-bundle").json()

    assert (len(bundle["steps"]), len(bundle["keys"])) == (recorded, recorded)
    assert judge(bundle, trust).verdict is RunVerdict.VALID


def test_a_step_with_a_key_of_the_agents_own_is_proven(client: httpx.Client, trust: TrustPolicy) -> None:
    holder = KeyHolder()
    plan = {"steps": [{"id": "read", "type": "fetch"}]}
    run = start_run(client, register_agent(client, **holder.prove(client)), plan=plan)
    record_step(client, run, "read", signature=sign_step(record_step(client, run, "read"), holder))
    complete(client, run)

    bundle = client.get(f"{RUNS}/{run['orchestration_id']}/proof-bundle").json()

    assert judge(bundle, trust).verdict is RunVerdict.VALID
    assert bundle["keys"][0]["jwk"]["x"] == holder.public_key


def test_a_run_that_goes_on_has_no_proof(client: httpx.Client) -> None:
    refused = client.get(f"{RUNS}/{start_run(client)['orchestration_id']}/proof-bundle")

    assert (refused.status_code, refused.json()["details"]["reason"]) == (409, "running")


def test_no_changed_value_leaves_a_bundle_valid(client: httpx.Client, trust: TrustPolicy) -> None:
    bundle = make_bundle(client)

    verdicts = {place: name_verdict(changed, trust) for place, changed in mutate(bundle)}

    assert [place for place, verdict in verdicts.items() if verdict == "VALID"] == []
    assert {*verdicts.values()} == {*RunVerdict} - {RunVerdict.VALID} | {"unreadable"}
    assert len(verdicts) > 400


def test_no_changed_value_with_the_right_hash_is_valid(client: httpx.Client, trust: TrustPolicy) -> None:
    """The forger computes the hash again; the log has another one."""
    bundle = make_bundle(client)
    hashed = {name: bundle.pop(name) for name in ("agent_id", "plan", "status", "steps")}
    found = set()
    for place, changed in mutate(hashed):
        with suppress(ValidationFailed):  # it cannot be read
            forged = rehash({**bundle, **changed})
            if "jws" not in place:
                found.add(name_verdict(forged, trust))

    assert found == {"NOT_IN_LOG", "RUN_BROKEN"}


def test_forgeries_are_named_for_what_they_are(client: httpx.Client, trust: TrustPolicy) -> None:
    bundle, other = make_bundle(client), make_bundle(client)
    swapped = copy.deepcopy(bundle)
    swapped["steps"][0]["jws"] = bundle["steps"][1]["jws"]
    unsigned = {**bundle, "keys": bundle["keys"][1:]}
    superfluous = {**bundle, "keys": [*bundle["keys"], other["keys"][0]]}
    retold = copy.deepcopy(bundle)
    entry = json.loads(b64_decode(bundle["log_entry"]))
    retold["log_entry"] = b64_encode(json.dumps({**entry, "status": "failed"}).encode())
    cases = {
        "SIGNATURE_INVALID": [swapped, unsigned],
        "KEY_NOT_PROVEN": [superfluous, {**bundle, "keys": [{**bundle["keys"][0], "kid": "agk_" + "0" * 24}]}],
        "HASH_MISMATCH": [{**bundle, "orchestration_id": other["orchestration_id"]}, {**bundle, "status": "failed"}],
        "RUN_BROKEN": [{**bundle, "steps": bundle["steps"][:2]}, {**bundle, "steps": bundle["steps"][::-1]}],
        "NOT_IN_LOG": [
            retold,
            rehash({**bundle, "status": "failed", "steps": bundle["steps"][:2]}),
            {**bundle, "log_entry": other["log_entry"], "inclusion_proof": other["inclusion_proof"]},
        ],
    }

    for verdict, forged in cases.items():
        assert [name_verdict(each, trust) for each in forged] == [verdict] * len(forged)


def test_the_log_of_others_proves_nothing(client: httpx.Client) -> None:
    stranger = TrustPolicy.parse(f"log {LOG_VKEY}\nquorum none\n".encode())

    assert judge(make_bundle(client), stranger).verdict is RunVerdict.NOT_IN_LOG


def test_a_newer_bundle_needs_a_newer_verifier(client: httpx.Client) -> None:
    bundle = {**make_bundle(client), "format": "attestlab-run/2"}

    with pytest.raises(NewerFormat, match="attestlab-run/2"):
        RunBundle.parse(bundle)


def test_a_bundle_of_more_than_100_steps_is_not_read(client: httpx.Client) -> None:
    bundle = make_bundle(client)

    with pytest.raises(ValidationFailed, match="at most 100"):
        RunBundle.parse({**bundle, "steps": bundle["steps"][:1] * 101})
