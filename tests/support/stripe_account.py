"""An account at Stripe on this machine: what its API answers about customers, and events that it signs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from stripe import WebhookSignature

from attestlab.billing.providers.stripe_adapter import StripeProvider

SECRET = "whsec_of_the_tests"
WEBHOOK = "/billing/stripe/webhook"


@dataclass
class StripeAccount:
    """Customers with their subscriptions, as tests set them; `received` are the paths and bodies of requests."""

    url: str
    subscriptions: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    received: list[tuple[str, dict[str, list[str]]]] = field(default_factory=list)
    idempotency_keys: list[str] = field(default_factory=list)
    is_failing: bool = False

    def provider(self) -> StripeProvider:
        """The adapter that speaks to this account."""
        return StripeProvider("sk_test_of_the_tests", SECRET, url=self.url)

    def subscribe(self, customer_id: str, status: str = "active", **units: int) -> None:
        """Let a customer pay for units of prices, by their lookup keys without the prefix, and for nothing else."""
        items = [
            {"object": "subscription_item", "quantity": count, "price": {"lookup_key": f"attestlab_{name}"}}
            for name, count in units.items()
        ]
        one = {"object": "subscription", "id": "sub_1", "status": status, "created": 1, "items": {"data": items}}
        self.subscriptions[customer_id] = [one] if units else []

    def answer(self, method: str, path: str, sent: dict[str, list[str]]) -> dict[str, Any]:
        """Answer a request as Stripe does, with the members that the adapter reads."""
        match method, path:
            case "POST", "/v1/customers":
                return {"object": "customer", "id": f"cus_{sent['metadata[tenant_id]'][0]}"}
            case "GET", "/v1/subscriptions":
                return {"object": "list", "data": self.subscriptions.get(sent["customer"][0], [])}
            case "GET", "/v1/prices":
                return {"object": "list", "data": [{"object": "price", "id": f"price_{sent['lookup_keys[0]'][0]}"}]}
            case "POST", "/v1/checkout/sessions":
                url, expires_at = "https://checkout.stripe.example/c", 1_900_000_000
                return {"object": "checkout.session", "id": "cs_1", "url": url, "expires_at": expires_at}
            case "POST", "/v1/billing_portal/sessions":
                return {"object": "billing_portal.session", "id": "bps_1", "url": "https://billing.stripe.example/p"}
        raise AssertionError(f"Stripe was asked for {method} {path}")


@contextmanager
def serve_stripe() -> Iterator[StripeAccount]:
    """Serve an account on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            place = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            sent = parse_qs(body or place.query)
            account.received.append((place.path, sent))
            account.idempotency_keys.append(self.headers.get("Idempotency-Key", ""))
            answer = (
                {"error": {"message": "down"}} if account.is_failing else account.answer(self.command, place.path, sent)
            )
            content = json.dumps(answer).encode()
            self.send_response(500 if account.is_failing else 200)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    account = StripeAccount(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield account
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def make_event(
    customer_id: str, event_id: str = "evt_1", kind: str = "customer.subscription.updated", **members: Any
) -> bytes:
    """An event about a subscription of a customer."""
    subject = {"object": "subscription", "id": "sub_1", "customer": customer_id}
    event = {"id": event_id, "object": "event", "type": kind, "data": {"object": subject}, **members}
    return json.dumps(event).encode()


def sign(sent: bytes, at: datetime, secret: str = SECRET) -> str:
    """The signature that Stripe sends with an event."""
    return WebhookSignature.generate_signature_header(sent.decode(), secret, int(at.timestamp()))


def send_event(client: httpx.Client, sent: bytes, signature: str | None) -> httpx.Response:
    """Send an event as Stripe does."""
    headers = {"Content-Type": "application/json; charset=utf-8"}
    return client.post(
        WEBHOOK, content=sent, headers=headers if signature is None else {**headers, "Stripe-Signature": signature}
    )
