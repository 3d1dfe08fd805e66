"""The tree of a rule as it was evaluated: the truth of each comparison, and what decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from markupsafe import Markup

from attestlab.policy.decision_shapes import ExplainedRuleOut
from attestlab_dashboards import icons
from attestlab_dashboards.policy.documents import describe_leaf, describe_value
from attestlab_dashboards.policy.words import effect_pill
from attestlab_dashboards.safe import NOTHING, html, join

_JUNCTIONS: Final = {"all": "all of", "any": "any of", "not": "not"}
_GLYPHS: Final = {"true": ("check", "good"), "false": ("cross", "calm"), "unknown": ("minus", "warn")}
RuleNode = Mapping[str, Any]  # a condition of a policy as JSON


def draw_rule(rule: ExplainedRuleOut, deciding: str | None) -> Markup:
    """Draw a rule with the truth of each part of its condition; the deciding one is unfolded."""
    word = "decides" if rule.id == deciding else "would match, not reached" if rule.matched else "does not match"
    if rule.mode == "MONITOR":
        word = "watched only, matches" if rule.matched else "watched only"
    return html(
        '<details class="po-rule" id="po-rule-{id}"{open}><summary>{glyph}<b>{id}</b>{effect}'
        '<span class="muted">{word}</span></summary>{tree}</details>',
        id=rule.id,
        open=html(" open") if rule.id == deciding else NOTHING,
        glyph=_draw_glyph("true" if rule.matched else "false"),
        effect=effect_pill(rule.effect),
        word=word,
        tree=_draw_node(rule.when),
    )


def _draw_glyph(truth: str) -> Markup:
    icon, tone = _GLYPHS.get(truth, _GLYPHS["unknown"])
    words = {"true": "true", "false": "false"}.get(truth, "unknown")
    return html(
        '<span class="po-truth {tone}" title="{words}">{icon}<span class="al-hidden">{words}</span></span>',
        tone=tone,
        words=words,
        icon=icons.draw(icon),
    )


def _draw_node(node: RuleNode) -> Markup:
    """Draw a node of a condition with its truth; a leaf also with the value that it saw."""
    glyph = _draw_glyph(str(node["truth"]))
    if node["kind"] == "leaf":
        seen = f"is {describe_value(node['actual'])}" if "actual" in node else _describe_absence(str(node["truth"]))
        return html(
            '<div class="po-leaf">{glyph}<code data-syntax>{leaf}</code><span class="muted">{seen}</span></div>',
            glyph=glyph,
            leaf=describe_leaf(node),
            seen=seen,
        )
    return html(
        '<div class="po-node"><div class="po-leaf">{glyph}<span>{word}</span></div>'
        '<div class="po-parts">{parts}</div></div>',
        glyph=glyph,
        word=_JUNCTIONS.get(str(node["kind"]), node["kind"]),
        parts=join(map(_draw_node, node["parts"])),
    )


def _describe_absence(truth: str) -> str:
    return {"true": "missing, counts as true", "false": "missing, counts as false"}.get(truth, "missing, so unknown")
