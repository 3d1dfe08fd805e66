"""The panes of the page about agents answer what the verbs of agents answer, in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import cast
from uuid import UUID

import pytest

from attestlab.core.errors import AuthInvalid, ValidationFailed
from attestlab_dashboards.agents.page import ACTIONS
from attestlab_dashboards.agents.panes.fleet import export_listing, write_listing_sql
from attestlab_dashboards.agents.panes.review import export_review
from attestlab_dashboards.agents.state import AgentsState
from support.dashboards.fleets import Fleet, draw, draw_markup

FORBIDDEN = "Your role reads agents. An owner or admin of the tenant can change them."


def test_the_answer_counts_who_may_act_and_for_whom_no_person_answers(fleet: Fleet) -> None:
    assert draw(fleet.owner, "answer") == (
        "3 of 3 agents may act, in 1 tree. A person answers for each of them. 0 are working now."
    )
    fleet.counter.session(["docs:list"])
    fleet.reader.update(owner_user_id=None)
    fleet.steward.suspend("at lunch")

    assert draw(fleet.owner, "answer") == (
        "2 of 3 agents may act, in 1 tree. No person answers for 1 of them. 1 is working now."
    )
    assert "May act 2 of 3 1 suspended, 0 revoked" in draw(fleet.owner, "kpis")


@pytest.mark.parametrize("role", ["owner", "analyst"])
def test_a_person_who_left_is_no_owner_for_any_viewer(fleet: Fleet, role: str) -> None:
    admin = fleet.sign_in("admin")
    agent = admin.agents.register("Orphan", scopes=["docs:read"])
    caller = fleet.installation.orgs.service_caller(fleet.tenant.tenant_id)
    fleet.installation.people.remove(UUID(str(admin.me().id)), caller=caller)
    viewer = fleet.owner if role == "owner" else fleet.sign_in(role)

    assert "No person answers for 1 of them." in draw(viewer, "answer")
    assert "Orphan worker active a person who left" in draw(viewer, "fleet", finding="ownerless")
    assert "Answers for it a person who left" in draw(viewer, "agent", agent=str(agent.id))
    copied = viewer.sql(write_listing_sql(AgentsState(finding="ownerless")))
    assert [row["name"] for row in copied] == ["Orphan"]


def test_the_filters_choose_agents_in_all_panes(fleet: Fleet) -> None:
    fleet.reader.session()
    fleet.counter.session()
    fleet.counter.suspend("at lunch")

    assert [row["name"] for row in export_listing(fleet.owner, AgentsState(status="suspended"))] == ["Counter"]
    assert draw(fleet.owner, "fleet", kind="orchestrator").startswith("1 agent, by last session")
    assert draw(fleet.owner, "fleet", finding="wildcard").startswith("1 agent")
    assert draw(fleet.owner, "sessions").startswith("2 sessions, newest first")
    assert "Counter terminated" in draw(fleet.owner, "sessions", status="suspended")
    assert "the agent was suspended" in draw(fleet.owner, "sessions", status="suspended")
    assert "No agent matches" in draw(fleet.owner, "fleet", status="revoked")
    assert "No session" in draw(fleet.owner, "sessions", kind="orchestrator")


def test_the_review_finds_what_the_service_finds(fleet: Fleet) -> None:
    fleet.reader.update(owner_user_id=None)
    fleet.counter.update(expires_at=fleet.owner.now() + timedelta(days=6))
    found = {str(row["id"]): list_findings(row) for row in export_review(fleet.owner, AgentsState())}

    assert found == {str(each.agent_id): set(each.findings) for each in fleet.owner.agents.review()}
    assert found == {
        str(fleet.steward.id): {"wildcard", "no_expiry"},
        str(fleet.reader.id): {"ownerless", "no_expiry"},
        str(fleet.counter.id): {"expiring_7d"},
    }
    words = draw(fleet.owner, "review")
    assert words.startswith("3 of 3 agents need a look, revoked ones aside")
    assert "No person answers 1 Wildcard 1 No expiry 2 Ends within 7 days 1" in words
    assert draw(fleet.owner, "review", finding="ownerless").startswith("1 of 1 agent needs a look")


def list_findings(row: Mapping[str, object]) -> set[str]:
    """List the findings of a row by the names that the service gives them."""
    renamed = {"old_key": "key_over_90d", "idle": "unused_30d", "expiring": "expiring_7d"}
    return {renamed.get(str(each), str(each)) for each in cast("list[str]", row["findings"])}


def test_the_tree_says_what_each_may_do_now(fleet: Fleet) -> None:
    words = draw(fleet.owner, "tree")
    assert words.endswith(
        "Steward orchestrator docs:* never docs:delete Reader worker docs:list docs:read never docs:delete "
        "Counter worker docs:list never docs:delete"
    )
    fleet.owner.agents.update(fleet.steward, scopes=["docs:read"])

    assert "Counter worker nothing never docs:delete" in draw(fleet.owner, "tree", tree=str(fleet.steward.id))
    assert fleet.counter.reload().effective_scopes == ["!docs:delete"]


def test_the_drawer_names_each_hop_and_agrees_with_the_service(fleet: Fleet) -> None:
    words = draw(fleet.owner, "agent", agent=str(fleet.counter.id))

    who = words[words.index("Who let it") :]
    assert who.index("Steward registered by") < who.index("Reader delegated") < who.index("Counter delegated")
    assert "May do now docs:list never docs:delete" in words
    assert fleet.counter.key_id in words


def test_what_was_done_names_the_agent_and_the_person(fleet: Fleet) -> None:
    signer = fleet.owner.agents.register("Signer", scopes=["agents:write"])
    fleet.service.as_(signer.session()).agents[str(signer.id)].sign({"pages": 7})
    signer.suspend("at lunch")

    words = draw(fleet.owner, "acts")
    name = next(iter(fleet.owner.people.names().values()))
    assert "Signer signed a statement" in words
    assert f"Signer {name} suspended it" in words


def test_a_kill_shows_its_dry_run_and_ends_what_it_showed(fleet: Fleet) -> None:
    session = fleet.counter.session()
    asked = AgentsState(ask="kill", about=str(fleet.steward.id))

    words = draw(fleet.owner, "confirm", ask="kill", about=asked.about)
    assert "2 agents below it are revoked with it 1 open session ends 2 delegations are void" in words
    assert words.endswith("Cancel Kill 3 agents")
    assert fleet.counter.reload().status == "active"

    with pytest.raises(ValidationFailed, match="The reason is missing"):
        ACTIONS["kill"].run(fleet.owner, asked, {"agent": asked.about, "reason": " "})
    notice = ACTIONS["kill"].run(fleet.owner, asked, {"agent": asked.about, "reason": "it misbehaves"})

    assert "Steward and 2 agents below it are revoked; 1 session ended." in notice.text.striptags()
    assert notice.state == AgentsState()
    assert fleet.counter.reload().status == "revoked"
    with pytest.raises(AuthInvalid):
        fleet.service.as_(session).agents[str(fleet.counter.id)]
    assert draw(fleet.owner, "confirm", ask="kill", about=asked.about) == ""  # when they go back to the dialog


def test_suspending_and_resuming_close_the_dialog(fleet: Fleet) -> None:
    asked = AgentsState(ask="suspend", about=str(fleet.reader.id))
    fields = {"agent": asked.about, "reason": "at lunch"}

    assert ACTIONS["suspend"].run(fleet.owner, asked, fields).state == AgentsState()
    assert fleet.reader.reload().status == "suspended"
    ACTIONS["resume"].run(fleet.owner, asked, fields)
    assert fleet.reader.reload().status == "active"


def test_an_analyst_sees_why_not(fleet: Fleet) -> None:
    analyst = fleet.sign_in("analyst")

    markup, _ = draw_markup(analyst, "agent", AgentsState(agent=str(fleet.counter.id)))
    assert markup.count(FORBIDDEN) >= 4  # at each of three buttons, and below them
    assert "Counter" in draw(analyst, "fleet")
    assert "3 of 3 agents may act" in draw(analyst, "answer")


def test_hostile_names_are_words_everywhere(fleet: Fleet) -> None:
    agent = fleet.owner.agents.register("<b>&'\"x</b>", scopes=["docs:read"], description="<script>1</script>")

    for key in ("fleet", "tree", "acts"):
        assert "<b>&'" not in draw_markup(fleet.owner, key, AgentsState())[0]
    drawer, _ = draw_markup(fleet.owner, "agent", AgentsState(agent=str(agent.id)))
    assert "<script>" not in drawer
