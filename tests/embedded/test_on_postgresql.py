"""The service in this process with its records in PostgreSQL, opened by their URL."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import attestlab
from attestlab.installation import Installation
from support.lab_walk import CLAIMS, walk_through
from support.timeouts import WAIT_TIMEOUT_S

pytestmark = pytest.mark.on_postgresql


def test_a_walk_through_all_nouns(lab: Installation, tmp_path: Path) -> None:
    settings = lab.settings
    assert settings.database_url is not None
    with attestlab.open(settings.database_url, data=settings.data) as opened:
        met = list(walk_through(opened, "by URL", tmp_path))

    assert len(met) > 40


ENDS = {
    "at the end": ("", 0, ""),
    "with a code": ("sys.exit(3)", 3, ""),
    "by an error": ("raise ValueError('ours')", 1, "ValueError: ours"),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_script_that_closes_no_lab_ends_quietly(end: str, lab: Installation) -> None:
    """Closing meters the verification, in a pool of threads that an interpreter stops early."""
    last, code, error = ENDS[end]
    with attestlab.open(str(lab.settings.database_url), data=lab.settings.data) as opened:
        opened.issuers.create("Registrar", "registrar.example")
        opened.mint(issuer="Registrar", schema="degree", claims=CLAIMS)
    opening = "import attestlab, sys; lab = attestlab.open(sys.argv[1], data=sys.argv[2]); lab.attestations[0].verify()"
    script = f"{opening}; {last}"
    arguments = [sys.executable, "-c", script, str(lab.settings.database_url), str(lab.settings.data)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=WAIT_TIMEOUT_S, check=False)

    assert done.returncode == code
    assert done.stderr.strip().splitlines()[-1:] == ([error] if error else [])
    assert "Exception in thread" not in done.stderr
    with lab.storage.read() as connection:
        assert connection.exec_driver_sql("SELECT sum(counted) FROM verification_tallies").scalar_one() == 1


@pytest.mark.parametrize("scheme", ["postgres", "POSTGRESQL", "Postgres", "postgresql+psycopg2"])
def test_each_name_of_postgresql_opens_it(scheme: str, lab: Installation) -> None:
    url = str(lab.settings.database_url).partition("://")[2]
    with attestlab.open(f"{scheme}://{url}", data=lab.settings.data) as opened:
        assert opened.me().tenant_name == "Operator"


def test_the_folder_alone_is_not_enough(lab: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATTESTLAB_DATABASE_URL", raising=False)
    with pytest.raises(attestlab.AttestLabError, match="There is no installation"):
        attestlab.open(lab.settings.data)

    monkeypatch.setenv("ATTESTLAB_DATABASE_URL", str(lab.settings.database_url))
    with attestlab.open(lab.settings.data) as opened:
        assert opened.me().tenant_name == "Operator"
