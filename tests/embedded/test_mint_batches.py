"""A batch of mints says what was refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from attestlab.client.lab import Lab
from support.new_labs import open_new_lab

CLAIMS = {"student_name": "Emmy Noether", "institution": "Us"}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with open_new_lab(tmp_path_factory.mktemp("lab")) as opened:
        opened.issuers.create("Us", "us.example")
        yield opened


def test_a_batch_counts_what_was_refused_and_names_it(lab: Lab) -> None:
    item = {"issuer": "Us", "schema": "degree", "claims": CLAIMS}

    batch = lab.attestations.mint_many([item, item | {"claims": {}}, item])

    assert ([each.status.value for each in batch.minted], len(batch)) == (["VALID", "VALID"], 3)
    assert repr(batch).startswith("MintBatch(minted=2, refused=1, first=item 1: ")
    table = batch.refused.df()
    assert (table["item"].tolist(), table["code"].tolist()) == ([1], ["VALIDATION_ERROR"])
    assert all(part in batch._repr_html_() for part in ("NOT ALL MINTED", "item 1", "refused.df()"))


def test_a_batch_without_a_refusal_says_so(lab: Lab) -> None:
    batch = lab.attestations.mint_many([{"issuer": "Us", "schema": "degree", "claims": CLAIMS}])

    assert (repr(batch), batch.refused) == ("MintBatch(minted=1, refused=0)", [])
    assert "ALL MINTED" in batch._repr_html_()
