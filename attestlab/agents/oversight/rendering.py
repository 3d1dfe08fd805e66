"""Rendering of trees and reviews as wire models; this module makes no decisions."""

from __future__ import annotations

from attestlab.agents.oversight.results import AgentNode, AgentTree, ReviewedAgent, ReviewRow, TreeRow
from attestlab.agents.oversight.shapes import AgentReviewOut, AgentTreeEdgeOut, AgentTreeNodeOut, AgentTreeOut
from attestlab.agents.rules import format_agent_id
from attestlab.core.row_rendering import RowRenderer

_render_node = RowRenderer(
    AgentTreeNodeOut,
    AgentNode,
    parts={"row": TreeRow},
    agent_id=lambda node: format_agent_id(node.row.id, node.row.tenant_id),
    effective_scopes=lambda node: node.effective_scopes.as_list(),
)
_render_edge = RowRenderer(
    AgentTreeEdgeOut,
    TreeRow,
    child_agent_id="id",
    scopes=lambda row: (row.delegated_scopes or "").split(),
    expires_at="delegated_until",
)
render_tree = RowRenderer(
    AgentTreeOut,
    AgentTree,
    nodes=lambda tree: list(map(_render_node, tree.nodes)),
    edges=lambda tree: [_render_edge(node.row) for node in tree.nodes if node.row.parent_agent_id is not None],
)
render_reviewed = RowRenderer(
    AgentReviewOut,
    ReviewedAgent,
    parts={"row": ReviewRow},
    agent_id="id",
    findings=lambda found: list(found.findings),
)
