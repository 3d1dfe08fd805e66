"""Addresses of receivers: each form of a URL that leads elsewhere is refused, with its value and a remedy."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attestlab.core.errors import ValidationFailed
from attestlab.webhooks.addresses import MAX_URL_LENGTH, is_acceptable, is_public, require_public_url
from support.receiver_urls import REFUSED_URLS
from support.refusals import require_fault

REASONS = {"url", "scheme", "userinfo", "fragment", "characters", "host", "address", "port"}
SPECIAL = [
    *("0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.1.2"),
    *("169.254.169.254", "169.254.170.2", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.1"),
    *("192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1"),
    *("239.255.255.250", "240.0.0.1", "255.255.255.255", "168.63.129.16"),
    *("::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:8.8.8.8", "64:ff9b::7f00:1"),
    *("64:ff9b::808:808", "64:ff9b:1::1", "100::1", "2001::1", "2001:0:7f00:1::", "2001:2::1", "2001:10::1"),
    *("2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::1", "3fff::1", "5f00::1", "fc00::1"),
    *("fd00:ec2::254", "fd20:ce::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "ff0e::1"),
    "2620:fe::fe%eth0",
]
PUBLIC = ["1.1.1.1", "8.8.8.8", "93.184.215.14", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "223.255.0.1"]
PUBLIC_V6 = ["2620:fe::fe", "2606:4700:4700::1111", "2001:4860:4860::8888", "2a00:1450::1", "2001:200::1"]


@pytest.mark.parametrize("text", SPECIAL)
def test_special_address_is_not_public(text: str) -> None:
    assert not is_public(ip_address(text))


@pytest.mark.parametrize("text", PUBLIC + PUBLIC_V6)
def test_address_of_the_internet_is_public(text: str) -> None:
    assert is_public(ip_address(text))


@given(st.ip_addresses(v=4))
def test_every_public_ipv4_address_is_global_in_python_s_own_table(address: IPv4Address) -> None:
    """Python reads the IANA registry too; ours refuses more: multicast, 6to4 relays, a host of Azure."""
    more = ("224.0.0.0/4", "192.88.99.0/24", "192.0.0.0/24", "168.63.129.16/32")
    if any(address in IPv4Network(network) for network in more):
        assert not is_public(address)
    else:
        assert is_public(address) is address.is_global


@given(st.ip_addresses(v=6) | st.ip_addresses(v=6, network="2000::/12"))
def test_every_public_ipv6_address_is_global_in_python_s_own_table(address: IPv6Address) -> None:
    if is_public(address):
        assert address.is_global
        assert address in IPv6Network("2000::/3")
        assert address.sixtofour is None
        assert address.teredo is None
        assert address.ipv4_mapped is None


@pytest.mark.parametrize(
    ("text", "is_allowed"),
    [
        *(("127.0.0.1", True), ("10.1.2.3", True), ("192.168.0.9", True), ("172.20.0.2", True), ("::1", True)),
        *(("fd12:3456::1", True), ("8.8.8.8", True), ("169.254.169.254", False), ("100.100.100.200", False)),
        *(("0.0.0.0", False), ("::", False), ("::ffff:127.0.0.1", False), ("fd00:ec2::254", False)),
        *(("fd20:ce::254", False), ("fe80::1", False), ("224.0.0.1", False), ("168.63.129.16", False)),
    ],
)
def test_private_networks_are_added_for_trials_and_metadata_services_never(text: str, is_allowed: bool) -> None:
    assert is_acceptable(ip_address(text), allow_private=True) is is_allowed
    assert is_acceptable(ip_address(text), allow_private=False) is (text == "8.8.8.8")


def test_table_has_the_promised_number_of_forms() -> None:
    assert len(REFUSED_URLS) == len(set(REFUSED_URLS)) >= 64


@pytest.mark.parametrize("url", REFUSED_URLS)
def test_url_that_leads_elsewhere_is_refused(url: str) -> None:
    with pytest.raises(ValidationFailed) as refused:
        require_public_url(url)
    (fault,) = refused.value.fields
    assert fault.field == "/url"
    assert (
        fault.message.count(". ") >= 1
        or " such as " in fault.message
        or "of the form" in fault.message
        or ("host name:" in fault.message or "decimal numbers" in fault.message)
    ), f"no remedy: {fault.message}"
    assert fault.message.isascii()


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("https://example.com", ("https", "example.com", 443, "/")),
        ("HTTPS://Example.COM/A?b=%20#"[:-1], ("https", "example.com", 443, "/A?b=%20")),
        ("https://example.com?x=1", ("https", "example.com", 443, "/?x=1")),
        ("https://example.com:443/", ("https", "example.com", 443, "/")),
        ("https://example.com:8443/a/../b", ("https", "example.com", 8443, "/a/../b")),
        ("https://8.8.8.8/", ("https", "8.8.8.8", 443, "/")),
        ("https://[2620:fe::FE]:9000/", ("https", "2620:fe::fe", 9000, "/")),
        ("https://xn--bcher-kva.example/", ("https", "xn--bcher-kva.example", 443, "/")),
        ("https://1.example/", ("https", "1.example", 443, "/")),
        ("https://a.co/@b:c", ("https", "a.co", 443, "/@b:c")),
    ],
)
def test_acceptable_url_is_parsed(url: str, parts: tuple[str, str, int, str]) -> None:
    assert require_public_url(url) == parts
    assert require_public_url(str(require_public_url(url))) == parts


def test_length_is_limited() -> None:
    longest = "https://a.co/".ljust(MAX_URL_LENGTH, "x")
    require_public_url(longest)
    with pytest.raises(ValidationFailed, match=r"2,049 characters; the limit is 2,048"):
        require_public_url(longest + "x")


@pytest.mark.parametrize("url", [None, 5, b"https://a.co/", ["https://a.co/"]])
def test_value_that_is_no_text_is_refused(url: object) -> None:
    with pytest.raises(ValidationFailed, match="is a text, not"):
        require_public_url(url)  # type: ignore[arg-type]  # the mistake


def test_a_password_is_not_repeated() -> None:
    for url in ("https://user:hunter2@example.com/", "http://user:hunter2@example.com/", "https://u:hunter2@[::1/"):
        with pytest.raises(ValidationFailed) as refused:
            require_public_url(url)
        assert "hunter2" not in refused.value.message


@pytest.mark.parametrize(
    "url",
    ["http://localhost:3000/x", "http://127.0.0.1/", "https://receiver/", "http://[::1]:9999/", "http://a.internal/"],
)
def test_local_receivers_are_for_trials_only(url: str) -> None:
    require_public_url(url, allow_private=True)
    with pytest.raises(ValidationFailed):
        require_public_url(url)


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/", "http://0.0.0.0/", "http://[::ffff:127.0.0.1]/", "ftp://a/"]
)
def test_trials_have_limits(url: str) -> None:
    with pytest.raises(ValidationFailed):
        require_public_url(url, allow_private=True)


@given(st.text(max_size=60) | st.text(alphabet="https:/[]@.%0123456789abcfx#?\\ \n", max_size=60))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    for url in (text, f"https://{text}"):
        try:
            parts = require_public_url(url)
        except ValidationFailed as refused:
            require_fault(refused, "/url", REASONS)
            continue
        assert parts.address is None or is_public(parts.address)
        assert require_public_url(str(parts)) == parts
