"""`attestlab agent`: the machine agents of a tenant on the command line: list and show them, and stop a tree."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from attestlab.cli.doors import ApiKey, Folder, LabDoor, Tenant, UrlOption
from attestlab.cli.numbers import whole_number
from attestlab.cli.output import UNUSABLE, DatabaseUrl, JsonOption, fail, print_items, print_values, report_errors
from attestlab.core.standard_output import emit, print_stderr

if TYPE_CHECKING:
    from attestlab.client.handles.agents import AgentHandle

DEFAULT_LIMIT = 100
MAX_LIMIT = 100_000
_SHOWN = ("id", "agent_id", "display_name", "agent_type", "status", "custody", "key_id", "trust_score", "trust_level")
_ALSO_SHOWN = ("session_count", "delegation_depth", "parent_agent_id", "owner_user_id", "discoverable")
_TIMES = ("last_active_at", "expires_at", "created_at", "updated_at")

agents = typer.Typer(no_args_is_help=True, help="Machine agents: what they may do, and how they stop.")
AgentArgument = Annotated[str, typer.Argument(metavar="AGENT", help="Its UUID, or its maip id.")]


@agents.command("list")
def agent_list(
    status: Annotated[str | None, typer.Option(help="Only active, suspended or revoked ones.")] = None,
    text: Annotated[str | None, typer.Option("--search", help="Only with this text in name or description.")] = None,
    limit: Annotated[
        int, typer.Option(parser=whole_number(1, MAX_LIMIT), metavar="COUNT", help="How many at most.")
    ] = DEFAULT_LIMIT,
    data: Folder = None,
    url: UrlOption = None,
    api_key: ApiKey = None,
    tenant: Tenant = None,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """List the agents of a tenant, newest first.

    When there are more than --limit, a line on stderr says so, and in JSON `truncated`.

    Exit status: 0 listed, 2 refused.

    Example: attestlab agent list --status active --url http://127.0.0.1:8080
    """
    filters = {"status": status, "q": text}
    with report_errors(), LabDoor(data, url, api_key, database_url, tenant).open() as lab:
        found = list(lab.agents.list(limit=limit + 1, **filters))  # type: ignore[arg-type]  # the list checks the values
    items = [_summarize(agent) for agent in found[:limit]]
    more = f"there are more than {limit:,} agents. Raise --limit, or name a --status." if len(found) > limit else None
    _print_list(items, items, more=more, as_json=as_json)


@agents.command("show")
def agent_show(
    agent: AgentArgument,
    data: Folder = None,
    url: UrlOption = None,
    api_key: ApiKey = None,
    tenant: Tenant = None,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """Show an agent: what it may do now, who answers for it, its key and its open sessions.

    Exit status: 0 shown, 2 there is no such agent, or refused.

    Example: attestlab agent show maip:0193b5a0:01M8C1EQSWFAY8VVR14D2PF2DB --data lab
    """
    with report_errors(), LabDoor(data, url, api_key, database_url, tenant).open() as lab:
        found = lab.agents[agent]
    if as_json:
        emit(json.dumps(found.to_dict()))
        return
    plain = found.to_dict()
    shown = {name: plain[name] for name in (*_SHOWN, *_ALSO_SHOWN, *_TIMES)}
    scopes = {name: " ".join(getattr(found, name)) or None for name in ("scopes", "effective_scopes")}
    print_values({**shown, **scopes}, as_json=False)


@agents.command("tree")
def agent_tree(
    agent: AgentArgument,
    data: Folder = None,
    url: UrlOption = None,
    api_key: ApiKey = None,
    tenant: Tenant = None,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """Show the agents above and below one, each after its parent, and what each may do now.

    At most 10,000 are shown. When there are more, a line on stderr says so, and in JSON `truncated`.

    Exit status: 0 shown, 2 there is no such agent, or refused.

    Example: attestlab agent tree maip:0193b5a0:01M8C1EQSWFAY8VVR14D2PF2DB --data lab
    """
    with report_errors(), LabDoor(data, url, api_key, database_url, tenant).open() as lab:
        found = lab.agents[agent].tree()
    if as_json:
        emit(json.dumps(found.to_dict()))
        return
    items: list[dict[str, object]] = [
        {
            "depth": node.depth,
            "display_name": node.display_name,
            "status": node.status,
            "effective_scopes": " ".join(node.effective_scopes),
            "id": str(node.id),
        }
        for node in found.nodes
    ]
    print_items(items, as_json=False)
    if found.truncated:
        print_stderr("attestlab: there are more agents below. Show the tree of one of them.")


@agents.command("review")
def agent_review(
    finding: Annotated[str | None, typer.Option(help="Only ownerless, unused_30d, wildcard, or another one.")] = None,
    limit: Annotated[
        int, typer.Option(parser=whole_number(1, MAX_LIMIT), metavar="COUNT", help="How many at most.")
    ] = DEFAULT_LIMIT,
    data: Folder = None,
    url: UrlOption = None,
    api_key: ApiKey = None,
    tenant: Tenant = None,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """List the agents that want a look: without owner or expiry, with old keys or wildcards, unused or expiring.

    When there are more than --limit, a line on stderr says so, and in JSON `truncated`.

    Exit status: 0 listed, 2 refused.

    Example: attestlab agent review --finding ownerless --data lab
    """
    with report_errors(), LabDoor(data, url, api_key, database_url, tenant).open() as lab:
        found = list(lab.agents.review(limit=limit + 1, finding=finding))  # type: ignore[arg-type]  # it checks the value
    items = [each.to_dict() for each in found[:limit]]
    names = ("display_name", "status", "owner_user_id", "agent_id")
    rows = [
        {**{name: item[name] for name in names}, "findings": " ".join(each.findings)}
        for item, each in zip(items, found, strict=False)
    ]
    more = (
        f"more than {limit:,} agents want a look. Raise --limit, or name a --finding." if len(found) > limit else None
    )
    _print_list(items, rows, more=more, as_json=as_json)


@agents.command("kill")
def agent_kill(
    agent: AgentArgument,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what would end, and change nothing.")] = False,
    reason: Annotated[str | None, typer.Option(help="Why, for people and the audit trail; not with --dry-run.")] = None,
    alone: Annotated[bool, typer.Option("--alone", help="Leave the agents below it as they are.")] = False,
    data: Folder = None,
    url: UrlOption = None,
    api_key: ApiKey = None,
    tenant: Tenant = None,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """Revoke an agent and all below it for good, with their sessions and delegations; look at --dry-run first.

    All of it happens or none: the next request of each of them is refused.

    Exit status: 0 done or counted, 2 refused, and nothing was changed.

    Example: attestlab agent kill maip:0193b5a0:01M8C1EQSWFAY8VVR14D2PF2DB --dry-run --data lab
    """
    if not dry_run and reason is None:
        fail("A kill needs a reason: --reason TEXT. Look first at what would end: --dry-run.", UNUSABLE)
    with report_errors(), LabDoor(data, url, api_key, database_url, tenant).open() as lab:
        killed = lab.agents.kill(agent, reason, dry_run=dry_run, cascade=not alone)
    if as_json:
        emit(json.dumps(killed.to_dict()))
        return
    counts = ("revoked_descendants", "terminated_sessions", "revoked_delegations", "dry_run")
    named = {"agent": killed.agent.display_name, "status": killed.agent.status}
    print_values({**named, **{name: getattr(killed, name) for name in counts}}, as_json=False)


def _print_list(
    items: list[dict[str, object]], rows: list[dict[str, object]], *, more: str | None, as_json: bool
) -> None:
    """Print items as JSON, or as rows for people; `more` says on stderr what a limit left out."""
    if as_json:
        emit(json.dumps({"items": items, "truncated": more is not None}))
        return
    print_items(rows, as_json=False)
    if more is not None:
        print_stderr(f"attestlab: {more}")


def _summarize(agent: AgentHandle) -> dict[str, object]:
    return {
        "id": str(agent.id),
        "display_name": agent.display_name,
        "agent_type": agent.agent_type,
        "status": agent.status,
        "sessions": agent.session_count,
        "depth": agent.delegation_depth,
        "effective_scopes": " ".join(agent.effective_scopes),
    }
