"""Which origins of forms are ours, in each spelling."""

from __future__ import annotations

import pytest

from attestlab.web.page_origin import is_own_origin

PORTAL = "https://lab.example/"


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1:8000"),
        ("http://[::1]:8000", "[::1]:8000"),
        ("https://other.example", "OTHER.example:443"),
        ("http://other.example:80", "other.example"),
        ("https://lab.example", "10.0.0.7:8000"),
        ("https://LAB.example:443", None),
    ],
)
def test_a_page_of_the_host_or_of_the_portal_is_ours(origin: str, host: str | None) -> None:
    assert is_own_origin(origin, host, PORTAL)


@pytest.mark.parametrize(
    "origin",
    [
        *(None, "", "null", "http://[", "http://lab.example:99999", "https://", "//lab.example", "http://lab.example"),
        *("https://lab.example:8443", "https://lab.example.evil.example", "https://evil@lab.example", "ftp://10.0.0.7"),
    ],
)
def test_any_other_page_is_not_ours(origin: str | None) -> None:
    assert not is_own_origin(origin, "10.0.0.7:8000", PORTAL)


def test_an_installation_without_a_portal_url_knows_its_host_alone() -> None:
    assert not is_own_origin("https://lab.example", "10.0.0.7:8000", "")
    assert not is_own_origin("https://", "", "")
