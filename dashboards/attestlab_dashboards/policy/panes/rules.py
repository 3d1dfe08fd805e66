"""The rules: how often each matches and decides, what it changes, and what is proved of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from markupsafe import Markup

from attestlab.policy.shapes import FindingOut
from attestlab.simulation.shapes import RuleEffectOut
from attestlab_dashboards import widgets
from attestlab_dashboards.formats import count
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.policy.copying import write_policy
from attestlab_dashboards.policy.documents import (
    describe_condition,
    describe_witness,
    disable_rule,
    list_rules,
    write_value,
)
from attestlab_dashboards.policy.exports import export_part
from attestlab_dashboards.policy.queries import REPLAY_FIELDS, Proof, describe_work, load_proof
from attestlab_dashboards.policy.state import PolicyState
from attestlab_dashboards.policy.words import draw_if_missing, effect_pill
from attestlab_dashboards.safe import NOTHING, html, join


def copy_analysis(state: PolicyState) -> str:
    """Write the analysis."""
    return f"analysis = lab.policies.analyze({write_policy(state)})\nanalysis.findings.df()"


MAX_BUTTON_CHARS: Final = 8_000  # of a policy, because the button of each rule has a changed copy in its markup
MINUS: Final = "\N{MINUS SIGN}"
_COLUMNS: Final = (
    widgets.TableColumn("Rule"),
    widgets.TableColumn("Effect"),
    widgets.TableColumn("Priority", align="right", phone=False, is_for_desks=True),
    widgets.TableColumn("Hits", align="right"),
    widgets.TableColumn("Decisive", align="right"),
    widgets.TableColumn("Change in denials", align="right", phone=False),
    widgets.TableColumn("Change in denials as a bar", phone=False, is_spoken_only=True, is_for_desks=True),
    widgets.TableColumn("Proof"),
    widgets.TableColumn("Try without it", phone=False, is_spoken_only=True),
)


def draw_rules(data: Proof, state: PolicyState) -> Markup:
    """Draw the rules of the text in the order in which they are tried, then the default."""
    replay = data.replay
    missing = draw_if_missing(replay) if replay.report is None else None
    if missing is not None or replay.report is None or data.analysis is None:
        return missing or NOTHING
    report, document = replay.report, replay.about.document
    start = widgets.SHORT_PAGE_ROWS * (state.page - 1)
    effects = report.rules[start : start + widgets.SHORT_PAGE_ROWS]
    most = max([1, *(abs(_count_change(each)) for each in report.rules)])
    conditions = {str(rule.get("id")): describe_condition(rule.get("when")) for rule in list_rules(document)}
    findings = data.analysis.findings
    rows = [_draw_rule(each, most, conditions, findings, replay.about.text) for each in effects]
    keys = [each.rule for each in effects]
    pages = -(-len(report.rules) // widgets.SHORT_PAGE_ROWS)
    if state.page >= pages:
        rows.append(_draw_default(data))
        keys.append("default")
    return html(
        "{table}{pager}{witness}",
        table=widgets.table(_COLUMNS, rows, caption="Rules of the draft", keys=keys),
        pager=widgets.pager(min(state.page, max(1, pages)), pages, ev="page"),
        witness=_draw_difference(data),
    )


def _count_change(effect: RuleEffectOut) -> int:
    """Count the denials that the rule adds: the decisions that would be allowed without it, less those denied."""
    return effect.would_allow - effect.would_deny


def _draw_rule(
    effect: RuleEffectOut, most: int, conditions: Mapping[str, str], findings: Sequence[FindingOut], text: str
) -> list[Markup]:
    change = _count_change(effect)
    without = disable_rule(text, effect.rule) if len(text) <= MAX_BUTTON_CHARS else None
    return [
        html(
            '<button type="button" class="al-open" data-ev="rule" data-v="{id}" data-key="rule:{id}" title="{when}">'
            "<code>{id}</code></button>",
            when=conditions.get(effect.rule, ""),
            id=effect.rule,
        ),
        effect_pill(effect.effect),
        html("{n}", n=effect.priority),
        html("{n}", n=count(effect.hits)),
        html("{n}", n=count(effect.decisive)),
        html("<b>{n}</b>", n=f"{change:+,}".replace("-", MINUS) if change else "0"),
        _draw_bar(change, most),
        _draw_proof(effect.rule, findings),
        NOTHING if without is None else widgets.button("Try without", ev="draft", v=without),
    ]


def _draw_bar(change: int, most: int) -> Markup:
    width = 50 * abs(change) / most
    left = 50.0 if change >= 0 else 50 - width
    return html(
        '<span class="po-effect-bar"><i class="f-{tone}" style="left:{left}%;width:{width}%"></i></span>',
        tone="c4" if change >= 0 else "red",
        left=f"{left:.1f}",
        width=f"{max(width, 0.6):.1f}",
    )


def _draw_default(data: Proof) -> list[Markup]:
    report, document = data.replay.report, data.replay.about.document or {}
    own = None if report is None or report.policy.id is None else str(report.policy.id)
    decisive = (
        sum(each.count for each in report.groups if each.rule is None and each.policy in (own, None)) if report else 0
    )
    findings = [] if data.analysis is None else data.analysis.findings
    return [
        html("<code>default</code>"),
        effect_pill(str(document.get("default_effect", "DENY"))),
        NOTHING,
        NOTHING,
        html("{n}", n=count(decisive)),
        NOTHING,
        NOTHING,
        _draw_proof(None, findings),
        NOTHING,
    ]


def _draw_proof(rule: str | None, findings: Sequence[FindingOut]) -> Markup:
    """Draw what is proved of a rule: for each finding a word, the rules that cause it, and a witness."""
    found = [each for each in findings if each.rule_id == rule]
    if not found:
        return widgets.pill("live", "good", "check")
    return join(map(_draw_finding, found), html(" "))


def _draw_finding(finding: FindingOut) -> Markup:
    words = {
        "dead": "dead",
        "shadowed": "shadowed",
        "contradicting": "contradicting",
        "default_unreachable": "unreachable",
    }
    tone, glyph = ("bad", "cross") if finding.kind == "dead" else ("warn", "eye")
    return html(
        "{pill}{by}{witness}",
        pill=widgets.pill(words[finding.kind], "bad" if tone == "bad" else "warn", glyph),
        by=html(" by <b>{names}</b>", names=", ".join(finding.by)) if finding.by else _explain_finding(finding),
        witness=_draw_witness(finding.witness),
    )


def _explain_finding(finding: FindingOut) -> Markup:
    if finding.kind == "dead":
        return html(' <span class="muted">no context can match</span>')
    return (
        html(' <span class="muted">no context reaches it</span>') if finding.kind == "default_unreachable" else NOTHING
    )


def _draw_witness(witness: Mapping[str, object] | None) -> Markup:
    if witness is None:
        return NOTHING
    values = "\n".join(f"{name}={write_value(value)}" for name, value in witness.items())
    return html(
        ', <button type="button" class="al-open" data-ev="try" data-v="{values}" data-key="try:{values}" '
        'title="{words}">witness</button>',
        values=values,
        words=describe_witness(witness),
    )


def _draw_difference(data: Proof) -> Markup:
    """Draw whether the text can ever decide otherwise than the active version, with a context where it does."""
    analysis, policy = data.analysis, data.replay.about.policy
    if analysis is None or analysis.equivalent is None or policy is None or not data.replay.about.is_draft:
        return NOTHING
    version = policy.active_version
    if analysis.equivalent:
        return html(
            '<p class="sub po-proof">Proved: it decides every possible context as version {v} does.</p>', v=version
        )
    return html(
        '<p class="sub po-proof">Proved: it decides some contexts otherwise than version {v}, '
        "such as {words}{try_it}.</p>",
        v=version,
        words=describe_witness(analysis.witness or {}),
        try_it=_draw_witness(analysis.witness),
    )


PANE: Final = Pane(
    key="rules",
    question="What does each rule do?",
    reading="Decisive: the rule gave the answer. Change in denials: against the draft without it.",
    how="Open a rule for more",
    load=load_proof,
    draw=draw_rules,
    reads=REPLAY_FIELDS,
    export=export_part("rules"),
    copy_python=copy_analysis,
    is_long=True,
    expects=describe_work,
)
