"""Return origins: absolute, https, in one spelling."""

from __future__ import annotations

import pytest

from attestlab.core.errors import ValidationFailed
from attestlab.orgs.origins import normalize_origins


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("https://portal.example.org", "https://portal.example.org"),
        ("HTTPS://Portal.Example.ORG", "https://portal.example.org"),
        ("https://portal.example.org:443", "https://portal.example.org"),
        ("https://portal.example.org:8443", "https://portal.example.org:8443"),
        ("https://[2001:db8::1]:8443", "https://[2001:db8::1]:8443"),
        ("http://localhost:3000", "http://localhost:3000"),
        ("http://127.0.0.1", "http://127.0.0.1"),
        ("http://[::1]:80", "http://[::1]"),
    ],
)
def test_an_origin_has_one_spelling(sent: str, kept: str) -> None:
    assert normalize_origins([sent, sent], allow_loopback=True) == [kept]


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "portal.example.org",
        "//portal.example.org",
        "https://",
        "https:///x",
        "https://portal.example.org/",
        "https://portal.example.org/back",
        "https://portal.example.org?x=1",
        "https://portal.example.org#x",
        "https://user@portal.example.org",
        "https://portal.example.org:0",
        "https://portal.example.org:99999",
        "https://portal.example.org:",
        "https://[::1",
        "https://*.example.org",
        "https://portal.example.org\n",
        "https://por\ttal.example.org",
        " https://portal.example.org",
        "https://münchen.example",
        "http://portal.example.org",
        "http://10.0.0.1",
        "http://localhost.example.org",
        "javascript:alert(1)",
        "https://" + "x" * 200 + ".example",
    ],
)
def test_an_invalid_origin_is_rejected(sent: str) -> None:
    with pytest.raises(ValidationFailed) as refused:
        normalize_origins(["https://good.example", sent], allow_loopback=True)

    assert refused.value.fields[0].field == "/return_origins/1"


def test_loopback_origins_are_rejected_in_production() -> None:
    with pytest.raises(ValidationFailed):
        normalize_origins(["http://localhost:3000"], allow_loopback=False)

    assert normalize_origins(["https://localhost:3000"], allow_loopback=False) == ["https://localhost:3000"]


def test_more_than_twenty_origins_are_rejected() -> None:
    listed = [f"https://host{number}.example" for number in range(20)]

    assert normalize_origins(listed, allow_loopback=False) == listed
    with pytest.raises(ValidationFailed):
        normalize_origins([*listed, "https://one.more.example"], allow_loopback=False)
