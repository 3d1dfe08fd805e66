"""Webhook endpoints, their deliveries, and the events that they receive."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar
from uuid import UUID

from pydantic import Field

from attestlab.client import arguments, card_contents
from attestlab.client.analysis.records import Records
from attestlab.client.arguments import When
from attestlab.client.handles.base import Handle
from attestlab.client.service_client import ServiceClient, path_of
from attestlab.core.errors import NotFound
from attestlab.webhooks.delivery_shapes import (
    TestDeliveryOut,
    WebhookAttemptOut,
    WebhookDeliveryOut,
    WebhookRecoveryOut,
)
from attestlab.webhooks.shapes import EventTypeOut, LoggedEventOut, SecretRotatedOut, WebhookEndpointOut

ENDPOINTS = "/v1/webhooks/endpoints"
DEFAULT_DELIVERIES = 100


class WebhookDeliveryHandle(WebhookDeliveryOut, Handle):
    """A delivery of one event to one endpoint, with its attempts."""

    shown_fields: ClassVar = ("id", "event_type", "status", "attempt_count", "http_status", "last_error")

    attempts: Records[WebhookAttemptOut]

    def _repr_html_(self) -> str:
        return card_contents.draw_webhook_delivery(self)

    def resend(self) -> WebhookDeliveryHandle:
        """Deliver the event again; `lab.webhooks.resend` explains the result and errors.

        >>> endpoint = lab.webhooks.create("https://receiver.invalid/resent", events="key.*")
        >>> test = endpoint.test()
        >>> endpoint.deliveries()[0].resend().status
        'pending'
        """
        return resend_delivery(self._client, self.id)


class WebhookTestHandle(TestDeliveryOut, Handle):
    """The outcome of a test delivery; `status_code` is 0 if the receiver did not respond."""

    shown_fields: ClassVar = ("success", "status_code", "response_time_ms", "error")


class WebhookRecoveryHandle(WebhookRecoveryOut, Handle):
    """How many past events a recovery matched, how many deliveries it made, and how many events were too old."""

    shown_fields: ClassVar = ("matched", "enqueued", "too_old", "dry_run")


class WebhookRotationHandle(SecretRotatedOut, Handle):
    """A rotation; only this object has the new secret."""

    shown_fields: ClassVar = ("id", "rotated_at")

    secret: str = Field(repr=False)


class EventTypeHandle(EventTypeOut, Handle):
    """A type of events, with the JSON Schema and an example of its envelope."""

    shown_fields: ClassVar = ("type", "description")


class WebhookEventHandle(LoggedEventOut, Handle):
    """An event of the tenant; `sequence` counts them from 1 without gaps."""

    shown_fields: ClassVar = ("sequence", "type", "created_at", "id")


class WebhookEndpointHandle(WebhookEndpointOut, Handle):
    """A webhook endpoint: the URL of a receiver, and what is delivered to it."""

    shown_fields: ClassVar = ("name", "url", "event_filters", "status", "disabled_reason", "id")

    def _repr_html_(self) -> str:
        return card_contents.draw_webhook_endpoint(self)

    def update(
        self,
        *,
        name: str | None = None,
        url: str | None = None,
        events: str | Iterable[str] | None = None,
        status: str | None = None,
    ) -> WebhookEndpointHandle:
        """Change the endpoint; what is None is unchanged.

        `lab.webhooks.update` explains the arguments and errors.

        >>> endpoint = lab.webhooks.create("https://receiver.invalid/changed", events="key.*")
        >>> endpoint.update(events=["key.*", "issuer.suspended"], status="disabled").disabled_reason
        'requested'
        """
        return update_endpoint(self._client, self.id, name=name, url=url, events=events, status=status)

    def delete(self) -> None:
        """Delete the endpoint; it receives nothing more.

        >>> lab.webhooks.create("https://receiver.invalid/deleted", events="key.*").delete()
        """
        delete_endpoint(self._client, self.id)

    def rotate(self, *, overlap_s: int = 0) -> WebhookRotationHandle:
        """Replace the secret; the old one stops working at once, or after `overlap_s` seconds, at most a day.

        `lab.webhooks.rotate` explains the arguments and errors.

        >>> endpoint = lab.webhooks.create("https://receiver.invalid/rotated", events="key.*")
        >>> endpoint.rotate(overlap_s=3_600).secret == endpoint.secret
        False
        """
        return rotate_secret(self._client, self.id, overlap_s=overlap_s)

    def test(self, event_type: str | None = None, payload: object = None) -> WebhookTestHandle:
        """Send a test event at once, signed like any other, and return what the receiver responded.

        `lab.webhooks.test` explains the arguments and errors.

        >>> endpoint = lab.webhooks.create("https://receiver.invalid/tested", events="key.*")
        >>> endpoint.test().status_code
        0
        """
        return send_test(self._client, self.id, event_type, payload)

    def deliveries(
        self, *, status: str | None = None, event_type: str | None = None, limit: int | None = DEFAULT_DELIVERIES
    ) -> Records[WebhookDeliveryHandle]:
        """List the deliveries to the endpoint, newest first; `truncated` if there are more than the limit.

        None as the limit reads all.

        `lab.webhooks.deliveries` explains the arguments and errors.

        >>> endpoint = lab.webhooks.create("https://receiver.invalid/listed", events="key.*")
        >>> test = endpoint.test()
        >>> endpoint.deliveries(status="failed").df()["event_type"].to_list()
        ['webhook.test']
        """
        return list_deliveries(self._client, self.id, status=status, event_type=event_type, limit=limit)

    def recover(
        self,
        since: When,
        *,
        until: When | None = None,
        events: str | Iterable[str] | None = None,
        mode: str = "failed",
        dry_run: bool = False,
    ) -> WebhookRecoveryHandle:
        """Deliver past events of the last 30 days; `lab.webhooks.recover` explains the arguments and errors.

        >>> endpoint = lab.webhooks.create("https://receiver.invalid/recovered", events="risk.*")
        >>> endpoint.recover("2026-11-01", mode="failed", dry_run=True).matched
        0
        """
        return recover_deliveries(self._client, self.id, since, until=until, events=events, mode=mode, dry_run=dry_run)


class NewWebhookEndpointHandle(WebhookEndpointHandle):
    """A new webhook endpoint; only this object has its secret, with which the receiver verifies deliveries."""

    secret: str = Field(repr=False)


EndpointLike = UUID | str | WebhookEndpointHandle


def find_endpoint_id(client: ServiceClient, what: object) -> UUID:
    """Find the id of an endpoint by its id, name or URL.

    Raises:
        NotFound: the tenant has no such endpoint.
        ValidationFailed: it is none of them.
    """
    if isinstance(what, str) and not arguments.is_uuid(what):
        return find_endpoint_by_name(client, what).id
    return arguments.read_id(what, "a webhook endpoint")


def find_endpoint_by_name(client: ServiceClient, name: str) -> WebhookEndpointHandle:
    """Find the newest endpoint with a name or a URL.

    Raises:
        NotFound: there is none.
    """
    wanted = arguments.read_text(name, name="The endpoint").strip()
    for item in client.iterate(ENDPOINTS):
        if wanted in (item.get("name"), item.get("url")):
            return WebhookEndpointHandle.parse(client, item)
    shown = f"with the name or URL {arguments.show(name)}"
    raise NotFound("webhook endpoint", shown, remedy="`lab.webhooks` lists them.")


def update_endpoint(
    client: ServiceClient,
    endpoint_id: UUID,
    *,
    name: str | None,
    url: str | None,
    events: object,
    status: str | None,
) -> WebhookEndpointHandle:
    """Change the fields of an endpoint that are not None."""
    filters = None if events is None else arguments.read_texts(events, name="events")
    changes = {"name": name, "url": url, "event_filters": filters, "status": status}
    body = {member: value for member, value in changes.items() if value is not None}
    return WebhookEndpointHandle.parse(client, client.patch(f"{ENDPOINTS}{path_of(endpoint_id)}", body))


def delete_endpoint(client: ServiceClient, endpoint_id: UUID) -> None:
    """Delete an endpoint."""
    client.delete(f"{ENDPOINTS}{path_of(endpoint_id)}")


def rotate_secret(client: ServiceClient, endpoint_id: UUID, *, overlap_s: object) -> WebhookRotationHandle:
    """Replace the secret of an endpoint."""
    body = {"overlap_seconds": arguments.read_count(overlap_s, name="overlap_s")}
    return WebhookRotationHandle.parse(client, client.post(f"{ENDPOINTS}{path_of(endpoint_id, 'rotate')}", body))


def send_test(client: ServiceClient, endpoint_id: UUID, event_type: str | None, payload: object) -> WebhookTestHandle:
    """Send a test event to an endpoint."""
    body: dict[str, object] = {"endpoint_id": endpoint_id}
    body |= {} if event_type is None else {"event_type": arguments.read_text(event_type, name="event_type")}
    body |= {} if payload is None else {"payload": arguments.read_mapping(payload, name="payload")}
    return WebhookTestHandle.parse(client, client.post("/v1/webhooks/test-delivery", body))


def list_deliveries(
    client: ServiceClient,
    endpoint_id: UUID,
    *,
    status: str | None,
    event_type: str | None,
    limit: object,
) -> Records[WebhookDeliveryHandle]:
    """List the deliveries to an endpoint, newest first."""
    most = None if limit is None else arguments.read_count(limit, name="limit")
    answers = client.iterate(
        f"{ENDPOINTS}{path_of(endpoint_id, 'deliveries')}", {"status": status, "event_type": event_type}
    )
    found = (WebhookDeliveryHandle.parse(client, each) for each in answers)
    return Records(found, WebhookDeliveryHandle, limit=most)


def resend_delivery(client: ServiceClient, delivery_id: UUID) -> WebhookDeliveryHandle:
    """Deliver the event of a delivery again."""
    path = path_of("v1", "webhooks", "deliveries", delivery_id, "resend")
    return WebhookDeliveryHandle.parse(client, client.post(path))


def recover_deliveries(
    client: ServiceClient,
    endpoint_id: UUID,
    since: When,
    *,
    until: When | None,
    events: object,
    mode: str,
    dry_run: bool,
) -> WebhookRecoveryHandle:
    """Deliver past events to an endpoint."""
    filters = None if events is None else arguments.read_texts(events, name="events")
    times = {"since": arguments.read_time(since, name="since"), "until": arguments.read_time(until, name="until")}
    wanted = {**times, "event_types": filters, "mode": mode, "dry_run": dry_run}
    body = {member: value for member, value in wanted.items() if value is not None}
    path = f"{ENDPOINTS}{path_of(endpoint_id, 'recover')}"
    return WebhookRecoveryHandle.parse(client, client.post(path, body))
