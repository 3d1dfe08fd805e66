"""Server-side request forgery: no URL, name, answer of a name server or redirect reaches a service on loopback.

Canaries listen on loopback, on IPv4 and IPv6; each test ends with the number of their connections.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from uuid import UUID

import httpcore
import pytest

from attestlab.webhooks.addresses import is_public
from attestlab.webhooks.host_resolution import PublicHostResolver
from attestlab.webhooks.http_transport import HttpTransport, OutgoingRequest, ReceiverResponse, SendFailed
from support.name_server import NameServer, serve_dns
from support.receiver_urls import refused_urls
from support.receivers import Receiver, accept_everything, listen_on_one_port, respond, serve_receiver
from support.timeouts import WAIT_TIMEOUT_S

NAME = "receiver.example"
REBINDS = 100
FORBIDDEN = (
    *("127.0.0.1", "0.0.0.0", "10.0.0.1", "169.254.169.254", "100.100.100.200", "168.63.129.16", "192.168.0.1"),
    *("::1", "::", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "fe80::1", "fd00:ec2::254"),
)
PUBLIC = ("93.184.215.14", "2606:4700:4700::1111")


@pytest.fixture
def canary() -> Iterator[Receiver]:
    """A service on loopback that nothing may reach, also on IPv6 at the same port."""
    v4, v6 = listen_on_one_port("127.0.0.1", "::1")
    with (
        serve_receiver(accept_everything, listening=v4) as found,
        serve_receiver(_count_on(found), listening=v6),
    ):
        yield found


def _count_on(canary: Receiver) -> Callable[[object], None]:
    def count(_connection: object) -> None:
        canary.connections += 1

    return count


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[NameServer]:
    """A name server whose client numbers its questions, so that no two of them look like one that is sent again."""
    monkeypatch.setattr("dns.entropy.random_16", itertools.count(1).__next__)
    with serve_dns() as server:
        yield server


@pytest.fixture
def dialed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that are connected to; the connections fail, so that no test leaves this machine."""
    found: list[str] = []

    async def connect_tcp(_self: object, host: str, port: int, **_options: object) -> None:
        found.append(host)
        raise httpcore.ConnectError("not in a test")

    monkeypatch.setattr(httpcore.AnyIOBackend, "connect_tcp", connect_tcp)
    return found


def send(transport: HttpTransport, *urls: str) -> list[ReceiverResponse | SendFailed]:
    """Send to each URL in turn; returns the outcomes."""

    async def send_all() -> list[ReceiverResponse | SendFailed]:
        outcomes: list[ReceiverResponse | SendFailed] = []
        for url in urls:
            try:
                outcomes.append(await transport.send(OutgoingRequest(UUID(int=0), url, {}, b"{}")))
            except SendFailed as error:
                outcomes.append(error)
        await transport.close()
        return outcomes

    return asyncio.run(send_all())


def public_transport(names: NameServer) -> HttpTransport:
    return HttpTransport(dns_server=names.address, timeout_s=WAIT_TIMEOUT_S)


def private_transport(names: NameServer) -> HttpTransport:
    """One that may connect to loopback, so that a test sees the difference that an address makes."""
    resolver = PublicHostResolver(names.address)
    return HttpTransport(allow_private=True, resolver=resolver, timeout_s=WAIT_TIMEOUT_S)


def url_of(canary: Receiver, scheme: str = "https") -> str:
    return f"{scheme}://{NAME}:{canary.port}/"


def test_a_canary_notices_a_connection(canary: Receiver) -> None:
    """Otherwise the other tests would prove nothing."""
    outcomes = send(
        HttpTransport(allow_private=True),
        f"http://127.0.0.1:{canary.port}/",
        f"http://localhost:{canary.port}/",
        f"http://[::1]:{canary.port}/",
    )
    assert canary.connections >= 3
    assert isinstance(outcomes[0], ReceiverResponse)


def test_no_form_of_an_address_reaches_loopback(canary: Receiver, names: NameServer) -> None:
    urls = refused_urls(canary.port)
    outcomes = send(public_transport(names), *urls)

    assert [url for url, outcome in zip(urls, outcomes, strict=True) if not isinstance(outcome, SendFailed)] == []
    assert names.asked == [], "each was refused before its name was looked up"
    assert canary.connections == 0


@pytest.mark.parametrize("address", FORBIDDEN)
def test_a_name_with_a_forbidden_address_is_not_connected_to(
    canary: Receiver, names: NameServer, dialed: list[str], address: str
) -> None:
    names.addresses[NAME] = lambda: [address]
    (outcome,) = send(public_transport(names), url_of(canary))

    assert isinstance(outcome, SendFailed)
    assert "public addresses" in outcome.reason
    assert address not in outcome.reason, "the inside of the operator's network is not reported"
    assert dialed == []


@pytest.mark.parametrize(("public", "forbidden"), list(itertools.product(PUBLIC, FORBIDDEN)))
def test_mixed_records_are_not_connected_to(
    canary: Receiver, names: NameServer, dialed: list[str], public: str, forbidden: str
) -> None:
    for records in ([public, forbidden], [forbidden, public], [*PUBLIC, forbidden]):
        names.addresses[NAME] = lambda records=records: records  # type: ignore[misc]  # bound now
        (outcome,) = send(public_transport(names), url_of(canary))
        assert isinstance(outcome, SendFailed)
    assert dialed == []


def test_public_addresses_are_connected_to(canary: Receiver, names: NameServer, dialed: list[str]) -> None:
    names.addresses[NAME] = lambda: list(PUBLIC)
    send(public_transport(names), url_of(canary))

    assert dialed == list(PUBLIC), "each was tried, IPv4 first"


def test_a_hundred_rebinds_reach_public_addresses_only(canary: Receiver, names: NameServer, dialed: list[str]) -> None:
    """The name server changes its answer at every question, so a check and a second look-up would disagree."""
    turns = itertools.cycle([["93.184.215.14"], ["127.0.0.1"], ["::1"], ["93.184.215.14", "127.0.0.1"], [PUBLIC[1]]])
    names.addresses[NAME] = lambda: next(turns)
    send(public_transport(names), *[url_of(canary)] * REBINDS)

    assert len(names.asked) == 2 * REBINDS, "one look-up of A and AAAA for each connection"
    assert dialed, "some answers had public addresses only"
    assert [address for address in dialed if not is_public(ip_address(address))] == []


def test_a_hundred_rebinds_never_leave_the_vetted_address(names: NameServer) -> None:
    """With real connections: 127.0.0.2 is allowed here, and 0.0.0.0 leads to the canary on 127.0.0.1."""
    vetted, forbidden = listen_on_one_port("127.0.0.2", "127.0.0.1")
    with (
        serve_receiver(respond("200 OK", "Connection: close"), listening=vetted) as receiver,
        serve_receiver(accept_everything, listening=forbidden) as canary,
    ):
        turns = itertools.cycle([["127.0.0.2"], ["0.0.0.0"], ["::ffff:127.0.0.1"], ["127.0.0.2", "0.0.0.0"]])
        answers = iter(lambda: next(turns), None)
        state = {"asked": 0, "records": [""]}

        def answer() -> list[str]:
            """The same records for A and AAAA of one connection, others for the next."""
            if state["asked"] % 2 == 0:
                state["records"] = next(answers)
            state["asked"] += 1  # type: ignore[operator]  # a number
            return state["records"]  # type: ignore[return-value]  # a list

        names.addresses[NAME] = answer
        outcomes = send(private_transport(names), *[url_of(canary, "http")] * REBINDS)

        accepted = [outcome for outcome in outcomes if isinstance(outcome, ReceiverResponse)]
        assert len(accepted) == receiver.connections == REBINDS // 4
        assert canary.connections == 0


@pytest.mark.parametrize("status", ["301 M", "302 F", "303 S", "307 T", "308 P"])
def test_a_redirect_is_a_response_and_not_followed(canary: Receiver, names: NameServer, status: str) -> None:
    locations = (f"http://127.0.0.1:{canary.port}/", "http://169.254.169.254/latest/meta-data/", "//localhost/", "/x")
    names.addresses[NAME] = lambda: ["127.0.0.2"]
    for location in locations:
        handler = respond(status, f"Location: {location}", f"Refresh: 0; url={location}")
        with serve_receiver(handler, address="127.0.0.2") as receiver:
            (outcome,) = send(private_transport(names), f"http://{NAME}:{receiver.port}/")
            assert isinstance(outcome, ReceiverResponse)
            assert outcome.status == int(status[:3])
            assert not outcome.is_success
            assert len(receiver.requests) == 1
    assert canary.connections == 0


def test_proxies_and_passwords_of_the_environment_are_not_used(
    canary: Receiver, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{canary.port}")
    with serve_receiver(accept_everything, address="127.0.0.2") as receiver:
        send(HttpTransport(allow_private=True), receiver.url)

        assert receiver.connections == 1
        assert b"authorization" not in receiver.requests[0].lower()
    assert canary.connections == 0


def test_a_silent_name_server_ends_at_the_deadline(names: NameServer) -> None:
    names.is_silent = True
    (outcome,) = send(HttpTransport(dns_server=names.address, timeout_s=0.2), f"https://{NAME}/")

    assert isinstance(outcome, SendFailed)
    assert outcome.reason == "No response within 0.2 seconds."


def test_a_broken_name_server_and_an_unknown_name_are_failures(names: NameServer, dialed: list[str]) -> None:
    (unknown,) = send(public_transport(names), f"https://{NAME}/")
    names.is_broken = True
    (broken,) = send(HttpTransport(dns_server=names.address), f"https://{NAME}/")

    assert isinstance(unknown, SendFailed)
    assert isinstance(broken, SendFailed)
    assert "does not resolve" in unknown.reason
    assert "name server" in broken.reason or "No response" in broken.reason
    assert dialed == []
