"""Rendering of trees and reviews as wire models; this module makes no decisions."""

from __future__ import annotations

from attestlab.agents.oversight.results import AgentNode, AgentTree, ReviewedAgent, ReviewRow, TreeRow
from attestlab.agents.oversight.shapes import AgentReviewOut, AgentTreeEdgeOut, AgentTreeNodeOut, AgentTreeOut
from attestlab.agents.rules import format_agent_id
from attestlab.core.row_rendering import RowRenderer

_render_node = RowRenderer(
    AgentTreeNodeOut,
    TreeRow,
    computed=["status", "effective_scopes"],
    agent_id=lambda row: format_agent_id(row.id, row.tenant_id),
)
_render_edge = RowRenderer(
    AgentTreeEdgeOut,
    TreeRow,
    child_agent_id="id",
    scopes=lambda row: (row.delegated_scopes or "").split(),
    expires_at="delegated_until",
)
_render_reviewed = RowRenderer(AgentReviewOut, ReviewRow, computed=["findings"], agent_id="id")


def render_tree(tree: AgentTree) -> AgentTreeOut:
    """Render a tree."""
    edges = [_render_edge(node.row) for node in tree.nodes if node.row.parent_agent_id is not None]
    return AgentTreeOut(nodes=[_render_tree_node(node) for node in tree.nodes], edges=edges, truncated=tree.truncated)


def _render_tree_node(node: AgentNode) -> AgentTreeNodeOut:
    return _render_node(node.row, status=node.status, effective_scopes=node.effective_scopes.as_list())


def render_reviewed(found: ReviewedAgent) -> AgentReviewOut:
    """Render an agent that wants a look."""
    return _render_reviewed(found.row, findings=list(found.findings))
