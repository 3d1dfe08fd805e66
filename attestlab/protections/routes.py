"""HTTP routes of protections, and the public portfolio."""

from datetime import datetime
from functools import lru_cache, partial
from typing import Final
from uuid import UUID

from attestlab.attestations import mint_steps
from attestlab.attestations import store as attestation_store
from attestlab.core.db.transaction import Foreseen, Transaction
from attestlab.core.errors import Conflict, NotFound, PermissionDenied
from attestlab.delivery.share_links import Links
from attestlab.orgs.rules import Caller, ConsumerScope, Realm
from attestlab.protections.rendering import render_day, render_portfolio, render_protection
from attestlab.protections.service import Portfolio, PreparedProtection, Protections
from attestlab.protections.shapes import (
    PortfolioOut,
    ProtectionIn,
    ProtectionOut,
    ProtectionPage,
    ProtectionPatch,
    ProtectionRevocationIn,
    ProtectionsQuery,
    VerificationDaysOut,
    VerificationDaysQuery,
)
from attestlab.protections.store import AttestedProtection
from attestlab.web.etags import strong_etag
from attestlab.web.executor import Executor
from attestlab.web.paging import PageQuery, decode_id, split_page
from attestlab.web.request import Request
from attestlab.web.response import JSON, CommittedError, RawResponse
from attestlab.web.routing.authorization import PUBLIC, Requirement
from attestlab.web.routing.routes import Routes

routes = Routes("protections")
READERS = Requirement(scope=ConsumerScope.CONSUMER_READ, realm=Realm.CONSUMER)
WRITERS = Requirement(scope=ConsumerScope.CONSUMER_WRITE, realm=Realm.CONSUMER)
VERIFICATION_READERS = Requirement(scope=ConsumerScope.VERIFY_READ, realm=Realm.CONSUMER)
_LIST, _PORTFOLIO = "protections", "portfolio"
_PORTFOLIO_CACHING = "public, max-age=60"
_KEPT_PORTFOLIOS: Final = 64


async def _prepare_protection(
    request: Request, body: ProtectionIn, caller: Caller, protections: Protections, executor: Executor
) -> PreparedProtection:
    """Sign before the write; the first protection of an installation may have to make the issuer."""
    prepare = partial(protections.prepare, body, caller=caller, client_address=request.peer)
    prepared = await executor.read_shared(prepare)
    if prepared is None:
        await executor.write(lambda tx: protections.platform_issuer.ensure(tx=tx))
        prepared = await executor.read(prepare)
    assert prepared is not None
    return prepared


def _foresee_protection(request: Request, foreseen: Foreseen, prepared: PreparedProtection) -> None:
    """Name what the mint will read in its transaction."""
    if prepared.attestation is not None:
        mint_steps.foresee(foreseen, prepared.attestation, at=request.now, taken_ids=attestation_store.TAKEN_IDS)


def _respond_created(request: Request, result: AttestedProtection, links: Links) -> ProtectionOut:
    request.respond_headers["Location"] = f"/v1/consumer/protections/{result.row.id}"
    return render_protection(result, links=links, now=request.now)


@routes.post(
    "/v1/consumer/protections",
    scope=WRITERS,
    status=201,
    prepare=_prepare_protection,
    respond=_respond_created,
    foresee=_foresee_protection,
    share_links=True,
    headers=("Location",),
    raises=(Conflict, NotFound),
)
def create_protection(
    prepared: PreparedProtection, tx: Transaction, protections: Protections
) -> AttestedProtection | CommittedError:
    """Protect content by its SHA-256, or show a received credential.

    The platform's issuer attests the hash and the kind of content, and the log shows when; neither names the owner or
    the title. With `attestation_id` instead of a hash, nothing is minted. The same content again is a 409, whose
    `details.protection_id` names the protection.
    """
    created = protections.create(prepared, tx=tx)
    return CommittedError(created) if isinstance(created, PermissionDenied) else created


@routes.get("/v1/consumer/protections", scope=READERS, share_links=True)
def list_protections(
    request: Request, query: ProtectionsQuery, caller: Caller, protections: Protections, links: Links
) -> ProtectionPage:
    """List the consumer's protections, newest first.

    Filters are combined; `total` counts all that match.
    """
    before = decode_id(_LIST, query.cursor)
    found, total = protections.page(query, caller=caller, before=before, limit=query.limit + 1)
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=_position)
    items = [render_protection(each, links=links, now=request.now) for each in shown]
    return ProtectionPage(items=items, total=total, next_cursor=cursor)


@routes.get("/v1/consumer/protections/{id}", scope=READERS, share_links=True)
def get_protection(request: Request, id: UUID, caller: Caller, protections: Protections, links: Links) -> ProtectionOut:
    """Get one of the consumer's protections.

    It has the current status of its attestation, and the number of its VALID verifications.
    """
    return render_protection(protections.get(id, caller=caller), links=links, now=request.now)


@routes.patch("/v1/consumer/protections/{id}", scope=WRITERS, share_links=True)
def update_protection(
    request: Request,
    id: UUID,
    body: ProtectionPatch,
    tx: Transaction,
    caller: Caller,
    protections: Protections,
    links: Links,
) -> ProtectionOut:
    """Change title, description, category or visibility of a protection.

    What is left out stays as it is. The attestation has none of these, so it does not change.
    """
    return render_protection(protections.update(id, body, caller=caller, tx=tx), links=links, now=request.now)


@routes.post("/v1/consumer/protections/{id}/revoke", scope=WRITERS, share_links=True, raises=(Conflict,))
def revoke_protection(
    request: Request,
    id: UUID,
    body: ProtectionRevocationIn,
    tx: Transaction,
    caller: Caller,
    protections: Protections,
    links: Links,
) -> ProtectionOut:
    """Revoke the attestation of own content permanently.

    The protection stays in list and portfolio, marked REVOKED. A received credential is a 409: only its issuer can
    revoke it.
    """
    revoked = protections.revoke(id, reason=body.reason, caller=caller, tx=tx)
    return render_protection(revoked, links=links, now=request.now)


@routes.delete("/v1/consumer/protections/{id}", scope=WRITERS, status=204)
def remove_protection(id: UUID, tx: Transaction, caller: Caller, protections: Protections) -> None:
    """Delete a protection with its texts and counts.

    It leaves list and portfolio. Its attestation stays valid, because the log is append-only; revoke it first to
    change that.
    """
    protections.delete(id, caller=caller, tx=tx)


@routes.get("/v1/consumer/protections/{id}/verifications", scope=VERIFICATION_READERS)
def list_protection_verifications(
    id: UUID, query: VerificationDaysQuery, caller: Caller, protections: Protections
) -> VerificationDaysOut:
    """Count the verifications of a protection by UTC day, newest first.

    They are those of `POST /v1/verify` since the protection exists, at most 5 seconds late. Views of pages do not
    count.
    """
    found = protections.list_days(id, days=query.days, caller=caller)
    total = sum(row.valid + row.other for row in found)
    return VerificationDaysOut(total=total, items=[render_day(row) for row in found])


@routes.get("/v1/consumer/portfolio/{username}", scope=PUBLIC, cache_control=_PORTFOLIO_CACHING)
async def get_portfolio(
    request: Request, username: str, query: PageQuery, protections: Protections, executor: Executor
) -> PortfolioOut | RawResponse:
    """Get the public portfolio of a consumer: their public protections, newest first.

    Revoked ones stay, marked by `attestation_status`. An unknown username and a private portfolio are the same 404.
    """
    before = decode_id(_PORTFOLIO, query.cursor)
    read = partial(protections.get_portfolio, username, before=before, limit=query.limit + 1)
    portfolio = await executor.read_shared(read)
    return _write_portfolio(portfolio, portfolio.last_expiry(request.now), query.limit)


@lru_cache(_KEPT_PORTFOLIOS)
def _write_portfolio(portfolio: Portfolio, at: datetime, limit: int) -> RawResponse:
    """Write the answer for a state of a portfolio once: at 20 entries, that takes more time than all else."""
    shown, cursor = split_page(portfolio.protections, limit=limit, kind=_PORTFOLIO, position=_position)
    rendered = render_portfolio(portfolio.account, shown, at=at, next_cursor=cursor)
    body = rendered.model_dump_json().encode()
    return RawResponse(body, JSON, {"ETag": strong_etag(body)})


def _position(found: AttestedProtection) -> list[str]:
    return [str(found.row.id)]
