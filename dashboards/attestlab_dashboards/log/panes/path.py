"""An audit path from the entry up to the root: as a tree, and for phones as a ladder."""

from __future__ import annotations

import json
from typing import Final

from markupsafe import Markup
from pydantic import BaseModel

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.core.errors import NotFound
from attestlab_dashboards.formats import count, plural
from attestlab_dashboards.log.evidence import EVIDENCE, EntryEvidence, load_evidence
from attestlab_dashboards.log.merkle_layout import AuditPath, Sibling
from attestlab_dashboards.log.proof_reading import BundleDocument
from attestlab_dashboards.log.state import LogState
from attestlab_dashboards.log.subject import write_entry_name
from attestlab_dashboards.log.words import download
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.widgets import empty, hint


def copy_path_python(state: LogState) -> str:
    """Compose the proof of the searched entry."""
    return f"lab.log.proof({write_entry_name(state)})"


class PathRow(BaseModel):
    """A hash of an audit path, from leaf to root; it covers the entries `first` up to `end` (left out).

    `node` is the hash that was computed with it.
    """

    side: str
    first: int
    end: int
    hash: str
    node: str


def export_path(lab: Lab, state: LogState) -> Records[PathRow]:
    """Export the audit path of the searched entry.

    Raises:
        NotFound: the search found no entry.
    """
    path = load_evidence(lab, state).path
    if path is None:
        raise NotFound("entry", state.find or "the newest one")
    rows = (
        PathRow(side=each.side, first=each.first, end=each.end, hash=each.hash.hex(), node=node.hex())
        for each, node in zip(path.siblings, path.nodes[1:], strict=True)
    )
    return Records(rows, PathRow)


_TREE_WIDTH: Final = 680.0
_HALF_STEP: Final = 30.0  # how far a step up moves towards the sibling
_MIN_RISE, _MAX_RISE, _TREE_HEIGHT = 32.0, 60.0, 400.0
_TOP: Final = 58.0
_LADDER_X: Final = 40.0
_RUNG: Final = 40.0


def draw_path(evidence: EntryEvidence, _state: LogState) -> Markup:
    """Draw the audit path of the searched entry, with its downloads."""
    path = evidence.path
    if path is None:
        return empty("No entry to prove", evidence.subject.missing)
    place = None if evidence.flipped is None else evidence.flipped.place
    return html(
        '{tree}{ladder}<p class="lg-tip" data-tip-line aria-live="polite">{hint}</p>'
        '<div class="lg-actions">{downloads}</div>',
        tree=_draw_tree(path, evidence, place),
        ladder=_draw_ladder(path, evidence, place),
        hint=hint("Point at a node to read its whole hash.", "Tap a node to read its whole hash."),
        downloads=_draw_downloads(evidence),
    )


def tell_path(evidence: EntryEvidence, _state: LogState) -> str:
    """Count the hashes of the path, for the line under the title."""
    if evidence.path is None:
        return "Each hash on the way from the entry to the root"
    hashes = len(evidence.path.siblings)
    leads = "leads" if hashes == 1 else "lead"
    return f"{plural(hashes, 'hash', 'hashes')} {leads} from the entry to the root. Triangles stand for whole subtrees"


def _draw_downloads(evidence: EntryEvidence) -> Markup:
    document, path = evidence.document, evidence.path
    if document is None or path is None:
        return NOTHING
    parts = [_draw_proof("Proof", document, path)]
    if evidence.has_bundle:
        parts.append(download("tlog-proof", f"{path.index}.tlog-proof", str(document["tlog_proof"]).encode()))
        parts.append(download("Bundle", f"bundle-{path.index}.json", json.dumps(document, indent=1).encode()))
    parts.append(
        download("Checkpoint", f"checkpoint-{path.size}.txt", document["signed_tree_head"]["checkpoint"].encode())
    )
    return join(parts)


def _draw_proof(label: str, document: BundleDocument, path: AuditPath, *, primary: bool = False) -> Markup:
    proof = json.dumps(document["inclusion_proof"], indent=1).encode()
    return download(label, f"proof-{path.index}.json", proof, primary=primary)


def draw_title_button(evidence: EntryEvidence, _state: LogState) -> Markup:
    """Draw the download of the proof that the page shows; nothing where it shows none."""
    if evidence.document is None or evidence.path is None:
        return NOTHING
    return _draw_proof("Download proof", evidence.document, evidence.path, primary=True)


def _is_bad(path: AuditPath, place: int) -> bool:
    """Whether the node at a place, from the leaf, differs from the true one."""
    return path.broken_at is not None and place >= path.broken_at


def _tell_root(path: AuditPath, evidence: EntryEvidence) -> tuple[str, str]:
    if not path.leads_to_root:
        return "is not the signed root", "lg-tb"
    return ("equals the signed root", "lg-tg") if not evidence.refusal else ("is not signed by a trusted key", "lg-tb")


def _draw_tree(path: AuditPath, evidence: EntryEvidence, flipped: int | None) -> Markup:
    xs = _list_xs(path)
    rise = min(_MAX_RISE, max(_MIN_RISE, _TREE_HEIGHT / max(1, len(path.siblings))))
    height = _TOP + rise * len(path.siblings) + 58
    ys = [_TOP + rise * (len(path.siblings) - place) for place in range(len(xs))]
    return html(
        '<svg class="lg-draw lg-wide" viewBox="0 0 680 {height}" role="group" aria-label="{label}">'
        "{edges}{siblings}{nodes}{root}{leaf}</svg>",
        height=f"{height:g}",
        label=_label_path(path),
        edges=join(_draw_tree_edge(path, place, xs, ys) for place in range(len(path.siblings))),
        siblings=join(
            _draw_tree_sibling(path.siblings[place], xs[place], ys[place], flipped == place)
            for place in range(len(path.siblings))
        ),
        nodes=join(_draw_node(path, place, x, y) for place, (x, y) in enumerate(zip(xs, ys, strict=True))),
        root=_draw_root(path, evidence, xs[-1], "middle", path.size),
        leaf=_draw_leaf(path, xs[0], ys[0], "middle"),
    )


def _list_xs(path: AuditPath) -> list[float]:
    """Return the x of each node from leaf to root: each step up moves half a step towards its sibling, then centred."""
    xs = [0.0]
    for sibling in path.siblings:
        xs.append(xs[-1] + (_HALF_STEP if sibling.side == "right" else -_HALF_STEP))
    width = max(xs) - min(xs)
    scale = min(1.0, (_TREE_WIDTH - 2 * 190) / width) if width else 1.0
    offset = _TREE_WIDTH / 2 - scale * (max(xs) + min(xs)) / 2
    return [offset + scale * x for x in xs]


def _draw_tree_edge(path: AuditPath, place: int, xs: list[float], ys: list[float]) -> Markup:
    side = 1 if path.siblings[place].side == "right" else -1
    sibling_x = xs[place] + side * 2 * abs(xs[place + 1] - xs[place])
    return html(
        '<path class="lg-e" d="M{x2} {y2}L{x3} {y1}"/><path class="lg-p{bad}" d="M{x1} {y1}L{x2} {y2}"/>',
        x1=f"{xs[place]:.1f}",
        y1=f"{ys[place]:.1f}",
        x2=f"{xs[place + 1]:.1f}",
        y2=f"{ys[place + 1]:.1f}",
        x3=f"{sibling_x:.1f}",
        bad=" lg-bad" if _is_bad(path, place) or _is_bad(path, place + 1) else "",
    )


def _draw_tree_sibling(sibling: Sibling, x: float, y: float, is_flipped: bool) -> Markup:
    side = 1 if sibling.side == "right" else -1
    center = x + side * 2 * _HALF_STEP
    return html(
        '<g tabindex="0" role="img" aria-label="{tip}" data-tip="{tip}">{shape}'
        '<text class="lg-m{bad}" x="{x}" y="{y}" text-anchor="{anchor}">'
        '<tspan class="lg-mo">{hash}…</tspan> {range}</text></g>',
        tip=_tip(sibling),
        shape=_draw_shape(sibling, center, y, is_flipped),
        bad=" lg-tb" if is_flipped else "",
        x=f"{center + side * 18:.1f}",
        y=f"{y + 4:.1f}",
        anchor="start" if side > 0 else "end",
        hash=sibling.hash.hex()[:6],
        range=_name_range(sibling),
    )


def _draw_shape(sibling: Sibling, x: float, y: float, is_flipped: bool) -> Markup:
    """Draw one entry as a square, and a subtree as a triangle that grows with the logarithm of its size."""
    css = "lg-sb lg-flip" if is_flipped else "lg-sb"
    if sibling.end == sibling.first + 1:
        return html(
            '<rect class="{css}" x="{x}" y="{y}" width="10" height="10" rx="2"/>',
            css=css,
            x=f"{x - 5:.1f}",
            y=f"{y - 5:.1f}",
        )
    r = 4 + 0.75 * (sibling.end - sibling.first).bit_length()
    points = f"{x:.1f},{y - r:.1f} {x - r:.1f},{y + 0.75 * r:.1f} {x + r:.1f},{y + 0.75 * r:.1f}"
    return html('<polygon class="{css}" points="{points}"/>', css=css, points=points)


def _draw_node(path: AuditPath, place: int, x: float, y: float) -> Markup:
    name = "leaf" if place == 0 else "root" if place == len(path.siblings) else f"node {place} above the leaf"
    tip = f"{name}: sha256:{path.nodes[place].hex()}"
    is_end = place in (0, len(path.siblings))
    return html(
        '<g tabindex="0" role="img" aria-label="{tip}" data-tip="{tip}">'
        '<circle class="lg-pn{bad}" cx="{x}" cy="{y}" r="{r}"/></g>',
        tip=tip,
        bad=" lg-bad" if _is_bad(path, place) else "",
        x=f"{x:.1f}",
        y=f"{y:.1f}",
        r="7" if is_end else "5",
    )


def _draw_root(path: AuditPath, evidence: EntryEvidence, x: float, anchor: str, size: int) -> Markup:
    words, css = _tell_root(path, evidence)
    return html(
        '<text class="lg-b" x="{x}" y="18" text-anchor="{anchor}">Root of {size}</text>'
        '<text class="lg-mo" x="{x}" y="38" text-anchor="{anchor}">{root}… '
        '<tspan class="{css} lg-b">{words}</tspan></text>',
        x=f"{x:.1f}",
        anchor=anchor,
        size=plural(size, "entry", "entries"),
        root=path.nodes[-1].hex()[:8],
        css=css,
        words=words,
    )


def _draw_leaf(path: AuditPath, x: float, y: float, anchor: str) -> Markup:
    left = x - 62 if anchor == "middle" else x - 12
    return html(
        '<rect class="lg-box{bad}" x="{left}" y="{top}" width="124" height="28" rx="6"/>'
        '<text class="lg-b" x="{middle}" y="{line}" text-anchor="middle">Entry {index}</text>',
        bad=" lg-bad" if _is_bad(path, 0) else "",
        left=f"{left:.1f}",
        top=f"{y + 16:.1f}",
        middle=f"{left + 62:.1f}",
        line=f"{y + 35:.1f}",
        index=count(path.index),
    )


def _draw_ladder(path: AuditPath, evidence: EntryEvidence, flipped: int | None) -> Markup:
    """Draw the path as a straight line with a rung to each sibling: for widths where a tree has letters too small."""
    rungs = len(path.siblings)
    ys = [_TOP + _RUNG * (rungs - place) for place in range(rungs + 1)]
    return html(
        '<svg class="lg-draw lg-narrow" viewBox="0 0 340 {height}" role="group" aria-label="{label}">'
        "{rungs}{nodes}{root}{leaf}</svg>",
        height=f"{_TOP + _RUNG * rungs + 54:g}",
        label=_label_path(path),
        rungs=join(_draw_rung(path, place, ys, flipped == place) for place in range(rungs)),
        nodes=join(_draw_node(path, place, _LADDER_X, y) for place, y in enumerate(ys)),
        root=_draw_root(path, evidence, 8, "start", path.size),
        leaf=_draw_leaf(path, _LADDER_X - 16, ys[0], "start"),
    )


def _draw_rung(path: AuditPath, place: int, ys: list[float], is_flipped: bool) -> Markup:
    sibling, y = path.siblings[place], (ys[place] + ys[place + 1]) / 2
    x = _LADDER_X + 44
    return html(
        '<path class="lg-p{bad}" d="M{line} {y1}V{y2}"/><path class="lg-e" d="M{line} {y2}L{x} {y}"/>'
        '<g tabindex="0" role="img" aria-label="{tip}" data-tip="{tip}">{shape}'
        '<text class="lg-m{red}" x="{text}" y="{base}"><tspan class="lg-mo">{hash}…</tspan> {range}, {side}</text></g>',
        bad=" lg-bad" if _is_bad(path, place) or _is_bad(path, place + 1) else "",
        line=f"{_LADDER_X:g}",
        y1=f"{ys[place]:g}",
        y2=f"{ys[place + 1]:g}",
        y=f"{y:g}",
        x=f"{x:g}",
        tip=_tip(sibling),
        shape=_draw_shape(sibling, x, y, is_flipped),
        red=" lg-tb" if is_flipped else "",
        text=f"{x + 20:g}",
        base=f"{y + 4:g}",
        hash=sibling.hash.hex()[:6],
        range=_name_range(sibling),
        side=sibling.side,
    )


def _tip(sibling: Sibling) -> str:
    return f"{_name_range(sibling)}, {sibling.side}: sha256:{sibling.hash.hex()}"


def _name_range(sibling: Sibling) -> str:
    if sibling.end == sibling.first + 1:
        return f"entry {count(sibling.first)}"
    return f"{count(sibling.first)} to {count(sibling.end - 1)}"


def _label_path(path: AuditPath) -> str:
    hashes = plural(len(path.siblings), "hash", "hashes")
    return f"Audit path of entry {count(path.index)} in a tree of {count(path.size)}: {hashes}."


PANE: Final = Pane(
    key="path",
    question="Is it in the log?",
    reading=tell_path,
    span=7,
    load=load_evidence,
    draw=draw_path,
    reads=EVIDENCE,
    copy_python=copy_path_python,
    export=export_path,
    is_common=True,
)
BUTTON: Final = Pane(
    key="primary",
    load=load_evidence,
    draw=draw_title_button,
    reads=EVIDENCE,
    is_optional=True,
    is_tool=True,
    is_common=True,
)
