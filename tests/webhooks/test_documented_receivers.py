"""The receivers that docs/webhooks.md shows, run as they are: they accept what is authentic, and nothing else."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from playwright._impl._driver import compute_driver_executable

from attestlab.webhooks import WebhookEvent
from attestlab.webhooks.http_transport import HttpTransport, OutgoingRequest
from attestlab.webhooks.signatures import new_secret, sign_headers
from support.documentation import ROOT, read_blocks

PAGE = ROOT / "docs" / "webhooks.md"
BODY = b'{"id":"evt-1","type":"webhook.test","created_at":"2026-01-02T03:04:05Z","data":{"status":"\xc3\xbc"}}'
SECRET, OTHER_SECRET = new_secret(), new_secret()
NODE, *_ = compute_driver_executable()  # the one that comes with Playwright
NODE_HARNESS = """
let input = "";
process.stdin.on("data", (piece) => (input += piece)).on("end", () => {
  const [signature, body, secret] = JSON.parse(input);
  console.log(isAuthentic(signature, Buffer.from(body), secret));
});
"""


def sign(body: bytes = BODY, *, age: timedelta = timedelta(), secrets: tuple[str, ...] = (SECRET,)) -> dict[str, str]:
    at = datetime.now(UTC) - age
    return sign_headers(event_id="evt-1", event_type="webhook.test", body=body, secrets=secrets, at=at)


def run_python_blocks() -> dict[str, Any]:
    """Execute the Python that the page shows; returns what it defines."""
    names: dict[str, Any] = {}
    for block in read_blocks(PAGE):
        if block.language == "python":
            exec(compile(block.text, block.place, "exec"), names)  # our own page
    return names


def test_tornado_receiver_stores_an_authentic_event_once() -> None:
    events: dict[str, WebhookEvent] = {}

    async def deliver() -> list[int]:
        receiver = run_python_blocks()["make_receiver"](SECRET, events)
        server = receiver.listen(0, "127.0.0.1")
        (listening,) = server._sockets.values()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/hook"
        transport = HttpTransport(allow_private=True)
        attempts = [sign(), sign(), sign(secrets=(OTHER_SECRET,)), sign(b"{}"), sign(age=timedelta(minutes=6)), {}]
        responses = [await transport.send(OutgoingRequest(UUID(int=0), url, headers, BODY)) for headers in attempts]
        await transport.close()
        server.stop()
        await server.close_all_connections()
        return [response.status for response in responses]

    assert asyncio.run(deliver()) == [204, 204, 400, 400, 400, 400]
    assert [(event.id, event.type, event.data) for event in events.values()] == [
        ("evt-1", "webhook.test", {"status": "\u00fc"})
    ]


def run_node(signature: str, body: bytes, secret: str) -> bool:
    (block,) = (block for block in read_blocks(PAGE) if block.language == "js")
    sent = json.dumps([signature, body.decode(), secret])
    done = subprocess.run([NODE, "-e", block.text + NODE_HARNESS], input=sent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout == "true\n"


def run_python(signature: str, body: bytes, secret: str) -> bool:
    is_authentic: Callable[[str, bytes, str], bool] = run_python_blocks()["is_authentic"]
    return is_authentic(signature, body, secret)


@pytest.mark.parametrize("is_authentic", [run_python, run_node])
def test_receivers_without_our_package_accept_the_authentic_alone(
    is_authentic: Callable[[str, bytes, str], bool],
) -> None:
    signature = sign()["X-Service-Signature"]

    assert is_authentic(signature, BODY, SECRET)
    assert is_authentic(sign(secrets=(OTHER_SECRET, SECRET))["X-Service-Signature"], BODY, SECRET)
    assert is_authentic(sign(age=timedelta(minutes=4))["X-Service-Signature"], BODY, SECRET)
    for wrong in (
        (signature, BODY + b" ", SECRET),
        (signature, BODY, OTHER_SECRET),
        (sign(age=timedelta(minutes=6))["X-Service-Signature"], BODY, SECRET),
        (sign(age=-timedelta(minutes=6))["X-Service-Signature"], BODY, SECRET),
        *(
            (malformed, BODY, SECRET)
            for malformed in ("", "t=", "v1=", "t=1,v1=\u00e9", f"{signature[:-1]}", "t=x,v1=1")
        ),
        (f"t=1,{signature}", BODY, SECRET),
    ):
        assert not is_authentic(*wrong), wrong
