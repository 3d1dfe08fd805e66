"""The drawer of an issuer: how it stands, what depends on it, its keys and open requests, and what can change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.handles.issuers import BlastRadiusHandle, IssuerHandle, IssuerRequestHandle
from attestlab.core.errors import Conflict, PermissionDenied
from attestlab.governance import rules
from attestlab.governance.rules import GovernedValues, RequestType
from attestlab.issuers.rules import IssuerStatus
from attestlab.issuers.shapes import KeyOut
from attestlab.orgs.rules import Scope
from attestlab_dashboards import icons, widgets
from attestlab_dashboards.formats import count, day, plural, short_id
from attestlab_dashboards.issuers.panes.requests import OPEN, draw_requests
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.issuers.viewer import Viewer, read_viewer_with_names
from attestlab_dashboards.issuers.words import draw_risk, draw_status, write_asked, write_word
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html, join


class IssuerSubject(NamedTuple):
    """An issuer with all that its drawer shows; `signed` counts the attestations of each kid."""

    now: datetime
    viewer: Viewer
    issuer: IssuerHandle
    radius: BlastRadiusHandle
    signed: Mapping[str, int]
    requests: tuple[IssuerRequestHandle, ...]
    age_limit: int


def load_subject(lab: Lab, state: IssuerState) -> IssuerSubject | None:
    """Load the issuer of the drawer; None while it is closed.

    Raises:
        NotFound: the tenant has no such issuer.
    """
    if not state.issuer:
        return None
    issuer = lab.issuers[state.issuer]
    query = "SELECT kid, count(*) AS attestations FROM attestations WHERE issuer_id = $issuer_id GROUP BY ALL"
    rows = lab.sql(query, {"issuer_id": state.issuer})
    return IssuerSubject(
        lab.now(),
        read_viewer_with_names(lab),
        issuer,
        issuer.blast_radius(),
        {str(row["kid"]): int(str(row["attestations"])) for row in rows},
        _read_open_requests(lab, issuer),
        state.age_limit,
    )


def _read_open_requests(lab: Lab, issuer: IssuerHandle) -> tuple[IssuerRequestHandle, ...]:
    try:
        return tuple(request for request in lab.issuers.requests(issuer) if request.status in OPEN)
    except PermissionDenied:
        return ()


MAX_KINDS: Final = 5
MAX_MONTHS: Final = 12
_CHANGES: Final = (
    ("suspend", "Suspend", RequestType.SUSPEND_ISSUER),
    ("reinstate", "Reinstate", RequestType.REINSTATE_ISSUER),
    ("tier", "Change tier", RequestType.CHANGE_TRUST_TIER),
    ("risk", "Change risk", RequestType.CHANGE_RISK_RATING),
    ("revoke", "Revoke", RequestType.REVOKE_ISSUER),
)


def draw_drawer(subject: IssuerSubject | None, _state: IssuerState) -> Markup:
    """Draw the drawer; nothing while it is closed."""
    if subject is None:
        return NOTHING
    issuer = subject.issuer
    parts = [_draw_head(issuer), _draw_facts(subject), _draw_changes(subject), _draw_keys(subject)]
    parts += [_draw_months(subject), _draw_kinds(subject), _draw_open(subject)]
    return html(
        '<aside class="al-drawer" role="dialog" aria-label="{name}" tabindex="-1">{parts}</aside>',
        name=issuer.name,
        parts=join(parts),
    )


def _draw_head(issuer: IssuerHandle) -> Markup:
    return html(
        '<div class="is-head"><h2>{name}</h2><button type="button" class="btn sm" data-ev="close" data-v="" '
        'data-key="close-drawer" aria-label="Close" data-focus>{icon}</button></div>'
        '<p class="sub">{domain} · {id}</p>',
        name=issuer.name,
        icon=icons.draw("cross"),
        domain=issuer.domain,
        id=short_id(str(issuer.id)),
    )


def _draw_facts(subject: IssuerSubject) -> Markup:
    issuer, radius = subject.issuer, subject.radius
    return html(
        '<dl class="is-facts"><dt>Status</dt><dd>{status}</dd><dt>Tier</dt><dd>{tier}</dd><dt>Risk</dt><dd>{risk}</dd>'
        "<dt>Jurisdiction</dt><dd>{country}</dd><dt>Attestations</dt><dd>{valid} VALID of {all}</dd>"
        "<dt>Registered</dt><dd>{since}</dd></dl>",
        status=join([draw_status(issuer.status), *map(_draw_asked, subject.requests)], html(" ")),
        tier=write_word(issuer.trust_tier),
        risk=draw_risk(issuer.risk_rating),
        country=issuer.jurisdiction or "not known",
        valid=count(radius.valid),
        all=count(radius.attestations),
        since=day(issuer.created_at, subject.now),
    )


def _draw_asked(request: IssuerRequestHandle) -> Markup:
    return widgets.pill(write_asked(request), "warn", "clock")


def _draw_changes(subject: IssuerSubject) -> Markup:
    """Draw the changes that a person may request: hidden without the role, disabled where the status forbids."""
    if not subject.viewer.may_request:
        return NOTHING
    issuer = subject.issuer
    buttons = [
        widgets.button(
            label, ev="ask", v=f"{ask}:{issuer.id}", disabled_because=find_obstacle(kind, IssuerStatus(issuer.status))
        )
        for ask, label, kind in _CHANGES
    ]
    return html('<div class="chips is-changes">{buttons}</div>', buttons=join(buttons))


def find_obstacle(kind: RequestType, status: IssuerStatus) -> str:
    """Return why an issuer's status forbids a request; empty if it does not."""
    try:
        rules.require_possible(kind, status=status, current=GovernedValues(), new=GovernedValues(status=status))
    except Conflict as error:
        return error.message
    return ""


def _draw_keys(subject: IssuerSubject) -> Markup:
    keys = sorted(subject.issuer.keys, key=lambda key: key.created_at, reverse=True)
    if not keys:
        return html('<h3>Keys</h3><p class="sub">It has none, so it cannot mint.</p>')
    items = join(_draw_key(key, subject) for key in keys)
    return html('<h3>Keys</h3><ul class="is-keys">{items}</ul>', items=items)


def _draw_key(key: KeyOut, subject: IssuerSubject) -> Markup:
    age = (subject.now - key.created_at).days
    is_old = key.status == "active" and age >= subject.age_limit
    return html(
        "<li><div><b>{kid}</b> {status}</div>"
        '<div class="sub">{alg}, {custody} · {age} · signed {signed}</div><div class="chips">{buttons}</div></li>',
        kid=key.kid,
        status=draw_status(key.status),
        alg=key.alg,
        custody="held by the service" if key.custody == "managed" else "held by the issuer",
        age=html('<span class="warn">{icon} {age} old</span>', icon=icons.draw("warn"), age=plural(age, "day"))
        if is_old
        else f"{plural(age, 'day')} old",
        signed=count(subject.signed.get(key.kid, 0)),
        buttons=_draw_key_buttons(key, subject),
    )


def _draw_key_buttons(key: KeyOut, subject: IssuerSubject) -> Markup:
    if not subject.viewer.may_change_keys:
        return NOTHING
    name = f"{key.issuer_id}/{key.kid}"
    rotate = "" if key.status == "active" else f"It is {key.status}; only a key in use can be rotated."
    if key.custody != "managed":
        rotate = "Its issuer holds the private key, so the issuer brings the next one."
    lost = "It was reported as lost already." if key.status == "compromised" else ""
    revoke = f"It is {key.status} already." if key.status in ("revoked", "compromised") else ""
    return join(
        [
            widgets.button("Rotate", ev="ask", v=f"rotate:{name}", disabled_because=rotate),
            widgets.button("What if it is lost", ev="key", v=name),
            widgets.button("Report as lost", ev="ask", v=f"lose:{name}", disabled_because=lost),
            widgets.button("Revoke", ev="ask", v=f"revoke_key:{name}", disabled_because=revoke),
        ]
    )


def _draw_months(subject: IssuerSubject) -> Markup:
    months = subject.radius.by_month
    shown = [(month.month, month.attestations) for month in months[-MAX_MONTHS:]]
    return _draw_counts(_say_cut("By month", "newest", len(shown), len(months)), shown)


def _draw_kinds(subject: IssuerSubject) -> Markup:
    kinds = sorted(subject.radius.by_schema, key=lambda kind: -kind.attestations)
    shown = [(str(kind.schema_id), kind.attestations) for kind in kinds[:MAX_KINDS]]
    return _draw_counts(_say_cut("By kind", "most frequent", len(shown), len(kinds)), shown)


def _say_cut(title: str, which: str, shown: int, of: int) -> str:
    return f"{title}, the {which} {shown} of {of}" if shown < of else title


def _draw_counts(title: str, counts: Sequence[tuple[str, int]]) -> Markup:
    if not counts:
        return NOTHING
    most = max(number for _, number in counts)
    rows = join(
        html(
            '<li><span>{name}</span>{bar}<span class="num">{number}</span></li>',
            name=name,
            bar=widgets.share_bar(number / most if most else 0.0, "c0"),
            number=count(number),
        )
        for name, number in counts
    )
    return html('<h3>{title}</h3><ul class="is-counts">{rows}</ul>', title=title, rows=rows)


def _draw_open(subject: IssuerSubject) -> Markup:
    if not subject.requests:
        return NOTHING
    names = {str(subject.issuer.id): subject.issuer.name}
    return html(
        "<h3>Open requests</h3>{requests}", requests=draw_requests(subject.requests, names, subject.viewer, subject.now)
    )


PANE: Final = Pane(
    key="issuer",
    load=load_subject,
    draw=draw_drawer,
    reads=("issuer", "age_limit"),
    scope=Scope.ISSUERS_READ.value,
)
