"""Deliveries of webhooks in a real browser: they fit a phone, and two clicks resend one."""

from __future__ import annotations

from support.browser import SERIOUS, list_violations, needs_chromium
from support.dashboards.clicks import Mouse
from support.dashboards.demo_server import DemoServer
from support.dashboards.windows import HAND, Windows, has_sideways_scrolling, list_failed_panes

pytestmark = needs_chromium

URL = f"https://receiver.invalid/{'long' * 40}"


def test_a_delivery_is_read_and_resent_by_clicks(windows: Windows, demo: DemoServer) -> None:
    with demo.connect() as lab:
        endpoint = lab.webhooks.create(URL, ["attestation.*", "key.*", "issuer.*", "risk.*"], name="Ledger")
        endpoint.test("ledger.ping")
        with windows.visit("/dash/issuers", **HAND) as page:
            assert not has_sideways_scrolling(page)
        with windows.visit("/dash/issuers") as page:
            shown = Mouse(page).read_pane("deliveries")
            assert list_violations(page, *SERIOUS) == []
            mouse = Mouse(page)
            mouse.press("Resend", "[data-pane=deliveries]")
            dialog = mouse.read("[role=dialog]")
            mouse.press("Resend now", "[role=dialog]")
            assert list_failed_panes(page) == []
        sent = endpoint.deliveries()
        endpoint.delete()

    assert "Ledger ping" in shown
    assert "1: " in shown
    assert "Resend “Ledger ping”" in dialog
    assert [each.event_id for each in sent] == [sent[0].event_id] * 2
