"""`%load_ext attestlab` in a real IPython shell: its magics, their errors, and what a Tab completes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import attestlab
from attestlab.client.lab import Lab
from support.installations import install
from support.lab_walk import CLAIMS
from support.notebook_shell import complete, open_shell


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InteractiveShell]:
    folder = tmp_path_factory.mktemp("lab")
    install(folder, f"sqlite:///{folder / 'records.db'}")
    with open_shell() as shell, attestlab.open(folder) as lab:
        shell.run_line_magic("load_ext", "attestlab")
        lab.issuers.create("Registrar of London", "registrar.example")
        lab.issuers.create("Registry of Bern", "bern.example")
        minted = lab.mint(b"x", issuer="Registry of Bern", schema="degree", claims=CLAIMS)
        shell.user_ns |= {"lab": lab, "minted": minted, "document": b"x", "least": 0}
        yield shell


def test_a_cell_of_sql_shows_a_frame(shell: InteractiveShell) -> None:
    frame = shell.run_cell_magic("attest_sql", "", "select name from issuers order by name")

    assert frame["name"].tolist() == ["Registrar of London", "Registry of Bern"]


def test_a_cell_of_sql_reads_and_assigns_variables(shell: InteractiveShell) -> None:
    shown = shell.run_cell_magic("attest_sql", "minted_entries", "select * from attestations where log_index > $least")

    assert shown is None
    assert isinstance(shell.user_ns["minted_entries"], pd.DataFrame)
    assert shell.user_ns["minted_entries"]["id"].tolist() == [str(shell.user_ns["minted"].id)]


def test_verify_takes_variables_ids_and_files(shell: InteractiveShell, tmp_path: Path) -> None:
    minted, file = shell.user_ns["minted"], tmp_path / "a diploma.pdf"
    file.write_bytes(b"x")

    assert shell.run_line_magic("verify", "minted document").verdict == "VALID"
    assert shell.run_line_magic("verify", f"{minted.id} '{file}'").verdict == "VALID"
    assert shell.run_line_magic("verify", str(minted.bundle().save(tmp_path / "b.json"))).verdict == "VALID"


@pytest.mark.parametrize(
    ("line", "cell", "words"),
    [
        ("", "selekt 1", "syntax error"),
        ("", "select $nothing_like_it", "nothing_like_it = ..."),
        ("--lab other", "select 1", "Pass --lab with one of: lab"),
    ],
)
def test_a_cell_that_cannot_be_run_says_why_in_one_line(
    shell: InteractiveShell, line: str, cell: str, words: str
) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        shell.run_cell_magic("attest_sql", line, cell)

    assert "\n" not in str(caught.value)


def test_verify_of_nothing_says_so(shell: InteractiveShell) -> None:
    with pytest.raises(UsageError, match="'no-such-thing' is nothing to verify"):
        shell.run_line_magic("verify", "no-such-thing")


def test_without_a_lab_the_magics_name_the_remedy(shell: InteractiveShell) -> None:
    lab = shell.user_ns.pop("lab")
    try:
        with pytest.raises(UsageError, match=r"lab = attestlab\.demo\(\)"):
            shell.run_line_magic("verify", "minted")
        shell.user_ns |= {"mine": lab}
        assert shell.run_line_magic("verify", "minted").verdict == "VALID"
    finally:
        shell.user_ns.pop("mine", None)
        shell.user_ns["lab"] = lab


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ('lab.mint(schema="deg', ['lab.mint(schema="degree']),
        ('lab.mint(issuer="Registr', ['lab.mint(issuer="Registrar of London', 'lab.mint(issuer="Registry of Bern']),
        ('lab.mint(issuer="Registrar of', ['lab.mint(issuer="Registrar of London']),
        ('lab.issuers["Registrar', ['lab.issuers["Registrar of London']),
    ],
)
def test_a_tab_completes_schemas_and_issuers(shell: InteractiveShell, typed: str, expected: list[str]) -> None:
    assert [each.rstrip('"]') for each in complete(shell, typed)] == expected


def test_a_tab_elsewhere_is_as_before(shell: InteractiveShell) -> None:
    assert "lab.issuers" in complete(shell, "lab.iss")


def test_no_key_is_completed_that_the_lab_cannot_list(shell: InteractiveShell) -> None:
    lab: Lab = shell.user_ns["lab"]

    assert lab.issuers._ipython_key_completions_() == ["Registry of Bern", "Registrar of London"]
    assert lab.policies._ipython_key_completions_() == []
