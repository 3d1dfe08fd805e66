"""The text of the draft: an editor with line numbers, its errors, and what it changes in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup
from pydantic import BaseModel

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab_dashboards import icons, widgets
from attestlab_dashboards.formats import count, plural
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.policy.copying import copy_simulation
from attestlab_dashboards.policy.documents import (
    DraftProblem,
    correct,
    describe_changes,
    describe_condition,
    list_rules,
)
from attestlab_dashboards.policy.exports import require_report
from attestlab_dashboards.policy.notation import MAX_DRAFT_CHARS
from attestlab_dashboards.policy.queries import (
    REPLAY_FIELDS,
    DraftReplay,
    PolicyText,
    describe_work,
    load_replay,
    load_text,
)
from attestlab_dashboards.policy.state import PolicyState
from attestlab_dashboards.policy.words import NO_WRITER
from attestlab_dashboards.safe import NOTHING, html, join


class RuleRow(BaseModel):
    """A rule of the text, with its condition in words."""

    rule: str
    effect: str
    mode: str
    priority: int | None
    condition: str
    reason: str | None


def export_rules(lab: Lab, state: PolicyState) -> Records[RuleRow]:
    """Export the rules of the text."""
    require_report(lab, state)
    rows = (
        RuleRow(
            rule=str(rule["id"]),
            effect=str(rule["effect"]),
            mode=str(rule.get("mode", "ENFORCE")),
            priority=rule.get("priority"),
            condition=describe_condition(rule.get("when")),
            reason=rule.get("reason"),
        )
        for rule in list_rules(load_text(lab, state).document)
    )
    return Records(rows, RuleRow)


_FOLDED_LINES: Final = 24  # a longer text is folded until a person opens it, or writes in it
_MAX_PROBLEMS: Final = 5


def describe_text(data: DraftReplay, _state: PolicyState) -> str:
    """Describe the text in a line: what it is, and how much it changes."""
    about = data.about
    if about.policy is None:
        return "A new policy, not saved yet"
    if data.problems:
        return f"{about.name} of {about.policy.name}. Correct line {data.problems[0].line} first"
    if about.active is None or about.document is None:
        return f"{about.name} of {about.policy.name}"
    changes = 0 if data.report is None else len(describe_changes(about.active, about.document))
    words = "the same rules" if not changes else plural(changes, "change")
    return f"{about.name} of {about.policy.name}. Against version {about.policy.active_version}: {words}"


def draw_editor(data: DraftReplay, state: PolicyState) -> Markup:
    """Draw the editor, the errors at their lines, and the difference."""
    about, problems = data.about, data.problems
    return html(
        '<form class="po-editor" data-ev="draft"><div class="po-code">'
        '<div class="po-lines" data-lines aria-hidden="true">{lines}</div>'
        '<textarea name="v" aria-label="Policy as TOML" spellcheck="false" autocomplete="off" data-unfolds="po-whole" '
        'maxlength="{most}" rows="{rows}" aria-invalid="{invalid}" data-keep="{keep}">\n{text}</textarea></div>{fold}'
        '<p class="po-warning" data-kept hidden>{warn}<span>This is what you wrote before the page was loaded again. '
        'It is not replayed yet.</span><button type="button" class="btn sm">Drop it</button></p>'
        '{problems}<div class="po-buttons"><button type="submit" class="btn sm primary" data-key="replay-draft">{icon}'
        "Replay this text</button>{undo}{save}</div></form>{difference}",
        lines=_draw_lines(about.text, {each.line for each in problems}),
        fold=_draw_fold(about.text),
        most=MAX_DRAFT_CHARS,
        rows=about.text.count("\n") + 2,
        invalid="true" if problems else "false",
        keep=f"{'new' if about.policy is None else about.policy.id}:{about.version}",
        warn=icons.draw("warn"),
        text=about.text,
        problems=join([*(_draw_problem(each, about.text) for each in problems[:_MAX_PROBLEMS]), _draw_rest(problems)]),
        icon=icons.draw("play"),
        undo=widgets.button("Discard the draft", ev="draft") if state.draft else NOTHING,
        save=_draw_save(about, bool(problems)),
        difference=_draw_difference(about, bool(problems)),
    )


def _draw_rest(problems: Sequence[DraftProblem]) -> Markup:
    left = len(problems) - _MAX_PROBLEMS
    return html('<p class="small muted">and {left} more</p>', left=left) if left > 0 else NOTHING


def _draw_lines(text: str, wrong: set[int]) -> Markup:
    """Draw the lines that stand behind the text: they wrap as it does, so each keeps its number at its side."""
    return join(
        html("<div{wrong}>{line}</div>", wrong=html(' class="wrong"') if number in wrong else NOTHING, line=line)
        for number, line in enumerate(text.split("\n"), 1)
    )


def _draw_fold(text: str) -> Markup:
    """Draw the button that shows all of a long text."""
    lines = text.count("\n") + 1
    if lines <= _FOLDED_LINES:
        return NOTHING
    return html(
        '<details class="po-whole" id="po-whole"><summary><span>Show all {lines} lines</span><span>Fold the text</span>'
        "</summary></details>",
        lines=count(lines),
    )


def _draw_problem(problem: DraftProblem, text: str) -> Markup:
    message, nearest = problem.message, NOTHING
    if problem.nearest:
        message = message.replace(f"; did you mean {problem.nearest}?", ".")
        nearest = html(" Nearest: <code>{name}</code>", name=problem.nearest)
    fixed = correct(text, problem)
    button = NOTHING if fixed is None else widgets.button(f"Use {problem.nearest}", ev="draft", v=fixed)
    return html(
        '<div class="po-warning bad" role="alert">{icon}<span><b>Line {line}:</b> {message}{nearest}</span>'
        "{button}</div>",
        icon=icons.draw("warn"),
        line=problem.line,
        message=message,
        nearest=nearest,
        button=button,
    )


def _draw_save(about: PolicyText, is_wrong: bool) -> Markup:
    if not about.is_draft:
        return NOTHING
    number = 1 if about.policy is None else about.policy.version + 1
    why = "Correct the errors first" if is_wrong else "" if about.may_write else NO_WRITER
    return widgets.button(f"Save as version {number}", ev="dialog", v="save", disabled_because=why)


def _draw_difference(about: PolicyText, is_wrong: bool) -> Markup:
    document = about.document
    if about.active is None or document is None or is_wrong:
        return NOTHING
    sentences = describe_changes(about.active, document)
    drawn = join(html("<li>{sentence}</li>", sentence=each) for each in sentences)
    version = about.policy.active_version if about.policy else 0
    return html(
        '<details class="po-difference" id="po-difference"{open}>'
        "<summary>What it changes of version {version}</summary>{changes}</details>",
        open=html(" open") if sentences else NOTHING,
        version=version,
        changes=html("<ul>{items}</ul>", items=drawn) if sentences else html("<p>Nothing: the same rules.</p>"),
    )


PANE: Final = Pane(
    key="draft",
    question="What are the rules?",
    reading=describe_text,
    span=7,
    load=load_replay,
    draw=draw_editor,
    reads=REPLAY_FIELDS,
    export=export_rules,
    copy_python=copy_simulation,
    is_long=True,
    expects=describe_work,
)
