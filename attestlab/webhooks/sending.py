"""One attempt of a delivery: sign it, send it, and describe the outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.retry_after import parse_retry_after
from attestlab.web import logging_setup
from attestlab.webhooks import schedule
from attestlab.webhooks.http_transport import OutgoingRequest, ReceiverResponse, SendFailed
from attestlab.webhooks.signatures import sign_headers

MAX_ERROR_LENGTH = 400
RETRY_AFTER = "retry-after"


class RequestTransport(Protocol):
    """Sends one HTTP request to a receiver."""

    async def send(self, request: OutgoingRequest) -> ReceiverResponse:
        """Send the request once.

        Raises:
            SendFailed: the receiver did not respond.
        """
        ...


@dataclass(frozen=True, slots=True)
class SentAttempt:
    """The outcome of an attempt: `error` is None if the receiver accepted the event, `http_status` if none arrived."""

    at: datetime
    ended_at: datetime
    http_status: int | None
    response_time_ms: int
    error: str | None
    response_excerpt: str | None = None
    retry_after: timedelta | None = None

    @property
    def is_success(self) -> bool:
        """Whether the receiver has accepted the event."""
        return self.error is None


class DeliverySender:
    """Signs and sends deliveries."""

    def __init__(self, transport: RequestTransport, clock: Clock) -> None:
        self.transport = transport
        self._clock = clock

    async def send(
        self, *, endpoint_id: UUID, url: str, secrets: Sequence[str], event_id: UUID, event_type: str, body: bytes
    ) -> SentAttempt:
        """Attempt a delivery once; whatever goes wrong is a failed attempt."""
        at = self._clock.now()
        try:
            headers = sign_headers(event_id=str(event_id), event_type=event_type, body=body, secrets=secrets, at=at)
            response = await self.transport.send(OutgoingRequest(endpoint_id, url, headers, body))
        except SendFailed as failed:
            return SentAttempt(at, self._clock.now(), None, failed.elapsed_ms, failed.reason[:MAX_ERROR_LENGTH])
        except Exception as error:  # a fault of ours, which must not repeat the delivery without end
            logging_setup.log_part_failure(error, part="webhooks")
            return SentAttempt(at, self._clock.now(), None, 0, "The service could not send the delivery.")
        return describe_response(response, at=at, ended_at=self._clock.now())


def describe_response(response: ReceiverResponse, *, at: datetime, ended_at: datetime) -> SentAttempt:
    """Return the outcome of an attempt that began at `at` and that the receiver answered."""
    error = None if response.is_success else f"The receiver answered with status {response.status}."
    header = None if response.is_success else response.headers.get(RETRY_AFTER)
    retry_after = parse_retry_after(header, now=ended_at, limit=schedule.MAX_RETRY_AFTER)
    excerpt = response.excerpt or None
    return SentAttempt(at, ended_at, response.status, response.elapsed_ms, error, excerpt, retry_after)
