"""What a tool server with biscuit-python lets the holder of an exported chain do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from attestlab.agents.delegation.biscuits import BiscuitExport, export_biscuit
from attestlab.agents.delegation.hops import Hop
from attestlab.agents.delegation.verification import ChainReport
from attestlab.core.encoding import b64url_decode

SEED = bytes(range(32))
OUT_OF_TIME = "execution limits"  # an authorizer gives up after a millisecond, which is no answer


def export(hops: Sequence[Hop], report: ChainReport) -> BiscuitExport:
    """Export a chain that was judged."""
    assert report.expires_at is not None
    return export_biscuit(hops, report.scopes, report.expires_at, seed=SEED)


def open_biscuit(exported: BiscuitExport) -> object:
    """Read a Biscuit with the published key, as strangers do."""
    from biscuit_auth import Algorithm, Biscuit, PublicKey

    public = PublicKey.from_bytes(b64url_decode(exported.root_public_key), Algorithm.Ed25519)
    return Biscuit.from_base64(exported.biscuit, public)


def is_allowed(token: object, requests: Iterable[str], *, at: datetime) -> bool:
    """Whether an authorizer that allows everything else allows these requests together."""
    from biscuit_auth import AuthorizationError, AuthorizerBuilder

    builder = AuthorizerBuilder("time({now}); allow if true;", {"now": at})
    for request in requests:
        resource, _, action = request.partition(":")
        builder.add_code("resource({resource}); operation({action});", {"resource": resource, "action": action})
    while True:
        try:
            builder.build(token).authorize()
        except AuthorizationError as error:
            if OUT_OF_TIME in str(error):
                continue
            return False
        return True


def allows_by_biscuit(hops: Sequence[Hop], report: ChainReport, requests: Iterable[str], *, at: datetime) -> set[str]:
    """Return the requests that the Biscuit of a chain allows, each alone."""
    token = open_biscuit(export(hops, report))
    return {request for request in requests if is_allowed(token, [request], at=at)}
