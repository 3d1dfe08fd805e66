"""The part of the drawer about runs: those of an agent and those it took part in, one of them with steps and votes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import islice
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.agents.runs.shapes import RunStepOut, RunSummaryOut
from attestlab.client.handles.agents import AgentHandle
from attestlab.client.handles.runs import RunDetailsHandle
from attestlab_dashboards import widgets
from attestlab_dashboards.agents.state import AgentsState
from attestlab_dashboards.agents.words import draw_status, plural
from attestlab_dashboards.formats import count, short_id, time_tag
from attestlab_dashboards.lake_query import LakeQuery
from attestlab_dashboards.safe import NOTHING, html, join

SHOWN_RUNS: Final = 8
MAX_VOTES: Final = 50
_RUN_HASH: Final = "run_hash"  # the type of a claim whose value is the hash of a run
_TAKEN_PART: Final = f"""SELECT orchestration_id FROM run_steps WHERE agent_id = $agent AND run_agent_id <> $agent
GROUP BY ALL ORDER BY max(recorded_at) DESC, orchestration_id LIMIT {SHOWN_RUNS}"""
_VOTES: Final = f"""SELECT agent_id, verdict, claim_type, claim_value, request_status, kid, created_at
FROM witness_votes WHERE subject = $run ORDER BY created_at, id LIMIT {MAX_VOTES}"""
_NAMES: Final = "SELECT id, display_name FROM agents WHERE list_contains(string_split($ids, ' '), id::VARCHAR)"


class RunVote(NamedTuple):
    """A vote about a run, with the claim that it is about and what became of that claim."""

    agent_id: str
    verdict: str
    claim_type: str
    claim_value: str
    request_status: str
    kid: str
    created_at: datetime


class AgentRuns(NamedTuple):
    """The newest runs of an agent or with its steps; the opened one whole with its votes; the names of agents by id."""

    now: datetime
    agent: AgentHandle
    runs: tuple[RunSummaryOut, ...]
    opened: RunDetailsHandle | None
    votes: tuple[RunVote, ...]
    names: Mapping[str, str]


def load_runs(lab: Lab, agent: AgentHandle, state: AgentsState) -> AgentRuns:
    """Load the newest runs, and the chosen or else the newest one whole.

    Raises:
        NotFound: the tenant has no such run.
    """
    runs = _list_runs(lab, agent, state.run)
    opened = next((run for run in runs if str(run.orchestration_id) == state.run), runs[0] if runs else None)
    if opened is None:
        return AgentRuns(lab.now(), agent, (), None, (), {})
    details = lab.runs.details(opened.orchestration_id)
    votes = _list_votes(lab, str(opened.orchestration_id))
    ids = {str(run.agent_id) for run in runs} | {vote.agent_id for vote in votes}
    names = _read_names(lab, ids | {str(step.agent_id) for step in details.steps if step.agent_id})
    return AgentRuns(lab.now(), agent, runs, details, votes, names)


def _list_runs(lab: Lab, agent: AgentHandle, chosen: str) -> tuple[RunSummaryOut, ...]:
    """List the newest runs of an agent and those with its steps, newest first, and the chosen one in any case."""
    found: dict[str, RunSummaryOut] = {
        str(run.id): run for run in islice(lab.runs.list(agent_id=agent.id, limit=SHOWN_RUNS), SHOWN_RUNS)
    }
    shared = LakeQuery.bind(_TAKEN_PART, {"agent": str(agent.id)}).read_rows(lab)
    for run_id in (*(str(row["orchestration_id"]) for row in shared), *([chosen] if chosen else [])):
        if run_id not in found:
            found[run_id] = lab.runs.details(run_id)
    newest = sorted(found.values(), key=lambda run: (run.created_at, run.orchestration_id), reverse=True)
    kept = newest[:SHOWN_RUNS]
    return tuple(kept + [run for run in newest[SHOWN_RUNS:] if str(run.orchestration_id) == chosen])


def _list_votes(lab: Lab, run_id: str) -> tuple[RunVote, ...]:
    rows = LakeQuery.bind(_VOTES, {"run": run_id}).read_rows(lab)
    return tuple(RunVote(**{name: row[name] for name in RunVote._fields}) for row in rows)  # type: ignore[arg-type]  # the query's types


def _read_names(lab: Lab, ids: Iterable[str]) -> dict[str, str]:
    rows = LakeQuery.bind(_NAMES, {"ids": " ".join(sorted(ids))}).read_rows(lab)
    return {str(row["id"]): str(row["display_name"]) for row in rows}


def draw_runs(shown: AgentRuns) -> Markup:
    """Draw the runs, the opened one with its steps and votes."""
    if shown.opened is None:
        why = html("One starts with <code>lab.runs.start(agent, steps)</code>.")
        return widgets.empty("No run", why)
    items = join(_draw_run(run, shown) for run in shown.runs)
    return html('<h3>Newest runs</h3><ul class="ag-runs">{items}</ul>', items=items)


def _draw_run(run: RunSummaryOut, shown: AgentRuns) -> Markup:
    opened = shown.opened if shown.opened and shown.opened.orchestration_id == run.orchestration_id else None
    of = f" of {_name(shown, str(run.agent_id))}" if run.agent_id != shown.agent.id else ""
    return html(
        '<li{on}><div class="ag-run"><button type="button" class="ag-name" data-ev="run" data-v="{id}" '
        'data-key="run:{id}" aria-expanded="{expanded}">{name}</button>{status}{broken}</div>'
        '<div class="sub">{steps}{of} · {at}</div>{details}</li>',
        on=html(' class="on"') if opened else NOTHING,
        id=str(run.orchestration_id),
        expanded="true" if opened else "false",
        name=run.name,
        status=draw_status(run.status),
        broken=NOTHING if run.chain_ok else widgets.pill("chain broken", "bad", "warn"),
        steps=f"{count(run.recorded_steps)} of {plural(run.planned_steps, 'step')}",
        of=of,
        at=time_tag(run.created_at, shown.now),
        details=_draw_details(opened, shown) if opened else NOTHING,
    )


def _draw_details(run: RunDetailsHandle, shown: AgentRuns) -> Markup:
    steps = join(_draw_step(step, shown) for step in run.steps)
    return html(
        '<div class="ag-run-ends">{end}</div><h4>Steps</h4><ol class="ag-steps">{steps}</ol><h4>Votes</h4>{votes}',
        end=_draw_end(run),
        steps=steps,
        votes=_draw_votes(run, shown),
    )


def _draw_end(run: RunDetailsHandle) -> Markup:
    if run.log_index is None or run.run_hash is None:
        return html('<span class="sub">It has not ended: the log has no entry of it yet.</span>')
    return html(
        '<span class="sub">Run hash {hash}</span> <a class="btn sm" href="log?entry={index}">Log entry {shown}</a>',
        hash=short_id(run.run_hash),
        index=str(run.log_index),
        shown=count(run.log_index),
    )


def _draw_step(step: RunStepOut, shown: AgentRuns) -> Markup:
    if step.outputs_hash is None or step.inputs_hash is None or step.kid is None:
        meant = f"; {_name(shown, str(step.agent_id))} shall do it" if step.agent_id else ""
        return html('<li><b>{name}</b> <span class="sub">open{meant}</span></li>', name=step.step_id, meant=meant)
    return html(
        "<li><div><b>{name}</b> {status} {broken}</div>"
        '<div class="sub">signed by {agent} with <code>{kid}</code>, {at}</div>'
        '<div class="sub ag-hashes">took {inputs} and put out {outputs}</div></li>',
        name=step.step_id,
        status=draw_status(step.status),
        broken=widgets.pill("took something else", "bad", "warn") if step.chain_ok is False else NOTHING,
        agent=_draw_agent(shown, str(step.agent_id), f"step:{step.step_id}"),
        kid=step.kid,
        at=time_tag(step.recorded_at, shown.now) if step.recorded_at else NOTHING,
        inputs=short_id(step.inputs_hash),
        outputs=short_id(step.outputs_hash),
    )


def _draw_votes(run: RunDetailsHandle, shown: AgentRuns) -> Markup:
    if not shown.votes:
        return html('<p class="sub">No agent has voted about this run.</p>')
    items = join(_draw_vote(vote, run, shown) for vote in shown.votes)
    return html('<ul class="ag-steps">{items}</ul>', items=items)


def _draw_vote(vote: RunVote, run: RunDetailsHandle, shown: AgentRuns) -> Markup:
    return html(
        '<li><div>{status} {agent}</div><div class="sub">claim: {claim}, {decided} · '
        "signed with <code>{kid}</code>, {at}</div></li>",
        status=draw_status(vote.verdict),
        agent=_draw_agent(shown, vote.agent_id, f"vote:{vote.kid}:{vote.claim_type}"),
        claim=_draw_claim(vote, run),
        decided=vote.request_status,
        kid=vote.kid,
        at=time_tag(vote.created_at, shown.now),
    )


def _draw_claim(vote: RunVote, run: RunDetailsHandle) -> Markup:
    """Draw what a vote is about; a claimed hash is compared with that of the run."""
    if vote.claim_type != _RUN_HASH:
        return html("{kind} is {value}", kind=vote.claim_type, value=vote.claim_value)
    if vote.claim_value == run.run_hash:
        return html("the hash of this run")
    return html('<span class="bad">another hash than that of this run</span>')


def _draw_agent(shown: AgentRuns, agent_id: str, key: str) -> Markup:
    if agent_id == str(shown.agent.id):
        return html("<b>{name}</b>", name=shown.agent.display_name)
    return html(
        '<button type="button" class="ag-name" data-ev="agent" data-v="{id}" data-key="{key}">{name}</button>',
        id=agent_id,
        key=key,
        name=_name(shown, agent_id),
    )


def _name(shown: AgentRuns, agent_id: str) -> str:
    return shown.names.get(agent_id) or f"agent …{agent_id[-6:]}"
