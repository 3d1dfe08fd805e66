"""If a key is lost: what was logged before that moment stays valid, what was logged since does not verify."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab.core.encoding import format_time
from attestlab.orgs.rules import Scope
from attestlab_dashboards import icons, widgets
from attestlab_dashboards.formats import count, day, utc
from attestlab_dashboards.issuers.filters import draw_nothing_found
from attestlab_dashboards.issuers.standing import compose
from attestlab_dashboards.issuers.state import FILTERS, IssuerState, KeyName
from attestlab_dashboards.issuers.viewer import read_viewer
from attestlab_dashboards.lake_query import LakeQuery
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html, join

SUPPOSED_DAYS: Final = 7  # ago: the moment of loss of a key that is in use, until the reader chooses another
# A report without the time of loss concerns what was logged after it (docs/verification.md, step 5).
_TARGET: Final = """signed AS (
  SELECT a.issuer_id, a.kid, a.id, l.logged_at,
    a.status = 'VALID' AND coalesce(a.expiry_at > now(), true) AS valid
  FROM attestations a JOIN log_entries l ON l.log_index = a.log_index),
counted AS (SELECT issuer_id, kid, count(*) AS attestations FROM signed GROUP BY ALL),
target AS (
  SELECT k.*, c.name, coalesce(n.attestations, 0) AS attestations,
    coalesce({since}k.lost, CASE WHEN k.status = 'compromised' THEN k.withdrawn END,
      now() - INTERVAL {days} DAY) AS moment
  FROM keys k JOIN {issuers} c ON c.id = k.issuer_id
  LEFT JOIN counted n ON n.issuer_id = k.issuer_id AND n.kid = k.kid
  WHERE k.began IS NOT NULL AND {which}
  ORDER BY k.status = 'compromised' DESC, k.status = 'active' DESC, attestations DESC, k.kid LIMIT 1),
affected AS (SELECT s.*, s.logged_at >= moment AS after
  FROM signed s JOIN target t ON t.issuer_id = s.issuer_id AND t.kid = s.kid),
looked AS (
  SELECT count(DISTINCT v.attestation_id) AS looked_at FROM verifications v JOIN affected f ON f.id = v.attestation_id
  CROSS JOIN target t WHERE f.after AND v.verified_at >= t.moment)"""
_COUNTS: Final = """SELECT target.*, looked_at, count(f.id) FILTER (NOT f.after AND f.valid) AS stay_valid,
  count(f.id) FILTER (f.after AND f.valid) AS turn_invalid, count(f.id) FILTER (NOT f.valid) AS ended_already
FROM target CROSS JOIN looked LEFT JOIN affected f ON true GROUP BY ALL"""
_AFTER: Final = "SELECT id, kid, logged_at, valid FROM affected WHERE after ORDER BY logged_at, id"


class KeyLoss(NamedTuple):
    """What the loss of a key at `moment` means for its attestations.

    `ended_already` were revoked, superseded or expired before; `looked_at` counts those that would become invalid
    and were verified since.
    """

    now: datetime
    issuer_id: str
    name: str
    kid: str
    status: str
    began: datetime
    ended: datetime | None
    moment: datetime
    attestations: int
    stay_valid: int
    turn_invalid: int
    ended_already: int
    looked_at: int
    may_report: bool

    @property
    def is_reported(self) -> bool:
        """Whether the key was reported as compromised, so that this is no supposition."""
        return self.status == "compromised"


def compose_loss(state: IssuerState, select: str = _COUNTS) -> LakeQuery:
    """Compose the query: of the key that was chosen, else of a lost one, else of the one that signed the most."""
    since = "CAST($since AS TIMESTAMPTZ), " if state.since else ""
    which = "k.issuer_id = $issuer_id AND k.kid = $kid" if state.key else "true"
    issuers = "standing" if state.key else "chosen"
    target = _TARGET.format(since=since, which=which, issuers=issuers, days=SUPPOSED_DAYS)
    values: dict[str, str] = KeyName.parse(state.key)._asdict() if state.key else {}
    if state.since:
        values["since"] = format_time(state.since)
    return compose(state, f", {target}\n{select}", **values)


def load_loss(lab: Lab, state: IssuerState) -> KeyLoss | None:
    """Load the counts; None if there is no such key."""
    row = next(iter(compose_loss(state).read_rows(lab)), None)
    if row is None:
        return None
    row |= {
        "now": lab.now(),
        "ended": row["rotated"] or row["withdrawn"],
        "may_report": read_viewer(lab).may_change_keys,
    }
    return KeyLoss(**{name: row[name] for name in KeyLoss._fields})  # type: ignore[arg-type]  # the query's types


def export_affected(lab: Lab, state: IssuerState) -> Rows:
    """Return the attestations that were logged since the loss."""
    return compose_loss(state, _AFTER).read(lab)


def write_loss_sql(state: IssuerState) -> str:
    """Write the query of the attestations that were logged since the loss."""
    return compose_loss(state, _AFTER).to_sql()


def write_reading(loss: KeyLoss | None, _state: IssuerState) -> str:
    """Write which key it is, and whether it was reported."""
    if loss is None:
        return ""
    was = "reported as lost" if loss.is_reported else f"{loss.status}; supposed to be lost"
    return f"{loss.kid} of {loss.name}, {was}"


def draw_loss(loss: KeyLoss | None, state: IssuerState) -> Markup:
    """Draw the split, its counts, and what can be done."""
    if loss is None:
        return draw_nothing_found(state)
    return html(
        '<div class="is-loss">{moment}{bar}<div class="is-effects">{effects}</div>'
        '<div class="chips">{buttons}</div></div>',
        moment=_draw_moment(loss),
        bar=_draw_bar(loss),
        effects=_draw_effects(loss),
        buttons=_draw_buttons(loss, is_chosen=state.since is not None),
    )


def _draw_moment(loss: KeyLoss) -> Markup:
    if loss.is_reported:
        return NOTHING
    return html(
        '<label class="field is-moment">Lost since (UTC)<input type="datetime-local" data-ev="since" data-key="since" '
        'value="{value}" max="{latest}"></label>',
        value=f"{loss.moment:%Y-%m-%dT%H:%M}",
        latest=f"{loss.now:%Y-%m-%dT%H:%M}",
    )


def _draw_bar(loss: KeyLoss) -> Markup:
    end = max(loss.now if loss.ended is None else loss.ended, loss.began)
    split = _split(loss.began, loss.moment, end)
    return html(
        '<div class="is-split" role="img" aria-label="{summary}"><i class="ok" style="width:{ok}%"></i>'
        '<i class="no" style="left:{ok}%;width:{no}%"></i><i class="mark" style="left:{ok}%"></i>'
        '<b class="{side}" style="{at}">lost on {moment}</b><span>in use from {began}</span>'
        "<span>to {end}</span></div>",
        summary=f"{count(loss.stay_valid)} stay valid, {count(loss.turn_invalid)} become invalid",
        ok=f"{split:.1f}",
        no=f"{100 - split:.1f}",
        side="left" if split < 50 else "right",
        at=html("left:{at}%", at=f"{split:.1f}") if split < 50 else html("right:{at}%", at=f"{100 - split:.1f}"),
        moment=utc(loss.moment),
        began=day(loss.began, loss.now),
        end=day(end, loss.now) if loss.ended else "now",
    )


def _split(began: datetime, moment: datetime, end: datetime) -> float:
    whole = (end - began).total_seconds()
    return 100 * min(1.0, max(0.0, (moment - began).total_seconds() / whole)) if whole else 100.0


def _draw_effects(loss: KeyLoss) -> Markup:
    flagged = "with the flag that their key was lost"
    stay = f"stay VALID, {flagged}" if loss.is_reported else f"would stay VALID, {flagged}"
    turn = "are INVALID" if loss.is_reported else "would become INVALID"
    return join(
        [
            _draw_effect("good", "check", loss.stay_valid, f"logged before: {stay}"),
            _draw_effect("bad", "cross", loss.turn_invalid, f"logged since: {turn}"),
            _draw_effect("", "eye", loss.looked_at, f"of the {count(loss.turn_invalid)} were verified since then"),
            _draw_effect("", "minus", loss.ended_already, "had ended before: revoked, superseded or expired"),
        ]
    )


def _draw_effect(tone: str, glyph: str, number: int, words: str) -> Markup:
    return html(
        '<div class="{tone}"><b>{number}</b><span>{icon} {words}</span></div>',
        tone=tone,
        number=count(number),
        icon=icons.draw(glyph),
        words=words,
    )


def _draw_buttons(loss: KeyLoss, *, is_chosen: bool) -> Markup:
    """Draw the buttons; a report begins with the moment that the reader chose, and never with a supposed one."""
    name = f"{loss.issuer_id}/{loss.kid}"
    if not loss.may_report:
        return NOTHING
    since = f"@{loss.moment:%Y-%m-%dT%H:%MZ}" if is_chosen else ""
    report = "It was reported as lost already." if loss.is_reported else ""
    rotate = "" if loss.status == "active" else f"It is {loss.status}; only a key in use can be rotated."
    return join(
        [
            widgets.button("Report as lost", ev="ask", v=f"lose:{name}{since}", disabled_because=report),
            widgets.button("Rotate", ev="ask", v=f"rotate:{name}", disabled_because=rotate),
        ]
    )


PANE: Final = Pane(
    key="loss",
    question="If a key is lost",
    reading=write_reading,
    span=5,
    load=load_loss,
    draw=draw_loss,
    reads=(*FILTERS, "key", "since"),
    scope=Scope.ISSUERS_READ.value,
    copy_sql=write_loss_sql,
    export=export_affected,
)
