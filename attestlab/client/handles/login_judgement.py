"""How good the detection of account takeover is on the caller's own labelled logins, computed in this process."""

from __future__ import annotations

from typing import ClassVar

from attestlab.client.analysis.records import Records
from attestlab.client.cards import CardRow, CardTone, draw_card, join, write_code
from attestlab.client.handles.base import Handle
from attestlab.core.counting import plural
from attestlab.core.shapes import Out
from attestlab.risk.signals.shapes import RejectedLineOut


class DetectorJudgementOut(Out):
    """A detector on all attacks; `low` and `high` bound the middle 95 % of the bootstrap.

    `area` is that under precision-recall, `recall` the one at 1 % false positives, and `times_area` how many times the
    detector's area ours is.
    """

    detector: str
    area: float | None
    area_low: float | None
    area_high: float | None
    recall: float | None
    recall_low: float | None
    recall_high: float | None
    times_area: float | None
    times_area_low: float | None
    times_area_high: float | None


class KindJudgementOut(Out):
    """The logins of one kind: how well ours finds an attack, or how many innocent logins it flags.

    `groups` counts campaigns of an attack, and users of innocent logins. Area and recall are null for innocents.
    """

    kind: str
    is_attack: bool
    logins: int
    groups: int
    area: float | None
    area_low: float | None
    area_high: float | None
    recall: float | None
    recall_low: float | None
    recall_high: float | None
    best_baseline: str | None
    best_baseline_recall: float | None
    share_at_50: float
    share_at_60: float
    share_at_80: float
    ladder_at_60: float


class LoginThresholdOut(Out):
    """What a threshold costs: the logins with at least that score, by their truth."""

    threshold: float
    attacks_found: int
    attacks_missed: int
    false_alarms: int
    innocents_passed: int
    precision: float | None
    recall: float | None
    false_alarm_share: float | None
    cost: float


class LoginJudgementHandle(Handle):
    """The scores of labelled logins by our detector and by plain baselines, which began without any history.

    `truth` says where labels come from: a column, or the outcomes of cases. `not_judged` logins are of cases without
    a usable outcome; the detectors learn from them.
    """

    shown_fields: ClassVar = ("logins", "attacks", "best_threshold")

    truth: str
    logins: int
    attacks: int
    not_judged: int
    detectors: Records[DetectorJudgementOut]
    kinds: Records[KindJudgementOut]
    thresholds: Records[LoginThresholdOut]
    best_threshold: float
    rejected: Records[RejectedLineOut]

    def __repr__(self) -> str:
        ours = self.detectors[0]
        area = "no area" if ours.area is None else f"area {ours.area:.2f}"
        return f"LoginJudgement({plural(self.logins, 'login')}, {self.attacks:,} of attacks, {area})"

    def _repr_html_(self) -> str:
        return _draw_card(self)


def _draw_card(judged: LoginJudgementHandle) -> str:
    """Draw the card of a judgement: ours, the baselines, and what the best threshold costs."""
    ours, *others = judged.detectors
    best = next(each for each in judged.thresholds if each.threshold == judged.best_threshold)
    rows = [
        CardRow("Area", _write_interval(ours.area, ours.area_low, ours.area_high)),
        CardRow("Recall at 1 %", _write_interval(ours.recall, ours.recall_low, ours.recall_high)),
        *(CardRow(each.detector.replace("_", " "), f"area {_write_number(each.area)}") for each in others),
        CardRow(
            f"At {best.threshold:g}",
            f"{best.attacks_found:,} attacks found, {best.attacks_missed:,} missed, {best.false_alarms:,} false alarms",
        ),
        CardRow("Rejected", f"{plural(len(judged.rejected), 'row')}" if judged.rejected else None),
    ]
    areas = [each.area for each in others if each.area is not None]
    is_better = ours.area is not None and ours.area > max(areas, default=0)
    foot = join("By kind: ", write_code("result.kinds.df()"), ". By threshold: ", write_code("result.thresholds.df()"))
    title = f"{plural(judged.logins, 'login')}, {judged.attacks:,} of attacks"
    return draw_card(CardTone.GOOD if is_better else CardTone.WARN, "JUDGED", title, rows, foot=foot)


def _write_interval(value: float | None, low: float | None, high: float | None) -> str:
    return "none observed" if value is None else f"{value:.2f} ({_write_number(low)} to {_write_number(high)})"


def _write_number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"
