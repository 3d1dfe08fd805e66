"""Charts of signals, as a verb of `lab.signals`: the service counts, and `attestlab.plots` draws."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple, Unpack

from attestlab.client import arguments
from attestlab.client.arguments import When
from attestlab.client.collections.base import DatasetCollection
from attestlab.client.collections.filters import ChartFilterArgs
from attestlab.client.handles.risk import SignalHandle
from attestlab.core.encoding import quote
from attestlab.core.errors import ValidationFailed
from attestlab.core.suggestions import find_nearest
from attestlab.risk.logins.parameters import CRITICAL, ELEVATED, HIGH

if TYPE_CHECKING:
    import pandas as pd

    from attestlab.plots import Chart

MAX_STEPS: Final = 400  # columns of one chart
_DEFAULT_WINDOW: Final = timedelta(days=30)
_WHAT: Final = ("volume", "scores", "severities")
_SEVERITY: Final = (
    f"case when score >= {CRITICAL} then 'critical' when score >= {HIGH} then 'high'"
    f" when score >= {ELEVATED} then 'elevated' else 'normal' end"
)
SEVERITIES: Final = ("normal", "elevated", "high", "critical")
_BY: Final = {
    "source": "source",
    "signal_type": "signal_type",
    "entity_type": "entity_type",
    "severity": _SEVERITY,
    "escalated": "case when case_id is null then 'not escalated' else 'escalated' end",
}
_STEPS: Final = {
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
    "month": timedelta(days=28),
}
_INTERVALS: Final = {"hour": "1 hour", "day": "1 day", "week": "7 days", "month": "1 month"}
_ALL: Final = "'signals'"
_ORDERS: Final = {"severity": SEVERITIES, "escalated": ("not escalated", "escalated")}  # the loudest last
_CONDITIONS: Final = {
    "source": "source = $source",
    "signal_type": "signal_type = $signal_type",
    "entity_type": "entity_type = $entity_type",
    "entity_id": "entity_id = $entity_id",
    "min_score": "score >= $min_score",
    "max_score": "score <= $max_score",
}
_WORDS: Final = {"signal_type": "type", "entity_type": "kind of entity", "escalated": "escalation"}


class ChartWindow(NamedTuple):
    """The time of a chart, and its steps: `hour`, `day`, `week` or `month`."""

    since: datetime
    until: datetime
    every: str

    def __str__(self) -> str:
        first = f"{self.since:%-d %b}" if self.since.year == self.until.year else f"{self.since:%-d %b %Y}"
        return f"{first} to {self.until:%-d %b %Y}"


class ChartScope(NamedTuple):
    """The signals of a chart: those of its window that meet its filters."""

    window: ChartWindow
    filters: Mapping[str, str | int]

    @property
    def condition(self) -> str:
        """The SQL of what a signal meets; `parameters` has its values."""
        parts = ["occurred_at >= $since::timestamptz", "occurred_at < $until::timestamptz"]
        return " and ".join([*parts, *(_CONDITIONS[name] for name in self.filters)])

    @property
    def parameters(self) -> dict[str, str | int]:
        """The values of `condition`, by name."""
        return {"since": self.window.since.isoformat(), "until": self.window.until.isoformat(), **self.filters}

    def __str__(self) -> str:
        named = {name: str(value) for name, value in self.filters.items()}
        low, high = named.pop("min_score", ""), named.pop("max_score", "")
        scores = f"scores {low} to {high}" if low and high else f"scores from {low}" if low else f"scores to {high}"
        return ", ".join([*named.values(), *([scores] if low or high else []), str(self.window)])


class PlotVerbs(DatasetCollection[SignalHandle]):
    """The charts of signals."""

    def plot(
        self,
        what: str = "volume",
        *,
        by: str | None = None,
        since: When | None = None,
        until: When | None = None,
        every: str | None = None,
        **filters: Unpack[ChartFilterArgs],
    ) -> Chart:
        """Draw the signals over time; the service counts them, so that a million costs little.

        Args:
            what: `volume`, how many there are; `scores`, their median, and without `by` also the score that 95 of 100
                do not exceed; or `severities`, how many are normal, elevated (from 50), high (from 70) and critical
                (from 90).
            by: `source`, `signal_type`, `entity_type`, `severity` or `escalated`: a series for each of the
                largest. The severities by one of these have a column for each, instead of one for each step of time.
            since: the time of the first signal, by default thirty days before `until`, which is now by default.
            until: the time of the first signal that is left out.
            every: `hour`, `day`, `week` or `month`; by default what suits the window.
            filters: which signals, such as `source="login"` or `min_score=80`: `source`, `signal_type`,
                `entity_type`, `entity_id`, `min_score` and `max_score`, as `list` has them. None is no filter.

        Returns:
            A HoloViews element, which a notebook shows as a picture (`attestlab.plots`).

        Raises:
            ValidationFailed: an argument is another word, there is no such filter, or there would be more than 400
                steps.
            PermissionDenied: the caller may not read signals.
            MissingExtra: the extra `notebook` is not installed.

        >>> lab.signals.plot("volume", by="source", since="2026-10-03", until="2026-11-02")
        :Bars   [index,series]   (value)
        >>> chart = lab.signals.plot("severities", by="source", since="2026-10-03", until="2026-11-02")
        >>> chart = lab.signals.plot("scores", source="login", min_score=50)
        """
        from attestlab import plots  # loads HoloViews, which only charts need

        _require_choices(what, by, every)
        window = self._choose_window(since, until, every)
        scope = ChartScope(window, _read_filters(filters))
        title = f"{_name_chart(what, by)}, {scope}"
        if what == "scores":
            return plots.draw_scores(self._read_scores(by, scope), every=window.every, title=title)
        if what == "severities" and by is not None and by != "severity":
            counts = self._read(f"{_BY[by]} as series, {_SEVERITY} as severity, count(*) as n", scope)
            return plots.draw_severities(counts, title=title)
        by = "severity" if what == "severities" else by
        return plots.draw_volume(
            self._read(f"{_bucket(window)}, {_BY[by] if by else _ALL} as series, count(*) as n", scope),
            every=window.every,
            title=title,
            order=_ORDERS.get(by or "", ()),
            window=(window.since, window.until),
        )

    def _choose_window(self, since: When | None, until: When | None, every: str | None) -> ChartWindow:
        """Choose what the caller left open.

        Raises:
            ValidationFailed: the window is empty or reversed, or has more steps than a chart.
        """
        period = arguments.read_period(since, until)
        end = period["to"] or self._client.now()
        start = period["from"] or end - _DEFAULT_WINDOW
        if start >= end:
            raise ValidationFailed(
                f"The window ends at {end:%Y-%m-%d %H:%M} UTC, before it begins. Pass an earlier since."
            )
        days = (end - start) / timedelta(days=1)
        step = every or ("hour" if days <= 3 else "day" if days <= 120 else "week" if days <= 900 else "month")
        steps = (end - start) / _STEPS[step]
        if steps > MAX_STEPS:
            wider = [name for name, length in _STEPS.items() if (end - start) / length <= MAX_STEPS]
            remedy = f"Pass every={wider[0]!r}" if wider else "Pass a later since"
            raise ValidationFailed(f"One step a {step} makes {steps:,.0f}, more than {MAX_STEPS}. {remedy}.")
        return ChartWindow(start, end, step)

    def _read_scores(self, by: str | None, scope: ChartScope) -> pd.DataFrame:
        """Read the median score of each step; of all signals also the score that 95 of 100 do not exceed."""
        at = _bucket(scope.window)
        if by is not None:
            return self._read(f"{at}, {_BY[by]} as series, median(score) as score, count(*) as n", scope)
        found = self._read(f"{at}, median(score) as mid, quantile_cont(score, 0.95) as top, count(*) as n", scope)
        named = {"mid": "median", "top": "95 of 100 are below"}
        return found.rename(columns=named).melt(["at", "n"], [*named.values()], "series", "score")

    def _read(self, columns: str, scope: ChartScope) -> pd.DataFrame:
        """Read grouped rows of the signals of a chart."""
        query = f"select {columns} from this where {scope.condition} group by all order by all"
        return self.sql(query, scope.parameters).df()


def _bucket(window: ChartWindow) -> str:
    """Return the SQL of the beginning of a step, in UTC: weeks begin on Mondays."""
    return f"time_bucket(interval '{_INTERVALS[window.every]}', occurred_at) as at"


def _require_choices(what: object, by: object, every: object) -> None:
    from attestlab.plots.requirements import require_choice  # comes with the charts

    require_choice(what, _WHAT, name="what")
    for name, value, choices in (("by", by, _BY), ("every", every, _STEPS)):
        if value is not None:
            require_choice(value, tuple(choices), name=name)


def _read_filters(filters: Mapping[str, object]) -> dict[str, str | int]:
    """Read the filters that are set.

    Raises:
        ValidationFailed: there is no such filter, or it does not take this value.
    """
    return {name: _read_filter(name, value) for name, value in filters.items() if value is not None}


def _read_filter(name: str, value: object) -> str | int:
    if name not in _CONDITIONS:
        nearest = find_nearest(name, _CONDITIONS)
        hint = f" Did you mean {nearest}?" if nearest else ""
        raise ValidationFailed(f"plot has no filter {quote(name)}.{hint} It has {', '.join(_CONDITIONS)}.")
    if not name.endswith("_score"):
        return arguments.read_text(value, name=name)
    score = arguments.find_whole_number(value)
    if score is None or not 0 <= score <= 100:
        raise ValidationFailed(f"{name} is {arguments.show(value)}. Pass a whole number from 0 to 100.")
    return score


def _name_chart(what: str, by: str | None) -> str:
    noun = {"volume": "Signals", "scores": "Scores of signals", "severities": "Severity of signals"}[what]
    return noun if by is None else f"{noun} by {_WORDS.get(by, by)}"
