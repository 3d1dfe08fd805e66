"""Content credentials (C2PA 2): whether a manifest is there, holds, and names generation.

The library `c2pa` reads strangers' bytes in native code, so it runs in a child process only (`scanner`). It uses no
network: remote manifests and OCSP are off, no host is allowed, and identity assertions are not resolved. There is no
trust list, so a valid manifest proves that its signer signed this picture, and not who the signer is.

C2PA actions and XMP name synthesis by terms of the IPTC vocabulary of digital source types
(cv.iptc.org/newscodes/digitalsourcetype). Camera, scan, screen and human-edit terms say nothing against a picture.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, NamedTuple

import orjson

if TYPE_CHECKING:
    import c2pa


class Synthesis(Enum):
    """How much of a picture its source type says was synthesised."""

    WHOLE = "whole"
    PART = "part"


_SYNTHETIC = {
    "trainedAlgorithmicMedia": Synthesis.WHOLE,
    "algorithmicMedia": Synthesis.PART,  # computed, but by no model that was trained on pictures
    "compositeSynthetic": Synthesis.PART,
    "compositeWithTrainedAlgorithmicMedia": Synthesis.PART,
    "virtualRecording": Synthesis.PART,
}
MAX_TERM_CHARACTERS = 64


def parse_term(value: str) -> str:
    """Return the term of a source type, which is the last part of its address."""
    return value.strip().rstrip("/").rpartition("/")[2][:MAX_TERM_CHARACTERS]


def classify_term(term: str) -> Synthesis | None:
    """Return how much a term says was synthesised; None for terms that say no such thing, and for unknown ones."""
    return _SYNTHETIC.get(term)


MAX_REPORT_BYTES = 2 << 20  # of the library's report about all manifests of a file
MAX_MANIFESTS = 32
MAX_NAME_CHARACTERS = 120
SETTINGS: dict[str, object] = {
    "version": 1,
    "core": {
        "allowed_network_hosts": [],
        "decode_identity_assertions": False,
        "max_decompressed_manifest_size_in_mb": 4,
    },
    "verify": {
        "remote_manifest_fetch": False,
        "ocsp_fetch": False,
        "verify_trust": False,
        "verify_timestamp_trust": False,
    },
}
# The hash leaves out a part that is not the manifest, so it shows nothing about that part (C2PA 2.4 section 15.12).
_EXCLUSION = re.compile(r"exclusion", re.IGNORECASE)
_CONTENT_CODES = frozenset(f"assertion.{kind}Hash.mismatch" for kind in ("data", "bmff", "boxes", "collection"))
_MANIFEST_CODES = frozenset(
    {
        "assertion.hashedURI.mismatch",
        "assertion.missing",
        "claimSignature.mismatch",
        "ingredient.claimSignature.mismatch",
        "ingredient.hashedURI.mismatch",
        "ingredient.manifest.mismatch",
    }
)


class CredentialState(StrEnum):
    """What became of the manifest of a file."""

    ABSENT = "absent"
    REMOTE = "remote"  # the file names an address, which the scan does not open
    VALID = "valid"  # signature and hashes hold; the signer is not checked against a trust list
    CONTENT_CHANGED = "content_changed"  # the picture is not the one that was signed
    CONTENT_EXCLUDED = "content_excluded"  # the hash leaves out bytes that are not the manifest's own
    MANIFEST_CHANGED = "manifest_changed"  # the statements are not the ones that were signed
    INVALID = "invalid"  # another check of the standard failed, such as that of the certificate's dates
    UNREADABLE = "unreadable"


class SourceStatement(NamedTuple):
    """A source type that a manifest states; `is_ingredient` for material that was placed into the picture."""

    term: str
    agent: str
    is_ingredient: bool


class ContentCredentials(NamedTuple):
    """The result of reading a manifest; `signer` is the name in the certificate, which no trust list confirms."""

    state: CredentialState
    signer: str | None = None
    statements: tuple[SourceStatement, ...] = ()
    generators: tuple[str, ...] = ()


def read_credentials(content: bytes, media_type: str) -> ContentCredentials:
    """Read and verify the C2PA manifest of a file, without network."""
    import c2pa

    try:
        with c2pa.Context.from_dict(SETTINGS) as context:
            reader = c2pa.Reader.try_create(media_type, io.BytesIO(content), context=context)
            return ContentCredentials(CredentialState.ABSENT) if reader is None else _read_report(reader)
    except c2pa.C2paError as error:
        return ContentCredentials(_state_of_error(content, str(error)))


def _state_of_error(content: bytes, message: str) -> CredentialState:
    if message.startswith("Remote"):
        return CredentialState.REMOTE
    has_manifest = b"jumb" in content and b"c2pa" in content
    return CredentialState.UNREADABLE if has_manifest else CredentialState.ABSENT


def _read_report(reader: c2pa.Reader) -> ContentCredentials:
    with reader:
        text = reader.json()
    if len(text) > MAX_REPORT_BYTES:
        return ContentCredentials(CredentialState.UNREADABLE)
    try:
        report = orjson.loads(text)
    except orjson.JSONDecodeError:
        return ContentCredentials(CredentialState.UNREADABLE)
    manifests, active = _mapping(report, "manifests"), report.get("active_manifest")
    manifest = _mapping(manifests, active)
    return ContentCredentials(
        judge_report(report),
        _name(_mapping(manifest, "signature_info").get("issuer")),
        tuple(_list_statements(manifests, active)),
        tuple(_list_generators(manifests, active)),
    )


def judge_report(report: Mapping[str, object]) -> CredentialState:
    """Return what the library's report shows about the active manifest, its ingredients and the media."""
    if report.get("validation_state") in ("Valid", "Trusted"):
        return CredentialState.VALID
    results = _mapping(report, "validation_results")
    failures = _items(_mapping(results, "activeManifest"), "failure")
    if any(failure.get("code") in _MANIFEST_CODES for failure in [*failures, *_list_deltas(results)]):
        return CredentialState.MANIFEST_CHANGED
    about_content = [failure for failure in failures if failure.get("code") in _CONTENT_CODES]
    if not about_content:
        return CredentialState.INVALID
    is_excluded = all(_EXCLUSION.search(str(failure.get("explanation"))) for failure in about_content)
    return CredentialState.CONTENT_EXCLUDED if is_excluded else CredentialState.CONTENT_CHANGED


def _list_deltas(results: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """List the failures of ingredients that they did not have when the active manifest was signed."""
    for delta in _items(results, "ingredientDeltas")[:MAX_MANIFESTS]:
        yield from _items(_mapping(delta, "validationDeltas"), "failure")


class _Manifest(NamedTuple):
    """A manifest of a file; `is_ingredient` for one of material that was placed into the picture."""

    content: Mapping[str, object]
    is_ingredient: bool


def _list_manifests(manifests: Mapping[str, object], active: object) -> Iterator[_Manifest]:
    """List the active manifest, its parents, and the ingredients of both.

    A parent is an earlier state of the same picture, so what it states is about the picture itself.
    """
    to_visit: list[tuple[object, bool]] = [(active, False)]
    visited: set[str] = set()
    while to_visit and len(visited) < MAX_MANIFESTS:
        label, is_ingredient = to_visit.pop()
        if not isinstance(label, str) or label in visited:
            continue
        visited.add(label)
        manifest = _mapping(manifests, label)
        yield _Manifest(manifest, is_ingredient)
        for ingredient in _items(manifest, "ingredients"):
            is_part = ingredient.get("relationship") != "parentOf"
            to_visit.append((ingredient.get("active_manifest"), is_ingredient or is_part))


def _list_statements(manifests: Mapping[str, object], active: object) -> Iterator[SourceStatement]:
    """List the source types that all manifests of a file state."""
    for manifest, is_ingredient in _list_manifests(manifests, active):
        for action in _list_actions(manifest):
            if term := action.get("digitalSourceType"):
                yield SourceStatement(parse_term(str(term)), _name(_agent(action)) or "", is_ingredient)


def _list_actions(manifest: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    for assertion in _items(manifest, "assertions"):
        if str(assertion.get("label")).startswith("c2pa.actions"):
            yield from _items(_mapping(assertion, "data"), "actions")


def _list_generators(manifests: Mapping[str, object], active: object) -> Iterator[str]:
    """List the programs that the picture's manifests name: their own generators and the agents of their actions."""
    named: list[object] = []
    for manifest, is_ingredient in _list_manifests(manifests, active):
        if not is_ingredient:
            named += [info.get("name") for info in _items(manifest, "claim_generator_info")]
            named += [manifest.get("claim_generator"), *map(_agent, _list_actions(manifest))]
    yield from dict.fromkeys(name for name in map(_name, named[:MAX_MANIFESTS]) if name)


def _agent(action: Mapping[str, object]) -> object:
    agent = action.get("softwareAgent")
    return agent.get("name") if isinstance(agent, Mapping) else agent


def _mapping(parent: Mapping[str, object], member: object) -> Mapping[str, object]:
    child = parent.get(member) if isinstance(member, str) else None
    return child if isinstance(child, Mapping) else {}


def _items(parent: Mapping[str, object], member: str) -> list[Mapping[str, object]]:
    children = parent.get(member)
    return [child for child in children if isinstance(child, Mapping)] if isinstance(children, list) else []


def _name(value: object) -> str | None:
    return value[:MAX_NAME_CHARACTERS] if isinstance(value, str) else None
