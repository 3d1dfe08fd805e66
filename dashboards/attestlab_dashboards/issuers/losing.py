"""If a key is lost: one bar that is split at the moment of loss, and what each side means."""

from __future__ import annotations

from datetime import datetime

from markupsafe import Markup

from attestlab_dashboards import icons, widgets
from attestlab_dashboards.formats import count, day, utc
from attestlab_dashboards.issuers.filters import draw_nothing_found
from attestlab_dashboards.issuers.queries.key_loss import KeyLoss
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.safe import NOTHING, html, join


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
    stay = "stay VALID, flagged key_compromised" if loss.is_reported else "would stay VALID, flagged key_compromised"
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
