"""What a change does, in words with its counts: the first thing that its dialog shows."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from attestlab.client.handles.issuers import next_kid
from attestlab_dashboards.formats import utc
from attestlab_dashboards.issuers.impact import ChangeImpact
from attestlab_dashboards.issuers.words import write_request, write_word
from attestlab_dashboards.safe import html

Counted = tuple[int, Markup, str]  # a number, what it counts, and its tone: bad, good or calm
_REQUEST_ASKS = {
    "SUSPEND_ISSUER": "suspend",
    "REINSTATE_ISSUER": "reinstate",
    "REVOKE_ISSUER": "revoke",
    "CHANGE_TRUST_TIER": "tier",
    "CHANGE_RISK_RATING": "risk",
}


class ChangeEffect(NamedTuple):
    """A change as its dialog names it: the object, whether it can be undone, and what it concerns."""

    title: str
    kind: str
    counted: tuple[Counted, ...]
    is_harmful: bool = False


def describe_effect(impact: ChangeImpact, ask: str) -> ChangeEffect:
    """Describe the effect of a change; that of a request by what it asks for."""
    if impact.request is None:
        return _describe_change(impact, ask)
    wish = _REQUEST_ASKS[impact.request.type]
    effect = _describe_change(impact, wish)
    title = write_request(
        impact.request.type, _name(impact), impact.request.new_trust_tier or impact.request.new_risk_rating
    )
    verb = {"approve": "Approve", "reject": "Reject", "execute": "Execute"}[ask]
    if ask == "reject":
        unchanged = (impact.valid, html("valid attestations stay as they are; the change needs a new request"), "calm")
        return ChangeEffect(f"{verb}: {title.striptags()}?", "It is final.", (unchanged,))
    when = "now, as one entry of the log" if ask == "execute" else "when it has all approvals and is executed"
    return effect._replace(title=f"{verb}: {title.striptags()}?", kind=f"{effect.kind} It takes effect {when}.")


def _describe_change(impact: ChangeImpact, ask: str) -> ChangeEffect:
    return {
        "suspend": _describe_suspension,
        "reinstate": _describe_reinstatement,
        "revoke": _describe_revocation,
        "tier": _describe_tier,
        "risk": _describe_risk,
        "rotate": _describe_rotation,
        "revoke_key": _describe_key_revocation,
        "lose": _describe_loss,
    }[ask](impact)


def _name(impact: ChangeImpact) -> str:
    if impact.issuer is not None:
        return impact.issuer.name
    return f"an issuer of another tenant (…{str(impact.request.target_issuer_id)[-6:]})" if impact.request else ""


def _describe_suspension(impact: ChangeImpact) -> ChangeEffect:
    words = html(
        "attestations stay VALID and will be flagged <b>issuer_suspended</b> until you reinstate the issuer; "
        "no new mints"
    )
    kind = "It can be undone. It stops new mints at once."
    return ChangeEffect(f"Suspend {_name(impact)}?", kind, ((impact.valid, words, "bad"),), is_harmful=True)


def _describe_reinstatement(impact: ChangeImpact) -> ChangeEffect:
    words = html("attestations lose the flag <b>issuer_suspended</b>; the issuer may mint again")
    return ChangeEffect(f"Reinstate {_name(impact)}?", "It can be undone.", ((impact.valid, words, "good"),))


def _describe_revocation(impact: ChangeImpact) -> ChangeEffect:
    words = html(
        "attestations in the log stay VALID and will be flagged <b>issuer_revoked</b>; the issuer never mints again"
    )
    return ChangeEffect(f"Revoke {_name(impact)}?", "It is final.", ((impact.valid, words, "bad"),), is_harmful=True)


def _describe_tier(impact: ChangeImpact) -> ChangeEffect:
    return _describe_rating(impact, "tier", impact.issuer.trust_tier if impact.issuer else "")


def _describe_risk(impact: ChangeImpact) -> ChangeEffect:
    return _describe_rating(impact, "risk", impact.issuer.risk_rating if impact.issuer else "")


def _describe_rating(impact: ChangeImpact, what: str, now: str) -> ChangeEffect:
    words = html(
        "attestations stay VALID and keep the {what} of their mint; policies see the new {what} from now on",
        what="trust tier" if what == "tier" else "risk rating",
    )
    title = f"Change the {what} of {_name(impact)}{f' from {write_word(now)}' if now else ''}?"
    return ChangeEffect(title, "It can be changed again.", ((impact.valid, words, "calm"),))


def _describe_rotation(impact: ChangeImpact) -> ChangeEffect:
    words = html(
        "attestations of {kid} stay VALID, flagged <b>key_rotated</b>; <b>{new}</b> signs from now on",
        kid=impact.kid,
        new=next_kid(impact.kid),
    )
    kind = f"{_name(impact)}. A rotated key never signs again."
    return ChangeEffect(f"Rotate {impact.kid}?", kind, ((impact.valid, words, "calm"),))


def _describe_key_revocation(impact: ChangeImpact) -> ChangeEffect:
    words = html("attestations in the log stay VALID and will be flagged <b>key_revoked</b>; the key never signs again")
    kind = f"{_name(impact)}. It is final, and takes effect at once."
    return ChangeEffect(f"Revoke {impact.kid}?", kind, ((impact.valid, words, "bad"),), is_harmful=True)


def _describe_loss(impact: ChangeImpact) -> ChangeEffect:
    title, kind = f"Report {impact.kid} as lost?", f"{_name(impact)}. It is final, and takes effect at once."
    if impact.loss is None:
        return ChangeEffect(title, kind, (), is_harmful=True)
    moment = utc(impact.loss.moment)
    after = html("were logged since {moment} and become INVALID", moment=moment)
    if impact.since is None:
        after = html("become INVALID, because the time of the loss is not given")
    before = html("were logged before and stay VALID, flagged <b>key_compromised</b>")
    counted = ((impact.loss.turn_invalid, after, "bad"), (impact.loss.stay_valid, before, "good"))
    return ChangeEffect(title, kind, counted, is_harmful=True)
