"""What the search box names: an entry of the log, found by index, id, hash, key or issuer."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from attestlab import Lab, Status
from attestlab.client.handles.log import EntryHandle
from attestlab.core.errors import NotFound
from attestlab.portal.rules import SearchKind, parse_search
from attestlab_dashboards.log.public_reads import NO_RIGHTS
from attestlab_dashboards.log.state import LogState

MINTED: Final = "attestation.minted"
DOCUMENT: Final = "hash of a document"
MAX_TWINS: Final = 10  # attestations of one document that are listed
FIND_BY_NAME: Final = """
SELECT e.log_index, e.kid = $name AS is_key
FROM log_entries e LEFT JOIN issuers i ON i.id = e.issuer_id
WHERE e.kid = $name OR e.issuer_id = lower($name)
   OR lower($name) IN (lower(i.name), lower(i.domain), lower(i.display_name))
ORDER BY e.type = 'attestation.minted' DESC, e.log_index DESC LIMIT 1
"""


@dataclass(frozen=True)
class Subject:
    """What a search found: `word` says as what it was recognised; without an entry, `missing` says why.

    `file` is the SHA-256 (hex) that the person searched, if it is that of the attested document, and `others` are
    the tenant's other attestations of this document: index and status, of the newest if it `has_more`. `unattested`
    is a searched SHA-256 (hex) with which the log has no document, nor, if it is not that of a file, a leaf.
    """

    word: str
    entry: EntryHandle | None
    missing: str = ""
    file: str = ""
    others: tuple[tuple[int, str], ...] = ()
    has_more: bool = False
    unattested: str = ""

    @property
    def attestation_id(self) -> str | None:
        """The attestation that the entry is about; None for one about a key, an issuer or a list."""
        members = self.entry.entry if self.entry is not None else None
        is_about_one = isinstance(members, dict) and str(members.get("type")).startswith("attestation.")
        return str(members["id"]) if is_about_one and isinstance(members, dict) else None

    @property
    def is_mint(self) -> bool:
        """Whether the entry is the mint of an attestation."""
        return self.entry is not None and self.entry.type == MINTED


def find_subject(lab: Lab, state: LogState) -> Subject:
    """Find the entry that the search box names; without a text, the newest attestation of the tenant."""
    if not state.find:
        return _find_newest(lab)
    term = parse_search(state.find)
    try:
        match term.kind:
            case SearchKind.INDEX:
                return Subject("log index", lab.log.entry(int(term.value)))
            case SearchKind.SHA256:
                return _find_by_hash(lab, state.find, term.value, is_file=term.value == state.file)
            case SearchKind.ATTESTATION:
                return _find_by_id(lab, term.value)
        return _find_by_name(lab, state.find)
    except NotFound:
        return Subject("", None, f"The log has no entry for {state.find}.")


def _find_newest(lab: Lab) -> Subject:
    try:
        newest = next(lab.attestations.list(limit=1), None)
    except NO_RIGHTS:
        newest = None
    if newest is not None:
        return Subject("", lab.log.entry(newest.log_index))
    size = len(lab.log)
    return Subject("", lab.log.entry(size - 1)) if size else Subject("", None, "The log has no entry yet.")


def _find_by_hash(lab: Lab, text: str, digest: str, *, is_file: bool) -> Subject:
    """Find a document's hash or a leaf's; the form `sha256:` is that of leaves, so these are then looked for first.

    The hash of a file is that of a document alone, because a file may be made of the bytes whose hash is a leaf.
    """
    named = [digest] if is_file else [digest, f"sha256:{digest}"]
    for each in reversed(named) if text.strip().lower().startswith("sha256:") else named:
        with suppress(NotFound):
            entry = lab.log.lookup(each)
            return _prefer_own(lab, entry, digest) if each == digest else Subject("leaf hash", entry)
    return Subject("hash", None, "No issuer has attested this document in the log.", unattested=digest)


def _prefer_own(lab: Lab, entry: EntryHandle, digest: str) -> Subject:
    """Prefer the tenant's newest valid attestation of a document to the first of the log, which may be withdrawn."""
    try:
        own = list(lab.attestations.list(document_hash=digest, limit=MAX_TWINS + 1))
        best = next(lab.attestations.list(document_hash=digest, status=Status.VALID.value, limit=1), None)
    except NO_RIGHTS:
        own, best = [], None
    if not own:
        return Subject(DOCUMENT, entry, file=digest)
    best = best or own[0]
    others = tuple((each.log_index, each.status.value) for each in own[:MAX_TWINS] if each.id != best.id)
    found = entry if best.log_index == entry.log_index else lab.log.entry(best.log_index)
    return Subject(DOCUMENT, found, file=digest, others=others, has_more=len(own) > MAX_TWINS)


def _find_by_id(lab: Lab, attestation_id: str) -> Subject:
    try:
        return Subject("attestation id", lab.log.lookup(attestation_id))
    except NotFound:
        return _find_by_name(lab, attestation_id)


def _find_by_name(lab: Lab, name: str) -> Subject:
    try:
        found = list(lab.sql(FIND_BY_NAME, {"name": name}))
    except NO_RIGHTS:
        return Subject("", None, f"{name} is no index, id or hash. Keys and issuers are found with an API key.")
    if not found:
        return Subject("", None, f"{name} is no index, id or hash, and no key or issuer of the log.")
    word = "key" if found[0]["is_key"] else "issuer"
    return Subject(f"{word}, its newest entry", lab.log.entry(int(str(found[0]["log_index"]))))


NEWEST_PYTHON: Final = "lab.attestations[0]"


def write_attestation_name(state: LogState) -> str:
    """Write the searched attestation as Python: the newest one, an id, or an expression for it."""
    index = write_entry_name(state)
    return index if index == NEWEST_PYTHON or index.startswith("'") else f"lab.log.entry({index}).entry['id']"


def write_entry_name(state: LogState) -> str:
    """Name the searched entry: its index as Python, or an id or hash, which the log looks up."""
    if not state.find:
        return NEWEST_PYTHON
    term = parse_search(state.find)
    match term.kind:
        case SearchKind.INDEX:
            return term.value
        case SearchKind.ATTESTATION:
            return repr(term.value)
        case SearchKind.SHA256:
            is_leaf = state.find.lower().startswith("sha256:")
            return f"lab.log.lookup({(f'sha256:{term.value}' if is_leaf else term.value)!r}).log_index"
    return f"list(lab.sql({FIND_BY_NAME.strip()!r}, {{'name': {state.find!r}}}))[0]['log_index']"
