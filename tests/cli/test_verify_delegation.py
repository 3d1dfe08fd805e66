"""`attestlab verify` reads a chain of delegations offline, and leaves a verdict, an exit status and what is open."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from attestlab.agents.delegation.rendering import render_proof
from attestlab.agents.delegation.shapes import DelegationIn
from attestlab.agents.shapes import AgentIn
from attestlab.cli.verify import COULD_NOT_CHECK, OTHER_VERDICT, UNUSABLE, VALID, verify
from attestlab.core.clock import FixedClock
from attestlab.installation import Installation

pytestmark = pytest.mark.own_world


@pytest.fixture
def bundle(lab: Installation, clock: FixedClock) -> dict[str, Any]:
    """The proof bundle of a chain of two hops, which are valid today."""
    clock.advance(datetime.now(UTC) - clock.now())
    caller = lab.operator_caller()
    root = lab.agents.registry.register(AgentIn(display_name="Root", scopes=["docs:*"]), caller=caller).row.id
    for _ in range(2):
        body = DelegationIn(scopes=["docs:read"], child=AgentIn(display_name="Child"))
        prepared = lab.agents.delegations.prepare(body)
        made = lab.agents.delegations.delegate(root, body, prepared=prepared, caller=caller)
        root = made.row.child_agent_id
    proof = lab.agents.delegations.prove(made.row.id, caller=caller)
    return render_proof(proof).model_dump(mode="json")


@pytest.fixture
def trust(lab: Installation, tmp_path: Path) -> Path:
    with lab.storage.read() as connection:
        policy = f"log {lab.log.vkey(connection)}\nquorum none\n"
    (tmp_path / "trust.txt").write_text(policy)
    return tmp_path / "trust.txt"


def write(folder: Path, document: object) -> Path:
    (folder / "chain.json").write_text(json.dumps(document))
    return folder / "chain.json"


def test_a_valid_chain_says_who_may_do_what(bundle, trust, tmp_path, capsys):
    assert verify(write(tmp_path, bundle), file=None, trust=trust) == VALID
    text = capsys.readouterr().out
    assert text.startswith("VALID  chain of delegations, 2 hops")
    assert "  allows  docs:read" in text
    assert "not checked offline: whether a hop was revoked since" in text


def test_json_has_the_verdict_and_the_log(bundle, trust, tmp_path, capsys):
    assert verify(write(tmp_path, bundle), file=None, trust=trust, as_json=True) == VALID
    shown = json.loads(capsys.readouterr().out)
    assert (shown["verdict"], shown["valid"], shown["depth"]) == ("VALID", True, 2)
    assert shown["effective_scopes"] == ["docs:read"]
    assert shown["log"]["tree_size"] > 0


def test_a_changed_chain_is_broken(bundle, trust, tmp_path, capsys):
    changed = {**bundle, "chain": bundle["chain"][::-1]}
    assert verify(write(tmp_path, changed), file=None, trust=trust) == OTHER_VERDICT
    assert capsys.readouterr().out.startswith("CHAIN_BROKEN")


def test_what_does_not_belong_is_unusable_and_without_trust_nothing_is_checked(bundle, trust, tmp_path, capsys):
    file = write(tmp_path, bundle)
    assert verify(file, file=file, trust=trust) == UNUSABLE
    assert verify(file, file=None, trust=None) == COULD_NOT_CHECK
    assert verify(write(tmp_path, {**bundle, "keys": 7}), file=None, trust=trust) == UNUSABLE
    newer = {**bundle, "format": "attestlab-delegation/2"}
    assert verify(write(tmp_path, newer), file=None, trust=trust) == COULD_NOT_CHECK
    assert "attestlab-delegation/2" in capsys.readouterr().err


def test_an_expired_chain_has_its_own_verdict(lab, clock, trust, tmp_path, capsys):
    caller, yesterday = lab.operator_caller(), datetime.now(UTC) - timedelta(days=1)
    clock.advance(yesterday - clock.now())
    root = lab.agents.registry.register(AgentIn(display_name="Root", scopes=["docs:*"]), caller=caller).row.id
    ends = clock.now() + timedelta(hours=1)
    body = DelegationIn(scopes=["docs:read"], child=AgentIn(display_name="Child"), expires_at=ends.isoformat())
    prepared = lab.agents.delegations.prepare(body)
    made = lab.agents.delegations.delegate(root, body, prepared=prepared, caller=caller)
    proof = render_proof(lab.agents.delegations.prove(made.row.id, caller=caller)).model_dump(mode="json")

    assert verify(write(tmp_path, proof), file=None, trust=trust) == OTHER_VERDICT
    assert capsys.readouterr().out.startswith("EXPIRED")
