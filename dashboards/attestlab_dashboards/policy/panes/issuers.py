"""Which issuers it hits: flips by issuer."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup
from pydantic import BaseModel

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.core.errors import NotFound
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.policy.copying import write_simulation
from attestlab_dashboards.policy.exports import require_report
from attestlab_dashboards.policy.history import FlipHistory, Summary, load_history, load_summary
from attestlab_dashboards.policy.hits import Hit, draw_hits, draw_no_hits
from attestlab_dashboards.policy.queries import REPLAY_FIELDS, describe_work
from attestlab_dashboards.policy.state import PolicyState
from attestlab_dashboards.policy.words import draw_if_missing
from attestlab_dashboards.safe import NOTHING, html, path


class IssuerFlips(BaseModel):
    """How many decisions about an issuer flip each way."""

    issuer_id: str
    issuer: str
    newly_allowed: int
    newly_denied: int


def export_issuers(lab: Lab, state: PolicyState) -> Records[IssuerFlips]:
    """Export the flips by issuer.

    Raises:
        NotFound: the flips cannot be counted by issuer.
    """
    require_report(lab, state)
    history = load_history(lab, state)
    if history is None:
        raise NotFound("issuers", "of these decisions")
    rows = (
        IssuerFlips(issuer_id=issuer_id, issuer=name, newly_allowed=flips.opened, newly_denied=flips.closed)
        for issuer_id, name, flips in history.by_issuer
    )
    return Records(rows, IssuerFlips)


def copy_issuers(state: PolicyState) -> str:
    """Write the simulation by issuer: the target of a decision about one."""
    names = 'issuers = lab.sql("select id as target_id, name as issuer from issuers").df()'
    return "\n".join(
        [*write_simulation(state, ["target_id"]), names, 'report.flips.df().merge(issuers, on="target_id")']
    )


def draw_issuers(data: Summary, _state: PolicyState) -> Markup:
    """Draw the flips by issuer, where the decisions name one."""
    missing = draw_if_missing(data.replay)
    if missing is not None:
        return missing
    if data.history is None:
        why = "They cannot be counted by issuer: there are too many different contexts, or you may not read issuers."
        return html('<p class="po-none muted">{why}</p>', why=why)
    hits = list_issuers(data.history)
    if not hits and (data.replay.about.document or {}).get("target_type") == "VERIFICATION_PROFILE":
        why = "A decision under a verification profile stores its values, and not which issuer they are about."
        return html('<p class="po-none muted">{why} Segments show whom it hits.</p>', why=why)
    if not hits:
        return draw_no_hits()
    total, report = data.history.total, data.replay.report
    is_alone = report is not None and (total.opened, total.closed) == (report.newly_allowed, report.newly_denied)
    alone = html('<p class="sub">By this policy alone; other policies in force decide as well.</p>')
    return html("{hits}{alone}", hits=draw_hits(hits, "issuer"), alone=NOTHING if is_alone else alone)


def list_issuers(history: FlipHistory) -> list[Hit]:
    """List the issuers, those with the most newly allowed decisions first."""
    return [
        Hit(
            html('<a href="issuers?issuer={id}">{name}</a>', id=path(issuer_id), name=name),
            flips.opened,
            flips.closed,
        )
        for issuer_id, name, flips in history.by_issuer
    ]


PANE: Final = Pane(
    key="issuers",
    question="Which issuers does it hit?",
    reading="Flips by issuer, newly allowed first",
    span=5,
    load=load_summary,
    draw=draw_issuers,
    reads=REPLAY_FIELDS,
    export=export_issuers,
    copy_python=copy_issuers,
    is_long=True,
    expects=describe_work,
)
