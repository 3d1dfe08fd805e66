"""Settings: a misspelled one would have no effect, so it is rejected with the closest valid name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attestlab.core.errors import ValidationFailed
from attestlab.settings import Settings, Stage, unknown_variables


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("dat", r"Unknown setting 'dat'\. Did you mean 'data'\?"),
        ("smtp_ulr", r"Unknown setting 'smtp_ulr'\. Did you mean 'smtp_url'\?"),
        ("qqqq", r"Unknown setting 'qqqq'\. Valid names: data, database_url, "),
    ],
)
def test_unknown_setting_is_rejected_with_the_closest_name(name: str, hint: str) -> None:
    unknown: dict[str, Any] = {name: "x"}

    with pytest.raises(ValidationFailed, match=hint) as refused:
        Settings(**unknown)
    assert [fault.field for fault in refused.value.fields] == [f"/{name}"]


def test_networks_of_proxies_have_no_bits_of_a_host() -> None:
    read = Settings(trusted_proxies="10.0.0.0/8, 192.0.2.7,2001:db8::/32, ::ffff:203.0.113.0/120")  # type: ignore[arg-type]

    assert [str(each) for each in read.trusted_proxies] == [
        *("10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32"),
        "203.0.113.0/24",  # as the addresses of peers are spelt
    ]
    for wrong, remedy in (("10.0.0.5/8", r"Did you mean 10\.0\.0\.0/8\?"), ("2130706433", "no IP address or network")):
        with pytest.raises(ValueError, match=remedy):
            Settings(trusted_proxies=wrong)  # type: ignore[arg-type]


def test_unknown_environment_variables_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ATTESTLAB_DATA", "/d"), ("ATTESTLAB_DAT", "/e"), ("ATTESTLAB_KEK", "x"), ("DATA", "/f")):
        monkeypatch.setenv(name, value)

    assert Settings().data == Path("/d")
    assert unknown_variables(["ATTESTLAB_DATA", "ATTESTLAB_DAT", "ATTESTLAB_KEK", "ATTESTLAB_TRUST", "DATA"]) == [
        "The environment variable ATTESTLAB_DAT is not read. Did you mean 'ATTESTLAB_DATA'?"
    ]


def test_production_refuses_webhooks_to_private_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTESTLAB_WEBHOOK_ALLOW_PRIVATE", "1")

    assert Settings().webhook_allow_private
    with pytest.raises(ValidationFailed, match=r"WEBHOOK_ALLOW_PRIVATE is for the sandbox only\. Unset it"):
        Settings(env=Stage.PRODUCTION)
