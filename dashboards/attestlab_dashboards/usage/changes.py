"""What plans and add-ons would cost and alter: a preview of each, by the service, which changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pydantic import BaseModel

from attestlab import Lab
from attestlab.billing.shapes import EffectOut, LimitsOut
from attestlab.client.analysis.records import Records
from attestlab.client.handles.billing import SubscriptionHandle, SubscriptionPreviewHandle
from attestlab.orgs.rules import Plan, Scope
from attestlab_dashboards.usage.overview import UsageOverview, load_overview
from attestlab_dashboards.usage.state import ADDONS, METERS, PLANS, UsageState

_RAISED: Final = {
    "extra_verifications": "verifications",
    "extra_issuers": "issuers",
    "extra_agents": "agents",
    "webhook_pack": "webhook_endpoints",
}
MAX_UNITS: Final = 1_000  # of an add-on


class EffectRow(BaseModel):
    """How a change alters one limit, for a file; a change that alters none has no row."""

    change: str
    effective_at: datetime
    due_now_minor: int
    next_invoice_minor: int
    currency: str
    resource: str
    limit_before: int | None
    limit_after: int | None
    used: int | None
    over: bool


@dataclass(frozen=True)
class PreviewedChange:
    """A plan, or one more unit of an add-on, and what the service says about it."""

    name: str
    preview: SubscriptionPreviewHandle

    @property
    def is_plan(self) -> bool:
        """Whether it is a plan; else it is an add-on."""
        return self.name in PLANS

    @property
    def over(self) -> Sequence[EffectOut]:
        """The limits that more is used of than they would allow."""
        return [effect for effect in self.preview.effects if effect.over]

    @property
    def higher_limits(self) -> Sequence[EffectOut]:
        """The limits that would be higher."""
        return [effect for effect in self.preview.effects if is_raised(effect)]

    @property
    def lower_limits(self) -> Sequence[EffectOut]:
        """The limits that would be lower."""
        return [effect for effect in self.preview.effects if not is_raised(effect)]

    def raises(self, resource: str) -> bool:
        """Whether the limit of a resource would be higher."""
        return any(effect.resource == resource for effect in self.higher_limits)


@dataclass(frozen=True)
class PlanComparison:
    """Every change that a tenant can make by itself; the plans first."""

    changes: tuple[PreviewedChange, ...]

    def find(self, name: str) -> PreviewedChange | None:
        """Return a change by its name."""
        return next((change for change in self.changes if change.name == name), None)

    def find_remedy(self, meter: str) -> PreviewedChange | None:
        """Find the cheapest change that raises the limit of a meter and leaves nothing over another one."""
        helping = [change for change in self.changes if change.raises(meter) and not change.over]
        return min(helping, key=lambda change: change.preview.next_invoice.amount_minor, default=None)


@dataclass(frozen=True)
class UsageReport:
    """What is used, and what changes would do; None for a person who may not preview them."""

    overview: UsageOverview
    comparison: PlanComparison | None

    def list_tight(self, change: PreviewedChange) -> Sequence[EffectOut]:
        """List the limits of a day that a change sets below the busiest day of the last weeks, if not over today."""
        daily = [effect for effect in change.preview.effects if effect.resource in METERS and not effect.over]
        return [
            effect
            for effect in daily
            if effect.limit_after is not None and self.overview.find_busiest(effect.resource).used > effect.limit_after
        ]


def is_raised(effect: EffectOut) -> bool:
    """Whether a limit would be higher; None is without a limit."""
    return effect.limit_after is None or (effect.limit_before is not None and effect.limit_after > effect.limit_before)


def load_report(lab: Lab, state: UsageState) -> UsageReport:
    """Load what is used, and preview every change unless the person may not: a preview is a write of billing."""
    may_preview = Scope.BILLING_WRITE.value in lab.me().credential.scopes
    overview = load_overview(lab, state)
    return UsageReport(overview, compare_changes(lab, overview.subscription) if may_preview else None)


def compare_changes(lab: Lab, subscription: SubscriptionHandle) -> PlanComparison:
    """Preview every change: the other plans, and one more unit of each add-on that raises a limit."""
    limits = lab.billing.entitlements().limits
    return PlanComparison(tuple(_preview_changes(lab, subscription, limits)))


def _preview_changes(lab: Lab, subscription: SubscriptionHandle, limits: LimitsOut) -> Iterator[PreviewedChange]:
    for plan in PLANS:
        if plan != subscription.plan:
            yield PreviewedChange(plan, lab.billing.preview(plan))
    units = {addon.addon_key: addon.quantity for addon in subscription.addons}
    for addon in ADDONS:
        if _can_raise(limits, addon) and (more := units.get(addon, 0) + 1) <= MAX_UNITS:
            yield PreviewedChange(addon, lab.billing.preview(addons={addon: more}))


def _can_raise(limits: LimitsOut, addon: str) -> bool:
    """Whether an add-on raises anything: a limit of none remains none."""
    resource = _RAISED[addon]
    return getattr(limits, f"{resource}_per_day" if resource in METERS else resource) is not None


def export_effects(lab: Lab, _state: UsageState) -> Records[EffectRow]:
    """Return what each change alters, one row a limit."""
    found = compare_changes(lab, lab.billing.subscription())
    return Records((_build_row(each, effect) for each in found.changes for effect in each.preview.effects), EffectRow)


def _build_row(change: PreviewedChange, effect: EffectOut) -> EffectRow:
    preview = change.preview
    return EffectRow(
        change=change.name,
        effective_at=preview.effective_at,
        due_now_minor=preview.due_now_minor,
        next_invoice_minor=preview.next_invoice.amount_minor,
        currency=preview.next_invoice.currency,
        **effect.model_dump(),
    )


def write_previews_python(state: UsageState) -> str:
    """Write Python that asks for the preview of the chosen change, or of the smallest plan with a price."""
    name = state.offer or Plan.STARTER.value
    if name in PLANS:
        return f'lab.billing.preview("{name}").effects.df()'
    return (
        "units = {each.addon_key: each.quantity for each in lab.billing.addons()}\n"
        f'lab.billing.preview(addons={{"{name}": units["{name}"] + 1}}).effects.df()'
    )
