"""What the policy simulator writes: versions, shadow, activation, archive. The service checks each of them again."""

from __future__ import annotations

from collections.abc import Mapping

from attestlab import Lab
from attestlab.core.errors import Conflict
from attestlab.orgs.rules import Scope
from attestlab_dashboards.pages import Action, Notice
from attestlab_dashboards.policy.panes.activation import load_readiness
from attestlab_dashboards.policy.queries import load_text
from attestlab_dashboards.policy.shared_loads import forget
from attestlab_dashboards.policy.state import PolicyState
from attestlab_dashboards.safe import html


def save_version(lab: Lab, state: PolicyState, _fields: Mapping[str, str]) -> Notice:
    """Save the text as a new version, or as a new policy."""
    about = load_text(lab, state)
    if about.policy is None:
        saved = lab.policies.create(about.source)
    else:
        saved = lab.policies.update(about.policy, about.source)
    forget(lab)
    text = html("<b>Version {n} is saved.</b> It decides nothing until it is activated.", n=saved.version)
    return Notice(text, state.replay(policy=str(saved.id), version=0, draft=""))


def shadow_version(lab: Lab, state: PolicyState, _fields: Mapping[str, str]) -> Notice:
    """Run the newest version in shadow."""
    policy = load_text(lab, state).policy
    if policy is None:
        raise Conflict("The draft is not saved. Save it, then run it in shadow.")
    lab.policies.shadow(policy)
    forget(lab)
    text = html("<b>Version {n} runs in shadow.</b> Decisions from now on record what it would say.", n=policy.version)
    return Notice(text, state.replay())


def activate_version(lab: Lab, state: PolicyState, fields: Mapping[str, str]) -> Notice:
    """Activate the newest version on the report whose numbers the person confirmed.

    Raises:
        Conflict: the text is not saved, or the numbers were not confirmed.
    """
    data = load_readiness(lab, state)
    policy = data.about.policy
    if policy is None or data.about.is_draft:
        raise Conflict("The draft is not saved. Save it, then activate the version.")
    if not fields.get("looked") or not fields.get("digest"):
        raise Conflict("Confirm that you looked at what flips, then activate.")
    acknowledged = data.dead if fields.get("dead") else ()
    note = fields.get("note", "").strip() or None
    done = lab.policies.activate(policy, fields["digest"], acknowledge=acknowledged, note=note)
    forget(lab)
    text = html(
        "<b>Version {n} decides from now on.</b> The audit trail names you and the replay.", n=done.active_version
    )
    return Notice(text, state.replay())


def archive_policy(lab: Lab, state: PolicyState, _fields: Mapping[str, str]) -> Notice:
    """Archive the policy permanently."""
    policy = load_text(lab, state).policy
    if policy is None:
        raise Conflict("There is no policy to archive.")
    lab.policies.archive(policy)
    forget(lab)
    return Notice(
        html("<b>{name} is archived.</b> Its past decisions remain explained.", name=policy.name), PolicyState()
    )


ACTIONS = {
    "save": Action[PolicyState](scope=Scope.POLICIES_WRITE.value, run=save_version),
    "shadow": Action[PolicyState](scope=Scope.POLICIES_WRITE.value, run=shadow_version),
    "activate": Action[PolicyState](scope=Scope.POLICIES_WRITE.value, run=activate_version),
    "archive": Action[PolicyState](scope=Scope.POLICIES_WRITE.value, run=archive_policy),
}
