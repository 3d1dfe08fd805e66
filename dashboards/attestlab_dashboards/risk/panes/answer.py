"""The answer: which day stands out by its escalations, how many times the usual, and who is behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.row_iterator import Row
from attestlab.risk.rules import Entity, EntityType
from attestlab_dashboards.cells import read_number, read_text, read_whole
from attestlab_dashboards.formats import count, percent, plural
from attestlab_dashboards.issuer_names import load_issuer_names
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.ranges import write_span
from attestlab_dashboards.risk.context import SharedLoad, load_period
from attestlab_dashboards.risk.filters import IN_RANGE, bind, conditions_of, mentions, write_copy
from attestlab_dashboards.risk.state import PERIOD, RiskState, write_entity_key
from attestlab_dashboards.risk.windows import Period, write_bounds
from attestlab_dashboards.risk.words import KINDS, kind_of, label_of, write_step
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.state import Picked

MIN_TIMES: Final = 3.0  # times the usual; less is an ordinary day
MIN_ESCALATED: Final = 5
MIN_SHARE: Final = 0.5  # of the escalations, to name who is behind them
_KEEP_S: Final = 2.0


class Suspects(NamedTuple):
    """The entities of one type that most of the escalations name: at most three, and how many signals name them.

    `different` is how many entities of this type the escalations name in all.
    """

    entities: Sequence[Entity]
    signals: int
    different: int


@dataclass(frozen=True)
class RiskAnswer:
    """The step of the period with most escalations, and the usual number: the median of the window's steps.

    `suspects` begin with the likeliest, and `names` has the names of issuers by id.
    """

    period: Period
    start: datetime
    escalated: int
    usual: float
    suspects: Sequence[Suspects]
    names: dict[str, str]

    @property
    def stands_out(self) -> bool:
        """Whether the step is more than an ordinary one."""
        return self.escalated >= max(MIN_ESCALATED, MIN_TIMES * max(self.usual, 1))

    @property
    def culprit(self) -> Suspects | None:
        """Those behind the step, None if no few entities are."""
        found = [each for each in self.suspects if each.signals >= MIN_SHARE * self.escalated]
        return found[0] if found and self.stands_out else None


_ANSWER: Final = """
WITH escalated AS MATERIALIZED (
    SELECT id, entity_type, entity_id, details, epoch_us(occurred_at) // $step_us::BIGINT AS step
    FROM signals WHERE {range} AND case_id IS NOT NULL AND {conditions}
), found AS (SELECT step, count(*) AS escalated FROM escalated GROUP BY step),
steps AS (
    SELECT number AS step, coalesce(escalated, 0) AS escalated
    FROM (SELECT unnest(range($first_us::BIGINT // $step_us::BIGINT, 1 + ($last_us::BIGINT - 1) // $step_us::BIGINT))
        AS number) LEFT JOIN found ON found.step = number
), peak AS (
    SELECT step, escalated FROM steps
    WHERE (step + 1) * $step_us::BIGINT > $start_us::BIGINT AND step * $step_us::BIGINT < $end_us::BIGINT
    ORDER BY escalated DESC, step DESC LIMIT 1
), usual AS (
    SELECT median(escalated) AS usual FROM steps
    WHERE step * $step_us::BIGINT >= $window_start_us::BIGINT AND step * $step_us::BIGINT < $window_end_us::BIGINT
),
hot AS (SELECT * FROM escalated WHERE step = (SELECT step FROM peak)),
named AS ({mentions}),
counted AS (
    SELECT kind, name, count(*) AS signals, row_number() OVER (PARTITION BY kind ORDER BY count(*) DESC, name) AS place,
        count(*) OVER (PARTITION BY kind) AS different
    FROM named GROUP BY kind, name
)
SELECT step, escalated, (SELECT usual FROM usual) AS usual, kind, name, signals, different
FROM peak LEFT JOIN counted ON place <= 3
ORDER BY kind, place
"""


def write_answer_sql(state: RiskState) -> str:
    """Return the query, with parameters."""
    return _ANSWER.format(range=IN_RANGE, conditions=conditions_of(state), mentions=mentions("hot"))


def copy_answer_sql(state: RiskState) -> str:
    """Return the query to copy."""
    return write_copy(write_answer_sql(state), state)


def load_answer(lab: Lab, state: RiskState) -> RiskAnswer:
    """Load the answer, once for all panes of an update."""
    return _SHARED(lab, state.pick(*PERIOD))


def forget_answer(lab: Lab) -> None:
    """Load it again for the next pane: the person of this lab wrote something."""
    _SHARED.forget(lab)


def _load(lab: Lab, picked: Picked) -> RiskAnswer:
    state = RiskState(**dict(picked))
    period = load_period(lab, state)
    rows = list(lab.sql(*bind(write_answer_sql(state), state, period)))
    counted: dict[str, list[Row]] = {}
    for row in rows:
        if row["kind"] in EntityType.__members__.values():
            counted.setdefault(read_text(row, "kind"), []).append(row)
    suspects = sorted(map(_read_suspects, counted.values()), key=_rank)
    ids = [entity.id for each in suspects for entity in each.entities if entity.type is EntityType.ISSUER]
    return RiskAnswer(
        period=period,
        start=period.time_of(read_whole(rows[0], "step")),
        escalated=read_whole(rows[0], "escalated"),
        usual=read_number(rows[0], "usual"),
        suspects=suspects,
        names=load_issuer_names(lab, ids),
    )


def _read_suspects(rows: Sequence[Row]) -> Suspects:
    """Take the first entity, or up to three if it is not named by half as many signals as they are."""
    counts = [read_whole(row, "signals") for row in rows]
    wanted = 1 if 2 * counts[0] > sum(counts) else len(counts)
    entities = [Entity(EntityType(read_text(row, "kind")), read_text(row, "name")) for row in rows[:wanted]]
    return Suspects(entities, sum(counts[:wanted]), read_whole(rows[0], "different"))


_PERSONAL: Final = (EntityType.DEVICE, EntityType.IP, EntityType.USER, EntityType.SESSION, EntityType.ISSUER)


def _rank(suspects: Suspects) -> tuple[int, int, int]:
    """Rank by signals, then by how few they are, then what a person holds before what it acts on."""
    kind = suspects.entities[0].type
    place = _PERSONAL.index(kind) if kind in _PERSONAL else len(_PERSONAL)
    return -suspects.signals, len(suspects.entities), place


_SHARED: Final = SharedLoad(_load, keep_s=_KEEP_S)


def draw_answer(answer: RiskAnswer, state: RiskState) -> Markup:
    """Draw the answer as one sentence whose bold words open what they name."""
    shown = write_span(answer.period.start, answer.period.end)
    if not answer.escalated:
        return html("No signal was escalated in the time shown, <b>{shown}</b>.", shown=shown)
    if not answer.stands_out:
        return html(
            "Nothing stands out: at most <b>{escalated}</b> {step} (usually {usual}), {when}.",
            escalated=plural(answer.escalated, "escalation"),
            step=state.shown_window.step_words,
            usual=f"{answer.usual:g}",
            when=write_step(answer.start, answer.period),
        )
    return html("{peak} {behind}", peak=_draw_peak(answer), behind=_draw_suspects(answer))


def _draw_peak(answer: RiskAnswer) -> Markup:
    times = answer.escalated / answer.usual if answer.usual else 0
    return html(
        'Escalations reached <button type="button" class="rk-link" data-ev="span" data-v="{span}" '
        'data-key="answer-span" title="Show only this time"><b>{escalated} {when}</b></button>, {usual}.',
        span=write_bounds(answer.start, answer.start + answer.period.step),
        escalated=count(answer.escalated),
        when=_write_when(answer),
        usual=html("<b>{times}</b> times the usual {usual}", times=f"{times:.0f}", usual=f"{answer.usual:g}")
        if times
        else "where there are usually none",
    )


def _write_when(answer: RiskAnswer) -> str:
    step = write_step(answer.start, answer.period)
    return f"in {step}" if step.startswith("the week") else f"on {step}"


def _draw_suspects(answer: RiskAnswer) -> Markup:
    culprit = answer.culprit
    if culprit is None:
        return _draw_crowd(answer)
    others = [each for each in answer.suspects if each is not culprit and _is_place(each, culprit)]
    place = html(", all for {issuer}", issuer=_draw_names(others[0], answer)) if others else NOTHING
    return html(
        "<b>{share}</b> name {names}{place}.",
        share=percent(culprit.signals, answer.escalated),
        names=_draw_names(culprit, answer),
        place=place,
    )


def _is_place(suspects: Suspects, culprit: Suspects) -> bool:
    """Whether these are the one issuer that all those signals name as well."""
    is_issuer = suspects.entities[0].type is EntityType.ISSUER
    return is_issuer and suspects.different == 1 and suspects.signals >= culprit.signals


def _draw_crowd(answer: RiskAnswer) -> Markup:
    """Say that no few are behind it, with how many are."""
    crowds = [f"{count(each.different)} {KINDS[each.entities[0].type][1]}" for each in answer.suspects[:3]]
    if not crowds:
        return NOTHING
    listed = crowds[0] if len(crowds) == 1 else f"{', '.join(crowds[:-1])} and {crowds[-1]}"
    return html("No small group is behind it: they name <b>{listed}</b>.", listed=listed)


def _draw_names(suspects: Suspects, answer: RiskAnswer) -> Markup:
    kind = suspects.entities[0].type
    links = (
        html(
            '<button type="button" class="rk-link" data-ev="entity" data-v="{key}" data-key="answer:{key}">'
            "<b>{label}</b></button>",
            key=write_entity_key(entity),
            label=label_of(entity, answer.names),
        )
        for entity in suspects.entities
    )
    noun = kind_of(kind).lower().replace("ip ", "IP ") if len(suspects.entities) == 1 else KINDS[kind][1]
    number = "" if len(suspects.entities) == 1 else f"{len(suspects.entities)} "
    return html("the {number}{noun} {names}", number=number, noun=noun, names=join(links, html(", ")))


PANE: Final = Pane(
    key="answer",
    load=load_answer,
    draw=draw_answer,
    reads=PERIOD,
    copy_sql=copy_answer_sql,
    is_common=True,
)
