"""`lab.decisions`: as recorded, by one query; explained by id."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

import attestlab
from attestlab.client.handles.decisions import ExplanationHandle, RecordedDecisionHandle
from attestlab.client.lab import Lab
from attestlab.core.errors import NotFound, ValidationFailed
from attestlab.orgs.rules import Plan
from support.server_process import ServerProcess


@pytest.fixture(scope="module")
def doors(running: ServerProcess) -> Iterator[dict[str, Lab]]:
    """A lab through each door for one tenant, for which policies decided four times."""
    installation = running.open_lab()
    made = installation.orgs.create_tenant("Decides", plan=Plan.ENTERPRISE)
    installation.close()
    with (
        attestlab.open(running.database_url, data=running.data) as lab,
        attestlab.connect(running.url, made.api_key) as outside,
    ):
        for action in ("MINT", "VERIFY", "MINT", "MINT"):
            outside.policies.evaluate(action, {"jurisdiction": "CH"})
        yield {"in process": lab.as_("Decides"), "over HTTP": outside}


@pytest.mark.parametrize("door", ["in process", "over HTTP"])
def test_decisions_are_listed_as_recorded_and_explained_by_id(doors: dict[str, Lab], door: str) -> None:
    decisions = doors[door].decisions
    newest = decisions[0]

    assert [each.action for each in decisions] == ["MINT", "MINT", "VERIFY", "MINT"]
    assert isinstance(newest, RecordedDecisionHandle)
    assert (newest.decision, newest.allowed, newest.matched_rule) == ("ALLOW", True, None)
    assert [each.decision_id for each in decisions[1:3]] == [each.decision_id for each in decisions][1:3]
    assert isinstance(decisions[newest.decision_id], ExplanationHandle)
    assert newest.explain().decision_id == decisions[newest].decision_id == newest.decision_id


@pytest.mark.parametrize("door", ["in process", "over HTTP"])
def test_decisions_are_filtered(doors: dict[str, Lab], door: str) -> None:
    decisions = doors[door].decisions
    newest = decisions[0].created_at

    assert len(list(decisions.list(action="VERIFY"))) == 1
    assert len(list(decisions.list(allowed=False))) == 0
    assert len(list(decisions.list(limit=3))) == 3
    assert len(list(decisions.list(until=newest + timedelta(seconds=1), since="2020-01-01"))) == 4
    assert len(list(decisions.list(since=newest + timedelta(seconds=1)))) == 0
    with pytest.raises(ValidationFailed, match="It has since, until, action, allowed"):
        decisions.list(colour="red")
    with pytest.raises(NotFound):
        decisions[4]


def test_a_list_of_decisions_is_one_request(doors: dict[str, Lab], monkeypatch: pytest.MonkeyPatch) -> None:
    outside, sent = doors["over HTTP"], []
    transmit = outside._client._transmit
    monkeypatch.setattr(
        outside._client, "_transmit", lambda *given, **named: sent.append(given) or transmit(*given, **named)
    )

    assert len([each.decision_id for each in outside.decisions]) == 4
    assert len(sent) == 1
