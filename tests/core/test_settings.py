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
