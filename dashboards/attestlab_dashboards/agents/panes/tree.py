"""A tree of delegations, from its root down, with what each agent may do now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.agents.effective_scopes import compute_effective_scopes
from attestlab.client.analysis.rows import Rows
from attestlab.orgs.rules import Scope
from attestlab_dashboards import widgets
from attestlab_dashboards.agents.fleet import compose
from attestlab_dashboards.agents.state import AgentsState
from attestlab_dashboards.agents.words import draw_scopes, draw_status, plural
from attestlab_dashboards.lake_query import LakeQuery
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html, join

MAX_TREES: Final = 8  # to choose from
MAX_NODES: Final = 200
_ROOTS: Final = f"""SELECT f.root AS id, r.name, count(*) AS agents, count(*) OVER () AS trees
FROM fleet f JOIN fleet r ON r.id = f.root GROUP BY f.root, r.name
ORDER BY agents DESC, lower(r.name), f.root LIMIT {MAX_TREES}"""
_COLUMNS: Final = "id, name, kind, parent, depth, status, scopes, delegated_scopes, delegated_until, expires_at"
_ORDER: Final = "ORDER BY depth, lower(name), id"
_NODES: Final = f"""SELECT {_COLUMNS}, count(*) OVER () AS agents
FROM fleet WHERE root = $root {_ORDER} LIMIT {MAX_NODES}"""


class TreeRoot(NamedTuple):
    """A tree to choose: its root, and how many agents it has."""

    id: str
    name: str
    agents: int


class TreeNode(NamedTuple):
    """An agent of a tree; `scopes` and `delegated_scopes` are separated by spaces."""

    id: str
    name: str
    kind: str
    parent: str | None
    depth: int
    status: str
    scopes: str
    delegated_scopes: str | None
    delegated_until: datetime | None
    expires_at: datetime | None


class DelegationTree(NamedTuple):
    """The trees to choose from, the id of the chosen root, its agents from the root down, and how many it has."""

    now: datetime
    roots: tuple[TreeRoot, ...]
    trees: int
    chosen: str
    nodes: tuple[TreeNode, ...]
    agents: int


def load_tree(lab: Lab, state: AgentsState) -> DelegationTree:
    """Load the chosen tree, or else the largest one."""
    everything = AgentsState()
    roots = compose(everything, _ROOTS).read_rows(lab)
    listed = tuple(TreeRoot(str(row["id"]), str(row["name"]), int(str(row["agents"]))) for row in roots)
    chosen = state.tree or (listed[0].id if listed else "")
    rows = compose(everything, _NODES, root=chosen).read_rows(lab) if chosen else []
    trees, agents = (int(str(found[0][name])) if found else 0 for found, name in ((roots, "trees"), (rows, "agents")))
    return DelegationTree(lab.now(), listed, trees, chosen, tuple(map(_read_node, rows)), agents)


def _compose_chosen(state: AgentsState) -> LakeQuery:
    """Compose the rows of the chosen tree, or else of the largest one, all of them."""
    root = "$root" if state.tree else f"(SELECT id FROM ({_ROOTS}) LIMIT 1)"
    chosen = {"root": state.tree} if state.tree else {}
    return compose(AgentsState(), f"SELECT {_COLUMNS} FROM fleet WHERE root = {root} {_ORDER}", **chosen)


def write_tree_sql(state: AgentsState) -> str:
    """Write the query of the tree, to copy."""
    return _compose_chosen(state).to_sql()


def export_tree(lab: Lab, state: AgentsState) -> Rows:
    """Export the agents of the tree, with their scopes and those of the delegation."""
    return _compose_chosen(state).read(lab)


def _read_node(row: dict[str, object]) -> TreeNode:
    values = {name: row[name] for name in TreeNode._fields}
    for name in ("scopes", "delegated_scopes"):
        value = values[name]
        values[name] = " ".join(map(str, value)) if isinstance(value, list) else value
    return TreeNode(**values)  # type: ignore[arg-type]  # the query's types


def list_above(node: TreeNode, by_id: Mapping[str, TreeNode]) -> Iterator[TreeNode]:
    """List the agents above one, its parent first."""
    while node.parent is not None and node.parent in by_id:
        node = by_id[node.parent]
        yield node


def write_reading(tree: DelegationTree, _state: AgentsState) -> str:
    """Write what the tree shows."""
    if tree.agents > MAX_NODES:
        return f"The {MAX_NODES} of {tree.agents:,} agents that are nearest to the root, with what each may do now"
    return f"{plural(tree.agents, 'agent')}, with what each may do now: no one may do more than those above it"


def draw_tree(tree: DelegationTree, state: AgentsState) -> Markup:
    """Draw the trees to choose from, and the chosen one."""
    if not tree.nodes:
        why = html("An agent delegates with <code>agent.delegate(child, scopes)</code>.")
        return widgets.empty("No such tree" if state.tree else "No tree yet", why)
    chips = [
        widgets.chip(f"{root.name} ({root.agents:,})", ev="tree", v=root.id, pressed=state.tree == root.id)
        for root in tree.roots
    ]
    more = tree.trees - len(tree.roots)
    hint = html('<span class="sub">and {more}: open one from the table</span>', more=plural(more, "tree"))
    by_id = {node.id: node for node in tree.nodes}
    roots = [node for node in tree.nodes if node.parent not in by_id]
    return html(
        '<div class="chips ag-roots" role="group" aria-label="Tree">{chips}{hint}</div>{branches}',
        chips=join(chips),
        hint=hint if more > 0 else NOTHING,
        branches=_draw_branches(roots, by_id, tree.now),
    )


def _draw_branches(nodes: Sequence[TreeNode], by_id: Mapping[str, TreeNode], now: datetime) -> Markup:
    if not nodes:
        return NOTHING
    return html('<ul class="ag-tree">{items}</ul>', items=join(_draw_node(node, by_id, now) for node in nodes))


def _draw_node(node: TreeNode, by_id: Mapping[str, TreeNode], now: datetime) -> Markup:
    below = [each for each in by_id.values() if each.parent == node.id]
    effective = compute_effective_scopes(node, list_above(node, by_id), now=now)
    return html(
        '<li><div class="ag-node"><button type="button" class="ag-name" data-ev="agent" data-v="{id}" '
        'data-key="node:{id}">{name}</button><span class="sub">{kind}</span>{status}{scopes}</div>{below}</li>',
        id=node.id,
        name=node.name,
        kind=node.kind,
        status=draw_status(node.status) if node.status != "active" else NOTHING,
        scopes=draw_scopes(effective.as_list()),
        below=_draw_branches(below, by_id, now),
    )


PANE: Final = Pane(
    key="tree",
    question="Who let them",
    reading=write_reading,
    load=load_tree,
    draw=draw_tree,
    reads=("tree",),
    scope=Scope.AGENTS_READ.value,
    copy_sql=write_tree_sql,
    export=export_tree,
    is_common=True,
)
