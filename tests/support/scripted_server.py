"""A small real HTTP server that answers from a script, to see what a client does with each answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Answer(NamedTuple):
    """One answer of the script, with these headers alone; without a status the server closes the connection."""

    status: int | None
    body: bytes = b"{}"
    headers: Mapping[str, str] = {}


class Received(NamedTuple):
    """A request as the server received it."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class ScriptedServer:
    """A server that gives its answers in order, the last one again and again."""

    url: str
    answers: list[Answer]
    received: list[Received] = field(default_factory=list)

    def take(self) -> Answer:
        """Return the next answer."""
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def error(http_status: int, code: str, headers: Mapping[str, str] | None = None, **details: object) -> Answer:
    """An error in AttestLab's envelope."""
    envelope = {"code": code, "message": f"{code} happened.", "http_status": http_status, "details": details}
    return Answer(http_status, json.dumps(envelope).encode(), headers or {})


@contextmanager
def serve_script(*answers: Answer) -> Iterator[ScriptedServer]:
    """Serve a script on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            served.received.append(Received(self.command, self.path, dict(self.headers), self.rfile.read(length)))
            answer = served.take()
            if answer.status is None:
                self.close_connection = True
                self.connection.close()
                return
            self.send_response_only(answer.status)
            for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815  # the names that http.server calls

        def log_message(self, *arguments: object) -> None:
            """Write nothing."""

        def finish(self) -> None:
            """Close the connection, which a script may have closed already."""
            try:
                super().finish()
            except (OSError, ValueError):
                return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        served = ScriptedServer(f"http://127.0.0.1:{server.server_port}", list(answers))
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield served
        finally:
            server.shutdown()
            thread.join()
