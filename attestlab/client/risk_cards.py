"""The contents of the cards of risk: the score or state in a word, what matters in lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from pydantic_core import to_json

from attestlab.client.cards import CardRow, CardTone, Markup, draw_card, join, write_bar, write_code, write_time

if TYPE_CHECKING:
    from attestlab.client.handles.risk import (
        BulkHandle,
        CaseHandle,
        DriftHandle,
        EntityHandle,
        GraphHandle,
        LoginHandle,
        NormalizedHandle,
        RiskSimulationHandle,
        ScanHandle,
        SignalHandle,
        SourceHandle,
        VelocityHandle,
    )
    from attestlab.risk.shapes import FactorOut
    from attestlab.simulation.risk.shapes import ProportionOut

MAX_LINES = 6
HIGH, ELEVATED = 80.0, 60.0  # scores that are bad, and that deserve a look
_MAX_SCORE = 100.0
_DRIFT: Final = {"major": CardTone.BAD, "moderate": CardTone.WARN}


def draw_signal(signal: SignalHandle) -> str:
    """Draw the card of a signal."""
    rows = [
        CardRow("About", write_code(f"{signal.entity_type}:{signal.entity_id}")),
        CardRow("From", f"{signal.source}, {signal.signal_type}"),
        CardRow("Occurred", write_time(signal.occurred_at)),
        CardRow("Case", signal.case_id and write_code(signal.case_id)),
        *_list_members(signal.details),
        *(CardRow("Warning", each) for each in signal.warnings),
    ]
    return draw_card(_tone_of(signal.score), _say_score(signal.score), "Risk signal", rows)


def draw_entity(entity: EntityHandle) -> str:
    """Draw the card of an entity: its highest recent score, its cases, its lists, its newest signals."""
    highest = max((each.score for each in entity.signals), default=0.0)
    is_open = any(each.status == "open" for each in entity.cases)
    rows = [
        CardRow("Cases", f"{len(entity.cases):,}, {'one is open' if is_open else 'none is open'}"),
        CardRow("Lists", ", ".join(sorted({each.list for each in entity.lists})) or "none"),
        *(CardRow(_say_score(each.score), f"{each.source}, {each.signal_type}") for each in entity.signals[:MAX_LINES]),
    ]
    title = f"{entity.entity_type} {entity.entity_id}"
    return draw_card(_tone_of(highest), _count(len(entity.signals), "signal").upper(), title, rows)


def draw_graph(graph: GraphHandle) -> str:
    """Draw the card of a graph: how many entities of each type, and the rings."""
    types = sorted({each.type for each in graph.nodes})
    rows = [CardRow(kind, f"{sum(each.type == kind for each in graph.nodes):,}") for kind in types]
    rows.append(CardRow("Links", f"{len(graph.edges):,}"))
    for ring in graph.rings[:MAX_LINES]:
        shared = ", ".join(f"{each.type} {each.id}" for each in ring.shared[:3])
        rows.append(CardRow("Ring", f"{len(ring.users)} users share {shared}"))
    tone, word = (
        (CardTone.WARN, _count(len(graph.rings), "ring").upper()) if graph.rings else (CardTone.GOOD, "NO RING")
    )
    foot = "The graph is larger; this is the part nearest to its first entity." if graph.truncated else None
    return draw_card(tone, word, f"{len(graph.nodes):,} entities", rows, foot=foot)


def draw_case(case: CaseHandle) -> str:
    """Draw the card of a case."""
    rows = [
        CardRow("Signals", f"{case.signal_count:,}"),
        CardRow("Highest", _draw_score(case.max_score)),
        CardRow("Opened", write_time(case.opened_at)),
        CardRow("Resolved", case.resolved_at and write_time(case.resolved_at)),
        CardRow("Outcome", case.outcome),
        CardRow("Note", case.note),
        CardRow("Id", write_code(case.id)),
    ]
    tone = CardTone.WARN if case.status == "open" else CardTone.CALM
    return draw_card(tone, case.status.upper(), f"Case of {case.entity_type} {case.entity_id}", rows)


def draw_scored(answer: LoginHandle | ScanHandle | VelocityHandle, word: str, title: str) -> str:
    """Draw the card of a score: its factors, which sum to it, the largest first."""
    windows = getattr(answer, "windows", None) or {}
    rows = [
        CardRow("Score", _draw_score(answer.score)),
        *(CardRow(f"Within {name}", f"{count:,}") for name, count in windows.items()),
        *_list_factors(answer.factors),
        CardRow("Signal", answer.signal_id and write_code(answer.signal_id)),
    ]
    return draw_card(_tone_of(answer.score), word.upper(), title, rows)


def draw_normalized(event: NormalizedHandle) -> str:
    """Draw the card of a raw event that became a signal."""
    signal = event.signal
    rows = [
        CardRow("Signal", f"{signal.source}, {signal.signal_type}"),
        CardRow("Score", _draw_score(signal.score)),
        CardRow("Occurred", write_time(signal.occurred_at)),
    ]
    tone, word = (CardTone.GOOD, "NORMALIZED") if event.normalized else (CardTone.WARN, "UNKNOWN TYPE")
    return draw_card(tone, word, f"{signal.entity_type} {signal.entity_id}", rows)


def draw_drift(drift: DriftHandle) -> str:
    """Draw the card of drift: each source and type whose scores moved, strongest first."""
    moved = [each for each in drift.items if each.level in _DRIFT]
    rows = [CardRow("Compared with", f"{write_time(drift.reference_since)} to {write_time(drift.since)}")]
    for each in moved[:MAX_LINES]:
        bar = write_bar((each.psi or 0.0), _DRIFT[each.level], f"PSI {each.psi:.2f}, {each.level}")
        rows.append(CardRow(f"{each.source}, {each.signal_type}", bar))
    worst = _DRIFT[moved[0].level] if moved else CardTone.GOOD
    word = f"{len(moved)} MOVED" if moved else "STABLE"
    return draw_card(worst, word, f"of {_count(len(drift.items), 'kind')} until {write_time(drift.until)}", rows)


def draw_source(source: SourceHandle) -> str:
    """Draw the card of a source of signals."""
    rows = [
        CardRow("Signals", f"{source.count:,}"),
        CardRow("First", write_time(source.first_seen)),
        CardRow("Last", write_time(source.last_seen)),
        CardRow("Usual gap", source.typical_gap_s and f"{source.typical_gap_s:,} s"),
        CardRow("Warning", source.warning),
    ]
    tone, word = (CardTone.WARN, "SILENT") if source.silent else (CardTone.GOOD, "SENDS")
    return draw_card(tone, word, source.source, rows)


def draw_risk_simulation(report: RiskSimulationHandle) -> str:
    """Draw the card of a what-if: how good the rules would have been, next to the live threshold."""
    live, counts = report.live, report.confusion
    rows = [
        CardRow("Precision", _compare(report.precision, live.precision)),
        CardRow("Recall", _compare(report.recall, live.recall)),
        CardRow("False alarms", _compare(report.fpr, live.fpr)),
        CardRow("Found fraud", f"{counts.true_positive:,} of {counts.true_positive + counts.false_negative:,}"),
        CardRow("Cost", f"{report.cost:,.0f} (live {live.cost:,.0f})"),
        CardRow("Decisions that change", f"{sum(each.count for each in report.flips):,}"),
    ]
    tone = CardTone.GOOD if report.cost <= live.cost else CardTone.WARN
    word = "CHEAPER" if report.cost < live.cost else "AS DEAR" if report.cost == live.cost else "DEARER"
    return draw_card(tone, word, f"{_count(report.signals, 'signal')} replayed", rows)


def draw_bulk(bulk: BulkHandle) -> str:
    """Draw the card of many signals: what was recorded, what was not, and why."""
    rows = [
        CardRow("accepted", f"{bulk.accepted:,}"),
        CardRow("rejected", f"{bulk.rejected_count:,}"),
        CardRow("not sent", f"{bulk.not_read:,}"),
        *(CardRow(f"row {each.line:,}", each.message) for each in bulk.rejected[:MAX_LINES]),
        *(CardRow("warning", each) for each in bulk.warnings),
    ]
    is_whole = not bulk.rejected_count and not bulk.not_read
    tone, word = (CardTone.GOOD, "ALL RECORDED") if is_whole else (CardTone.WARN, "NOT ALL RECORDED")
    foot = join("Every rejected row: ", write_code(".rejected.df()")) if bulk.rejected else None
    return draw_card(tone, word, _count(bulk.accepted, "signal"), rows, foot=foot)


def _tone_of(score: float) -> CardTone:
    return CardTone.BAD if score >= HIGH else CardTone.WARN if score >= ELEVATED else CardTone.CALM


def _say_score(score: float) -> str:
    return f"{score:.1f}".removesuffix(".0")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _draw_score(score: float) -> Markup:
    return write_bar(score / _MAX_SCORE, _tone_of(score), _say_score(score))


def _list_factors(factors: Sequence[FactorOut]) -> Iterator[CardRow]:
    for each in sorted(factors, key=lambda factor: -factor.contribution)[:MAX_LINES]:
        yield CardRow(f"{each.contribution:+g}", each.explanation)


def _list_members(details: Mapping[str, object]) -> Iterator[CardRow]:
    """Yield the members of a signal's details; the factors of a score of ours have a line each."""
    for name, value in [*details.items()][:MAX_LINES]:
        if name == "factors" and isinstance(value, list) and all(map(_is_factor, value)):
            yield from (CardRow(f"{each['contribution']:+g}", each["explanation"]) for each in value[:MAX_LINES])
        else:
            yield CardRow(name, value if isinstance(value, str | int | float) else to_json(value).decode())


def _is_factor(value: object) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("contribution"), int | float) and "explanation" in value


def _compare(own: ProportionOut, live: ProportionOut) -> str:
    return f"{_say_share(own)} (live {_say_share(live)})"


def _say_share(share: ProportionOut) -> str:
    if share.value is None:
        return "not known"
    return f"{share.value:.0%} [{share.low:.0%} to {share.high:.0%}]"
