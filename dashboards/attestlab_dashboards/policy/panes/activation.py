"""Activation: what must hold before a version decides."""

from __future__ import annotations

from typing import Final, NamedTuple

from markupsafe import Markup
from pydantic import BaseModel

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.client.lab import MeHandle
from attestlab.simulation.shapes import SelfCheckOut
from attestlab_dashboards import icons, widgets
from attestlab_dashboards.formats import count, plural, utc
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.policy.exports import require_report
from attestlab_dashboards.policy.panes.rules import copy_analysis
from attestlab_dashboards.policy.queries import (
    REPLAY_FIELDS,
    TEXT_FIELDS,
    PolicyText,
    Proof,
    describe_work,
    load_proof,
    load_text,
)
from attestlab_dashboards.policy.state import PolicyState
from attestlab_dashboards.policy.words import NO_WRITER, name_decisions
from attestlab_dashboards.safe import NOTHING, html, join

ACTIVATING_ROLES: Final = frozenset({"owner", "admin"})


class ActivationReadiness(NamedTuple):
    """The replay and the proofs of a text, and who looks at it."""

    proof: Proof
    me: MeHandle

    @property
    def about(self) -> PolicyText:
        """The policy and the text."""
        return self.proof.replay.about

    @property
    def dead(self) -> tuple[str, ...]:
        """The rules that no context matches, which an activation must acknowledge."""
        findings = () if self.proof.analysis is None else self.proof.analysis.findings
        return tuple(each.rule_id for each in findings if each.kind == "dead" and each.rule_id is not None)

    @property
    def is_author(self) -> bool:
        """Whether this person wrote the version."""
        about = self.about
        return any(each.version == about.version and each.author == str(self.me.id) for each in about.versions)


class ActivationCondition(NamedTuple):
    """A condition of an activation: whether it holds, its title and its reason."""

    holds: bool
    title: str
    why: str
    warns: bool = False


def load_readiness(lab: Lab, state: PolicyState) -> ActivationReadiness:
    """Load what an activation depends on."""
    return ActivationReadiness(load_proof(lab, state), lab.me())


def list_steps(data: ActivationReadiness) -> list[ActivationCondition]:
    """List the conditions of an activation, as the service checks them."""
    about, report = data.about, data.proof.replay.report
    if report is None:
        line = data.proof.replay.problems[0].line
        return [ActivationCondition(False, "The draft has an error", f"Correct line {line} first.")]
    number = 1 if about.policy is None else about.policy.version + 1
    saved = f"Version {about.version} is stored." if not about.is_draft else f"Save it as version {number} first."
    left_out = plural(report.left_out, "decision")
    window = f"It leaves out {left_out}." if report.left_out else "It covers all of the history."
    steps = [
        _describe_self_check(report.self_check),
        ActivationCondition(not report.left_out, "Replay of the full history", f"{window} Made {utc(report.made_at)}."),
        ActivationCondition(not about.is_draft, "A stored version", saved),
    ]
    if data.dead:
        names = ", ".join(data.dead)
        steps.append(
            ActivationCondition(
                True, "Dead rules", f"No context can match {names}. Activating acknowledges it.", warns=True
            )
        )
    return [*steps, _describe_person(data)]


def _describe_self_check(check: SelfCheckOut) -> ActivationCondition:
    if not check.decisions:
        why = "No decision was recorded that the replay could be checked against."
        return ActivationCondition(True, "Self-check", why, warns=True)
    same = count(check.decisions - check.unexpected_flips)
    why = f"The recorded versions decide {same} of {plural(check.decisions, 'recorded decision')} again as they did."
    return ActivationCondition(not check.unexpected_flips, "Self-check", why)


def _describe_person(data: ActivationReadiness) -> ActivationCondition:
    if not ACTIVATING_ROLES & set(data.me.roles):
        return ActivationCondition(
            False, "An owner or admin", "You may not activate a policy. Ask an owner or an admin."
        )
    if data.is_author and not data.about.is_draft:
        why = (
            "You wrote this version. Send the link of this page to another owner or admin; alone, you may activate it."
        )
        return ActivationCondition(True, "Second person", why, warns=True)
    if data.about.is_draft:
        return ActivationCondition(
            True, "Second person", "What you save, another owner or admin activates, if there is one.", warns=True
        )
    return ActivationCondition(True, "Second person", "Another person wrote this version.")


def is_active(data: ActivationReadiness) -> bool:
    """Whether the text is the active version already."""
    policy = data.about.policy
    return policy is not None and not data.about.is_draft and policy.active_version == data.about.version


def draw_next_button(about: PolicyText, _state: PolicyState) -> Markup:
    """Draw the button that leads to what activating or saving the text takes; nothing if it is active already."""
    if not about.may_write or (not about.is_draft and about.is_active):
        return NOTHING
    return html(
        '<button type="button" class="btn sm primary" data-rows="activation" data-key="rows:next">{label}</button>',
        label="Save this draft" if about.is_draft else f"Activate version {about.version}",
    )


def draw_activation(data: ActivationReadiness, _state: PolicyState) -> Markup:
    """Draw the conditions, the numbers and the buttons."""
    if is_active(data):
        return html(
            '<p class="po-none muted">{icon} Version {version} is active. A change begins with a draft.</p>{buttons}',
            icon=icons.draw("check"),
            version=data.about.version,
            buttons=_draw_other_buttons(data),
        )
    steps = list_steps(data)
    return html(
        '<ol class="po-steps">{steps}</ol>{numbers}<div class="po-buttons">{main}</div>{others}',
        steps=join(map(_draw_step, steps)),
        numbers=_draw_numbers(data),
        main=_draw_main_button(data, steps),
        others=_draw_other_buttons(data),
    )


def _draw_step(step: ActivationCondition) -> Markup:
    tone, icon = ("bad", "cross") if not step.holds else ("warn", "clock") if step.warns else ("good", "check")
    state = "not met" if not step.holds else "note" if step.warns else "met"
    return html(
        '<li><span class="po-truth {tone}">{icon}<span class="al-hidden">{state}: </span></span>'
        '<span><b>{title}</b><span class="muted">{why}</span></span></li>',
        tone=tone,
        icon=icons.draw(icon),
        state=state,
        title=step.title,
        why=step.why,
    )


def _draw_numbers(data: ActivationReadiness) -> Markup:
    report = data.proof.replay.report
    if report is None:
        return NOTHING
    return html('<p class="po-numbers">{sentence}</p>', sentence=describe_effect(data))


def describe_effect(data: ActivationReadiness) -> Markup:
    """Describe the effect of an activation by the numbers of the replay."""
    report = data.proof.replay.report
    if report is None:
        return NOTHING
    return html(
        "Of {all} in the past it newly denies <b>{closed}</b> and newly allows <b>{opened}</b>.",
        all=name_decisions(data.about, report.decided),
        closed=count(report.newly_denied),
        opened=count(report.newly_allowed),
    )


def _draw_main_button(data: ActivationReadiness, steps: list[ActivationCondition]) -> Markup:
    if data.about.is_draft:
        number = 1 if data.about.policy is None else data.about.policy.version + 1
        wrong = "" if data.about.may_write else NO_WRITER
        wrong = wrong if data.proof.replay.report is not None else "Correct the errors first"
        return widgets.button(f"Save as version {number}", ev="dialog", v="save", primary=True, disabled_because=wrong)
    failing = next((step for step in steps if not step.holds), None)
    why = "" if failing is None else failing.why
    reason = html('<span class="bad small">{why}</span>', why=why) if why else NOTHING
    button = widgets.button(
        f"Activate version {data.about.version}", ev="dialog", v="activate", primary=True, disabled_because=why
    )
    return html("{button}{reason}", button=button, reason=reason)


def _draw_other_buttons(data: ActivationReadiness) -> Markup:
    policy = data.about.policy
    if policy is None or data.about.is_draft:
        return NOTHING
    is_person = bool(ACTIVATING_ROLES & set(data.me.roles))
    why = "It runs in shadow already" if policy.shadow_version == policy.version else ""
    return html(
        '<div class="po-buttons">{shadow}{archive}</div>',
        shadow=widgets.button(
            "Run in shadow", ev="dialog", v="shadow", disabled_because=why if data.about.may_write else NO_WRITER
        )
        if not is_active(data)
        else NOTHING,
        archive=widgets.button("Archive the policy", ev="dialog", v="archive") if is_person else NOTHING,
    )


class ConditionRow(BaseModel):
    """What an activation requires, and whether it holds."""

    condition: str
    holds: bool
    reason: str


def export_conditions(lab: Lab, state: PolicyState) -> Records[ConditionRow]:
    """Export what an activation of the text requires."""
    require_report(lab, state)
    steps = list_steps(load_readiness(lab, state))
    return Records(
        (ConditionRow(condition=each.title, holds=each.holds, reason=each.why) for each in steps), ConditionRow
    )


PANE: Final = Pane(
    key="activation",
    is_tool=True,
    question="May it be activated?",
    reading="The service checks each of these again",
    span=4,
    load=load_readiness,
    draw=draw_activation,
    reads=REPLAY_FIELDS,
    export=export_conditions,
    copy_python=copy_analysis,
    is_long=True,
    expects=describe_work,
)
BUTTON: Final = Pane(
    key="primary", load=load_text, draw=draw_next_button, reads=TEXT_FIELDS, is_optional=True, is_tool=True
)
