"""A wrong argument ends in one line of ours with the remedy, never in a foreign traceback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import attestlab
from attestlab.client.lab import Lab
from attestlab.core.errors import AttestLabError, ValidationFailed
from support.new_labs import open_new_lab

CLAIMS = {"student_name": "Ada Lovelace", "institution": "London"}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with open_new_lab(tmp_path_factory.mktemp("lab")) as opened:
        opened.issuers.create("Registrar", "registrar.example")
        yield opened


READERS: dict[str, tuple[object, ...]] = {
    **dict.fromkeys(("df", "pl", "arrow", "rel", "head"), ()),
    **dict.fromkeys(("to_parquet", "to_excel"), ("rows.file",)),
}


def list_filtered_readers() -> Iterator[tuple[str, tuple[Callable[[Lab], object], str]]]:
    """The readers of a noun, each given a filter of its list."""
    for verb, given in READERS.items():
        refusal = rf"lab\.signals\.{verb} takes no 'source'.*lab\.signals\.list\(source='login'\)\.df\(\)"
        yield verb, (partial(read_logins, verb=verb, given=given), refusal)


def read_logins(lab: Lab, verb: str, given: tuple[object, ...]) -> object:
    return getattr(lab.signals, verb)(*given, source="login")


WRONG: dict[str, tuple[Callable[[Lab], object], str]] = {
    "verify text": (lambda lab: lab.verify("x"), "'x' is nothing to verify"),
    "verify number": (lambda lab: lab.verify(7), "A value of type int is nothing to verify"),  # type: ignore[arg-type]
    "verify missing bundle": (lambda lab: lab.verify("no-such.json"), "There is no file 'no-such.json'"),
    "verify dict": (lambda lab: lab.verify({}), "not a proof bundle"),
    "file missing": (lambda lab: lab.verify(lab.me().id, file="no-such.pdf"), "There is no file 'no-such.pdf'"),
    "file as number": (lambda lab: lab.verify(lab.me().id, file=7), "A value of type int is no file"),  # type: ignore[arg-type]
    "file of text": (lambda lab: lab.verify(lab.me().id, file=StringIO("x")), "open for text"),  # type: ignore[arg-type]
    "folder as file": (lambda lab: lab.verify(lab.me().id, file="."), "There is no file"),
    "issuer name": (lambda lab: mint(lab, issuer="Registar"), "Similar: Registrar"),
    "issuer number": (lambda lab: mint(lab, issuer=7), "A value of type int is not the id of an issuer"),
    "schema": (lambda lab: mint(lab, schema=7), "schema is a int"),
    "claims": (lambda lab: mint(lab, claims=["a"]), "claims is a list"),
    "claim": (lambda lab: mint(lab, claims={"student_name": object()}), "cannot be sent as JSON"),
    "NaN": (lambda lab: mint(lab, claims={"student_name": float("nan")}), "cannot be sent as JSON"),
    "key": (lambda lab: mint(lab, kid="no-such-key"), "Its keys: "),
    "time": (lambda lab: mint(lab, expiry_at="tomorrow"), "expiry_at='tomorrow' is not a time"),
    "two documents": (lambda lab: mint(lab, document=b"x", document_hash="0" * 64), "not both"),
    "position": (lambda lab: lab.attestations[-1], "no position -1"),
    "limit": (lambda lab: lab.attestations.list(limit=-1), "limit is -1"),
    "filter time": (lambda lab: lab.attestations.list(since="yesterday"), "since='yesterday' is not a time"),
    "log index": (lambda lab: lab.log.entry(10**6), "The log has"),
    "log slice": (lambda lab: lab.log["x"], "takes an index or a slice"),  # type: ignore[call-overload]
    "policy file": (lambda lab: lab.policies.create("no-such-policy.toml"), "There is no file"),
    "policy text": (lambda lab: lab.policies.create("{not json"), "not JSON"),
    "policy number": (lambda lab: lab.policies.create(7), "A value of type int is not a policy"),  # type: ignore[arg-type]
    "decision": (lambda lab: lab.decisions[7.5], "is not a decision"),
    "no such position": (lambda lab: lab.policies[7], "No policy at position 7 is known. `lab.policies` lists them"),
    "no such id": (lambda lab: lab.cases[uuid4()], "is known. `lab.cases` lists them"),
    "no such policy": (lambda lab: lab.policies["Doors"], "by the name 'Doors' is known. `lab.policies` lists them"),
    "no such endpoint": (lambda lab: lab.webhooks["Desk"], "the name or URL 'Desk' is known. `lab.webhooks` lists"),
    "no such entity": (lambda lab: lab.signals.entity("device:d-1"), r"lab\.signals\.graph\('device:d-1'\)"),
    "no such graph": (lambda lab: lab.signals.graph("device:d-1"), r"lab\.signals\.list\(entity_type='device'"),
    "no such type": (lambda lab: lab.signals.entity("laptop:d-1"), "types of entities are user, device"),
    **{f"filter of {verb}": call for verb, call in list_filtered_readers()},
    "filter of a query": (lambda lab: lab.sql("select 1").df(a=1), "takes no 'a'.*WHERE in its SQL"),  # type: ignore[call-arg]
    "filter of rows": (lambda lab: lab.signals.rows.pl(a=1), r'rows\.sql\("select \* from this where'),  # type: ignore[call-arg]
    "filter of a listing": (lambda lab: lab.cases.list().df(status="open"), r"\.list\(status=\.\.\.\)"),  # type: ignore[call-arg]
    "filter of records": (lambda lab: lab.cases[:3].df(status="open"), "Filter the table that it returns"),  # type: ignore[call-arg]
    "unknown filter": (lambda lab: lab.signals.df(x=1), r"lab\.signals\.list filters by source, .*until"),  # type: ignore[call-arg]
    "nearly a filter": (lambda lab: lab.signals.df(sourc="login"), r"lab\.signals\.list\(source='login'\)"),  # type: ignore[call-arg]
    "filter of the log": (lambda lab: lab.log.df(type="x"), r'lab\.log\.sql\("select \* from this where'),  # type: ignore[call-arg]
    "entity": (lambda lab: lab.signals.entity("u-1"), "is no entity"),
    "path": (lambda lab: lab.issuers.revoke_key("..", "a reason"), r"'\.\.' is no id or name"),
    "signals": (lambda lab: lab.signals.add_many({"a": 1}), "signals is a dict. Pass a list of dicts"),
    "tenant": (lambda lab: lab.as_("no such tenant"), "no such tenant"),
    "password": (lambda lab: lab.as_("ann@example.org", password="wrong"), "address or the password is wrong"),
}


def mint(lab: Lab, document: object = None, **changes: object) -> object:
    wanted = {"issuer": "Registrar", "schema": "degree", "claims": CLAIMS, **changes}
    return lab.mint(document, **wanted)  # type: ignore[arg-type]  # the point is to pass anything


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_argument_is_refused_in_one_line(lab: Lab, wrong: str) -> None:
    call, expected = WRONG[wrong]

    with pytest.raises(AttestLabError, match=expected) as caught:
        call(lab)

    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("no-such-folder", "attestlab init --data no-such-folder"),
        (7, "A value of type int is no folder"),
        ("https://attest.example.org", "attestlab.connect"),
        ("mysql://host/name", "'mysql://host/name' is no database URL"),
        ("postgres:ada:pw@host/name", "'[*]{3}@host/name' is no database URL"),
        ("sqlite:///no-such-folder/records.db", "There is no installation"),
        ("postgresql://host/name", "Pass data=folder"),
    ],
)
def test_what_cannot_be_opened_is_refused_in_one_line(
    place: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(ValidationFailed, match=expected) as caught:
        attestlab.open(place)

    assert "\n" not in caught.value.message
    assert list(tmp_path.iterdir()) == [], "a refusal makes nothing"


def test_an_empty_folder_is_not_turned_into_an_installation(tmp_path: Path) -> None:
    with pytest.raises(ValidationFailed, match="attestlab init"):
        attestlab.open(tmp_path)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seed", ["7", -1, True, None])
def test_what_is_no_seed_is_refused(seed: int) -> None:
    with pytest.raises(ValidationFailed, match=r"attestlab\.demo\(seed=7\)"):
        attestlab.demo(seed)


def test_an_item_that_cannot_be_sent_is_rejected_alone(lab: Lab) -> None:
    issuer = lab.issuers.create("Batches", "batches.example")
    good = {"issuer": issuer, "schema": "degree", "claims": {"student_name": "Ada", "institution": "We"}}
    items: list[Any] = [7, good, {"issuer": "x"}, good | {"issuer": "u-0"}, good | {"schema": "x"}, good]

    results = lab.attestations.mint_many([*items, good | {"metadata": {"a": float("nan")}}])

    assert repr(results) == "MintResults(2 minted, 5 rejected)"
    assert results.rejected.df()["item"].to_list() == [0, 2, 3, 4, 6]
    assert results.rejected[1].message == "items[2] lacks schema, claims. Pass the arguments of `lab.mint`."
    assert "2 of 7 items were minted" in results._repr_html_()
