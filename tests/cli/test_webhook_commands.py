"""`attestlab listen` and `attestlab trigger`, with a real server and a real receiver."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from attestlab.webhooks import verify
from support.fork_server import ForkedCommand, run_command, start_command
from support.issuers import register_issuer
from support.ports import hold_port
from support.receivers import Receiver, accept_everything, respond, serve_receiver
from support.server_process import ServerProcess
from support.timeouts import WAIT_TIMEOUT_S

UNKNOWN_ID = "0193b5a0-7f3c-7abc-8def-0123456789ab"


@pytest.fixture(scope="module")
def service(running: ServerProcess) -> tuple[str, ...]:
    """The options that name the service and its tenant; its webhooks may go to this machine."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ATTESTLAB_WEBHOOK_ALLOW_PRIVATE", "1")
        running.start()
    return "--url", running.url, "--api-key", running.made["api_key"]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with serve_receiver(accept_everything) as found:
        yield found


def read_headers(request: bytes) -> tuple[dict[str, str], bytes]:
    """The headers and the body of a received request."""
    head, _, body = request.partition(b"\r\n\r\n")
    pairs = [line.partition(": ") for line in head.decode().split("\r\n")[1:]]
    return {name: value for name, _, value in pairs}, body


def listen(service: tuple[str, ...], forward: str, *options: str) -> ForkedCommand:
    return start_command("listen", "--forward", forward, *service, "--interval", "0.1", *options)


def test_new_events_are_forwarded_signed_and_printed(
    running: ServerProcess, service: tuple[str, ...], receiver: Receiver
) -> None:
    with running.client() as client:
        register_issuer(client)  # before: it is not forwarded
        with listen(service, receiver.url) as command:
            word, secret = command.stdout.readline().split()
            issuer = register_issuer(client)
            line, after = command.stdout.readline().split(), command.stdout.readline().split()
            command.send_signal(signal.SIGINT)
            rest, errors = command.communicate()

    event = verify(*read_headers(receiver.requests[0]), secret)
    assert word == "secret"
    assert (event.type, event.data["issuer_id"]) == ("issuer.created", issuer["id"])
    assert line[1:4] == ["issuer.created", event.id, "200"]
    assert int(after[0]) == int(line[0]) + 1
    assert after[1] == "key.created"
    assert (command.returncode, rest) == (130, "")
    assert errors.splitlines()[-1] == "attestlab: Interrupted."


def test_the_end_says_what_the_receiver_did_not_accept_and_where_to_continue(
    running: ServerProcess, service: tuple[str, ...]
) -> None:
    with serve_receiver(respond("503 Later")) as receiver, running.client() as client:
        register_issuer(client)
        *_, last = client.get("/v1/webhooks/events", params={"limit": 100}).json()["items"]
        with listen(service, receiver.url, "--after", str(last["sequence"] - 2)) as command:
            _ = [command.stdout.readline() for _ in range(3)]
            command.send_signal(signal.SIGINT)
            _, errors = command.communicate()

    assert errors.splitlines() == [
        f"attestlab: Sent 2 events; the receiver did not accept 2. Continue with --after {last['sequence']}.",
        "attestlab: Interrupted.",
    ]


def test_json_lines_and_a_receiver_that_refuses(running: ServerProcess, service: tuple[str, ...]) -> None:
    with serve_receiver(respond("503 Later")) as receiver, running.client() as client:
        register_issuer(client)
        with listen(service, receiver.url, "--json", "--after", "0") as command:
            assert json.loads(command.stdout.readline())["secret"].startswith("whsec_")
            first = json.loads(command.stdout.readline())
            second = json.loads(command.stdout.readline())

    assert (first["sequence"], second["sequence"]) == (1, 2)
    assert (first["status"], first.keys()) == (503, {"sequence", "type", "id", "status", "elapsed_ms"})


def test_an_absent_receiver_is_reported_on_the_line(running: ServerProcess, service: tuple[str, ...]) -> None:
    with running.client() as client:
        register_issuer(client)
    with hold_port() as port, listen(service, f"http://127.0.0.1:{port}/", "--after", "0") as command:
        command.stdout.readline()
        assert "ECONNREFUSED" in command.stdout.readline()


def test_ctrl_c_ends_a_delivery_that_hangs(running: ServerProcess, service: tuple[str, ...]) -> None:
    arrived = threading.Event()

    def hang(connection: Any) -> None:
        connection.read_request()
        arrived.set()
        connection.wait()

    with running.client() as client, serve_receiver(hang) as receiver:
        register_issuer(client)
        with listen(service, receiver.url, "--after", "0") as command:
            assert arrived.wait(WAIT_TIMEOUT_S)
            command.send_signal(signal.SIGINT)
            _, errors = command.communicate()
            sent_before = "attestlab: Sent 0 events; the receiver did not accept 0. Continue with --after 0.\n"
            assert (command.returncode, errors) == (130, f"{sent_before}attestlab: Interrupted.\n")


@pytest.mark.parametrize(
    ("forward", "message"),
    [("localhost:3000", "not a URL"), ("http://169.254.169.254/", "not a public address"), ("ftp://a.co/", "https or")],
)
def test_unusable_url_is_refused(service: tuple[str, ...], forward: str, message: str) -> None:
    done = run_command("listen", "--forward", forward, *service)

    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_commands_need_an_api_key_and_a_service(service: tuple[str, ...]) -> None:
    for command in (("listen", "--forward", "http://localhost:3000/"), ("trigger", "webhook.test", "--endpoint", "x")):
        without_key = run_command(*command, "--url", service[1])
        wrong_key = run_command(*command, "--url", service[1], "--api-key", "al_live_wrong")

        assert (without_key.returncode, "--api-key" in without_key.stderr) == (2, True)
        assert (wrong_key.returncode, wrong_key.stderr.count("\n")) == (2, 1)


def create_endpoint(running: ServerProcess, url: str) -> dict[str, Any]:
    body = {"name": "a receiver", "url": url, "event_filters": ["key.*"]}
    with running.client() as client:
        found: dict[str, Any] = client.post("/v1/webhooks/endpoints", json=body).raise_for_status().json()
    return found


def test_trigger_sends_the_example_of_any_type_to_an_endpoint(
    running: ServerProcess, service: tuple[str, ...], receiver: Receiver
) -> None:
    endpoint = create_endpoint(running, receiver.url)
    done = run_command("trigger", "attestation.revoked", "--endpoint", endpoint["id"], *service, "--json")

    event = verify(*read_headers(receiver.requests[0]), endpoint["secret"])
    assert (done.returncode, json.loads(done.stdout)["status_code"]) == (0, 200)
    assert event.type == "attestation.revoked"
    assert {"attestation_id", "issuer_id", "revoked_at"} <= event.data.keys()


def test_trigger_exits_1_if_the_endpoint_does_not_accept(running: ServerProcess, service: tuple[str, ...]) -> None:
    with serve_receiver(respond("500 Oops", "Connection: close")) as receiver:
        endpoint = create_endpoint(running, receiver.url)
        refused = run_command("trigger", "webhook.test", "--endpoint", endpoint["id"], *service, "--json")
    absent = run_command("trigger", "webhook.test", "--endpoint", endpoint["id"], *service, "--json")
    unknown = run_command("trigger", "webhook.test", "--endpoint", UNKNOWN_ID, *service)

    assert (refused.returncode, json.loads(refused.stdout)["status_code"]) == (1, 500)
    assert (absent.returncode, json.loads(absent.stdout)["status_code"]) == (1, 0)
    assert (unknown.returncode, unknown.stdout) == (2, "")


def test_trigger_suggests_the_nearest_event_type(service: tuple[str, ...]) -> None:
    done = run_command("trigger", "atestation.created", "--endpoint", UNKNOWN_ID, *service)

    assert (done.returncode, done.stdout) == (2, "")
    assert "Did you mean 'attestation.created'?" in done.stderr
