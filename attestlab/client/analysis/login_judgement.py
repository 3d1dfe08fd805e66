"""Judges the detection of account takeover on the caller's own logins, in this process: nothing is sent or learnt."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, tzinfo
from math import isnan
from typing import TYPE_CHECKING, NamedTuple, cast

from attestlab.client import arguments
from attestlab.client.analysis.arrow_reading import RowQuery
from attestlab.client.analysis.rows import Rows
from attestlab.client.collections.signal_rows import LOGINS, localize_time, open_rows, read_zone
from attestlab.client.handles.login_judgement import LoginJudgementHandle
from attestlab.client.progress import show_progress
from attestlab.client.service_client import ServiceClient
from attestlab.core.encoding import format_time
from attestlab.core.errors import ValidationFailed
from attestlab.core.extras import naming_extras
from attestlab.risk.logins.login import Login, count_ms, read_login
from attestlab.risk.signals.members import describe_fault

if TYPE_CHECKING:
    from attestlab.client.collections.signal_rows import BulkRows
    from attestlab.risk.judgement.measures import Interval
    from attestlab.risk.judgement.scored_logins import ScoredLogins

INNOCENT_LABELS = frozenset({"innocent", "legitimate", "benign", "genuine", "normal", "ordinary", "none", "false", "0"})
THRESHOLDS = tuple(float(score) for score in range(5, 100, 5))
MAX_COST = 1_000_000_000
NO_LABEL, NO_CASE = "no label", "no case"
_OUTCOMES = (
    "SELECT s.entity_id, s.occurred_at, c.id AS case_id, c.outcome FROM signals s JOIN cases c ON c.id = s.case_id "
    "WHERE s.entity_type = 'user'"
)


class LabelColumns(NamedTuple):
    """The columns that tell the truth of a login, and the labels that are no attack."""

    label: str | None = None
    campaign: str | None = None
    innocent: Collection[str] = ()

    @property
    def names(self) -> frozenset[str]:
        """The names of those that there are."""
        return frozenset(name for name in (self.label, self.campaign) if name is not None)


class Costs(NamedTuple):
    """What a missed attack and a false alarm cost, in any unit."""

    missed_attack: float
    false_alarm: float


def read_columns(label: object, campaign: object, innocent: object) -> LabelColumns:
    """Read the names of columns, and the labels that are no attack.

    Raises:
        ValidationFailed: one of them is no text.
    """
    of_label, of_campaign = (
        None if each is None else arguments.read_text(each, name="A column") for each in (label, campaign)
    )
    return LabelColumns(of_label, of_campaign, arguments.read_texts(innocent, name="innocent"))


def read_costs(missed_attack: object, false_alarm: object) -> Costs:
    """Read what a missed attack and a false alarm cost.

    Raises:
        ValidationFailed: one of them is no number from 0 to `MAX_COST`.
    """
    for name, cost in (("missed_attack", missed_attack), ("false_alarm", false_alarm)):
        if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost <= MAX_COST:
            raise ValidationFailed(f"{name} is {arguments.show(cost)}. Pass a number from 0 to {MAX_COST:,}.")
    return Costs(cast("float", missed_attack), cast("float", false_alarm))


class LoginTruth(NamedTuple):
    """What a login was; `group` is the campaign of an attack. A kind of None is not judged."""

    kind: str | None
    is_attack: bool
    group: str


class _Row(NamedTuple):
    login: Login
    truth: LoginTruth | None


def judge_logins(
    client: ServiceClient, logins: BulkRows, columns: LabelColumns, costs: Costs, tz: str | tzinfo | None
) -> LoginJudgementHandle:
    """Score logins by every detector in the order of time, and measure the scores.

    Raises:
        ValidationFailed: `logins` are no rows, or no login of an attack is among them.
        MissingExtra: numpy or the table of addresses is not installed.
    """
    with naming_extras():
        from attestlab.risk.judgement.scored_logins import JudgedLogin, LoginScorer  # loads numpy
        from attestlab.risk.logins.places import GeoLocator

        scorer, rejected = LoginScorer(GeoLocator()), list[dict[str, object]]()
        rows = sorted(
            _read_rows(logins, columns, read_zone(tz), client.now(), rejected), key=lambda row: row.login.at_ms
        )
        outcomes = {} if columns.label else _read_outcomes(client)
        not_judged = 0
        with show_progress("Judging logins", len(rows)) as bar:
            for row in rows:
                truth = row.truth or _find_truth(row.login, outcomes)
                bar.advance(1)
                if truth.kind is None:
                    scorer.learn(row.login)
                    not_judged += 1
                else:
                    scorer.add(JudgedLogin(row.login, truth.kind, truth.is_attack, truth.group))
        scored = scorer.collect()
    _require_both_truths(scored, columns)
    answer = {"truth": columns.label or "cases", "not_judged": not_judged, "rejected": rejected}
    return LoginJudgementHandle.parse(client, {**answer, **_measure(scored, costs)})


def _read_rows(
    logins: BulkRows, columns: LabelColumns, zone: tzinfo | None, now: datetime, rejected: list[dict[str, object]]
) -> Iterator[_Row]:
    kind = LOGINS._replace(members=LOGINS.members | columns.names, required=(*LOGINS.required, *columns.names))
    for number, row in enumerate(open_rows(logins, kind).rows, 1):
        try:
            members = localize_time(arguments.read_mapping(row, name=f"Row {number}"), zone)
            label, campaign = (members.pop(name, None) if name else None for name in columns[:2])
            login = read_login(_write_time(members), now=now)
            yield _Row(login, _read_label(login, label, campaign, columns) if columns.label else None)
        except ValidationFailed as error:
            rejected.append({"line": number, "message": describe_fault(error, kind.members)})


def _write_time(members: dict[str, object]) -> dict[str, object]:
    time = members.get("occurred_at")
    return {**members, "occurred_at": format_time(time)} if isinstance(time, datetime) else members


def _read_label(login: Login, label: object, campaign: object, columns: LabelColumns) -> LoginTruth:
    """Read the truth of a login; without a campaign, the attacks of one kind and day are one."""
    kind = str(label).strip() if label is not None else ""
    if not kind or kind.lower() in INNOCENT_LABELS or kind in columns.innocent:
        return LoginTruth(kind or NO_LABEL, False, login.subject_id)
    return LoginTruth(kind, True, f"{kind} {campaign or login.occurred_at.date()}")


def _read_outcomes(client: ServiceClient) -> dict[tuple[str, int], LoginTruth]:
    """Read the truth of logins with a signal in a case, by user and time; a case without a verdict is not judged."""
    found = {}
    for row in Rows(client, RowQuery(_OUTCOMES)):
        kind = row["outcome"] if row["outcome"] in ("fraud", "legitimate") else None
        place = str(row["entity_id"]), count_ms(row["occurred_at"])  # type: ignore[arg-type]  # the column's type
        found[place] = LoginTruth(kind, kind == "fraud", str(row["case_id"]))
    return found


def _find_truth(login: Login, outcomes: Mapping[tuple[str, int], LoginTruth]) -> LoginTruth:
    found = outcomes.get((login.subject_id, login.at_ms))
    if found is None or not found.is_attack:
        return LoginTruth(NO_CASE if found is None else found.kind, False, login.subject_id)
    return found


def _require_both_truths(scored: ScoredLogins, columns: LabelColumns) -> None:
    logins, attacks = len(scored.is_attack), int(scored.is_attack.sum())
    if 0 < attacks < logins:
        return
    if columns.label is None:
        found = f"{attacks:,} of {logins:,} logins have a signal in a case with the outcome fraud"
        remedy = "Resolve cases, or name a column: labels='kind'."
    else:
        found = f"The column {columns.label} labels {attacks:,} of {logins:,} logins as attacks"
        remedy = "Name the labels that are no attack: innocent=['vpn', 'typo']."
    raise ValidationFailed(f"{found}, and both attacks and others are needed. {remedy}")


def _measure(scored: ScoredLogins, costs: Costs) -> dict[str, object]:
    thresholds = list(_measure_thresholds(scored, costs))
    best = min(thresholds, key=lambda each: float(str(each["cost"])))
    return {
        "logins": len(scored.kind),
        "attacks": int(scored.is_attack.sum()),
        "detectors": list(_measure_detectors(scored)),
        "kinds": list(_measure_kinds(scored)),
        "thresholds": thresholds,
        "best_threshold": best["threshold"],
    }


def _measure_detectors(scored: ScoredLogins) -> Iterator[dict[str, object]]:
    from attestlab.risk.judgement import measures  # loads numpy, too
    from attestlab.risk.judgement.scored_logins import OURS

    for detector in scored.scores:
        found = measures.measure_with_intervals(scored, detector, measures.RANKING)
        times = None if detector == OURS else measures.compare_areas(scored, detector)
        intervals = _flatten(found["area"], "area") | _flatten(found["recall"], "recall")
        yield {"detector": detector, **intervals, **_flatten(times, "times_area")}


def _measure_kinds(scored: ScoredLogins) -> Iterator[dict[str, object]]:
    import numpy as np

    from attestlab.risk.judgement import measures
    from attestlab.risk.judgement.scored_logins import OURS

    for kind in scored.kinds:
        chosen = scored.is_of(kind)
        is_attack = bool(scored.is_attack[chosen].any())
        measured = measures.measure_kind(scored, kind) if is_attack else measures.NO_KIND
        shares = {f"share_at_{score}": float(np.mean(scored.scores[OURS][chosen] >= score)) for score in (50, 60, 80)}
        yield {
            "kind": kind,
            "is_attack": is_attack,
            "logins": int(chosen.sum()),
            "groups": len(np.unique(scored.group[chosen])),
            **_flatten(measured.area, "area"),
            **_flatten(measured.recall, "recall"),
            "best_baseline": measured.best_baseline,
            "best_baseline_recall": measured.best_baseline_recall,
            **shares,
            "ladder_at_60": float(np.mean(scored.scores["ladder"][chosen] >= 60)),
        }


def _measure_thresholds(scored: ScoredLogins, costs: Costs) -> Iterator[dict[str, object]]:
    from attestlab.risk.judgement.measures import count_at_thresholds
    from attestlab.risk.judgement.scored_logins import OURS

    for each in count_at_thresholds(scored, OURS, THRESHOLDS):
        yield {
            "threshold": each.threshold,
            "attacks_found": each.found,
            "attacks_missed": each.missed,
            "false_alarms": each.false_alarms,
            "innocents_passed": each.let_through,
            "precision": _divide(each.found, each.found + each.false_alarms),
            "recall": _divide(each.found, each.found + each.missed),
            "false_alarm_share": _divide(each.false_alarms, each.false_alarms + each.let_through),
            "cost": each.missed * costs.missed_attack + each.false_alarms * costs.false_alarm,
        }


def _divide(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _flatten(interval: Interval | None, name: str) -> dict[str, object]:
    values: Iterable[float | None] = (None,) * 3 if interval is None else (interval.value, interval.low, interval.high)
    known = (None if value is None or isnan(value) else value for value in values)
    return dict(zip((name, f"{name}_low", f"{name}_high"), known, strict=True))
