"""One value has one spelling in a bundle: any other one is unusable or INVALID, wherever the verifier reads it."""

from __future__ import annotations

import copy
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from attestlab.attestations.bundle.bundle import Bundle
from attestlab.attestations.bundle.verifier import verify_bundle
from attestlab.attestations.rules import Verdict
from attestlab.core.encoding import format_time, parse_time
from attestlab.core.errors import ValidationFailed
from attestlab.log.entries import profile_name
from attestlab.log.note.trust_policy import TrustPolicy
from support.own_log import TRUST, change_entry, log_again
from support.release_bundles import FOLDER

RELEASE = FOLDER / "0.1.0"
RELEASE_TRUST = TrustPolicy.parse((RELEASE / "trust.txt").read_bytes())
Place = tuple[str | int, ...]
# Neither signed nor logged, and so listed by the report as not checked.
UNPROVEN = [
    ("attestation", name)
    for name in ("custody", "metadata", "pack_id", "subject_reference", "supersedes_attestation_id")
]
TO_STANDARD, TO_URL_SAFE = str.maketrans("-_", "+/"), str.maketrans("+/", "-_")
RESPELLINGS: dict[str, Callable[[str], str]] = {
    "upper case": str.upper,
    "lower case": str.lower,
    "space before": lambda text: f" {text}",
    "space after": lambda text: f"{text} ",
    "line end": lambda text: f"{text}\n",
    "line ends of Windows": lambda text: text.replace("\n", "\r\n"),
    "byte order mark": lambda text: f"\ufeff{text}",
    "NUL": lambda text: f"{text}\0",
    "leading zero": lambda text: f"0{text}",
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "full width": lambda text: text.translate({ord(digit): ord(digit) + 0xFEE0 for digit in "0123456789"}),
    "padding": lambda text: f"{text}=",
    "no padding": lambda text: text.rstrip("="),
    "standard base64": lambda text: text.translate(TO_STANDARD),
    "URL-safe base64": lambda text: text.translate(TO_URL_SAFE),
    "a bit beyond the last byte": lambda text: re.sub("A(=*)$", r"B\1", text),
    "no prefix": lambda text: text.removeprefix("sha256:"),
    "prefix": lambda text: f"sha256:{text}",
    "offset": lambda text: re.sub("Z$", "+00:00", text),
    "unknown offset": lambda text: re.sub("Z$", "-00:00", text),
    "another zone": lambda text: re.sub(r"T12(.*)Z$", r"T13\1+01:00", text),
    "small z": lambda text: re.sub("Z$", "z", text),
    "small t": lambda text: re.sub(r"(\d)T(\d)", r"\1t\2", text),
    "space for T": lambda text: re.sub(r"(\d)T(\d)", r"\1 \2", text),
    "no fraction": lambda text: re.sub(r"\.\d+Z$", "Z", text),
    "short fraction": lambda text: re.sub(r"\.(\d)\d+Z$", r".\1Z", text),
    "long fraction": lambda text: re.sub("Z$", "000Z", text),
    "digits that are cut": lambda text: re.sub("Z$", "9Z", text),
    "URN": lambda text: f"urn:uuid:{text}",
    "braces": lambda text: f"{{{text}}}",
    "no hyphens": lambda text: text.replace("-", ""),
}


def with_profile() -> dict[str, Any]:
    """A bundle whose issuer's name is logged, with an expiry in the future."""
    sound = json.loads((RELEASE / "with_all_members.json").read_text())
    profile = profile_name(sound["issuer"]["name"], sound["issuer"]["domain"])
    return log_again(sound, {"issuer/newest": change_entry(sound, "issuer/newest", profile=profile)})


def of_release(name: str) -> dict[str, Any]:
    """A bundle of the first release, with all readable copies."""
    loaded: dict[str, Any] = json.loads((RELEASE / f"{name}.json").read_text())
    return loaded


BUNDLES = {
    "profile": (with_profile(), TRUST),
    "copies": (of_release("with_all_members"), RELEASE_TRUST),
    "revoked": (of_release("revoked"), RELEASE_TRUST),
    "rotated_key": (of_release("rotated_key"), RELEASE_TRUST),
}


def judge(document: dict[str, Any], trust: TrustPolicy) -> Verdict | None:
    """The verdict over a bundle at its creation; None if it cannot be read."""
    try:
        bundle = Bundle.parse(document)
    except ValidationFailed:
        return None
    return verify_bundle(bundle, trust=trust, now=bundle.statement.created_at).verdict


def find_texts(value: Any, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """Every text in a document that the log or the signature proves, with its place."""
    if isinstance(value, str):
        yield place, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        if (*place, name) not in UNPROVEN:
            yield from find_texts(inner, (*place, name))


def respell(document: dict[str, Any], places: list[Place], text: str) -> dict[str, Any]:
    """A copy with another text at some places."""
    changed = copy.deepcopy(document)
    for place in places:
        holder: Any = changed
        for name in place[:-1]:
            holder = holder[name]
        holder[place[-1]] = text
    return changed


TEXTS = {
    name: [
        (place, text)
        for place, text in find_texts(document)
        # Without a profile in the log, nothing proves the name.
        if name == "profile" or place not in (("issuer", "name"), ("issuer", "domain"))
    ]
    for name, (document, _) in BUNDLES.items()
}


@pytest.mark.parametrize("name", BUNDLES)
def test_the_bundles_hold_as_they_are(name: str) -> None:
    assert judge(*BUNDLES[name]) is (Verdict.REVOKED if name == "revoked" else Verdict.VALID)


@pytest.mark.parametrize("how", RESPELLINGS)
@pytest.mark.parametrize("name", BUNDLES)
def test_everything_that_is_proven_has_one_spelling(name: str, how: str) -> None:
    """At each place alone, and at all places that have the same text."""
    document, trust = BUNDLES[name]
    for text in {text for _, text in TEXTS[name]}:
        other = RESPELLINGS[how](text)
        if other == text:
            continue
        places = [place for place, found in TEXTS[name] if found == text]
        for changed in ([places] if len(places) > 1 else []) + [[place] for place in places]:
            verdict = judge(respell(document, changed, other), trust)
            assert verdict in (None, Verdict.INVALID), f"{other!r} at {changed} is {verdict}"


def test_another_spelling_is_named_with_the_right_one() -> None:
    document, _ = BUNDLES["copies"]
    text = document["attestation"]["created_at"]
    other = format_time(parse_time(text)).replace("Z", "+00:00")

    with pytest.raises(ValidationFailed, match=rf"/attestation/created_at is '{re.escape(other)}'.*spells.*{text}"):
        Bundle.parse(respell(document, [("attestation", "created_at")], other))
