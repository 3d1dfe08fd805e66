"""One decision, live: a context, and what the draft and the active version decide of it. Nothing is recorded."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Final, NamedTuple

from attestlab import Lab
from attestlab.client.handles.draft_decisions import DraftDecisionHandle
from attestlab.client.handles.policies import AttributeHandle, ExplanationHandle
from attestlab.core.errors import ValidationFailed
from attestlab_dashboards.policy.documents import DraftProblem, list_attributes
from attestlab_dashboards.policy.queries import PolicyText, load_text, read_problems
from attestlab_dashboards.policy.shared_loads import share
from attestlab_dashboards.policy.state import PolicyState

RECENT: Final = 15  # recorded decisions to choose from
DECIDING_FIELDS: Final = ("policy", "version", "category", "draft", "decision", "context")


class StartingDecision(NamedTuple):
    """A recorded decision to begin with."""

    id: str
    at: datetime
    allowed: bool
    words: str


class LiveDecision(NamedTuple):
    """A context and its decisions.

    Attributes:
        attributes: those that a rule of either text tests, then the others that have a value.
        values: the context, as typed into the form.
        recorded: the decision that the values began with; None if there is none yet.
        draft: what the text decides; None if the service refuses the text.
        active: what the active version decides; None if there is none, or it is the text itself.
    """

    about: PolicyText
    attributes: tuple[AttributeHandle, ...]
    others: tuple[AttributeHandle, ...]
    values: dict[str, str]
    recent: tuple[StartingDecision, ...]
    recorded: ExplanationHandle | None
    draft: DraftDecisionHandle | None
    active: DraftDecisionHandle | None
    problems: tuple[DraftProblem, ...]


def load_decision(lab: Lab, state: PolicyState) -> LiveDecision:
    """Decide the context of the form."""
    about = load_text(lab, state)
    known = share(lab).get("attributes", lambda: tuple(lab.policies.attributes()))
    recent = share(lab).get(("recent", about.category), lambda: _list_recent(lab, about.category))
    chosen = state.decision or (recent[0].id if recent else "")
    recorded = share(lab).get(("decision", chosen), lambda: lab.policies.explain(chosen)) if chosen else None
    values = _flatten({} if recorded is None else recorded.context) | dict(state.context)
    values = {path: value for path, value in values.items() if value}
    context = {each.path: read_value(each, values[each.path]) for each in known if each.path in values}
    tested = list_attributes(about.document, about.active)
    first = [each for path in tested for each in known if each.path == path]
    others = [each for each in known if each.path not in tested]
    draft, problems = _decide_text(lab, about, context)
    active = None if about.active is None else lab.policies.decide(about.active, context)
    others.sort(key=lambda each: each.path not in values)
    return LiveDecision(about, tuple(first), tuple(others), values, recent, recorded, draft, active, problems)


def _decide_text(
    lab: Lab, about: PolicyText, context: dict[str, object]
) -> tuple[DraftDecisionHandle | None, tuple[DraftProblem, ...]]:
    try:
        return lab.policies.decide(about.source, context), ()
    except ValidationFailed as error:
        return None, read_problems(about.text, error)


def _list_recent(lab: Lab, category: str) -> tuple[StartingDecision, ...]:
    rows = lab.sql(
        "select id, created_at, allowed, concat_ws(', ', jurisdiction, trust_tier, risk_rating) as words "
        f"from decisions where action = ? order by seq desc limit {RECENT}",
        [category],
    )
    return tuple(
        StartingDecision(str(row["id"]), row["created_at"], bool(row["allowed"]), str(row["words"]))  # type: ignore[arg-type]  # the column's type is fixed
        for row in rows
    )


def read_value(attribute: AttributeHandle, text: str) -> object:
    """Read what a person typed as a value of an attribute; what is no number stays a text, which counts as missing."""
    if attribute.type in ("number", "integer"):
        with suppress(ValueError):
            number = float(text)
            return int(number) if attribute.type == "integer" and number.is_integer() else number
    if attribute.type == "boolean":
        return {"true": True, "false": False}.get(text.lower(), text)
    return text


def _flatten(context: object, prefix: str = "") -> dict[str, str]:
    """Write a recorded context, which may be nested, as texts by path."""
    found: dict[str, str] = {}
    for name, value in context.items() if isinstance(context, dict) else ():
        if isinstance(value, dict):
            found |= _flatten(value, f"{prefix}{name}.")
        elif value is not None:
            found[f"{prefix}{name}"] = ("true" if value else "false") if isinstance(value, bool) else str(value)
    return found
