"""Requests to a service: JSON both ways, retries, pages, and errors by their code.

Every write has an Idempotency-Key that is made once for all its attempts, so a retry finds what an earlier attempt
committed. A request is repeated if it was never sent, or if it is a read or has such a key; each wait is that of
`Retry-After`, or doubles. A client whose rate limit is used up waits before it asks (`pacing.py`).
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final, Protocol, cast
from urllib.parse import quote
from uuid import uuid4

import httpx

from attestlab.client import service_errors
from attestlab.client.arguments import show
from attestlab.client.json_values import encode_body, encode_parameter
from attestlab.client.pacing import find_pause_s
from attestlab.client.service_errors import LabClosed, NotSent, SilentService, find_remedy, fit_line, name_reason
from attestlab.core.errors import (
    AttestLabError,
    AuthInvalid,
    RateLimited,
    RequestInFlight,
    ServiceFailed,
    Unavailable,
    ValidationFailed,
)
from attestlab.core.retry_after import parse_retry_after

if TYPE_CHECKING:
    import pyarrow as pa

Json = Mapping[str, object]
Parameters = Mapping[str, object]

MAX_ATTEMPTS: Final = 4
MAX_RETRY_WAIT_S: Final = 30.0  # a service that asks for more gets its error reported at once
MAX_REDIRECTS: Final = 3
FIRST_WAIT_S: Final = 0.2
PAGE_ROWS: Final = 100

LocalRows = AbstractContextManager["pa.RecordBatchReader"]
# Opens the rows of a query for the caller that a request's headers name; None for a caller who signed in.
OpenLocalRows = Callable[[Mapping[str, str], str, object, Mapping[str, object]], LocalRows | None]
_GATEWAY_STATUSES = frozenset({502, 503, 504})
_READS = frozenset({"GET", "HEAD"})
# Methods whose repetition has the same result (RFC 9110 section 9.2.2).
_REPEATABLE = _READS | {"PUT", "DELETE"}


class RenewableCredential(Protocol):
    """A credential whose headers change, such as the session of a person."""

    @property
    def headers(self) -> Mapping[str, str]: ...

    def renew(self, refused: str | None) -> None:
        """Get the next headers, unless another thread did since `refused`, an Authorization header, was sent."""


class ServiceClient:
    """One service as one caller: an HTTP client, the headers of a credential, and what was learned from the service.

    `place` names the service in messages, `public_url` begins the addresses of its public pages. `tls` is the context
    of its connections, for a caller that opens further ones; None where there are none.
    """

    def __init__(
        self,
        http: httpx.Client,
        *,
        headers: Mapping[str, str],
        place: str,
        public_url: str,
        sleep: Callable[[float], None] = time.sleep,
        open_local_rows: OpenLocalRows | None = None,
        session: RenewableCredential | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.place = place
        self.public_url = public_url
        self.tls = tls
        self.issuer_names: dict[str, str] = {}  # by id, as last seen, for cards and messages
        self._http = http
        self._headers = dict(headers)
        self._sleep = sleep
        self._open_local_rows = open_local_rows
        self._session = session
        self._resumes_at = 0.0

    def __repr__(self) -> str:
        return f"ServiceClient({self.place})"

    def with_headers(self, headers: Mapping[str, str], session: RenewableCredential | None = None) -> ServiceClient:
        """Return a client of the same service with another credential: fixed headers, or those of a session."""
        return ServiceClient(
            self._http,
            headers=headers,
            place=self.place,
            public_url=self.public_url,
            sleep=self._sleep,
            open_local_rows=self._open_local_rows,
            session=session,
            tls=self.tls,
        )

    def with_http(self, wrap: Callable[[httpx.Client], httpx.Client], sleep: Callable[[float], None]) -> ServiceClient:
        """Return a client for the same caller that sends its requests by what `wrap` makes of its HTTP client."""
        other = copy(self)
        other._http, other._sleep = wrap(self._http), sleep
        return other

    def open_local_rows(self, query: str, parameters: object, frames: Mapping[str, object]) -> LocalRows | None:
        """Open the rows of a query on the lake of this process; None if they come by requests."""
        opener = self._open_local_rows
        return None if opener is None else opener(self._credential, query, parameters, frames)

    def get(self, path: str, parameters: Parameters | None = None) -> Json:
        """Read a JSON object."""
        return self._read_object(self.send("GET", path, parameters=parameters))

    def now(self) -> datetime:
        """Return the time of the service, to the second: each of its responses has it (RFC 9110, section 6.6.1)."""
        response = self.send("GET", "/healthz")
        answered = response.headers.get("Date", "")
        try:
            return parsedate_to_datetime(answered).astimezone(UTC)
        except ValueError:
            message = f"The answer has the Date {show(answered)}, which is no time of RFC 9110. "
            raise ServiceFailed(f"{message}Let the proxy of {response.url.host} pass that header on.") from None

    def get_text(self, path: str, parameters: Parameters | None = None) -> str:
        """Read a text."""
        return self.send("GET", path, parameters=parameters).text

    def get_bytes(self, path: str, parameters: Parameters | None = None) -> bytes:
        """Read a file."""
        return self.send("GET", path, parameters=parameters).content

    def post(
        self,
        path: str,
        body: object = None,
        *,
        parameters: Parameters | None = None,
        is_read: bool = False,
        key: str | None = None,
    ) -> Json:
        """Send a JSON body; with `is_read`, the route changes nothing and takes no Idempotency-Key.

        `key` is that of a request that may be the repetition of an earlier one; by default it is new.
        """
        key = None if is_read else key or str(uuid4())
        answer = self.send("POST", path, body=body, parameters=parameters, key=key, is_repeatable=is_read)
        return self._read_object(answer)

    def put(self, path: str, body: object) -> Json:
        """Replace what is at a path."""
        return self._read_object(self.send("PUT", path, body=body))

    def patch(self, path: str, body: object) -> Json:
        """Change a part of what is at a path."""
        return self._read_object(self.send("PATCH", path, body=body))

    def delete(self, path: str) -> None:
        """Remove what is at a path."""
        self.send("DELETE", path)

    def iterate(self, path: str, parameters: Parameters | None = None) -> Iterator[Json]:
        """Iterate over the items of a list, page by page."""
        asked: dict[str, object] = {"limit": PAGE_ROWS, **(parameters or {})}
        while True:
            page = self.get(path, asked)
            yield from cast("list[Json]", page["items"])
            if page.get("next_cursor") is None:
                return
            asked["cursor"] = page["next_cursor"]

    def send(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        parameters: Parameters | None = None,
        key: str | None = None,
        is_repeatable: bool = False,
    ) -> httpx.Response:
        """Send a request, repeat it where that is safe, and return its successful response.

        Raises:
            AttestLabError: the service rejected it, cannot be reached, or is no AttestLab service.
        """
        sent = dict(self._credential) | {"Accept": "application/json"} | dict(headers or {})
        if key is not None:
            sent["Idempotency-Key"] = key
        if body is not None:
            content, sent["Content-Type"] = encode_body(body), "application/json"
        request = self._build(method, path, content, sent, parameters)
        return self._attempt_repeatedly(request, is_repeatable or key is not None or method in _REPEATABLE)

    @contextmanager
    def stream(
        self, method: str, path: str, *, body: object = None, accept: str, parameters: Parameters | None = None
    ) -> Iterator[Iterator[bytes]]:
        """Open a streamed response of a read, and yield its bytes in pieces as they arrive."""
        content = None if body is None else encode_body(body)
        media_type = {} if body is None else {"Content-Type": "application/json"}
        sent = {**self._credential, "Accept": accept, **media_type}
        request = self._build(method, path, content, sent, parameters)
        response = self._attempt_repeatedly(request, True, is_streamed=True)
        try:
            yield self._iterate_bytes(response)
        finally:
            response.close()

    @property
    def _credential(self) -> Mapping[str, str]:
        return self._headers if self._session is None else self._session.headers

    def _iterate_bytes(self, response: httpx.Response) -> Iterator[bytes]:
        try:
            yield from response.iter_bytes()
        except httpx.HTTPError as error:
            raise Unavailable(f"{self.place} broke the response off: {name_reason(error)}. Retry.") from error

    def _build(
        self, method: str, path: str, content: bytes | None, headers: Mapping[str, str], parameters: Parameters | None
    ) -> httpx.Request:
        query = {name: encode_parameter(name, value) for name, value in (parameters or {}).items() if value is not None}
        try:
            return self._http.build_request(method, path, content=content, headers=dict(headers), params=query or None)
        except (httpx.InvalidURL, UnicodeEncodeError, ValueError) as error:
            raise ValidationFailed(f"{fit_line(path)} cannot be sent: {name_reason(error)}.") from error

    def _attempt_repeatedly(
        self, request: httpx.Request, is_repeatable: bool, *, is_streamed: bool = False
    ) -> httpx.Response:
        wait_s = FIRST_WAIT_S
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                return self._attempt_in_session(request, is_streamed=is_streamed)
            except AttestLabError as error:
                pause_s = _pause_before_retry(error, wait_s, is_repeatable=is_repeatable)
                if pause_s is None or attempt == MAX_ATTEMPTS:
                    raise
                self._sleep(pause_s)
                wait_s *= 2
        raise AssertionError("the last attempt returns or raises")

    def _attempt_in_session(self, request: httpx.Request, *, is_streamed: bool) -> httpx.Response:
        """Send a request; in a session whose access token has expired, once more with the next token.

        A service authenticates a request before it acts on it, so a write that it refused may be repeated.
        """
        try:
            return self._attempt(request, is_streamed=is_streamed)
        except AuthInvalid:
            if self._session is None:
                raise
        self._session.renew(request.headers.get("Authorization"))
        request.headers.update(self._session.headers)
        return self._attempt(request, is_streamed=is_streamed)

    def _attempt(self, request: httpx.Request, *, is_streamed: bool) -> httpx.Response:
        if (pause_s := self._resumes_at - time.monotonic()) > 0:
            self._sleep(pause_s)
        response = self._follow(request, is_streamed=is_streamed)
        self._resumes_at = time.monotonic() + find_pause_s(response.headers)
        if response.is_success:
            return response
        try:
            body = response.read()
        except httpx.HTTPError as error:
            raise Unavailable(f"{self.place} broke the response off: {name_reason(error)}. Retry.") from error
        finally:
            response.close()
        raise self._error_of(response, body)

    def _follow(self, request: httpx.Request, *, is_streamed: bool) -> httpx.Response:
        """Send a request, and follow redirects of the same service; a credential goes to no other."""
        for _ in range(MAX_REDIRECTS + 1):
            response = self._transmit(request, is_streamed=is_streamed)
            onward = response.next_request
            if onward is None:
                return response
            response.close()
            if _origin(onward.url) != _origin(request.url):
                raise ServiceFailed(
                    f"{self.place} redirects to {fit_line(str(onward.url))}, which is another service. "
                    "Connect to that address if you trust it."
                )
            request = onward
        raise ServiceFailed(f"{self.place} redirects more than {MAX_REDIRECTS} times. Check the address.")

    def _transmit(self, request: httpx.Request, *, is_streamed: bool) -> httpx.Response:
        try:
            return self._http.send(request, stream=is_streamed)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise NotSent(f"No service answers at {self.place}: {name_reason(error)}. {find_remedy(error)}") from error
        except httpx.TimeoutException as error:
            message = f"{self.place} did not answer in time. Retry, or connect with a longer `timeout_s`."
            raise SilentService(message) from error
        except httpx.TransportError as error:
            raise Unavailable(f"{self.place} broke the connection off: {name_reason(error)}. Retry.") from error
        except RuntimeError as error:
            if not self._http.is_closed:
                raise
            raise LabClosed from error

    def _error_of(self, response: httpx.Response, body: bytes) -> AttestLabError:
        envelope = service_errors.read_envelope(body)
        if envelope is not None:
            return service_errors.build_error(envelope)
        if response.status_code in _GATEWAY_STATUSES:
            wait_s = _retry_after_s(response)
            message = f"A proxy before {self.place} answered {response.status_code}. Retry shortly."
            return Unavailable(message, retry_after_s=FIRST_WAIT_S if wait_s is None else wait_s)
        return self._not_our_service(response)

    def _not_our_service(self, response: httpx.Response) -> ServiceFailed:
        shown = response.headers.get("content-type", "no content type")[:60]
        return ServiceFailed(
            f"{self.place} is not an AttestLab service (it answered {response.status_code}, {shown}). "
            "Connect to the address that `attestlab serve` printed."
        )

    def _read_object(self, response: httpx.Response) -> Json:
        try:
            document = json.loads(response.content) if response.content else {}
        except ValueError:
            raise self._not_our_service(response) from None
        if not isinstance(document, dict):
            raise self._not_our_service(response)
        return cast("Json", document)


def path_of(*parts: object) -> str:
    """Compose a path from parts, each percent-encoded.

    >>> path_of("v1", "issuers", "a/b")
    '/v1/issuers/a%2Fb'

    Raises:
        ValidationFailed: a part is empty or no text, so that the path would be another one.
    """
    return "/" + "/".join(map(_encode_part, parts))


def _encode_part(part: object) -> str:
    try:
        encoded = quote(str(part), safe="")
    except (RecursionError, ValueError):  # too deep, a half of a character, or a number of too many digits
        encoded = ""
    if encoded in ("", ".", ".."):
        raise ValidationFailed(f"{show(part)} is no id or name. Pass one, or the object.")
    return encoded


def _pause_before_retry(error: AttestLabError, wait_s: float, *, is_repeatable: bool) -> float | None:
    """Return how long to wait before the next attempt; None if there is none."""
    if isinstance(error, NotSent):
        return wait_s
    if isinstance(error, SilentService) or not is_repeatable:
        return None
    if not isinstance(error, Unavailable | RateLimited | RequestInFlight):
        return None
    pause_s = wait_s if error.retry_after_s is None else max(wait_s, error.retry_after_s)
    return pause_s if pause_s <= MAX_RETRY_WAIT_S else None


def _retry_after_s(response: httpx.Response) -> float | None:
    found = parse_retry_after(response.headers.get("retry-after"), now=datetime.now(UTC), limit=timedelta(days=1))
    return None if found is None else found.total_seconds()


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
