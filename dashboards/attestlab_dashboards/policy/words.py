"""Words and small parts that the panes of the policy simulator share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Final, TypeVar

from markupsafe import Markup

from attestlab_dashboards import icons, widgets
from attestlab_dashboards.formats import plural
from attestlab_dashboards.policy.documents import DraftProblem, describe_value
from attestlab_dashboards.policy.queries import DraftReplay, PolicyText
from attestlab_dashboards.policy.state import PolicyState
from attestlab_dashboards.safe import html

NOUNS: Final = {
    "MINT": ("mint", "mints"),
    "VERIFY": ("verification", "verifications"),
    "BUNDLE_EXPORT": ("bundle export", "bundle exports"),
}
NO_WRITER: Final = "You may not change policies. Ask an owner, an admin or an analyst."
D = TypeVar("D")


def name_decisions(about: PolicyText, number: int) -> str:
    """Name a number of decisions by what was asked for: `1,842 mints`."""
    one, many = NOUNS.get(about.category, ("decision", "decisions"))
    return plural(number, one, many)


def effect_pill(effect: str) -> Markup:
    """Draw ALLOW or DENY."""
    return widgets.pill(effect, "good" if effect == "ALLOW" else "bad", "check" if effect == "ALLOW" else "cross")


def name_rule(rule: str | None) -> str:
    """Name the decider of a decision: a rule, or the default."""
    return "the default" if rule is None else rule


def name_policies(about: PolicyText) -> dict[str, str]:
    """Return the names of the tenant's policies by their ids."""
    names = {str(each.id): each.name for each in about.policies}
    return names if about.policy is None else names | {str(about.policy.id): about.policy.name}


def name_decider(policy: str | None, rule: str | None, names: Mapping[str, str], own: str) -> str:
    """Name the decider of a decision: its rule, with the policy if that is another one than the draft's."""
    if policy is None:
        return "no policy"
    if policy in (own, "draft") or policy not in names:
        return name_rule(rule)
    return f"{name_rule(rule)} of {names[policy]}"


def describe_segment(segments: Mapping[str, object]) -> str:
    """Name a segment by the values of its attributes."""
    return ", ".join(describe_value(value) for value in segments.values()) or "all"


def draw_problem(problem: DraftProblem) -> Markup:
    """Draw what stands instead of a result while the draft has an error."""
    return html(
        '<p class="po-none muted">Line {line} of the draft has an error. Correct it to see this.</p>', line=problem.line
    )


def when_replayed(draw: Callable[[DraftReplay, PolicyState], Markup]) -> Callable[[DraftReplay, PolicyState], Markup]:
    """Make a pane show the error of the draft, or that there was nothing to replay, instead of a result."""

    @wraps(draw)
    def draw_if_replayed(data: DraftReplay, state: PolicyState) -> Markup:
        missing = draw_if_missing(data)
        return draw(data, state) if missing is None else missing

    return draw_if_replayed


def draw_if_missing(data: DraftReplay) -> Markup | None:
    """Draw why there is no replay; None if there is one."""
    if data.report is None:
        return draw_problem(data.problems[0])
    if not data.report.decided:
        return widgets.empty(
            "Nothing to replay",
            f"No {NOUNS[data.about.category][0]} was decided for this target in this window.",
            widgets.button("All of the history", ev="window", v="all"),
        )
    return None


def draw_select(label: str, event: str, choices: Iterable[tuple[str, str]], chosen: str) -> Markup:
    """Draw a list to choose from, with its label."""
    return html(
        '<label class="po-choice">{label}<select class="in" data-ev="{event}" data-key="{event}">{options}</select>'
        "</label>",
        label=label,
        event=event,
        options=widgets.option_list(choices, chosen),
    )


def warning(text: str | Markup) -> Markup:
    """Draw a sentence with a warning sign."""
    return html('<p class="po-warning">{icon}{text}</p>', icon=icons.draw("warn"), text=text)
