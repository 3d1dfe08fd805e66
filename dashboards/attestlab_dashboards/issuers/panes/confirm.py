"""The dialog before a change: first what it concerns, counted; then the reason and the second person."""

from __future__ import annotations

from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab.client.handles.issuers import IssuerRequestHandle
from attestlab.governance import rules
from attestlab.governance.rules import RequestType
from attestlab.issuers.rules import TrustTier
from attestlab.orgs.rules import Scope
from attestlab_dashboards import widgets
from attestlab_dashboards.formats import count, utc
from attestlab_dashboards.issuers.effects import ChangeEffect, describe_effect
from attestlab_dashboards.issuers.impact import LOOKED_DAYS, ChangeImpact, load_impact
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.issuers.words import RISKS, TIERS, write_word
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html, join

MAX_REASON: Final = 1024
_TYPES: Final = {
    "suspend": RequestType.SUSPEND_ISSUER,
    "reinstate": RequestType.REINSTATE_ISSUER,
    "revoke": RequestType.REVOKE_ISSUER,
    "tier": RequestType.CHANGE_TRUST_TIER,
    "risk": RequestType.CHANGE_RISK_RATING,
}


class QuestionForm(NamedTuple):
    """The form of a dialog: the action that it sends, its fields, and the button that says what happens."""

    act: str
    fields: Markup
    button: str


def draw_dialog(impact: ChangeImpact | None, state: IssuerState) -> Markup:
    """Draw the dialog; nothing while none is open."""
    if impact is None:
        return NOTHING
    effect, form = describe_effect(impact, state.ask), _make_form(impact, state)
    return html(
        '<div class="al-dialog" role="dialog" aria-modal="true" aria-label="{title}"><div class="is-dialog">'
        '<h2>{title}</h2><p class="sub">{kind}</p>{counted}{lines}<form data-act="{act}">{fields}'
        '<div class="is-foot"><button type="button" class="btn" data-ev="close" data-v="" data-key="close-dialog">'
        'Cancel</button><button type="submit" class="btn {tone}" data-key="submit">{button}</button></div></form>'
        "</div></div>",
        title=effect.title,
        kind=effect.kind,
        counted=_draw_counted(effect),
        lines=_draw_lines(impact),
        act=form.act,
        fields=form.fields,
        tone="is-danger" if effect.is_harmful else "primary",
        button=form.button,
    )


def _draw_counted(effect: ChangeEffect) -> Markup:
    parts = (
        html(
            '<div class="is-impact {tone}"><b>{number}</b><span>{words}</span></div>',
            tone=tone,
            number=count(number),
            words=words,
        )
        for number, words, tone in effect.counted
    )
    return join(parts)


def _draw_lines(impact: ChangeImpact) -> Markup:
    lines = [(f"Verifications in the last {LOOKED_DAYS} days", impact.verifications)]
    lines += [("Keys that sign now", impact.active_keys), ("Policies that name this issuer", impact.policies)]
    rows = join(
        html("<li><span>{label}</span><b>{number}</b></li>", label=label, number=count(number))
        for label, number in lines
        if number is not None
    )
    return html('<ul class="is-lines">{rows}</ul>', rows=rows)


def _make_form(impact: ChangeImpact, state: IssuerState) -> QuestionForm:
    if state.ask in _TYPES and impact.issuer is not None:
        return _make_request_form(impact, state)
    if impact.request is not None:
        return _make_decision_form(impact.request, impact, state.ask)
    return _make_key_form(impact, state)


def _make_request_form(impact: ChangeImpact, state: IssuerState) -> QuestionForm:
    kind = _TYPES[state.ask]
    fields = [_draw_hidden("type", kind.value), _draw_hidden("issuer", state.about)]
    if impact.issuer is not None and state.ask in ("tier", "risk"):
        fields.append(_draw_target(state.ask, impact.issuer.trust_tier, impact.issuer.risk_rating))
    fields += [_draw_reason("Reason, kept in the audit trail"), _draw_approvers(kind)]
    return QuestionForm("request", join(fields), "Ask for approval")


def _draw_target(ask: str, tier: str, risk: str) -> Markup:
    values, now = (TIERS[::-1], tier) if ask == "tier" else (RISKS, risk)
    return html(
        '<label class="field">New {what}, instead of {now}<select name="target" required data-focus>{options}'
        "</select></label>",
        what="trust tier" if ask == "tier" else "risk rating",
        now=write_word(now),
        options=widgets.option_list((value, write_word(value)) for value in values if value != now),
    )


def _draw_approvers(kind: RequestType) -> Markup:
    return html('<p class="is-second"><b>Second person:</b> {who}</p>', who=describe_approvers(kind))


def describe_approvers(kind: RequestType) -> str:
    """Describe who must approve a request (docs/access.md), besides the person who asks."""
    if kind is RequestType.CHANGE_TRUST_TIER:
        two = write_word(TrustTier.ENTERPRISE)
        return f"a reviewer of the platform must approve; for {two} two of them."
    if kind in (RequestType.SUSPEND_ISSUER, RequestType.REVOKE_ISSUER):
        needed = rules.approvals_needed(kind, None)
        who = "another owner or admin" if needed == 1 else "two other people, owners or admins,"
        return f"{who} or a reviewer of the platform must approve. Until then nothing changes."
    return "a reviewer of the platform must approve. Until then nothing changes."


def _make_decision_form(request: IssuerRequestHandle, impact: ChangeImpact, ask: str) -> QuestionForm:
    asked = html(
        '<p class="is-second">Asked for by {who}, {when}: “{reason}”</p>',
        who=impact.viewer.name_person(request.requested_by),
        when=utc(request.created_at),
        reason=request.reason,
    )
    fields = [asked, _draw_hidden("request", str(request.id))]
    if ask == "reject":
        fields.append(_draw_reason("Reason, kept with the request"))
    given, needed = len(request.approvals) + 1, request.approvals_needed
    label = {"approve": f"Approve, {given} of {needed}", "execute": "Execute now", "reject": "Reject for good"}[ask]
    return QuestionForm(ask, join(fields), label)


def _make_key_form(impact: ChangeImpact, state: IssuerState) -> QuestionForm:
    fields = [_draw_hidden("kid", impact.kid)]
    if state.ask == "rotate":
        return QuestionForm("rotate", join(fields), "Rotate now")
    if state.ask == "lose" and impact.loss is not None:
        since = html(
            '<label class="field">Lost since (UTC); empty if it is not known, then nothing becomes invalid'
            '<input type="datetime-local" name="since" value="{since}" data-ev="since" data-key="lost-since"></label>',
            since=f"{state.since:%Y-%m-%dT%H:%M}" if state.since else "",
        )
        fields.append(since)
    fields.append(_draw_reason("Reason, published in the log"))
    label = "Report as lost" if state.ask == "lose" else "Revoke the key"
    return QuestionForm(state.ask, join(fields), label)


def _draw_hidden(name: str, value: str) -> Markup:
    return html('<input type="hidden" name="{name}" value="{value}">', name=name, value=value)


def _draw_reason(label: str) -> Markup:
    return html(
        '<label class="field">{label}<textarea name="reason" rows="2" required maxlength="{most}" data-focus>'
        "</textarea></label>",
        label=label,
        most=MAX_REASON,
    )


PANE: Final = Pane(
    key="confirm",
    load=load_impact,
    draw=draw_dialog,
    reads=("ask", "about", "since"),
    scope=Scope.ISSUERS_READ.value,
)
