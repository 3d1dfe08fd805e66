"""Client addresses behind trusted and untrusted proxies."""

from __future__ import annotations

import json
from ipaddress import ip_network

import pytest

from attestlab.web.rate_limit.client_address import ClientAddressResolver, rate_limit_key

BEHIND = ClientAddressResolver([ip_network("10.0.0.0/8"), ip_network("fd00::/8")])


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("192.0.2.1", None, "192.0.2.1"),
        ("192.0.2.1", "203.0.113.9", "192.0.2.1"),
        ("10.0.0.1", None, "10.0.0.1"),
        ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", " 203.0.113.9 ", "203.0.113.9"),
        ("10.0.0.1", "198.51.100.1, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "198.51.100.1, 203.0.113.9, 10.0.0.2", "203.0.113.9"),
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", "203.0.113.9:4711", "203.0.113.9"),
        ("10.0.0.1", "[2001:db8::9]:443, 10.0.0.2:80", "2001:db8::9"),
        ("10.0.0.1", "[2001:db8::9]", "2001:db8::9"),
        ("10.0.0.1", "203.0.113.9:port", "10.0.0.1"),
        ("10.0.0.1", "nonsense", "10.0.0.1"),
        ("10.0.0.1", "nonsense, 10.0.0.2", "10.0.0.2"),
        ("10.0.0.1", "203.0.113.9, nonsense", "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("fd00::1", "2001:db8::9", "2001:db8::9"),
        ("::ffff:10.0.0.1", "203.0.113.9", "203.0.113.9"),
    ],
)
def test_only_addresses_up_to_the_first_untrusted_one_count(peer: str, forwarded: str | None, client: str) -> None:
    assert BEHIND.client(peer, forwarded) == client


def test_the_header_is_ignored_without_trusted_proxies() -> None:
    assert ClientAddressResolver().client("10.0.0.1", "203.0.113.9") == "10.0.0.1"


def test_an_untrusted_forwarding_proxy_is_logged_once(capsys: pytest.CaptureFixture[str]) -> None:
    addresses = ClientAddressResolver()

    for _ in range(3):
        addresses.client("10.0.0.1", "203.0.113.9")

    (line,) = capsys.readouterr().err.splitlines()
    logged = json.loads(line)
    assert (logged["level"], logged["peer"]) == ("warning", "10.0.0.1")
    assert "ATTESTLAB_TRUSTED_PROXIES" in logged["remedy"]


def test_no_warning_without_forwarding_or_with_a_trusted_proxy(capsys: pytest.CaptureFixture[str]) -> None:
    ClientAddressResolver().client("10.0.0.1", None)
    BEHIND.client("192.0.2.1", "203.0.113.9")

    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:DB8:1:2::", "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("", "local"),
    ],
)
def test_an_ipv6_network_counts_as_one_client(address: str, place: str) -> None:
    assert rate_limit_key(address) == place
