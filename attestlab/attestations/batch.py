"""A batch of mints: each item is prepared and issued alone, so that an invalid one fails alone."""

from __future__ import annotations

from collections.abc import Iterable

from attestlab.attestations.minting import MintRequest, PreparedAttestation, build_request
from attestlab.attestations.results import Minted
from attestlab.attestations.rules import sha256
from attestlab.attestations.service import Attestations
from attestlab.attestations.shapes import MintIn
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import b64url_decode
from attestlab.core.errors import AttestLabError
from attestlab.core.lookups import Lookups
from attestlab.orgs.rules import Caller
from attestlab.web.validation import validate_document


def prepare_items(
    attestations: Attestations, items: Iterable[object], *, caller: Caller, client_address: str
) -> list[PreparedAttestation | AttestLabError]:
    """Validate and sign the items, parsed JSON; in place of an invalid item stands its error.

    A key or pack that several items name is looked up once; `issue_items` checks issuer and key again.
    """
    lookups = Lookups()
    return [_prepare_item(attestations, item, caller, client_address, lookups) for item in items]


def issue_items(
    attestations: Attestations, prepared: Iterable[PreparedAttestation | AttestLabError], *, tx: Transaction
) -> list[Minted | AttestLabError]:
    """Issue the prepared items; a rejected item leaves only its recorded policy decision."""
    return [item if isinstance(item, AttestLabError) else _issue_item(attestations, item, tx) for item in prepared]


def _prepare_item(
    attestations: Attestations, item: object, caller: Caller, client_address: str, lookups: Lookups
) -> PreparedAttestation | AttestLabError:
    try:
        request = _build_request(validate_document(MintIn, item), client_address)
        return attestations.prepare(request, caller=caller, lookups=lookups)
    except AttestLabError as error:
        return error


def _build_request(body: MintIn, client_address: str) -> MintRequest:
    """Complete the body of an item, whose file is inline; the whole batch has the ordinary body limit."""
    if body.payload_b64url is None:
        return build_request(body, client_address=client_address)
    raw = b64url_decode(body.payload_b64url, field="/payload_b64url")
    return build_request(body, client_address=client_address, file_sha256=sha256(raw), file_size=len(raw))


def _issue_item(attestations: Attestations, prepared: PreparedAttestation, tx: Transaction) -> Minted | AttestLabError:
    try:
        return attestations.issue(prepared, tx=tx)
    except AttestLabError as error:
        return error
