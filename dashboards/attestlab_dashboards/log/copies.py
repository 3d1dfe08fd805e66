"""What "copy as Python" and "copy SQL" put on the clipboard.

The Python runs as it stands after `lab = attestlab.connect(...)`.
"""

from __future__ import annotations

from typing import Final

from attestlab.portal.rules import SearchKind, parse_search
from attestlab_dashboards.lake_query import LakeQuery
from attestlab_dashboards.log.entries import EXPORTED, GROWTH, filter_parameters
from attestlab_dashboards.log.state import LogState
from attestlab_dashboards.log.subject import FIND_BY_NAME

_NEWEST: Final = "lab.attestations[0]"
_PARSE_NEWEST: Final = f"attestlab.Bundle.parse(lab.attestations.bundle({_NEWEST}).document)"


def copy_proof_python(state: LogState) -> str:
    """Compose the comparison of two heads."""
    if state.kept is None:
        return "older = next(lab.log.checkpoints())  # or a head that you kept\nlab.log.consistency(older)"
    size, root = state.kept
    return f"proof = lab.log.consistency({size})\nassert proof.from_root == {f'sha256:{root}'!r}"


def copy_steps_python(state: LogState) -> str:
    """Compose the examination of the searched attestation."""
    return _examine(state, f"attestlab.Bundle.parse(lab.attestations.bundle({_name_attestation(state)}).document)")


def _examine(state: LogState, bundle: str) -> str:
    trust = f"{state.trust!r}" if state.trust else "lab.log.vkey().trust_policy"
    return "\n".join(
        (
            "import attestlab",
            "from datetime import UTC, datetime",
            "",
            f"bundle = {bundle}",
            f"trust = attestlab.TrustPolicy.parse({trust})",
            "attestlab.examine_bundle(bundle, trust=trust, now=datetime.now(UTC))",
        )
    )


def copy_path_python(state: LogState) -> str:
    """Compose the proof of the searched entry."""
    return f"lab.log.proof({_name_entry(state)})"


def copy_bundle_python(state: LogState) -> str:
    """Compose the offline check of the pasted bundle; without one, of the newest attestation's."""
    document = state.bundle.strip()
    bundle = f"attestlab.Bundle.read({document.encode(errors='replace')!r})" if document else _PARSE_NEWEST
    return _examine(state, bundle)


def copy_entries_sql(state: LogState) -> str:
    """Compose the query of the filtered entries, with the values in it."""
    return LakeQuery.bind(EXPORTED.strip(), filter_parameters(state)).to_sql()


def copy_growth_sql(_state: LogState) -> str:
    """Compose the query of all days of the growth."""
    return GROWTH.strip()


def _name_attestation(state: LogState) -> str:
    index = _name_entry(state)
    return index if index == _NEWEST or index.startswith("'") else f"lab.log.entry({index}).entry['id']"


def _name_entry(state: LogState) -> str:
    """Name the searched entry: its index as Python, or an id or hash, which the log looks up."""
    if not state.find:
        return _NEWEST
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
