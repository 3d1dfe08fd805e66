"""A receiver of webhooks on loopback, in threads: it accepts each delivery, or never responds on some paths."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic

HANGING = "/hang"


@dataclass(frozen=True)
class ReceivedEvent:
    """One request: its path, headers by lowercase name, body, and when it arrived (monotonic, in seconds)."""

    path: str
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def event_id(self) -> str:
        """The id in the envelope."""
        return str(json.loads(self.body)["id"])


@dataclass
class WebhookReceiver:
    """What has arrived; `released` ends the requests below `HANGING`."""

    url: str = ""
    received: list[ReceivedEvent] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def event_ids(self, path: str) -> list[str]:
        """The ids of the events that arrived at a path, in their order."""
        return [one.event_id for one in list(self.received) if one.path == path]


class _ReceiverServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1_024  # hundreds of connections come at once


@contextmanager
def receive_webhooks() -> Iterator[WebhookReceiver]:
    """Run a receiver."""
    receiver = WebhookReceiver()

    class ReceiverHandler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            body = self.rfile.read(length)
            if len(body) < length:  # the sender was killed: a receiver answers nothing, and stores nothing
                self.close_connection = True
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.received.append(ReceivedEvent(self.path, headers, body, monotonic()))
            if self.path.startswith(HANGING):
                receiver.released.wait()
                self.close_connection = True
                return
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Write nothing."""

    server = _ReceiverServer(("127.0.0.1", 0), ReceiverHandler)
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
