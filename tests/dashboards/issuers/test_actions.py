"""The writes of the page, from the form to what the service then has."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from attestlab import Lab
from attestlab.core.errors import AttestLabError, PermissionDenied, ValidationFailed
from attestlab_dashboards.issuers.page import PAGE
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.pages import Notice
from support.governance_story import sign_in

CONFIRM = next(pane for pane in PAGE.panes if pane.key == "confirm")


def read_form(lab: Lab, state: IssuerState) -> tuple[str, dict[str, str]]:
    """The action of the open dialog, and the values that its form has before anyone types."""
    markup = str(CONFIRM.draw(CONFIRM.load(lab, state), state))
    (act,) = re.findall(r'<form data-act="([^"]*)"', markup)
    inputs = re.findall(r'<input type="[a-z-]*" name="([^"]*)" value="([^"]*)"', markup)
    return act, dict(inputs)


def send(lab: Lab, ask: str, about: str, **typed: str) -> Notice:
    """Open a dialog, type into its form and send it."""
    state = IssuerState(ask=ask, about=about)
    act, fields = read_form(lab, state)
    notice = PAGE.actions[act].run(lab, state, {**fields, **typed})
    assert notice.state == IssuerState()
    return notice


def test_a_suspension_goes_through_two_people(own_service: Lab) -> None:
    ann, ben = sign_in(own_service, "ann"), sign_in(own_service, "ben")
    issuer = str(ann.issuers["Maker Guild"].id)
    asked = send(ann, "suspend", issuer, reason="fake cards")
    assert "nothing has changed yet" in asked.text
    (request,) = ann.issuers.requests()
    with pytest.raises(PermissionDenied, match="your own"):
        send(ann, "approve", str(request.id))
    assert "An owner or admin can execute it" in send(ben, "approve", str(request.id)).text
    done = send(ann, "execute", str(request.id))
    (executed,) = ann.issuers.requests()
    assert f"entry {executed.log_index:,} of the log" in done.text
    assert ann.issuers[issuer].status == "SUSPENDED"


@pytest.mark.parametrize(
    ("ask", "target", "field"), [("tier", "ENTERPRISE", "new_trust_tier"), ("risk", "HIGH", "new_risk_rating")]
)
def test_a_new_tier_or_rating_is_requested(own_service: Lab, ask: str, target: str, field: str) -> None:
    ann = sign_in(own_service, "ann")
    send(ann, ask, str(ann.issuers["Maker Guild"].id), reason="audit", target=target)
    (request,) = ann.issuers.requests()
    assert getattr(request, field) == target
    assert request.approvals_needed == (2 if target == "ENTERPRISE" else 1)


def test_a_rejection_keeps_its_reason(own_service: Lab) -> None:
    ann, ben = sign_in(own_service, "ann"), sign_in(own_service, "ben")
    send(ann, "revoke", str(ann.issuers["Maker Guild"].id), reason="closed")
    (request,) = ann.issuers.requests()
    send(ben, "reject", str(request.id), reason="it is not")
    (rejected,) = ann.issuers.requests()
    assert (rejected.status, rejected.rejection_reason) == ("REJECTED", "it is not")


def test_a_key_is_rotated_revoked_and_reported(own_service: Lab) -> None:
    ann = sign_in(own_service, "ann")
    issuer = ann.issuers["Maker Guild"]
    assert "guild-2" in send(ann, "rotate", f"{issuer.id}/guild-1").text
    send(ann, "revoke_key", f"{issuer.id}/guild-1", reason="no longer needed")
    send(ann, "lose", f"{issuer.id}/guild-2", reason="laptop stolen", since="2026-11-02T11:30")
    keys = {key.kid: key for key in ann.issuers["Maker Guild"].keys}
    assert {kid: key.status for kid, key in keys.items()} == {"guild-1": "revoked", "guild-2": "compromised"}
    assert keys["guild-2"].compromised_at.isoformat() == "2026-11-02T11:30:00+00:00"


@pytest.mark.parametrize("name", sorted(PAGE.actions))
@pytest.mark.parametrize("fields", [{}, {"kid": " ", "request": "", "type": "", "reason": ""}])
def test_a_form_without_its_fields_is_refused(service: Lab, name: str, fields: Mapping[str, str]) -> None:
    with pytest.raises(ValidationFailed, match="is missing"):
        PAGE.actions[name].run(service, IssuerState(), fields)


def test_hostile_fields_are_refused_by_the_service(own_service: Lab) -> None:
    ann = sign_in(own_service, "ann")
    hostile = {"type": "DROP", "issuer": "../..", "request": "1", "kid": "../x", "reason": "r", "since": "soon"}
    for action in PAGE.actions.values():
        with pytest.raises(AttestLabError):
            action.run(ann, IssuerState(), hostile)
    assert not list(ann.issuers.requests())


REGISTER = PAGE.actions["register"]
TYPED = {"name": " Chess Club ", "domain": "chess.example", "legal_name": "", "jurisdiction": "ch", "alg": "ES256"}


def test_an_issuer_is_added_and_shown(own_service: Lab) -> None:
    ann = sign_in(own_service, "ann")
    done = REGISTER.run(ann, IssuerState(ask="add"), {**TYPED, "kid": "chess-1"})
    issuer = ann.issuers["Chess Club"]
    assert done.state == IssuerState(issuer=str(issuer.id))
    assert "<b>Added Chess Club.</b> Next: prove its domain" in done.text
    assert (issuer.domain, issuer.jurisdiction, issuer.legal_name) == ("chess.example", "CH", None)
    assert [(key.kid, key.alg) for key in issuer.keys] == [("chess-1", "ES256")]


def test_an_issuer_without_a_key_is_added(own_service: Lab) -> None:
    ann = sign_in(own_service, "ann")
    done = REGISTER.run(ann, IssuerState(ask="add"), {**TYPED, "alg": "", "kid": ""})
    assert "Next: add a key" in done.text
    assert ann.issuers["Chess Club"].keys == []


@pytest.mark.parametrize(
    ("changed", "refusal"),
    [
        ({"name": " "}, "The name is missing"),
        ({"domain": ""}, "The domain is missing"),
        ({"domain": "no domain"}, "domain"),
        ({"jurisdiction": "XX"}, "jurisdiction|ISO 3166"),
        ({"alg": "HS256"}, "alg|Ed25519"),
        ({"kid": "a b"}, "A kid must be 1 to 64 characters"),
        ({"alg": "", "kid": "chess-1"}, "Choose an algorithm, or leave the kid empty"),
    ],
)
def test_a_registration_is_refused_with_its_reason(ann: Lab, changed: dict[str, str], refusal: str) -> None:
    before = len(ann.issuers)
    with pytest.raises(ValidationFailed, match=refusal):
        REGISTER.run(ann, IssuerState(ask="add"), {**TYPED, **changed})
    assert len(ann.issuers) == before


def test_a_reviewer_cannot_add_an_issuer(own_service: Lab) -> None:
    with pytest.raises(PermissionDenied):
        REGISTER.run(sign_in(own_service, "rita"), IssuerState(ask="add"), TYPED)
