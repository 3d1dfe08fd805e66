"""The service in this process with its records in PostgreSQL, opened by their URL."""

from __future__ import annotations

from pathlib import Path

import pytest

import attestlab
from attestlab.installation import Installation
from support.lab_walk import walk_through

pytestmark = pytest.mark.on_postgresql


def test_a_walk_through_all_nouns(lab: Installation, tmp_path: Path) -> None:
    settings = lab.settings
    assert settings.database_url is not None
    with attestlab.open(settings.database_url, data=settings.data) as opened:
        met = list(walk_through(opened, "by URL", tmp_path))

    assert len(met) > 40


def test_the_folder_alone_is_not_enough(lab: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATTESTLAB_DATABASE_URL", raising=False)
    with pytest.raises(attestlab.AttestLabError, match="There is no installation"):
        attestlab.open(lab.settings.data)

    monkeypatch.setenv("ATTESTLAB_DATABASE_URL", str(lab.settings.database_url))
    with attestlab.open(lab.settings.data) as opened:
        assert opened.me().tenant_name == "Operator"
