"""What the panes show: the numbers of the facade, words next to every colour, and only what a person may do."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from attestlab import Lab
from attestlab.governance.rules import RequestType
from attestlab.issuers.rules import IssuerStatus
from attestlab_dashboards.issuers.events import EVENTS
from attestlab_dashboards.issuers.page import PAGE
from attestlab_dashboards.issuers.panes.issuer import find_obstacle
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.pages import Facts
from attestlab_dashboards.safe import text
from support import governance_story
from support.governance_story import HOSTILE_REASON

FACTS = Facts("Ann", "ann@demo.example", "Demo", "", "demo", frozenset(), frozenset())
PANES = {pane.key: pane for pane in PAGE.panes}


def draw(lab: Lab, key: str, state: IssuerState | None = None) -> str:
    state = state or IssuerState()
    pane = PANES[key]
    return str(pane.draw(pane.load(lab, state), state))


def read(markup: str) -> str:
    """The words of markup, with single spaces."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", markup)).strip()


def id_of(lab: Lab, name: str) -> str:
    return str(lab.issuers[name].id)


def list_states(lab: Lab) -> list[IssuerState]:
    """States that show every pane, drawer and dialog."""
    guild, press = id_of(lab, "Maker Guild"), id_of(lab, "Orchard Press")
    requests = {request.type: str(request.id) for request in lab.issuers.requests() if request.status != "EXECUTED"}
    return [
        IssuerState(),
        IssuerState(jurisdiction="BR"),
        IssuerState(ask="add"),
        IssuerState(issuer=press, changed=True),
        IssuerState(issuer=id_of(lab, "Ana's Workshop"), age_limit=90),
        *(IssuerState(ask=ask, about=guild) for ask in ("suspend", "tier", "risk", "revoke")),
        IssuerState(ask="reinstate", about=press),
        *(IssuerState(ask=ask, about=f"{guild}/guild-1") for ask in ("rotate", "lose", "revoke_key")),
        *(IssuerState(ask=ask, about=requests["SUSPEND_ISSUER"]) for ask in ("approve", "reject")),
        IssuerState(ask="execute", about=requests["CHANGE_RISK_RATING"]),
    ]


def list_changed_panes(state: IssuerState) -> list[str]:
    """The panes that load something else than for the default state; all for that."""
    changed = set(state.list_changed())
    return [key for key, pane in PANES.items() if not changed or changed.intersection(pane.reads)]


def draw_once(lab: Lab, key: str, state: IssuerState, answers: dict[tuple[object, ...], Any]) -> str:
    """Draw a pane with its line below the title; like the page, panes that ask the same share the answer."""
    pane = PANES[key]
    question = (pane.load, *(getattr(state, name) for name in pane.reads))
    if question not in answers:
        answers[question] = pane.load(lab, state)
    reading = pane.reading(answers[question], state) if callable(pane.reading) else pane.reading
    return str(pane.draw(answers[question], state) + text(reading))


def test_every_pane_draws_in_every_state_and_no_text_becomes_markup(ann: Lab) -> None:
    answers: dict[tuple[object, ...], Any] = {}
    for state in list_states(ann):
        drawn = {key: draw_once(ann, key, state, answers) for key in list_changed_panes(state)}
        drawn["chips"] = str(PAGE.chips(state, FACTS))
        for key, markup in drawn.items():
            assert "<img" not in markup
            assert HOSTILE_REASON not in markup
            keys = re.findall(r'data-key="([^"]*)"', markup)
            assert len(keys) == len(set(keys)), (key, sorted(each for each in keys if keys.count(each) > 1))
            assert {*re.findall(r'data-ev="([^"]*)"', markup)} <= {*PAGE.events}, key
            assert {*re.findall(r'data-act="([^"]*)"', markup)} <= {*PAGE.actions}, key


def test_the_answer_counts_whom_we_trust_and_what_changed(ann: Lab) -> None:
    words = read(draw(ann, "answer")).replace(" .", ".")
    worse = sum(ann.issuers.blast_radius(name).attestations for name in ("Orchard Press", "Maker Guild"))
    assert words.startswith("We trust 7 of 8 issuers. 2 stand worse than when they signed")
    assert f"concerns {worse} attestations" in words
    assert words.endswith("0 of 7 keys in use are older than a year.")


def test_the_answer_says_when_no_issuer_is_left(ann: Lab) -> None:
    assert read(draw(ann, "answer", IssuerState(jurisdiction="BR"))) == "There is no issuer with these filters."
    empty = draw(ann, "issuers", IssuerState(jurisdiction="BR", tier="BASIC"))
    assert "None has tier Basic and jurisdiction BR." in read(empty)
    assert {"tier", "jurisdiction", "all"} == {*re.findall(r'data-ev="clear" data-v="(\w+)"', empty)}


def test_the_table_writes_status_risk_and_change_as_words(ann: Lab) -> None:
    rows = dict(re.findall(r'<tr data-row="([^"]*)">(.*?)</tr>', draw(ann, "issuers")))
    guild = read(rows[id_of(ann, "Maker Guild")])
    assert guild.startswith("Maker Guild guild.example.org active Basic High DE 1 5 0 Low to High")
    assert "suspended" in rows[id_of(ann, "Orchard Press")]
    assert 'class="is-change bad"' in rows[id_of(ann, "Maker Guild")]


def test_buttons_are_hidden_from_a_person_without_the_role(ann: Lab, service: Lab) -> None:
    rita, reviewer_state = governance_story.sign_in(service, "rita"), IssuerState(issuer=id_of(ann, "Orchard Press"))
    assert 'data-v="suspend:' in draw(ann, "issuers")
    assert 'data-v="suspend:' not in draw(rita, "issuers")
    assert "Reinstate" in draw(ann, "issuer", reviewer_state)
    for word in ("Reinstate", "Rotate", "Report as lost"):
        assert word not in draw(rita, "issuer", reviewer_state)
    assert "Approve" in draw(rita, "requests")


def test_only_a_person_who_may_register_issuers_sees_the_dialog(ann: Lab, service: Lab) -> None:
    rita, adding = governance_story.sign_in(service, "rita"), EVENTS["add"](IssuerState(), "")
    assert ('data-ev="add"' in draw(ann, "primary"), draw(rita, "primary")) == (True, "")
    assert (draw(ann, "register"), draw(rita, "register", adding)) == ("", "")
    words = read(draw(ann, "register", adding))
    assert words.startswith("Add an issuer It begins active, with the tier Self-signed and the risk Low")
    assert draw(ann, "confirm", adding) == ""
    assert EVENTS["close"](adding, "") == IssuerState()


def test_a_person_cannot_approve_their_own_request(service: Lab) -> None:
    ann, ben = (governance_story.sign_in(service, name) for name in ("ann", "ben"))
    waiting = next(str(each.id) for each in ben.issuers.requests(status="PENDING"))
    own, other = (find_button(draw(lab, "requests"), f"approve:{waiting}") for lab in (ben, ann))
    assert 'aria-disabled="true" aria-description="You cannot approve your own request."' in own
    assert "disabled" not in other
    assert "Withdraw" in draw(ben, "requests")


def find_button(markup: str, value: str) -> str:
    return next(tag for tag in re.findall(r"<button[^>]*>", markup) if f'data-v="{value}"' in tag)


def test_the_state_of_an_issuer_disables_what_it_forbids(ann: Lab) -> None:
    press = id_of(ann, "Orchard Press")
    drawn = draw(ann, "issuer", IssuerState(issuer=press))
    assert 'data-tip="The issuer is suspended, so it cannot be suspended."' in find_button(drawn, f"suspend:{press}")
    assert "disabled" not in find_button(drawn, f"reinstate:{press}")


@pytest.mark.parametrize("kind", RequestType)
def test_nothing_is_possible_with_a_revoked_issuer(kind: RequestType) -> None:
    assert "revoked" in find_obstacle(kind, IssuerStatus.REVOKED)


def test_a_suspension_begins_with_what_it_concerns(ann: Lab) -> None:
    guild = ann.issuers["Maker Guild"]
    words = read(draw(ann, "confirm", IssuerState(ask="suspend", about=str(guild.id))))
    valid = guild.blast_radius().valid
    effect = "attestations stay VALID and will be flagged issuer_suspended until you reinstate the issuer; no new mints"
    assert f"{valid} {effect}" in words
    assert words.index(effect) < words.index("Reason") < words.index("Second person") < words.index("Ask for approval")


def test_a_lost_key_is_split_at_the_moment_of_loss(ann: Lab) -> None:
    loss = PANES["loss"].load(ann, IssuerState())
    words = read(draw(ann, "loss"))
    assert f"{loss.stay_valid} logged before: stay VALID" in words
    assert f"{loss.turn_invalid} logged since: are INVALID" in words
    assert "lost on 2 Nov 2026, 12:00 UTC" in words


def test_a_report_of_a_loss_counts_from_the_moment_that_was_chosen(ann: Lab) -> None:
    key = f"{id_of(ann, 'Maker Guild')}/guild-1"
    unknown = EVENTS["ask"](IssuerState(since=datetime(2026, 1, 1, tzinfo=UTC)), f"lose:{key}")
    assert (unknown.key, unknown.since) == (key, None)
    valid = ann.issuers.blast_radius("Maker Guild", "guild-1").valid
    words = read(draw(ann, "confirm", unknown))
    assert f"0 become INVALID, because the time of the loss is not given {valid} were" in words
    known = EVENTS["ask"](IssuerState(), f"lose:{key}@2026-11-01T00:00Z")
    words = read(draw(ann, "confirm", known))
    assert f"{valid} were logged since 1 Nov 2026, 00:00 UTC and become INVALID" in words
    assert f'data-v="lose:{key}@2026-11-01T00:00Z"' in draw(ann, "loss", known)


def test_a_key_over_the_limit_has_a_warning_in_words(own_service: Lab, move_clock: Callable[[int], None]) -> None:
    assert 'class="is-part old"' not in draw(own_service, "keys")
    move_clock(393)
    drawn = draw(own_service, "keys")
    assert drawn.count('class="is-part old"') == len(own_service.issuers)
    assert "393 days" in read(drawn)


def test_the_feed_names_who_did_what_to_whom(ann: Lab) -> None:
    words = read(draw(ann, "trail"))
    assert "You asked to rate the risk of Canton Archive medium" in words
    assert "approved the request to rate the risk of Canton Archive medium approval 1 of 1" in words
    assert "reported the key harbour-1 of Harbour Training as lost" in words
    assert draw(ann, "trail").count("the hash chain holds") == 2 * 8


def test_people_have_their_names(service: Lab) -> None:
    ann, ben = (governance_story.sign_in(service, name) for name in ("ann", "ben"))
    waiting = next(str(each.id) for each in ben.issuers.requests(status="PENDING"))
    dialog = read(draw(ann, "confirm", IssuerState(ask="approve", about=waiting)))
    assert "Ben Okafor asked to suspend Ana's Workshop" in html.unescape(read(draw(ann, "trail")))
    assert "Ben Okafor, " in read(draw(ann, "requests"))
    assert "Asked for by Ben Okafor" in dialog
    assert "Asked for by you" in read(draw(ben, "confirm", IssuerState(ask="reject", about=waiting)))


def test_a_reviewer_who_may_not_read_names_sees_the_ends_of_ids(service: Lab) -> None:
    rita, ben = (governance_story.sign_in(service, name) for name in ("rita", "ben"))
    assert f"person …{str(ben.me().id)[-6:]}, " in read(draw(rita, "requests"))


def test_the_feed_narrows_to_all_that_one_actor_did(ann: Lab) -> None:
    own_id = str(ann.me().id)
    seqs = [str(row["seq"]) for row in ann.sql("select seq from audit where actor_id = ? order by seq desc", [own_id])]
    narrowed = EVENTS["actor"](IssuerState(trail_page=2), own_id)

    drawn = draw(ann, "trail", narrowed)

    assert narrowed == IssuerState(actor=own_id)
    assert re.findall(r"line (\d+): the hash chain holds\"", drawn)[::2] == seqs[:8]
    assert f"{len(seqs):,} lines of one actor" in PANES["trail"].reading(PANES["trail"].load(ann, narrowed), narrowed)
    assert "You signed in" in read(drawn)  # no other pane has a line about one
    assert EVENTS["actor"](narrowed, "") == IssuerState()
    assert len(PANES["trail"].export(ann, narrowed)) == len(seqs)


def test_an_actor_without_a_line_leads_back_to_all(ann: Lab) -> None:
    drawn = draw(ann, "trail", IssuerState(actor="unknown"))

    assert "No line of this actor" in read(drawn)
    assert 'data-ev="actor" data-v=""' in drawn


def test_the_page_is_closed_without_its_scope() -> None:
    assert {pane.scope for pane in PAGE.panes if pane.key != "primary"} == {
        "issuers:read",
        "audit:read",
        "attestations:read",
    }
    assert {action.scope.split(":")[0] for action in PAGE.actions.values()} == {"issuers", "webhooks"}
