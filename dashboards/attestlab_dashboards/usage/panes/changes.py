"""What another plan or add-on would change: what it costs, from when on it holds, and what would be over a limit."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab.billing.rules import format_money
from attestlab.billing.shapes import EffectOut
from attestlab.orgs.rules import Scope
from attestlab_dashboards.formats import count, plural
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.usage.changes import (
    PreviewedChange,
    UsageReport,
    export_effects,
    is_raised,
    load_report,
    write_previews_python,
)
from attestlab_dashboards.usage.state import METERS, UsageState
from attestlab_dashboards.usage.words import write_change, write_date, write_limit, write_plan, write_resource
from attestlab_dashboards.widgets import TableColumn, button, pill, table

_COLUMNS: Final = (
    TableColumn("Change"),
    TableColumn("Holds from", phone=False),
    TableColumn("Due now", "right"),
    TableColumn("Next invoice", "right", phone=False),
    TableColumn("Limits", phone=False),
    TableColumn("Over a limit"),
)


def write_reading(report: UsageReport, _state: UsageState) -> str:
    """Write what the tenant has now."""
    subscription = report.overview.subscription
    addons = "".join(f", {addon.quantity} x {addon.addon_key.replace('_', ' ')}" for addon in subscription.addons)
    pending = f"; {write_plan(subscription.pending_plan)} follows" if subscription.pending_plan else ""
    amount = format_money(subscription.amount_minor, subscription.currency)
    return f"Now {write_plan(subscription.plan)}{addons}, {amount} a month{pending}. A preview changes nothing"


def draw_changes(report: UsageReport, state: UsageState) -> Markup:
    """Draw a row for each change, and the effects of the chosen one."""
    comparison = report.comparison
    assert comparison is not None, "the pane needs the scope of previews"
    rows = [_draw_row(change, report) for change in comparison.changes]
    listed = table(
        _COLUMNS,
        rows,
        caption="What each change costs and alters",
        keys=[change.name for change in comparison.changes],
        row_ev="offer",
    )
    chosen = comparison.find(state.offer)
    return join([listed, _draw_operator_note(report), NOTHING if chosen is None else _draw_effects(chosen, report)])


def _draw_row(change: PreviewedChange, report: UsageReport) -> list[Markup]:
    preview, currency = change.preview, change.preview.next_invoice.currency
    return [
        html("{name}", name=write_change(change.name)),
        html("{when}", when=_write_start(change, report)),
        html("{amount}", amount=format_money(preview.due_now_minor, currency)),
        html("{amount}", amount=format_money(preview.next_invoice.amount_minor, currency)),
        html("{words}", words=_write_limits(change)),
        _draw_over(change, report),
    ]


def _write_start(change: PreviewedChange, report: UsageReport) -> str:
    """Write from when on a change holds: from the next request on, or from the next period on."""
    day = change.preview.effective_at.date()
    return "now" if day <= report.overview.today else write_date(day, report.overview.today)


def _write_limits(change: PreviewedChange) -> str:
    parts = [
        f"{len(effects)} {word}"
        for word, effects in (("higher", change.higher_limits), ("lower", change.lower_limits))
        if effects
    ]
    return ", ".join(parts) or "none altered"


def _draw_over(change: PreviewedChange, report: UsageReport) -> Markup:
    if not change.over:
        tight = report.list_tight(change)
        words = ", ".join(write_resource(effect.resource) for effect in tight)
        return pill(f"too low: {words}", "warn", "warn") if tight else pill("nothing", "good", "check")
    words = ", ".join(write_resource(effect.resource) for effect in change.over)
    return html('<span class="us-over">{pill} {words}</span>', pill=pill("over", "bad", "warn"), words=words)


def _draw_operator_note(report: UsageReport) -> Markup:
    """Say what the operator alone changes."""
    is_agreed = report.overview.subscription.plan == "ENTERPRISE"
    words = (
        "Limits of Enterprise are agreed with the operator, and so is its price; they stay when the plan changes."
        if is_agreed
        else "Enterprise has no fixed price: the operator agrees it with each tenant."
    )
    return html(
        '<p class="small muted us-note">{words} Owners and admins change the plan in the billing portal.</p>',
        words=words,
    )


def _draw_effects(change: PreviewedChange, report: UsageReport) -> Markup:
    tight, effects = report.list_tight(change), sorted(change.preview.effects, key=lambda each: not each.over)
    rows = join(_draw_effect(effect, report, is_tight=effect in tight) for effect in effects)
    lines = join(
        html(
            "<li><span>{quantity} x {what}</span><b>{amount}</b></li>",
            quantity=line.quantity,
            what=line.description,
            amount=format_money(line.amount_minor, change.preview.next_invoice.currency),
        )
        for line in change.preview.next_invoice.lines
    )
    return html(
        '<section class="us-effects" aria-label="{title}"><div class="us-effects-head"><h3>{title}</h3>{close}</div>'
        '<p class="small muted">{when}</p><ul class="us-list">{rows}</ul>'
        '<h4>The next invoice, of {day}</h4><ul class="us-list">{lines}</ul></section>',
        title=f"What {write_change(change.name)} would alter",
        close=button("Close", ev="offer", v=change.name),
        when=_write_terms(change, report),
        rows=rows or html("<li><span>It alters no limit.</span></li>"),
        day=write_date(change.preview.next_invoice.period_start.date(), report.overview.today),
        lines=lines or html("<li><span>Nothing is charged.</span></li>"),
    )


def _write_terms(change: PreviewedChange, report: UsageReport) -> str:
    preview = change.preview
    due = format_money(preview.due_now_minor, preview.next_invoice.currency)
    start = _write_start(change, report)
    first = "It holds from the next request on" if start == "now" else f"It holds from {start} on, when a period begins"
    over = (
        f" {plural(len(change.over), 'limit')} would be exceeded: what exists keeps working, nothing more can be made."
    )
    return f"{first}; {due} due now.{over if change.over else ''}"


def _draw_effect(effect: EffectOut, report: UsageReport, *, is_tight: bool) -> Markup:
    return html(
        '<li><span>{name} <small class="muted">{used}</small></span><b>{before} to {after}</b>{mark}</li>',
        name=write_resource(effect.resource),
        used=_write_used(effect, report),
        before=write_limit(effect.limit_before),
        after=write_limit(effect.limit_after),
        mark=_draw_mark(effect, is_tight=is_tight),
    )


def _write_used(effect: EffectOut, report: UsageReport) -> str:
    if effect.used is None:
        return ""
    if effect.resource not in METERS:
        return f"{count(effect.used)} used"
    busiest = report.overview.find_busiest(effect.resource)
    return f"{count(effect.used)} used today, {count(busiest.used)} on the busiest day of four weeks"


def _draw_mark(effect: EffectOut, *, is_tight: bool) -> Markup:
    if effect.over:
        return pill("over", "bad", "warn")
    if is_tight:
        return pill("too low", "warn", "warn")
    return pill("higher", "good", "up") if is_raised(effect) else pill("lower", "calm", "down")


PANE: Final = Pane(
    key="changes",
    question="What another plan would change",
    reading=write_reading,
    load=load_report,
    draw=draw_changes,
    reads=(),
    scope=Scope.BILLING_WRITE.value,
    copy_python=write_previews_python,
    export=export_effects,
    is_common=True,
)
