"""The contents of the cards of risk: what was found in a word and a sentence, its numbers, what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from attestlab.client.cards import CardRow, CardTone, Markup, draw_card, join, write_bar, write_code, write_time
from attestlab.core.counting import plural
from attestlab.risk.rules import DEFAULT_ESCALATION_THRESHOLD, MAX_SCORE, SIGNAL_THRESHOLD, write_entity_key

if TYPE_CHECKING:
    from attestlab.risk.enforcement.shapes import CaseOut
    from attestlab.risk.entities.shapes import EntityOut, GraphOut
    from attestlab.risk.normalization.shapes import NormalizedOut
    from attestlab.risk.shapes import DriftOut, FactorOut, KindDriftOut, LoginOut, ScanOut, VelocityOut
    from attestlab.risk.signals.shapes import BulkOut, SignalOut
    from attestlab.simulation.risk.shapes import ProportionOut, RiskSimulationOut

MAX_LINES = 5
_LEFT_OUT = "older signals or cases, or further actions: lab.signals.list() and lab.cases.list() have all"
_DRIFT_TONES = {"major": CardTone.BAD, "moderate": CardTone.WARN}


def draw_bulk(bulk: BulkOut) -> str:
    """Draw the card of many signals: accepted, rejected, not sent, and the first reasons."""
    rows = [
        CardRow("Not sent", f"{bulk.not_read:,}"),
        *(CardRow("Warning", each) for each in bulk.warnings[:MAX_LINES]),
    ]
    title = f"{bulk.accepted:,} of {_count_rows(bulk):,} signals were recorded"
    return _draw_rows_taken(bulk, "BULK", title, rows)


def draw_login_backfill(bulk: BulkOut, learnt: int) -> str:
    """Draw the card of a past of logins: accepted, rejected, learnt, and the first reasons."""
    title = f"{bulk.accepted:,} of {_count_rows(bulk):,} logins were accepted"
    return _draw_rows_taken(bulk, "LOGINS", title, [CardRow("Learnt", f"{learnt:,}")])


def count_rejected(bulk: BulkOut) -> int:
    """Count the rejected rows, with those that are only counted."""
    return len(bulk.rejected) + bulk.more_rejected


def _draw_rows_taken(bulk: BulkOut, word: str, title: str, rows: Sequence[CardRow]) -> str:
    reasons = [CardRow(f"Row {each.line:,}", each.message) for each in bulk.rejected[:MAX_LINES]]
    rejected = count_rejected(bulk)
    counts = [CardRow("Accepted", f"{bulk.accepted:,}"), CardRow("Rejected", f"{rejected:,}")]
    is_whole = not rejected and not bulk.not_read
    foot = None if is_whole else join("All reasons: ", write_code("result.rejected.df()"))
    tone = CardTone.GOOD if is_whole else CardTone.WARN
    return draw_card(tone, word, title, [*counts, *rows, *reasons], foot=foot)


def _count_rows(bulk: BulkOut) -> int:
    return bulk.accepted + count_rejected(bulk) + bulk.not_read


def draw_signal(signal: SignalOut, warnings: Sequence[str]) -> str:
    """Draw the card of a signal."""
    rows = [
        CardRow("Score", _write_score(signal.score)),
        CardRow("Entity", write_entity_key(signal.entity_type, signal.entity_id)),
        CardRow("Occurred", write_time(signal.occurred_at)),
        CardRow("Case", signal.case_id and write_code(signal.case_id)),
        CardRow("Warning", "; ".join(warnings) or None),
        CardRow("Id", write_code(signal.id)),
    ]
    foot = join("What else is known? ", write_code("signal.entity()"))
    return draw_card(_tone_of(signal.score), "SIGNAL", f"{signal.signal_type} from {signal.source}", rows, foot=foot)


def draw_case(case: CaseOut) -> str:
    """Draw the card of a case."""
    rows = [
        CardRow("Signals", f"{case.signal_count:,}"),
        CardRow("Highest", _write_score(case.max_score)),
        CardRow("Opened", write_time(case.opened_at)),
        CardRow("Resolved", case.resolved_at and f"{write_time(case.resolved_at)}, by {case.resolved_by}"),
        CardRow("Note", case.note),
        CardRow("Comments", case.comment_count or None),
        CardRow("Id", write_code(case.id)),
    ]
    tone = CardTone.WARN if case.status == "open" else CardTone.BAD if case.outcome == "fraud" else CardTone.GOOD
    word = (case.outcome or case.status).upper()
    foot = join("Decide: ", write_code('case.resolve("fraud")')) if case.status == "open" else None
    return draw_card(tone, word, write_entity_key(case.entity_type, case.entity_id), rows, foot=foot)


def draw_entity(entity: EntityOut) -> str:
    """Draw the card of what is known about an entity."""
    scores = [signal.score for signal in entity.signals]
    actions = [f"{name}: {count_by_window(windows)}" for name, windows in entity.windows.items()]
    rows = [
        CardRow("Signals", f"{len(scores):,} newest" if scores else "none"),
        CardRow("Highest", _write_score(max(scores)) if scores else None),
        CardRow("Cases", _count_statuses([case.status for case in entity.cases])),
        CardRow("Lists", ", ".join(f"{each.list}: {each.reason}" for each in entity.lists) or "none"),
        CardRow("Actions", "; ".join(actions[:MAX_LINES]) or None),
        CardRow("Left out", _LEFT_OUT if entity.truncated else None),
    ]
    foot = join("Who is near? ", write_code(f"lab.signals.graph({entity.entity_type!r}, ...)"))
    return draw_card(
        _tone_of(max(scores, default=0)),
        "ENTITY",
        write_entity_key(entity.entity_type, entity.entity_id),
        rows,
        foot=foot,
    )


def draw_graph(graph: GraphOut) -> str:
    """Draw the card of a graph: its size, its kinds of entities and its rings."""
    kinds = _count_statuses([node.type for node in graph.nodes])
    rings = [
        CardRow(f"Ring {number}", f"{len(ring.users)} users share {len(ring.shared)}, density {ring.density:.2f}")
        for number, ring in enumerate(graph.rings[:MAX_LINES], 1)
    ]
    highest = max((node.max_score for node in graph.nodes if node.max_score is not None), default=None)
    rows = [
        CardRow("Entities", kinds),
        CardRow("Links", f"{len(graph.edges):,}"),
        CardRow("Rings", f"{len(graph.rings):,}"),
        *rings,
        CardRow("Highest", None if highest is None else _write_score(highest)),
        CardRow("Complete", "no: bounds left some out" if graph.truncated else None),
    ]
    tone = CardTone.WARN if graph.rings else CardTone.CALM
    around = f"around {write_entity_key(graph.nodes[0].type, graph.nodes[0].id)}" if graph.nodes else ""
    foot = join("As tables: ", write_code("graph.nodes.df()"), ", ", write_code("graph.edges.df()"))
    return draw_card(tone, "GRAPH", f"{plural(len(graph.nodes), 'entity', 'entities')} {around}", rows, foot=foot)


def draw_drift(drift: DriftOut) -> str:
    """Draw the card of a drift: how many kinds of signals moved, and the strongest ones."""
    moved = [each for each in drift.items if each.level in _DRIFT_TONES]
    rows = [
        CardRow("Window", f"{write_time(drift.since)} to {write_time(drift.until)}"),
        CardRow("Against", f"the time from {write_time(drift.reference_since)}"),
        *(CardRow(f"{each.source}, {each.signal_type}", _describe_drift(each)) for each in drift.items[:MAX_LINES]),
        CardRow("Complete", "no: bounds left some out" if drift.truncated else None),
    ]
    tone = _DRIFT_TONES.get(drift.items[0].level, CardTone.GOOD) if drift.items else CardTone.CALM
    foot = join("All of them: ", write_code("drift.items.df()"))
    title = f"{len(moved)} of {plural(len(drift.items), 'kind')} of signals moved"
    return draw_card(tone, "DRIFT", title, rows, foot=foot)


def draw_risk_simulation(report: RiskSimulationOut) -> str:
    """Draw the card of a simulation of rules: its hits and misses beside those of the live rule."""
    live, found = report.live, report.confusion
    rows = [
        CardRow("Fraud found", _compare(report.recall, live.recall)),
        CardRow("Precision", _compare(report.precision, live.precision)),
        CardRow("False alarms", f"{found.false_positive:,}, live {live.confusion.false_positive:,}"),
        CardRow("Missed fraud", f"{found.false_negative:,}, live {live.confusion.false_negative:,}"),
        CardRow("Cost", f"{report.cost:,.0f}, live {live.cost:,.0f}"),
        CardRow("Rules", _list_rules(report)),
        CardRow("Judgement", report.promotion.summary),
    ]
    is_better = report.promotion.is_better
    tone, word = (CardTone.GOOD, "BETTER") if is_better else (CardTone.WARN, "NOT BETTER")
    foot = join("Live: from a score of ", f"{live.escalation_threshold:g}. By rule: ", write_code("report.rules.df()"))
    return draw_card(tone, word, f"{plural(report.signals, 'signal')} replayed", rows, foot=foot)


def draw_score(answer: VelocityOut | LoginOut | ScanOut, word: str, title: str) -> str:
    """Draw the card of a score that the service gave, with the factors that explain it."""
    rows = [CardRow("Score", _write_score(answer.score)), *map(_draw_factor, answer.factors[:MAX_LINES])]
    signal = answer.signal_id
    foot = f"Below {SIGNAL_THRESHOLD:g}: no signal." if signal is None else join("Signal ", write_code(signal))
    return draw_card(_tone_of(answer.score), word.upper(), title, rows, foot=foot)


def draw_normalized(event: NormalizedOut) -> str:
    """Draw the card of a raw event: the signal that it became."""
    signal = event.signal
    rows = [
        CardRow("Score", _write_score(signal.score)),
        CardRow("Signal", f"{signal.signal_type} from {signal.source}"),
        CardRow("Entity", write_entity_key(signal.entity_type, signal.entity_id)),
        CardRow("Event", signal.event_id and write_code(signal.event_id)),
    ]
    known = event.normalized
    word, title = ("MAPPED", "by the mapping") if known else ("NOT MAPPED", "The mapping does not know its type")
    return draw_card(CardTone.GOOD if known else CardTone.WARN, word, title, rows)


def count_by_window(windows: Mapping[str, int]) -> str:
    """Write counts with their windows."""
    return ", ".join(f"{count:,} in {window}" for window, count in windows.items())


def _write_score(score: float) -> Markup:
    return write_bar(score / MAX_SCORE, _tone_of(score), f"{score:g}")


def _tone_of(score: float) -> CardTone:
    if score >= DEFAULT_ESCALATION_THRESHOLD:
        return CardTone.BAD
    return CardTone.WARN if score >= SIGNAL_THRESHOLD else CardTone.CALM


def _draw_factor(factor: FactorOut) -> CardRow:
    return CardRow(factor.name.replace("_", " "), f"{factor.contribution:+.1f}: {factor.explanation}")


def _describe_drift(kind: KindDriftOut) -> str:
    level = kind.level.replace("_", " ")
    return level if kind.psi is None else f"{level}, index {kind.psi:.2f}"


def _count_statuses(words: Sequence[str]) -> str:
    return ", ".join(f"{words.count(word):,} {word}" for word in dict.fromkeys(words)) or "none"


def _compare(found: ProportionOut, live: ProportionOut) -> str:
    return f"{_write_share(found)}, live {_write_share(live)}"


def _write_share(share: ProportionOut) -> str:
    return "none observed" if share.value is None else f"{share.value:.1%} ({share.low:.0%} to {share.high:.0%})"


def _list_rules(report: RiskSimulationOut) -> str:
    return "; ".join(f"{each.rule_id}: {each.escalated:,}" for each in report.rules[:MAX_LINES]) or "none"
