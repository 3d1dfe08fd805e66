"""The panes of the page about access show what the verbs of people, keys and sessions answer, in words."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest

from attestlab.core.errors import AuthInvalid, PermissionDenied, ValidationFailed
from attestlab.orgs.rules import Plan, Scope
from attestlab_dashboards.access.page import ACTIONS
from attestlab_dashboards.access.panes.keys import export_keys, write_keys_python
from attestlab_dashboards.access.panes.people import export_people, write_people_python
from attestlab_dashboards.access.panes.sessions import export_sessions
from attestlab_dashboards.access.panes.trail import export_trail, write_trail_sql
from attestlab_dashboards.access.state import AccessState
from support.dashboards.members import Members, draw, draw_markup


def test_an_owner_sees_who_has_access_and_which_keys_are_unused(members: Members) -> None:
    assert draw(members.owner, "answer") == ("3 people and 2 API keys have access. 2 are signed in. 2 keys are unused.")
    assert "Owners and admins 2 of 3 they may do everything" in draw(members.owner, "kpis")
    people = draw(members.owner, "people", sort="name")
    assert people.startswith("3 people, by person")
    assert "Mia Lund" in people
    assert "owner active 1 just now" in people
    keys = draw(members.owner, "keys")
    assert "Nightly mints" in keys
    assert "attestations:mint, issuers:read and 1 more Olga Brandt just now never" in keys


def test_the_filters_choose_people_and_keys(members: Members) -> None:
    members.owner.api_keys.revoke(members.key.id, "a test")

    assert [each.name for each in export_people(members.owner, AccessState(role="member"))] == ["Mia Lund"]
    assert [each.name for each in export_keys(members.owner, AccessState(state="ended"))] == ["Nightly mints"]
    assert len(export_keys(members.owner, AccessState(use="never"))) == 2
    assert draw(members.owner, "keys", use="recent").endswith("None has this use. Reset all")
    assert len(export_sessions(members.owner, AccessState())) == 2


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"state": "ended"},
        {"use": "never"},
        {"use": "recent"},
        {"use": "idle"},
        {"role": "member", "state": "active"},
    ],
    ids=str,
)
def test_copied_python_reads_the_rows_that_the_tables_list(members: Members, filters: dict[str, str]) -> None:
    members.owner.api_keys.revoke(members.key.id, "a test")
    state = AccessState(**filters)

    for write, export in ((write_people_python, export_people), (write_keys_python, export_keys)):
        *before, last = write(state).splitlines()
        names: dict[str, object] = {"lab": members.owner}
        exec("\n".join(before), names)  # what a person pastes into a cell
        copied = eval(last, names)
        assert sorted(copied["name"]) == sorted(each.name for each in export(members.owner, state))


@pytest.mark.parametrize("role", ["analyst", "admin"])
def test_only_owners_and_admins_see_keys_and_sessions(members: Members, role: str) -> None:
    viewer = members.sign_in("Vera Ibsen", role)

    is_closed = ["Your role does not see" in draw(viewer, pane) for pane in ("keys", "sessions")]
    assert is_closed == [role == "analyst"] * 2
    assert "Mia Lund" in draw(viewer, "people")
    assert "registered Orchard Press" in draw(viewer, "trail")


def test_a_member_reads_nothing_of_the_page(members: Members) -> None:
    with pytest.raises(PermissionDenied):
        draw(members.member, "people")


def test_the_drawer_of_a_key_says_in_sentences_what_it_did_with_links(members: Members) -> None:
    with members.use_key() as program:
        claims = {"student_name": "Sofia", "institution": "Example College"}
        minted = program.mint(b"a file", issuer="Orchard Press", schema="degree", claims=claims)
        with pytest.raises(PermissionDenied):
            _ = program.audit.list(limit=1)[0]

    state = AccessState(who=f"key:{members.key.id}")
    drawn = draw(members.owner, "who", who=state.who)
    markup, _ = draw_markup(members.owner, "who", state)
    assert "What this key did" in drawn
    assert "minted an attestation 1 time " in drawn
    assert "minted an attestation of degree" in drawn
    assert "was refused GET /v1/audit/events it lacks the scope audit:read" in drawn
    assert "You added the API key Nightly mints" in drawn
    assert f'href="log?q={minted.id}"' in markup
    assert "an attestation of degree" not in draw(members.owner, "who", who=state.who, deed="request.denied")


def test_the_rarer_deeds_of_a_holder_are_folded_until_one_of_them_is_chosen(
    members: Members, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attestlab_dashboards.access.panes.who._SHOWN_COUNTS", 1)
    with members.use_key() as program:
        claims = {"student_name": "Sofia", "institution": "Example College"}
        program.mint(b"a file", issuer="Orchard Press", schema="degree", claims=claims)
        program.mint(b"another file", issuer="Orchard Press", schema="degree", claims=claims)
        with pytest.raises(PermissionDenied):
            _ = program.audit.list(limit=1)[0]
    who = f"key:{members.key.id}"

    folded, _ = draw_markup(members.owner, "who", AccessState(who=who))
    opened, _ = draw_markup(members.owner, "who", AccessState(who=who, deed="request.denied"))
    assert "1 rarer kind of deed<" in folded
    assert 'id="rarer-deeds">' in folded
    assert 'id="rarer-deeds" open>' in opened


def test_lines_name_people_issuers_and_keys_instead_of_ids_and_codes(members: Members) -> None:
    members.owner.api_keys.revoke(members.key.id, "its script is gone")
    drawn = draw(members.owner, "trail")

    assert "revoked the API key Nightly mints" in drawn
    assert "registered Orchard Press" in drawn
    assert "Mia Lund signed in" in drawn
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}|[a-z]_[a-z]+\.[a-z]+", drawn)
    assert "renewal" not in draw(members.owner, "trail", whole=True).replace("With renewals and mails", "")
    assert "got the next token of a session" in draw(members.owner, "trail", whole=True)
    assert "got the next token" not in drawn


def test_a_copied_query_reads_what_the_trail_shows(members: Members) -> None:
    copied = [row["seq"] for row in members.owner.sql(write_trail_sql(AccessState()))]

    assert copied == [row["seq"] for row in export_trail(members.owner, AccessState())]


def test_the_trail_of_another_tenant_is_never_shown(members: Members) -> None:
    other = members.installation.orgs.create_tenant("Stranger", plan=Plan.FREE)
    subject = members.installation.orgs.service_caller(other.tenant_id)
    (foreign,) = members.installation.api_keys.list_page(caller=subject)

    drawn = draw(members.owner, "who", who=f"key:{foreign.id}")
    assert "Nothing yet" in drawn
    assert foreign.name not in drawn


def test_a_person_of_whom_nothing_is_known_has_an_empty_drawer(members: Members) -> None:
    assert draw(members.owner, "who", who=f"person:{uuid4()}").startswith("A person who left")


def test_an_owner_revokes_a_key(members: Members) -> None:
    fields = {"about": str(members.key.id), "reason": "a test"}
    state = AccessState(who=f"key:{members.key.id}", ask="revoke", about=fields["about"])
    assert "Revoke Nightly mints" in draw(members.owner, "confirm", ask="revoke", about=fields["about"])

    notice = ACTIONS["revoke"].run(members.owner, state, fields)

    assert (notice.state.ask, notice.state.who) == ("", state.who)
    with pytest.raises(AuthInvalid), members.use_key() as program:
        program.me()


def test_an_owner_ends_the_session_of_another_person(members: Members) -> None:
    session = str(members.member.me().credential.id)
    assert "End a session of Mia Lund" in draw(members.owner, "confirm", ask="end", about=session)

    ACTIONS["end"].run(members.owner, AccessState(), {"about": session})

    with pytest.raises(AuthInvalid):
        members.member.me()


def test_a_lost_key_is_marked_and_a_reason_is_required(members: Members) -> None:
    fields = {"about": str(members.key.id), "reason": "found in a repository"}
    with pytest.raises(ValidationFailed):
        ACTIONS["lose"].run(members.owner, AccessState(), {**fields, "reason": " "})

    ACTIONS["lose"].run(members.owner, AccessState(), fields)
    assert members.owner.api_keys[members.key.id].compromised_at is not None


def test_the_actions_need_the_scope_that_owners_and_admins_have() -> None:
    assert {action.scope for action in ACTIONS.values()} == {Scope.USERS_WRITE.value}
