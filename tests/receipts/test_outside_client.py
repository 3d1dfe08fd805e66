"""The client that others publish for receipts, `truthlock`, uses our service: all of its verbs but the export job."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from truthlock import TruthlockClient
from truthlock.errors import AuthenticationError, NotFoundError, ValidationError
from truthlock.models import ListReceiptsFilter, MintReceiptRequest, ReceiptEvent, ReceiptStatus

from support.receipts import ReceiptDesk, create_type

pytestmark = [pytest.mark.one_world, pytest.mark.both_engines]


@pytest.fixture
def outside(desk: ReceiptDesk) -> Iterator[TruthlockClient]:
    """The client, with the key and at the address of the desk."""
    key, url = desk.client.headers["X-API-Key"], str(desk.client.base_url)
    with TruthlockClient(api_key=key, base_url=url) as client:
        yield client


def mint(desk: ReceiptDesk, outside: TruthlockClient, *, version: str = "1.0.0") -> ReceiptEvent:
    kid = desk.issuer["keys"][0]["kid"]
    request = MintReceiptRequest(desk.issuer["id"], kid, "Ed25519", "delivery", "parcel 7", {"n": 3}, version)
    return outside.receipts.mint(request, idempotency_key=uuid4().hex)


def test_it_mints_reads_lists_and_searches(desk: ReceiptDesk, outside: TruthlockClient) -> None:
    minted, another = mint(desk, outside), mint(desk, outside)

    assert minted.signature["value"].count(".") == 2
    assert outside.receipts.get(minted.receipt_id) == minted
    assert {each.receipt_id for each in outside.receipts.list()} == {minted.receipt_id, another.receipt_id}
    narrowed = ListReceiptsFilter("delivery", desk.issuer["id"], ReceiptStatus.ACTIVE.value, limit=1, offset=1)
    assert outside.receipts.list(narrowed) == [minted]
    found = outside.receipts.search(q="parcel", receipt_type="delivery", status="active", limit=1, offset=0)
    assert (found["items"][0]["receipt_id"], found["total"]) == (another.receipt_id, 2)


def test_it_reads_types_and_pins_a_version(desk: ReceiptDesk, outside: TruthlockClient) -> None:
    create_type(desk.lab, desk.caller, "1.1.0", description="With a note.")

    (newest,) = outside.receipts.list_types()  # type: ignore[attr-defined]  # its `list` hides the built-in one
    assert (newest.name, newest.version, newest.status) == ("delivery", "1.1.0", "active")
    assert newest.description == "With a note."
    assert outside.receipts.get_type("delivery") == newest
    assert outside.receipts.get_type("delivery@1.0.0").version == "1.0.0"
    assert mint(desk, outside, version="1.1.0").receipt_version == "1.1.0"


def test_it_verifies_proves_redacts_and_revokes(desk: ReceiptDesk, outside: TruthlockClient) -> None:
    minted = mint(desk, outside)

    assert outside.receipts.verify(minted.receipt_id)["verdict"] == "VALID"
    assert outside.receipts.get_proof_bundle(minted.receipt_id)["receipt"]["payload"] == {"n": 3}
    assert outside.receipts.redact(minted.receipt_id)["payload"] is None
    assert outside.receipts.verify(minted.receipt_id)["verdict"] == "VALID"
    assert outside.receipts.revoke(minted.receipt_id, "lost").status == "REVOKED"
    assert outside.receipts.verify(minted.receipt_id)["verdict"] == "REVOKED"


def test_it_understands_what_is_refused(desk: ReceiptDesk, outside: TruthlockClient) -> None:
    unknown = str(uuid4())
    assert outside.receipts.verify(unknown)["verdict"] == "NOT_FOUND"
    with pytest.raises(NotFoundError, match=unknown):
        outside.receipts.get(unknown)
    with pytest.raises(ValidationError, match="/receipt_version"):
        mint(desk, outside, version="one")
    with (
        TruthlockClient(api_key="wrong", base_url=str(desk.client.base_url)) as stranger,
        pytest.raises(AuthenticationError),
    ):
        stranger.receipts.list()
