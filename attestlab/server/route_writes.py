"""The write of a route as a job of a group commit, and its response, which is stored with the idempotency key."""

from __future__ import annotations

from collections.abc import Collection

from pydantic import BaseModel

from attestlab.core.db.transaction import Foreseen, Transaction
from attestlab.core.errors import AttestLabError
from attestlab.web.idempotency import keys as idempotency
from attestlab.web.idempotency.keys import IdempotencyKey
from attestlab.web.request import Request
from attestlab.web.response import CommittedError, Response
from attestlab.web.routing import calls


class WrittenResponse:
    """The response of a write: complete once the log has sequenced the write's entries, or an error."""

    __slots__ = ("_outcome",)

    def __init__(self, outcome: Response | AttestLabError | None = None) -> None:
        self._outcome = outcome

    def complete(self, response: Response) -> None:
        """Set the response."""
        self._outcome = response

    def response(self) -> Response:
        """Return the response, after the commit.

        Raises:
            AttestLabError: the write was rejected, and its changes are kept.
        """
        if isinstance(self._outcome, AttestLabError):
            raise self._outcome
        assert self._outcome is not None, "the write has no response before its commit"
        return self._outcome


def foresee_write(
    request: Request, body: BaseModel | None, prepared: object, key: IdempotencyKey | None, foreseen: Foreseen
) -> None:
    """Name what the write of a route and its idempotency key will read."""
    if key is not None:
        idempotency.foresee(foreseen, key)
    calls.foresee_write(request, body, prepared, foreseen)


def run_write(
    tx: Transaction,
    request: Request,
    body: BaseModel | None,
    prepared: object,
    key: IdempotencyKey | None,
    in_flight: Collection[bytes],
) -> WrittenResponse:
    """Run the write of a route in a transaction, unless its key has a response; store its response with its key."""
    if key is not None and (known := idempotency.reserve(tx, key, group_record_ids=in_flight)) is not None:
        return WrittenResponse(known)
    result = calls.run_write(tx, request, body, prepared)
    if isinstance(result, CommittedError):
        return WrittenResponse(result.error)
    written = WrittenResponse()

    def finish() -> None:
        response = calls.render(request, calls.finish_write(request, result))
        written.complete(response)
        if key is not None:
            idempotency.store_response(tx, key, response)

    tx.after_sequencing(finish)
    return written


def store_response(tx: Transaction, key: IdempotencyKey, answer: Response) -> Response:
    """Store a response and return the stored one, which may be that of another process that was faster."""
    known = idempotency.reserve(tx, key, group_record_ids=[key.record_id])
    if known is None:
        idempotency.store_response(tx, key, answer)
    return known or answer
