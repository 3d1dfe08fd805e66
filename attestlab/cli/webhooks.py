"""Commands for developers of webhook receivers: `listen` forwards events to a local URL, `trigger` sends a test."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, cast
from uuid import uuid4

import typer

from attestlab.cli.doors import ApiKey
from attestlab.cli.numbers import MAX_WAIT_S, seconds, whole_number
from attestlab.cli.output import OK, PROBLEMS, UNUSABLE, JsonOption, fail, print_values, report_errors
from attestlab.core.counting import plural
from attestlab.core.errors import Unavailable
from attestlab.core.standard_output import emit, print_stderr
from attestlab.core.strict_json import MAX_SAFE_INTEGER

if TYPE_CHECKING:
    from attestlab.client.service_client import ServiceClient

EVENTS_PATH = "/v1/webhooks/events"
EVENT_TYPES_PATH = "/v1/webhooks/event-types"
TEST_DELIVERY_PATH = "/v1/webhooks/test-delivery"
PAGE_EVENTS = 100

ServiceUrl = Annotated[str, typer.Option("--url", help="Address of the service.")]
Envelope = Mapping[str, object]
ReadPage = Callable[[int, int], Mapping[str, object]]  # from the last known sequence and a limit


def listen(
    forward: Annotated[
        str, typer.Option("--forward", metavar="URL", help="Your receiver, such as http://localhost:3000/hooks.")
    ],
    url: ServiceUrl,
    api_key: ApiKey = None,
    after: Annotated[
        int | None,
        typer.Option(
            parser=whole_number(0), metavar="SEQUENCE", help="Begin after this event; default: after the last."
        ),
    ] = None,
    interval: Annotated[
        float, typer.Option(parser=seconds(0.1, MAX_WAIT_S), metavar="SECONDS", help="Seconds between two polls.")
    ] = 2.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
) -> None:
    """Forward new events of your tenant to a local URL, signed as a webhook, without an endpoint.

    The first line on stdout is the secret of this run; then follows one line for each event: sequence, type, id and
    the receiver's status. An event is sent once. Ctrl-C ends the command, which then says on stderr how many events
    the receiver did not accept, and after which one to continue.

    Exit status: 130 ended by Ctrl-C, 2 unusable input, or the service refused.

    Example: attestlab listen --forward http://localhost:3000/hooks --url http://127.0.0.1:8080
    """
    with report_errors():
        from attestlab.webhooks.addresses import require_public_url
        from attestlab.webhooks.signatures import new_secret

        require_public_url(forward, allow_private=True)
        secret = new_secret()
        show = _print_json if as_json else _print_line
        with _open_service(url, api_key) as client, asyncio.Runner() as runner:
            position = _find_last(_reader(client)) if after is None else after
            emit(json.dumps({"secret": secret}) if as_json else f"secret {secret}")
            forwarder = _Forwarder(forward, secret, runner)
            with _report_tally(_Tally(position)) as tally:
                for event in _follow(_reader(client), position, interval_s=interval):
                    outcome = forwarder.send(event)
                    tally.add(event, outcome)
                    show(event, outcome)


def trigger(
    event: Annotated[str, typer.Argument(metavar="EVENT", help="Type of the event, such as attestation.created.")],
    endpoint: Annotated[str, typer.Option(metavar="ID", help="Id of the endpoint that receives it.")],
    url: ServiceUrl,
    api_key: ApiKey = None,
    as_json: JsonOption = False,
) -> None:
    """Send the example of an event type to one of your endpoints, as a test delivery.

    Exit status: 0 the endpoint accepted it, 1 it did not, 2 unusable input.

    Example: attestlab trigger attestation.created --endpoint "$ENDPOINT" --url http://127.0.0.1:8080
    """
    with report_errors(), _open_service(url, api_key) as client:
        payload = _example_data(client, event)
        body = {"endpoint_id": endpoint, "event_type": event, "payload": payload}
        outcome = client.post(TEST_DELIVERY_PATH, body)
    print_values(outcome, as_json)
    raise typer.Exit(OK if outcome.get("success") is True else PROBLEMS)


@dataclass
class _Tally:
    """How many events were sent, how many the receiver did not accept, and the last one's sequence."""

    position: int
    sent: int = 0
    not_accepted: int = 0

    def add(self, event: Envelope, outcome: Mapping[str, object]) -> None:
        """Add an event and the receiver's answer."""
        self.position = _sequence(event)
        self.sent += 1
        self.not_accepted += not 200 <= cast("int", outcome["status"]) < 300


@contextmanager
def _report_tally(tally: _Tally) -> Iterator[_Tally]:
    """Print the tally at the end of the block, however it ends."""
    try:
        yield tally
    finally:
        print_stderr(
            f"attestlab: Sent {plural(tally.sent, 'event')}; the receiver did not accept {tally.not_accepted:,}. "
            f"Continue with --after {tally.position}."
        )


class _Forwarder:
    """Signs events and sends them to one URL."""

    def __init__(self, url: str, secret: str, runner: asyncio.Runner) -> None:
        from attestlab.webhooks.http_transport import HttpTransport

        self._id = uuid4()
        self._url = url
        self._secret = secret
        self._runner = runner
        self._transport = HttpTransport(allow_private=True)

    def send(self, event: Envelope) -> dict[str, object]:
        """Send an event once; returns the receiver's status, or why there is none."""
        from attestlab.webhooks.http_transport import OutgoingRequest, SendFailed
        from attestlab.webhooks.signatures import sign_headers

        body = json.dumps({name: event[name] for name in ("id", "type", "created_at", "data")}).encode()
        headers = sign_headers(
            event_id=str(event["id"]),
            event_type=str(event["type"]),
            body=body,
            secrets=[self._secret],
            at=datetime.now(UTC),
        )
        try:
            response = self._runner.run(self._transport.send(OutgoingRequest(self._id, self._url, headers, body)))
        except SendFailed as error:
            return {"status": 0, "elapsed_ms": error.elapsed_ms, "error": error.reason}
        return {"status": response.status, "elapsed_ms": response.elapsed_ms}


def _follow(read: ReadPage, position: int, *, interval_s: float) -> Iterator[Envelope]:
    """Iterate over events as they happen; a service that does not answer is polled again."""
    while True:
        try:
            page = read(position, PAGE_EVENTS)
        except Unavailable as error:
            print_stderr(f"attestlab: {error.message}")
            page = {"items": []}
        if isinstance(too_old := page.get("too_old"), int) and too_old:
            print_stderr(
                f"attestlab: {plural(too_old, 'event')} after {position} happened over 30 days ago. The service no "
                "longer lists what is that old, so it is not forwarded."
            )
        for event in _items(page):
            yield event
            position = _sequence(event)
        if not _items(page):
            time.sleep(interval_s)


def _find_last(read: ReadPage) -> int:
    """Find the sequence of the tenant's last event, 0 if there is none: `next_after` is never beyond it."""
    return cast("int", read(MAX_SAFE_INTEGER, 1)["next_after"])


def _items(page: Mapping[str, object]) -> list[Envelope]:
    return cast("list[Envelope]", page["items"])


def _sequence(event: Envelope) -> int:
    return cast("int", event["sequence"])


def _reader(client: ServiceClient) -> ReadPage:
    return lambda after, limit: client.get(EVENTS_PATH, {"after": after, "limit": limit})


@contextmanager
def _open_service(url: str, api_key: str | None) -> Iterator[ServiceClient]:
    """Open a client of a service with an API key, and close it at the end of the block."""
    from attestlab.client.connecting import open_service

    if api_key is None:
        fail("Which tenant? Give --api-key KEY, or set ATTESTLAB_API_KEY.", UNUSABLE)
    with open_service(url, api_key) as client:
        yield client


def _example_data(client: ServiceClient, event_type: str) -> Mapping[str, object]:
    """Return the `data` of the example of an event type."""
    from difflib import get_close_matches

    types = {str(each["type"]): each for each in _items(client.get(EVENT_TYPES_PATH))}
    if event_type not in types:
        close = get_close_matches(event_type[:64], types, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else f"Valid types: {', '.join(types)}."
        fail(f"There is no event type {event_type[:64]!r}. {hint}", UNUSABLE)
    example = cast("Mapping[str, Mapping[str, object]]", types[event_type]["example"])
    return example["data"]


def _print_line(event: Envelope, outcome: Mapping[str, object]) -> None:
    result = outcome["status"] or outcome["error"]
    emit(f"{event['sequence']} {event['type']} {event['id']} {result} ({outcome['elapsed_ms']} ms)")


def _print_json(event: Envelope, outcome: Mapping[str, object]) -> None:
    emit(json.dumps({"sequence": event["sequence"], "type": event["type"], "id": event["id"], **outcome}))
