"""The pane of webhooks: endpoints, deliveries with their attempts, and the dialog that resends one."""

from __future__ import annotations

import re
from uuid import UUID

import pytest

from attestlab import Lab
from attestlab.client.handles.webhooks import NewWebhookEndpointHandle
from attestlab.core.errors import PermissionDenied
from attestlab_dashboards.issuers.page import PAGE
from attestlab_dashboards.issuers.state import IssuerState
from support.governance_story import sign_in

PANES = {pane.key: pane for pane in PAGE.panes}
EVIL = "<img src=x onerror=alert(1)>"


def draw(lab: Lab, key: str, state: IssuerState | None = None) -> str:
    state = state or IssuerState()
    return str(PANES[key].draw(PANES[key].load(lab, state), state))


def read(markup: str) -> str:
    """The words of markup, with single spaces."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", markup)).strip()


@pytest.fixture
def endpoint(own_service: Lab) -> NewWebhookEndpointHandle:
    """An endpoint whose host does not exist, with one test delivery."""
    made = own_service.webhooks.create("https://receiver.invalid/hooks", "key.*", name="Ledger")
    made.test("ledger.ping")
    return made


def test_without_an_endpoint_the_pane_says_how_to_create_one(ann: Lab) -> None:
    words = read(draw(ann, "deliveries"))

    assert words.startswith("No endpoint")
    assert "lab.webhooks.create(url, events)" in words


@pytest.mark.usefixtures("endpoint")
def test_a_delivery_shows_its_status_and_attempts(own_service: Lab) -> None:
    markup = draw(sign_in(own_service, "ann"), "deliveries")
    words = read(markup)

    assert 'data-tip="ledger.ping">Ledger ping<' in markup
    assert "Ledger https://receiver.invalid/hooks active receives every key event" in words
    assert re.search(r"Ledger ping · test failed 1: .* after [\d,]+ ms, .* Resend$", words)


def test_the_endpoint_of_the_address_is_shown(own_service: Lab, endpoint: NewWebhookEndpointHandle) -> None:
    own_service.webhooks.create("https://other.invalid/", "issuer.*")

    by_default = read(draw(own_service, "deliveries"))
    chosen = read(draw(own_service, "deliveries", IssuerState(endpoint=str(endpoint.id))))

    assert "No delivery yet" in by_default
    assert "Ledger ping · test" in chosen


def test_five_deliveries_are_listed_and_more_by_a_button(own_service: Lab, endpoint: NewWebhookEndpointHandle) -> None:
    for _ in range(6):
        endpoint.test("ledger.ping")

    by_default = draw(own_service, "deliveries")
    more = draw(own_service, "deliveries", PAGE.events["listed"](IssuerState(), "25"))

    assert (by_default.count("<tr data-row"), more.count("<tr data-row")) == (5, 7)
    assert 'data-ev="listed" data-v="25"' in by_default
    assert 'data-ev="listed"' not in more


def test_a_name_never_becomes_markup(own_service: Lab) -> None:
    own_service.webhooks.create("https://receiver.invalid/", "key.*", name=EVIL)

    assert "<img" not in draw(own_service, "deliveries")


def test_a_delivery_is_resent_through_the_dialog(own_service: Lab, endpoint: NewWebhookEndpointHandle) -> None:
    ann = sign_in(own_service, "ann")
    (failed,) = endpoint.deliveries()
    state = PAGE.events["ask"](IssuerState(), f"resend:{failed.id}")
    dialog = draw(ann, "resend", state)

    notice = PAGE.actions["resend"].run(ann, state, {"delivery": str(failed.id)})

    assert "Resend “Ledger ping” To Ledger, https://receiver.invalid/hooks" in read(dialog)
    assert f'name="delivery" value="{failed.id}"' in dialog
    assert notice.state == IssuerState()
    assert [(each.status, each.event_id) for each in endpoint.deliveries()] == [
        *(("pending", failed.event_id), ("failed", failed.event_id)),
    ]


def test_only_owners_and_admins_may_resend(own_service: Lab, endpoint: NewWebhookEndpointHandle) -> None:
    rita = sign_in(own_service, "rita")
    delivery: UUID = endpoint.deliveries()[0].id
    state = IssuerState(ask="resend", about=str(delivery))

    assert "Resend" in draw(sign_in(own_service, "ben"), "deliveries")
    assert "Resend" not in draw(rita, "deliveries")
    assert draw(rita, "resend", state) == ""
    with pytest.raises(PermissionDenied):
        PAGE.actions["resend"].run(rita, state, {"delivery": str(delivery)})


def test_a_disabled_endpoint_says_why_nothing_can_be_resent(
    own_service: Lab, endpoint: NewWebhookEndpointHandle
) -> None:
    endpoint.update(status="disabled")

    markup = draw(own_service.as_("ann@demo.example", password="only for the demo"), "deliveries")

    assert "disabled, because a member disabled it" in read(markup)
    assert '"The endpoint is disabled, so nothing is delivered to it."' in markup


def test_the_dialog_of_a_resend_is_no_other_dialog(ann: Lab) -> None:
    state = IssuerState(ask="resend", about="0193b5a0-7f3c-7abc-8def-0123456789ab")

    assert (draw(ann, "confirm", state), draw(ann, "resend", state)) == ("", "")
