"""Service for webhook endpoints and for the log of a tenant's events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.crypto import sealing
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write, outbox
from attestlab.core.records.actors import COMMAND_LINE, Actor
from attestlab.core.records.audited_write import AuditContext
from attestlab.orgs.quotas import allowance_of, require_capacity
from attestlab.orgs.rules import Caller, validate_display_name
from attestlab.webhooks import endpoint_store, event_store, rules
from attestlab.webhooks.addresses import require_public_url
from attestlab.webhooks.event_store import LoggedEvent
from attestlab.webhooks.event_types import list_type_names
from attestlab.webhooks.rules import DisabledReason, EndpointStatus
from attestlab.webhooks.shapes import EndpointChanges
from attestlab.webhooks.signatures import new_secret
from attestlab.webhooks.tables import WebhookEndpointRecord


@dataclass(frozen=True)
class EndpointWithSecret:
    """An endpoint with its new secret, which is shown only once."""

    row: WebhookEndpointRecord = field(repr=False)
    secret: str = field(repr=False)


@dataclass(frozen=True)
class EventPage:
    """Events in ascending order; `next_after` continues after them.

    `too_old` events follow the client's position too, and are no longer listed.
    """

    events: Sequence[LoggedEvent]
    next_after: int
    too_old: int


class Webhooks:
    """The webhook endpoints of tenants, and the events of the last 30 days.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock, keyring: Keyring, allow_private: bool) -> None:
        self.storage = storage
        self.clock = clock
        self.keyring = keyring
        self.allow_private = allow_private

    def create(
        self, name: str, url: str, event_filters: Sequence[str], *, caller: Caller, tx: Transaction | None = None
    ) -> EndpointWithSecret:
        """Create an active endpoint; it receives the events that happen from now on.

        Raises:
            ValidationFailed: the name is not one line, the URL is not acceptable, or a filter names no event type.
            QuotaExceeded: the tenant has as many endpoints as its plan allows.
        """
        values = self._validate({"name": name, "url": url, "event_filters": event_filters})
        with self.storage.write(tx) as tx:
            limit = allowance_of(caller).webhook_endpoints
            execute = tx.exec
            require_capacity(
                "webhook_endpoints", limit, lambda: endpoint_store.count_endpoints(execute, caller.tenant_id)
            )
            now, secret = self.clock.now(), new_secret()
            endpoint_id = new_id(now)
            row = WebhookEndpointRecord(
                id=endpoint_id,
                tenant_id=caller.tenant_id,
                name=str(values["name"]),
                url=str(values["url"]),
                event_filters=str(values["event_filters"]),
                status=EndpointStatus.ACTIVE.value,
                disabled_reason=None,
                secret=self._seal(tx, endpoint_id, secret),
                old_secret=None,
                old_secret_until=None,
                created_by=caller.actor_id,
                since_seq=outbox.last_seq(tx.connection),
                created_at=now,
                updated_at=now,
                deleted_at=None,
            )
            deed = AuditContext(caller.tenant_id, caller, "webhook_endpoint.create", now)
            return EndpointWithSecret(audited_write.insert(tx, endpoint_store.endpoints, row, deed), secret)

    def get(self, endpoint_id: UUID, *, caller: Caller) -> WebhookEndpointRecord:
        """Return an endpoint of the caller's tenant.

        Raises:
            NotFound: the tenant has no such endpoint.
        """
        with self.storage.read() as connection:
            return endpoint_store.get_endpoint(connection.execute, endpoint_id, tenant_id=caller.tenant_id)

    def list_page(
        self, *, caller: Caller, before: UUID | None = None, limit: int = 50
    ) -> Sequence[WebhookEndpointRecord]:
        """List the endpoints of the caller's tenant, newest first."""
        with self.storage.read() as connection:
            return endpoint_store.list_endpoints(
                connection.execute, tenant_id=caller.tenant_id, before=before, limit=limit
            )

    def update(
        self, endpoint_id: UUID, changes: EndpointChanges, *, caller: Caller, tx: Transaction | None = None
    ) -> WebhookEndpointRecord:
        """Change an endpoint; a new URL or the status `active` forgets its failures, so that deliveries begin at once.

        Raises:
            NotFound: the tenant has no such endpoint.
            ValidationFailed: as for `create`.
        """
        values = self._validate(changes)
        with self.storage.write(tx) as tx:
            row = endpoint_store.get_endpoint(tx.exec, endpoint_id, tenant_id=caller.tenant_id)
            if changes.get("status") is EndpointStatus.ACTIVE or values.get("url", row.url) != row.url:
                endpoint_store.delete_health(tx, row.id)
            if changes.get("status", row.status) != row.status:
                is_disabled = changes["status"] is EndpointStatus.DISABLED
                values |= {
                    "status": changes["status"].value,
                    "disabled_reason": DisabledReason.REQUESTED.value if is_disabled else None,
                }
            return self._change(tx, row, values, "webhook_endpoint.update", caller)

    def disable(self, tx: Transaction, row: WebhookEndpointRecord, reason: DisabledReason, *, actor: Actor) -> None:
        """Disable an endpoint that the service gives up."""
        values = {"status": EndpointStatus.DISABLED.value, "disabled_reason": reason.value}
        self._change(tx, row, values, "webhook_endpoint.disable", actor)

    def delete(self, endpoint_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> None:
        """Delete an endpoint with its secrets; what was not delivered yet is not delivered any more.

        Raises:
            NotFound: the tenant has no such endpoint.
        """
        with self.storage.write(tx) as tx:
            row = endpoint_store.get_endpoint(tx.exec, endpoint_id, tenant_id=caller.tenant_id)
            endpoint_store.delete_health(tx, row.id)
            values = {"secret": b"", "old_secret": None, "old_secret_until": None, "deleted_at": self.clock.now()}
            self._change(tx, row, values, "webhook_endpoint.delete", caller)

    def rotate(
        self,
        endpoint_id: UUID,
        *,
        overlap: timedelta = timedelta(0),
        caller: Caller,
        tx: Transaction | None = None,
    ) -> EndpointWithSecret:
        """Replace the secret; the old one stops working at once, or after `overlap`, at most `MAX_OVERLAP`.

        Raises:
            NotFound: the tenant has no such endpoint.
        """
        with self.storage.write(tx) as tx:
            row = endpoint_store.get_endpoint(tx.exec, endpoint_id, tenant_id=caller.tenant_id)
            secret = new_secret()
            values = {
                "secret": self._seal(tx, row.id, secret),
                "old_secret": row.secret if overlap else None,
                "old_secret_until": self.clock.now() + overlap if overlap else None,
            }
            return EndpointWithSecret(self._change(tx, row, values, "webhook_endpoint.rotate", caller), secret)

    def list_events(self, *, caller: Caller, after: int = 0, limit: int = 50) -> EventPage:
        """List the tenant's events of the last 30 days that follow number `after`, in ascending order.

        The page counts those that follow it and are older, because a client that was away for longer misses them.
        """
        since, tenant_id = self.clock.now() - rules.EVENT_LOG, caller.tenant_id
        with self.storage.read() as connection:
            first = event_store.find_first_since(connection.execute, tenant_id, since, after=after)
            found = event_store.list_events(connection.execute, tenant_id, after=first - 1, since=since, limit=limit)
        too_old = max(0, first - 1 - after)
        return EventPage(found, found[-1].sequence if found else first - 1, too_old)

    def signing_secrets(self, row: WebhookEndpointRecord, *, at: datetime) -> list[str]:
        """Return the secrets that sign a delivery at the moment `at`: the current one, and the old one in its overlap.

        Raises:
            IntegrityFailed: a secret was altered, or sealed under another key.
        """
        sealed = [row.secret]
        if row.old_secret is not None and row.old_secret_until is not None and at < row.old_secret_until:
            sealed.append(row.old_secret)
        return [self.keyring.unseal_secret(each, purpose=_purpose(row.id)).decode() for each in sealed]

    def rewrap(self, tx: Transaction, new: Keyring, *, on_sealed: Callable[[], None] = lambda: None) -> int:
        """Seal the secrets of all endpoints under another key-encryption key; returns the number of endpoints.

        `on_sealed` is called after each.
        """
        rows = endpoint_store.list_with_secrets(tx.exec)
        for row in rows:
            stored = {"secret": row.secret, "old_secret": row.old_secret}
            resealed = {
                name: self.keyring.rewrap_secret(blob, new, purpose=_purpose(row.id))
                for name, blob in stored.items()
                if blob is not None
            }
            deed = AuditContext(row.tenant_id, COMMAND_LINE, "webhook_endpoint.rewrap", self.clock.now())
            audited_write.change(tx, endpoint_store.endpoints, row, resealed, deed)
            on_sealed()
        return len(rows)

    def _validate(self, changes: EndpointChanges) -> dict[str, object]:
        """Return the columns of the sent fields but the status."""
        values: dict[str, object] = {}
        if "name" in changes:
            values["name"] = validate_display_name("name", changes["name"])
        if "url" in changes:
            require_public_url(changes["url"], allow_private=self.allow_private)
            values["url"] = changes["url"]
        if "event_filters" in changes:
            filters = rules.validate_filters(changes["event_filters"], list_type_names())
            values["event_filters"] = rules.encode_filters(filters)
        return values

    def _change(
        self,
        tx: Transaction,
        row: WebhookEndpointRecord,
        values: Mapping[str, object],
        action: str,
        actor: Actor,
    ) -> WebhookEndpointRecord:
        """Write the values that differ from the row's, with the moment of the change; without any, change nothing."""
        changes = {column: value for column, value in values.items() if getattr(row, column) != value}
        if not changes:
            return row
        now = self.clock.now()
        deed = AuditContext(row.tenant_id, actor, action, now, {"changed": sorted(changes)})
        return audited_write.change(tx, endpoint_store.endpoints, row, {**changes, "updated_at": now}, deed)

    def _seal(self, tx: Transaction, endpoint_id: UUID, secret: str) -> bytes:
        return sealing.seal_secret(tx, self.keyring, secret.encode(), purpose=_purpose(endpoint_id))


def _purpose(endpoint_id: UUID) -> str:
    return f"webhook {endpoint_id}"
