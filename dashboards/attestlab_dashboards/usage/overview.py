"""What the tenant uses, by resource and by day: for the tiles and all charts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from attestlab import Lab
from attestlab.billing.shapes import ResourceUseOut
from attestlab.client.analysis.rows import Rows
from attestlab.client.handles.billing import InvoiceHandle, SubscriptionHandle, UsageHandle
from attestlab_dashboards.lake_query import LakeQuery
from attestlab_dashboards.ranges import DayRange
from attestlab_dashboards.usage.forecast import Forecast, MeterDay, Outlook, forecast_limit
from attestlab_dashboards.usage.state import METERS, YESTERDAY, UsageState

_DAY: Final = timedelta(days=1)
BUSIEST_OF_DAYS: Final = 28
_BY_DAY: Final = """SELECT day, CAST(resource AS VARCHAR) AS resource, used, plan_limit FROM usage
ORDER BY day, resource"""
_OF_METER: Final = """SELECT day, used, plan_limit, used >= 0.8 * plan_limit AS is_over_80 FROM usage
WHERE resource = $meter AND {shown} ORDER BY day"""
_TODAY: Final = "to_timestamp(epoch(now())::BIGINT // 86400 * 86400)"
_LATEST: Final = "day > (SELECT max(day) FROM usage) - INTERVAL ($days) DAY"
_YESTERDAY: Final = f"day >= {_TODAY} - INTERVAL 1 DAY AND day < {_TODAY}"
_OWN: Final = "day >= CAST($start AS TIMESTAMPTZ) AND day < CAST($end AS TIMESTAMPTZ)"


@dataclass(frozen=True)
class UsageOverview:
    """What is used as of `now`; `days` has each meter's full days, without gaps from its first use on, oldest first."""

    now: datetime
    usage: UsageHandle
    subscription: SubscriptionHandle
    next_invoice: InvoiceHandle
    days: Mapping[str, tuple[MeterDay, ...]]

    @property
    def today(self) -> date:
        """The UTC day of now."""
        return self.now.astimezone(UTC).date()

    @property
    def period_end(self) -> date:
        """The first day of the next billing period."""
        return self.usage.period_end.date()

    def get_item(self, resource: str) -> ResourceUseOut:
        """Return how much of a resource is used."""
        return next(item for item in self.usage.items if item.resource == resource)

    def list_shown(self, meter: str, days: int) -> list[MeterDay]:
        """List the last days of a meter with today, oldest first."""
        return [*self.days[meter], self.get_today(meter)][-days:]

    def list_between(self, meter: str, days: DayRange) -> list[MeterDay]:
        """List the days of a range from the first use on, today included, oldest first."""
        known = [*self.days[meter], self.get_today(meter)]
        return [each for each in known if days.first <= each.day <= days.last]

    def get_today(self, meter: str) -> MeterDay:
        """Return today's use of a meter so far."""
        return MeterDay(self.today, self.get_item(meter).used)

    def find_busiest(self, meter: str) -> MeterDay:
        """Find the busiest day of the last weeks, today included."""
        return max(self.list_shown(meter, BUSIEST_OF_DAYS), key=lambda each: each.used)

    def forecast(self, meter: str) -> Forecast:
        """Forecast when a daily limit is reached."""
        today, limit = self.get_today(meter), self.get_item(meter).limit
        return forecast_limit(self.days[meter], today=today, limit=limit, period_end=self.period_end)

    def find_pressing(self) -> str:
        """Find the meter whose limit is reached first, or else of which the largest share is used."""
        return min(METERS, key=self._rank)

    def _rank(self, meter: str) -> tuple[bool, date, int]:
        forecast = self.forecast(meter)
        return forecast.outlook is Outlook.NO_LIMIT, forecast.day or date.max, -(self.get_item(meter).percent or 0)


def load_overview(lab: Lab, _state: UsageState) -> UsageOverview:
    """Load what is used."""
    now = lab.now()
    used: defaultdict[str, dict[date, int]] = defaultdict(dict)
    for row in LakeQuery(_BY_DAY, {}).read_rows(lab):
        day = row["day"]
        assert isinstance(day, datetime)
        used[str(row["resource"])][day.astimezone(UTC).date()] = int(str(row["used"]))
    days = {meter: _fill(used[meter], until=now.astimezone(UTC).date()) for meter in METERS}
    billing = lab.billing
    return UsageOverview(now, billing.usage(), billing.subscription(), billing.preview_invoice(), days)


def _fill(used: Mapping[date, int], *, until: date) -> tuple[MeterDay, ...]:
    """Return each day from the first use on until the day before `until`, also those without use."""
    first = min(used, default=until)
    days = (first + number * _DAY for number in range((until - first).days))
    return tuple(MeterDay(day, used.get(day, 0)) for day in days)


def compose_days(state: UsageState) -> LakeQuery:
    """Compose the query of the days that the chart shows."""
    if state.range == YESTERDAY:
        return LakeQuery(_OF_METER.format(shown=_YESTERDAY), {"meter": state.meter})
    if state.own_range is not None:
        bounds = {"start": state.own_range.start.isoformat(), "end": state.own_range.end.isoformat()}
        return LakeQuery(_OF_METER.format(shown=_OWN), {"meter": state.meter, **bounds})
    return LakeQuery(_OF_METER.format(shown=_LATEST), {"meter": state.meter, "days": state.days})


def export_days(lab: Lab, state: UsageState) -> Rows:
    """Return these days."""
    return compose_days(state).read(lab)


def write_days_sql(state: UsageState) -> str:
    """Write the query of these days."""
    return compose_days(state).to_sql()
