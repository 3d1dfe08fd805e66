"""`lab.webhooks`: endpoints that receive the tenant's events, their deliveries, and the events themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast
from urllib.parse import urlsplit
from uuid import UUID

from attestlab.client import arguments
from attestlab.client.analysis.listing import Listing
from attestlab.client.analysis.records import Records
from attestlab.client.arguments import When
from attestlab.client.collections.base import MAX_COMPLETIONS, Collection
from attestlab.client.handles.webhooks import (
    DEFAULT_DELIVERIES,
    ENDPOINTS,
    EndpointLike,
    EventTypeHandle,
    NewWebhookEndpointHandle,
    WebhookDeliveryHandle,
    WebhookEndpointHandle,
    WebhookEventHandle,
    WebhookRecoveryHandle,
    WebhookRotationHandle,
    WebhookTestHandle,
    delete_endpoint,
    find_endpoint_by_name,
    find_endpoint_id,
    list_deliveries,
    recover_deliveries,
    resend_delivery,
    rotate_secret,
    send_test,
    update_endpoint,
)
from attestlab.client.own_examples import name_in_examples
from attestlab.client.service_client import PAGE_ROWS, Json, ServiceClient
from attestlab.core.counting import plural
from attestlab.core.errors import Conflict
from attestlab.webhooks.rules import MAX_ENDPOINT_NAME_LENGTH

_UNNAMED = "receiver"


@name_in_examples("webhooks")
class WebhookCollection(Collection[WebhookEndpointHandle]):
    """The tenant's webhook endpoints, newest first; `lab.webhooks["Ledger"]` finds one by name, URL or id.

    Writes need an API key, or a person who is owner or admin. A server (`attestlab serve`) delivers the events; a lab
    in this process sends tests only, and what it enqueues waits for the next server.
    """

    noun = "a webhook endpoint"
    path = ENDPOINTS

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, WebhookEndpointHandle)

    def create(self, url: str, events: str | Iterable[str], *, name: str | None = None) -> NewWebhookEndpointHandle:
        """Create an endpoint, which receives the events that happen from now on.

        Args:
            url: of the receiver: https, at a public address.
            events: types such as `attestation.created`, or categories such as `attestation.*`.
            name: by default the host of the URL.

        Returns:
            The endpoint; only this object has its secret, with which the receiver verifies deliveries.

        Raises:
            ValidationFailed: the URL is not acceptable, or an event type is unknown; the message suggests one.
            QuotaExceeded: the tenant has as many endpoints as its plan allows.

        >>> endpoint = lab.webhooks.create("https://receiver.invalid/hooks", events=["attestation.*", "key.rotated"])
        >>> endpoint.name, endpoint.status, endpoint.secret[:6]
        ('receiver.invalid', 'active', 'whsec_')
        >>> endpoint.delete()
        """
        body = {
            "url": arguments.read_text(url, name="url"),
            "event_filters": arguments.read_texts(events, name="events"),
            "name": _name_of(url) if name is None else name,
        }
        return NewWebhookEndpointHandle.parse(self._client, self._client.post(self.path, body))

    def update(
        self,
        endpoint: EndpointLike,
        *,
        name: str | None = None,
        url: str | None = None,
        events: str | Iterable[str] | None = None,
        status: str | None = None,
    ) -> WebhookEndpointHandle:
        """Change an endpoint; what is None is unchanged. The status is `active` or `disabled`.

        Args:
            endpoint: its name, URL or id, or the object.
            name: one line.
            url: https, at a public address.
            events: types or categories, which replace those before.
            status: `active`, also for one that failures disabled, or `disabled`.

        Returns:
            The endpoint as it is now.

        Raises:
            NotFound: the tenant has no such endpoint.
            ValidationFailed: an argument is not acceptable; the message names the remedy.

        >>> endpoint = lab.webhooks.create("https://receiver.invalid/renamed", events="key.*")
        >>> lab.webhooks.update(endpoint, name="Ledger").name
        'Ledger'
        """
        return update_endpoint(self._client, self._id_of(endpoint), name=name, url=url, events=events, status=status)

    def delete(self, endpoint: EndpointLike) -> None:
        """Delete an endpoint; it receives nothing more.

        Args:
            endpoint: its name, URL or id, or the object.

        Raises:
            NotFound: the tenant has no such endpoint.

        >>> endpoint = lab.webhooks.create("https://receiver.invalid/removed", events="key.*")
        >>> lab.webhooks.delete("https://receiver.invalid/removed")
        """
        delete_endpoint(self._client, self._id_of(endpoint))

    def rotate(self, endpoint: EndpointLike, *, overlap_s: int = 0) -> WebhookRotationHandle:
        """Replace the secret of an endpoint; only the result has the new one.

        Args:
            overlap_s: seconds for which deliveries are signed with the old secret too, at most a day.
            endpoint: its name, URL or id, or the object.

        Returns:
            The new secret, which no other answer has, and until when the old one signs too.

        Raises:
            NotFound: the tenant has no such endpoint.
            ValidationFailed: `overlap_s` is no number from 0 to 86,400.

        >>> endpoint = lab.webhooks.create("https://receiver.invalid/turned", events="key.*")
        >>> lab.webhooks.rotate(endpoint).secret == endpoint.secret
        False
        """
        return rotate_secret(self._client, self._id_of(endpoint), overlap_s=overlap_s)

    def test(self, endpoint: EndpointLike, event_type: str | None = None, payload: object = None) -> WebhookTestHandle:
        """Send a test event at once, signed like any other. A receiver that does not respond is a result too.

        Args:
            event_type: any lowercase type with a dot; by default `webhook.test`.
            payload: a dict, which becomes the event's `data`.
            endpoint: its name, URL or id, or the object.

        Returns:
            Whether the receiver accepted it, its status (0 without a response), and its time in milliseconds.

        Raises:
            NotFound: the tenant has no such endpoint.
            ValidationFailed: the type or the payload is not acceptable.

        >>> endpoint = lab.webhooks.create("https://receiver.invalid/tried", events="key.*")
        >>> test = lab.webhooks.test(endpoint, "ledger.ping", {"number": 7})
        >>> test.success, test.status_code
        (False, 0)
        """
        return send_test(self._client, self._id_of(endpoint), event_type, payload)

    def deliveries(
        self,
        endpoint: EndpointLike,
        *,
        status: str | None = None,
        event_type: str | None = None,
        limit: int | None = DEFAULT_DELIVERIES,
    ) -> Records[WebhookDeliveryHandle]:
        """List the deliveries to an endpoint with their attempts, newest first.

        The data set `deliveries` has all attempts to all endpoints: `lab.sql("select * from deliveries")`.

        Args:
            status: `pending`, `retrying`, `delivered` or `failed`.
            limit: how many at most, and `truncated` says whether there are more; None reads all.
            endpoint: its name, URL or id, or the object.
            event_type: such as `attestation.created`.

        Returns:
            The deliveries with their attempts; `truncated` says whether there are more than the limit.

        Raises:
            NotFound: the tenant has no such endpoint.
            ValidationFailed: there is no such status, or `limit` is no number from 0.

        >>> endpoint = lab.webhooks.create("https://receiver.invalid/seen", events="key.*")
        >>> test = endpoint.test("ledger.ping")
        >>> [(each.event_type, each.status, len(each.attempts)) for each in lab.webhooks.deliveries(endpoint)]
        [('ledger.ping', 'failed', 1)]
        """
        return list_deliveries(self._client, self._id_of(endpoint), status=status, event_type=event_type, limit=limit)

    def resend(self, delivery: UUID | str | WebhookDeliveryHandle) -> WebhookDeliveryHandle:
        """Deliver the event of a delivery again; the result is the new delivery.

        Args:
            delivery: the delivery or its id.

        Returns:
            The new delivery, which is `pending`.

        Raises:
            NotFound: the tenant has no such delivery, or its endpoint is deleted.
            Conflict: the endpoint is disabled.

        >>> endpoint = lab.webhooks.create("https://receiver.invalid/again", events="key.*")
        >>> test = endpoint.test()
        >>> (failed,) = endpoint.deliveries()
        >>> lab.webhooks.resend(failed).event_id == failed.event_id
        True
        """
        return resend_delivery(self._client, arguments.read_id(delivery, "a delivery"))

    def recover(
        self,
        endpoint: EndpointLike,
        since: When,
        *,
        until: When | None = None,
        events: str | Iterable[str] | None = None,
        mode: str = "failed",
        dry_run: bool = False,
    ) -> WebhookRecoveryHandle:
        """Deliver past events of the last 30 days to an endpoint.

        Args:
            since: the time of the first event; `until` is now by default.
            events: types or categories; by default those of the endpoint.
            mode: `failed` takes events whose deliveries failed, `missing` those that were never tried here, `all` both.
            dry_run: True counts the events and delivers none.
            endpoint: its name, URL or id, or the object.

        Returns:
            How many events matched, how many deliveries were made, and how many events were too old.

        Raises:
            NotFound: the tenant has no such endpoint.
            Conflict: the endpoint is disabled.
            ValidationFailed: `until` is not after `since`, or a type or the mode is unknown.

        >>> endpoint = lab.webhooks.create("https://receiver.invalid/late", events="verification.*")
        >>> recovery = lab.webhooks.recover(endpoint, "2026-11-01", mode="missing", dry_run=True)
        >>> recovery.matched > 0, recovery.enqueued
        (True, 0)
        """
        return recover_deliveries(
            self._client, self._id_of(endpoint), since, until=until, events=events, mode=mode, dry_run=dry_run
        )

    def event_types(self, category: str | None = None) -> Records[EventTypeHandle]:
        """List the types of events, of one category or all.

        Args:
            category: the part of the types before the dot, such as `key`.

        Returns:
            The types, each with the JSON Schema and an example of its envelope.

        Raises:
            ValidationFailed: there is no such category.

        >>> lab.webhooks.event_types("key").df()["type"].to_list()
        ['key.created', 'key.rotated', 'key.revoked', 'key.compromised']
        """
        answer = self._client.get("/v1/webhooks/event-types", {"category": category})
        found = cast("list[Json]", answer["items"])
        return Records((EventTypeHandle.parse(self._client, each) for each in found), EventTypeHandle)

    def events(self, after: int = 0) -> Listing[WebhookEventHandle]:
        """List the tenant's events of the last 30 days, oldest first.

        Args:
            after: the `sequence` of the last event that you have; by default all of these days are read.

        Returns:
            The events, which are read page by page when they are wanted; `sequence` counts them from 1.

        Raises:
            Conflict: when they are read: some of the events after that one are older, so you would miss them; the
                message names the position of the first that is listed.
            ValidationFailed: `after` is no number from 0.

        >>> event = lab.webhooks.events()[0]
        >>> lab.webhooks.events(after=event.sequence)[0].sequence - event.sequence
        1
        """
        position = arguments.read_count(after, name="after")
        return Listing("event", WebhookEventHandle, lambda: self._read_events(position))

    def _read_events(self, position: int) -> Iterator[WebhookEventHandle]:
        while True:
            page = self._client.get("/v1/webhooks/events", {"after": position, "limit": PAGE_ROWS})
            _require_continuation(position, cast("int", page["too_old"]))
            found = cast("list[Json]", page["items"])
            for each in found:
                yield WebhookEventHandle.parse(self._client, each)
            if not found:
                return
            position = cast("int", page["next_after"])

    def _find(self, which: object) -> WebhookEndpointHandle:
        if isinstance(which, str) and not arguments.is_uuid(which):
            return find_endpoint_by_name(self._client, which)
        return super()._find(which)

    def _id_of(self, endpoint: EndpointLike) -> UUID:
        return find_endpoint_id(self._client, endpoint)

    def _ipython_key_completions_(self) -> list[str]:
        """Complete `lab.webhooks["` with the endpoints' names."""
        return [endpoint.name for endpoint in self.list(limit=MAX_COMPLETIONS)]


def _require_continuation(after: int, too_old: int) -> None:
    """Require that the service lists the event that follows one.

    Raises:
        Conflict: it is too old.
    """
    if after and too_old:
        raise Conflict(
            f"{plural(too_old, 'event')} after number {after} happened over 30 days ago and are no longer listed. "
            f"Pass after={after + too_old} to continue with those that are.",
            details={"too_old": too_old, "next_after": after + too_old},
        )


def _name_of(url: str) -> str:
    """Return the host of a URL, as the name of its endpoint."""
    try:
        host = urlsplit(url).hostname
    except ValueError:  # the service explains it
        host = None
    return (host or _UNNAMED)[:MAX_ENDPOINT_NAME_LENGTH]
