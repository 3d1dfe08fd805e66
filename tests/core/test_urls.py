"""A URL of a setting or an argument that cannot be used is named, without a password, with the form to give."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import attestlab
from attestlab.core.errors import ValidationFailed
from attestlab.core.urls import is_web_address, quote_url
from attestlab.log.follower.http_log import HttpLog
from attestlab.log.note.trust_policy import TrustPolicy
from attestlab.mail.transports import open_transport
from attestlab.settings import Settings
from attestlab.webhooks.addresses import require_public_url
from support.witnesses import WITNESS_KEY, make_log_signer

WITNESS, LOG = WITNESS_KEY.vkey.cosigner(), str(make_log_signer().vkey)
NOT_WEB = ["attest.example", "ada:secret@attest.example", "ftp://ada:secret@attest.example", "https://", "127.0.0.1/x"]
READERS: dict[str, tuple[Callable[[str], object], str]] = {
    "ATTESTLAB_PORTAL_URL": (lambda url: Settings(portal_url=url), "like https://attest.example.org"),
    "connect": (lambda url: attestlab.connect(url), "like 'https://attest.example.org'"),
    "log watch": (HttpLog, "like 'https://log.example.org'"),
    "ATTESTLAB_WITNESSES": (
        lambda url: TrustPolicy.for_log(f"witness w {WITNESS} {url}\nquorum none", LOG),
        "like https://witness.example.org",
    ),
    "listen --forward": (lambda url: require_public_url(url, allow_private=True), "form https://host/path"),
}


@pytest.mark.parametrize("url", NOT_WEB)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_web_address_is_named_with_the_form_to_give(reader: str, url: str) -> None:
    read, form = READERS[reader]
    with pytest.raises(ValidationFailed) as refused:
        read(url)

    assert "secret" not in refused.value.message
    if "://" not in url and "@" not in url:
        assert repr(url) in refused.value.message
        assert form in refused.value.message


@pytest.mark.parametrize(
    "url", ["mail.example", "ada:secret@mail.example", "imap://ada:secret@mail.example", "smtp://"]
)
def test_what_is_no_mail_server_is_named_with_the_form_to_give(url: str, tmp_path: Path) -> None:
    settings = Settings.model_validate({"smtp_url": url})
    with pytest.raises(ValidationFailed, match="to smtp://user:password@host:port") as refused:
        open_transport(settings.smtp_url, folder=tmp_path)

    assert "secret" not in refused.value.message
    assert refused.value.message.startswith(quote_url(url))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://a.example/b", "https://a.example/b"),
        ("https://ada:se@cret@a.example", "https://***@a.example"),
        ("https://ada@a.example?key=secret", "https://***@a.example"),
        ("ada:secret?@a.example", "***"),
        ("a.example?key=se@cret", "***"),
        ("https://" + "a" * 50, "https://" + "a" * 32 + "..."),
    ],
)
def test_a_quoted_url_has_no_password(url: str, shown: str) -> None:
    assert quote_url(url) == repr(shown)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080", "https://a.example/below", "HTTPS://A.example"])
def test_a_web_address_has_a_scheme_and_a_host(url: str) -> None:
    assert is_web_address(url)
    assert Settings(portal_url=url).portal_url == url
