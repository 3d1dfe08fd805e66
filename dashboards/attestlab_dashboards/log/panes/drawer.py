"""The drawer of one entry: decoded, as raw bytes, with its key then and now and the history of its subject."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.handles.log import EntryHandle
from attestlab.core.errors import AuthRequired
from attestlab_dashboards import icons
from attestlab_dashboards.formats import count, plural, short_id, time_tag, utc
from attestlab_dashboards.log.panes.entries import read_utc
from attestlab_dashboards.log.public_reads import NO_RIGHTS, UNSEEN, read_logged_at, read_members
from attestlab_dashboards.log.state import LogState
from attestlab_dashboards.log.subject import MINTED
from attestlab_dashboards.log.words import download, type_pill
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.widgets import button, pill

MAX_CHANGES: Final = 200  # in the timeline
_BYTES_IN_LINE: Final = 12
# The changes of an entry's attestation, key and issuer, in the order of the log.
HISTORY: Final = """
SELECT log_index, logged_at, CAST(type AS VARCHAR) AS type, status, kid
FROM log_entries
WHERE (attestation_id = $attestation AND type IN ('attestation.minted', 'attestation.status'))
   OR (type = 'key.status' AND kid = $kid AND issuer_id = $issuer)
   OR (type = 'issuer.status' AND issuer_id = $issuer)
ORDER BY log_index
"""


@dataclass(frozen=True)
class LoggedChange:
    """A logged change of an entry's attestation, key or issuer."""

    index: int
    at: datetime
    type: str
    status: str | None


@dataclass(frozen=True)
class OpenEntry:
    """An entry with what the log and the tenant know about it; `signature` is empty if the tenant has none.

    `history` is None for a caller who may not ask for it.
    """

    entry: EntryHandle
    now: datetime
    history: tuple[LoggedChange, ...] | None
    signature: str
    issuer: str

    @property
    def members(self) -> dict[str, object]:
        """The parsed entry."""
        return read_members(self.entry)

    @property
    def at(self) -> datetime:
        """When the entry was logged."""
        return read_logged_at(self.entry)

    def key_status(self, *, before: int | None = None) -> LoggedChange | None:
        """Return the last change of the key, or that before an index of the log."""
        changes = [each for each in self.history or () if each.type == "key.status"]
        return next((each for each in reversed(changes) if before is None or each.index < before), None)

    @property
    def key_since(self) -> datetime | None:
        """When the key was first logged."""
        return next((each.at for each in self.history or () if each.type == "key.status"), None)


def load_drawer(lab: Lab, state: LogState) -> OpenEntry | None:
    """Load the entry that the drawer shows; None while it is closed.

    Raises:
        NotFound: the log is shorter.
    """
    if state.entry is None:
        return None
    entry = lab.log.entry(state.entry)
    members = read_members(entry)
    named = {name: str(members.get(member) or "") for name, member in (("kid", "kid"), ("issuer", "issuer_id"))}
    parameters = {**named, "attestation": str(members.get("id") or "")}
    history = _read_history(lab, parameters)
    signature = _fetch_signature(lab, str(members["id"])) if entry.type == MINTED else ""
    return OpenEntry(entry, lab.now(), history, signature, _name_issuer(lab, named["issuer"]))


def _read_history(lab: Lab, parameters: dict[str, str]) -> tuple[LoggedChange, ...] | None:
    """Read the changes of an entry's attestation, key and issuer; None for a caller who may not ask for them."""
    if not any(parameters.values()):
        return ()
    try:
        return tuple(_read_change(row) for row in lab.sql(HISTORY, parameters))
    except NO_RIGHTS:
        return None


def _read_change(row: dict[str, object]) -> LoggedChange:
    status = None if row["status"] is None else str(row["status"])
    return LoggedChange(int(str(row["log_index"])), read_utc(row["logged_at"]), str(row["type"]), status)


def _fetch_signature(lab: Lab, attestation_id: str) -> str:
    try:
        return lab.attestations[attestation_id].signature
    except UNSEEN:
        return ""


def _name_issuer(lab: Lab, issuer_id: str) -> str:
    if not issuer_id:
        return "the log itself"
    try:
        return lab.issuers[issuer_id].name
    except AuthRequired:
        return f"issuer {issuer_id[:8]}"
    except UNSEEN:
        return "an issuer of another tenant"


def draw_drawer(data: OpenEntry | None, _state: LogState) -> Markup:
    """Draw the drawer; nothing while it is closed."""
    if data is None:
        return NOTHING
    index = data.entry.log_index
    return html(
        '<aside class="al-drawer lg-drawer" role="dialog" aria-label="Entry {index}" tabindex="-1"><div class="lg-top">'
        '<h2>Entry {index}</h2>{pill}<button type="button" class="lg-x" data-ev="close" data-focus data-key="close" '
        'aria-label="Close">{cross}</button></div><p class="muted small">{issuer}, {at} ({ago})</p><dl>{facts}</dl>'
        '<h3>Decoded</h3><pre class="lg-wrap" tabindex="0">{decoded}</pre>'
        '<h3>Raw bytes <span class="muted">{size}, canonical JSON</span></h3>'
        '<pre tabindex="0">{dump}</pre>{signature}'
        '<h3>Status timeline</h3>{timeline}<div class="lg-actions">{actions}</div></aside>',
        index=count(index),
        pill=type_pill(data.entry.type),
        cross=icons.draw("cross"),
        issuer=data.issuer,
        at=utc(data.at),
        ago=time_tag(data.at, data.now),
        facts=join(
            html("<dt>{name}</dt><dd>{value}</dd>", name=name, value=value) for name, value in _list_facts(data)
        ),
        decoded=json.dumps(data.members, indent=1, ensure_ascii=False),
        size=plural(len(base64.b64decode(data.entry.entry_b64)), "byte"),
        dump=dump_bytes(base64.b64decode(data.entry.entry_b64)),
        signature=_draw_signature(data),
        timeline=_draw_timeline(data),
        actions=_draw_actions(data),
    )


def _list_facts(data: OpenEntry) -> Iterator[tuple[str, Markup]]:
    members = data.members
    if "id" in members:
        yield "Attestation", short_id(str(members["id"]))
    if "kid" in members:
        yield "Key", html("<code>{kid}</code>, {alg}", kid=members["kid"], alg=members.get("alg"))
    if "kid" in members and data.history is not None:
        yield "Key then", _draw_key(data, data.key_status(before=data.entry.log_index + 1), data.at)
        yield "Key now", _draw_key(data, data.key_status(), data.now)
    yield "Leaf hash", short_id(data.entry.leaf_hash.removeprefix("sha256:"))
    if "commit" in members:
        yield "Commitment", short_id(str(members["commit"]).removeprefix("sha256:"))


def _draw_key(data: OpenEntry, change: LoggedChange | None, at: datetime) -> Markup:
    """Draw the status of the key at a time, with its age."""
    if change is None or data.key_since is None:
        return html('<span class="muted">not in the log</span>')
    days = max(0, (at - data.key_since).days)
    status = change.status or "unknown"
    tone, icon = (
        ("good", "check") if status == "active" else ("warn", "clock") if status == "rotated" else ("bad", "warn")
    )
    return html(
        "{pill} {days} old",
        pill=pill(status, tone, icon),  # type: ignore[arg-type]  # one of three tones
        days=plural(days, "day"),
    )


def _draw_signature(data: OpenEntry) -> Markup:
    if data.entry.type != MINTED:
        return NOTHING
    shown = (
        data.signature or "Only the tenant of the issuer, and a holder of the bundle, have it: the log commits to it."
    )
    return html(
        '<h3>Signature of the issuer</h3><pre class="lg-wrap" tabindex="0">{signature}</pre>',
        signature=shown.rpartition(".")[2] or shown,
    )


def _draw_timeline(data: OpenEntry) -> Markup:
    if data.history is None:
        return html('<p class="muted small">Its changes are listed for callers with an API key.</p>')
    if not data.history:
        return html('<p class="muted small">No other entry is about it.</p>')
    shown = data.history[-MAX_CHANGES:]
    left_out = (
        f"The newest {count(len(shown))} of {count(len(data.history))}." if len(shown) < len(data.history) else ""
    )
    return html(
        '<p class="muted small">{left_out}</p><ol class="lg-times">{changes}</ol>',
        left_out=left_out,
        changes=join(_draw_change(data, each) for each in shown),
    )


def _draw_change(data: OpenEntry, change: LoggedChange) -> Markup:
    subject = {"attestation.minted": "attestation", "attestation.status": "attestation", "key.status": "key"}
    status = "minted" if change.type == MINTED else change.status or "changed"
    return html(
        '<li{current}>{at}: {subject} <b>{status}</b>, <button type="button" class="al-open" data-ev="open" '
        'data-v="{index}" data-key="time:{index}">entry {shown}</button></li>',
        current=html(' aria-current="true"') if change.index == data.entry.log_index else NOTHING,
        at=utc(change.at),
        subject=subject.get(change.type, "issuer"),
        status=status,
        index=change.index,
        shown=count(change.index),
    )


def _draw_actions(data: OpenEntry) -> Markup:
    index = data.entry.log_index
    raw = base64.b64decode(data.entry.entry_b64)
    return join(
        [
            button("Verify this entry", ev="inspect", v=str(index), primary=True),
            download("Raw entry", f"entry-{index}.json", raw),
        ]
    )


def dump_bytes(raw: bytes) -> str:
    """Write bytes as lines of offset, hex digits and printable characters.

    >>> print(dump_bytes(b'{"alg":"Ed25519"}'))
    0000  7b 22 61 6c 67 22 3a 22 45 64 32 35  {"alg":"Ed25
    000c  35 31 39 22 7d                       519"}
    """
    lines = []
    for start in range(0, len(raw), _BYTES_IN_LINE):
        part = raw[start : start + _BYTES_IN_LINE]
        shown = "".join(chr(each) if 32 <= each < 127 else "." for each in part)
        lines.append(f"{start:04x}  {part.hex(' '):<{3 * _BYTES_IN_LINE - 1}}  {shown}")
    return "\n".join(lines)


PANE: Final = Pane(
    key="drawer",
    load=load_drawer,
    draw=draw_drawer,
    reads=("entry",),
)
