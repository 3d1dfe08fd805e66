"""Settings: a misspelt one would have no effect, so it is refused with the nearest name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attestlab.core.errors import ValidationFailed
from attestlab.settings import Settings, unknown_variables


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("dat", r"Unknown setting 'dat'\. Did you mean 'data'\?"),
        ("smtp_ulr", r"Unknown setting 'smtp_ulr'\. Did you mean 'smtp_url'\?"),
        ("qqqq", r"Unknown setting 'qqqq'\. Valid names: data, database_url, "),
    ],
)
def test_an_unknown_setting_is_refused_with_the_nearest_name(name: str, hint: str) -> None:
    unknown: dict[str, Any] = {name: "x"}

    with pytest.raises(ValidationFailed, match=hint) as refused:
        Settings(**unknown)
    assert [fault.field for fault in refused.value.fields] == [f"/{name}"]


def test_the_environment_is_read_and_what_nothing_reads_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ATTESTLAB_DATA", "/d"), ("ATTESTLAB_DAT", "/e"), ("ATTESTLAB_KEK", "x"), ("DATA", "/f")):
        monkeypatch.setenv(name, value)

    assert Settings().data == Path("/d")
    assert unknown_variables(["ATTESTLAB_DATA", "ATTESTLAB_DAT", "ATTESTLAB_KEK", "ATTESTLAB_TRUST", "DATA"]) == [
        "The environment variable ATTESTLAB_DAT is not read. Did you mean 'ATTESTLAB_DATA'?"
    ]
