"""One spelling, one answer, one format: what another verifier might read differently is refused, also if signed."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attestlab.attestations.bundle.bundle import Bundle
from attestlab.attestations.bundle.reader import BUNDLE_FORMAT, find_different
from attestlab.attestations.bundle.verifier import examine_bundle, verify_bundle
from attestlab.attestations.rules import Verdict
from attestlab.cli import verify as verify_command
from attestlab.cli.unforeseen import UNFORESEEN
from attestlab.core.encoding import parse_time
from attestlab.core.errors import NewerFormat, ValidationFailed
from support.own_log import AT_S, PLACES, TRUST, TRUST_TEXT, change_entry, log_again
from support.property_tests import examples
from support.release_bundles import FOLDER

NOW = parse_time("2026-11-22T12:00:00Z")
SOUND: dict[str, Any] = json.loads((FOLDER / "0.1.0" / "revoked_key.json").read_text())
CLEAN = log_again(SOUND)
BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def judge(document: Any) -> Verdict | None:
    """The verdict over a bundle of this log; None if it cannot be read."""
    try:
        return verify_bundle(Bundle.parse(document), trust=TRUST, now=NOW).verdict
    except NewerFormat:
        raise
    except ValidationFailed:
        return None


def places(value: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path to everything in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield (*where, name)
        yield from places(inner, (*where, name))


def replace(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy with another value at a path."""
    changed = copy.deepcopy(document)
    holder = changed
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = value
    return changed


def get(document: Any, path: tuple[Any, ...]) -> Any:
    for name in path:
        document = document[name]
    return document


ALL = list(places(CLEAN))
ENCODED = [path for path in ALL if str(path[-1]).endswith("_b64")]


def test_a_bundle_that_this_log_proves_is_valid() -> None:
    assert judge(CLEAN) is Verdict.VALID
    assert len(ENCODED) == 7


@pytest.mark.parametrize("path", ENCODED, ids=["/".join(map(str, path)) for path in ENCODED])
def test_base64_has_one_spelling(path: tuple[Any, ...]) -> None:
    text = get(CLEAN, path)
    padding = len(text) - len(text.rstrip("="))
    other = BASE64[BASE64.index(text[-1 - padding]) ^ 1]
    spellings = [f"{text}=", f"{text}====", f" {text}", f"{text}\n"]
    if padding:
        spellings += [text.rstrip("="), text[: -1 - padding] + other + "=" * padding]

    assert [judge(replace(CLEAN, path, spelling)) for spelling in spellings] == [None] * len(spellings)


def test_public_key_has_one_spelling() -> None:
    text = CLEAN["key"]["public_key"]
    padded = text + "=" * (-len(text) % 4)

    assert padded != text
    assert judge(replace(CLEAN, ("key", "public_key"), padded)) is None


@pytest.mark.parametrize(
    "spelling", [str.upper, lambda digits: digits[:2] + " " + digits[2:], lambda digits: digits[:-2]]
)
def test_prev_of_an_entry_is_exactly_a_hash(spelling: Any) -> None:
    prev = json.loads(change_entry(SOUND, "key/newest"))["prev"]
    entry = change_entry(SOUND, "key/newest", prev="sha256:" + spelling(prev.removeprefix("sha256:")))

    assert judge(log_again(SOUND, {"key/newest": entry})) is Verdict.INVALID


@pytest.mark.parametrize("link", [{"prev": None}, {"seq": -1}, {"seq": True}, {"prev": ""}])
def test_only_the_first_entry_of_a_chain_has_no_prev(link: dict[str, Any]) -> None:
    assert judge(log_again(SOUND, {"key/newest": change_entry(SOUND, "key/newest", **link)})) is Verdict.INVALID


@pytest.mark.parametrize("value", [1, 1.0, True])
def test_a_copy_of_another_type_differs(value: object) -> None:
    """In Python, the JSON values `true` and `1.0` equal 1."""
    copies = {"leaf_index": value, "root": "r"}

    assert find_different(copies, {"leaf_index": 1, "root": "r"}) == (None if type(value) is int else "leaf_index")
    copy_of_size = replace(CLEAN, ("inclusion_proof", "tree_size"), float(SOUND["inclusion_proof"]["tree_size"]))
    assert judge(copy_of_size) is Verdict.INVALID


@pytest.mark.parametrize("at_s", [253_402_300_800, 2**62, 2**63 - 1])
def test_a_signed_time_after_the_year_9999_is_invalid(at_s: int, tmp_path: Path, capsys: Any) -> None:
    document = log_again(SOUND, at_s=at_s)

    assert judge(document) is Verdict.INVALID
    assert run(document, tmp_path) == verify_command.OTHER_VERDICT
    assert "after the year 9999" in capsys.readouterr().out


def run(document: Any, folder: Path) -> int:
    """The exit status of `attestlab verify`."""
    (folder / "trust.txt").write_text(TRUST_TEXT)
    (folder / "bundle.json").write_text(json.dumps(document))
    code = verify_command.command([str(folder / "bundle.json"), "--trust", str(folder / "trust.txt")])
    assert code is not None
    return code


@pytest.mark.parametrize("name", [None, BUNDLE_FORMAT])
def test_a_bundle_without_a_format_has_the_first(name: str | None) -> None:
    assert judge(CLEAN if name is None else {**CLEAN, "format": name}) is Verdict.VALID


def test_a_newer_format_needs_a_newer_verifier(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    newer = {"format": "attestlab-bundle/2", "proof": {}}

    with pytest.raises(NewerFormat, match="Get a newer verifier"):
        Bundle.parse(newer)
    assert run(newer, tmp_path) == run({**CLEAN, **newer}, tmp_path) == verify_command.COULD_NOT_CHECK
    assert "'attestlab-bundle/2', and this version reads attestlab-bundle/1" in capsys.readouterr().err


@pytest.mark.parametrize("number", ["2", "10", "999999999", "1000000000", "9" * 21, "1" + "0" * 5000])
def test_a_newer_format_may_have_any_number(number: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run({**CLEAN, "format": f"attestlab-bundle/{number}"}, tmp_path) == verify_command.COULD_NOT_CHECK

    said = capsys.readouterr().err
    assert "Get a newer verifier" in said
    assert len(said) < 200


@pytest.mark.parametrize(
    "name",
    [
        "",
        "bundle",
        "attestlab-bundle",
        "attestlab-bundle/",
        "Attestlab-bundle/1",
        "ATTESTLAB-BUNDLE/2",
        *(f"attestlab-bundle/{junk}" for junk in ("0", "01", "02", "00", "-2", "+2", "1.0", "2.0", "1e9", "0x2")),
        *(f"attestlab-bundle/{junk}" for junk in ("1_0", "2 ", " 2", "2\n", "2/1", "1/", "2-beta", "two", "2\0")),
        "attestlab-bundle/\uff12",
        "/attestlab-bundle/2",
        "https://attestlab.example/attestlab-bundle/2",
        1,
        2,
        1e9,
        True,
        None,
        [],
        {},
    ],
)
def test_junk_in_place_of_a_format_is_unusable(name: Any, tmp_path: Path) -> None:
    assert run({**CLEAN, "format": name}, tmp_path) == verify_command.UNUSABLE


@pytest.mark.parametrize("members", [{"v": 2}, {"v": 2, "type": "key.forgotten"}, {"type": "key.forgotten"}])
@pytest.mark.parametrize("place", [place for place in PLACES if place != "attestation"])
def test_a_newer_entry_that_the_log_proves_needs_a_newer_verifier(
    place: str, members: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proven = log_again(SOUND, {place: change_entry(SOUND, place, **members)})

    with pytest.raises(NewerFormat, match="newer version or type"):
        judge(proven)
    with pytest.raises(NewerFormat):
        examine_bundle(Bundle.parse(proven), trust=TRUST, now=NOW)
    assert run(proven, tmp_path) == verify_command.COULD_NOT_CHECK
    assert "Get a newer verifier" in capsys.readouterr().err


@pytest.mark.parametrize("members", [{"v": 2}, {"type": "key.forgotten"}])
def test_a_newer_entry_that_the_log_does_not_prove_is_invalid(members: dict[str, Any]) -> None:
    """Otherwise anyone could turn a verdict into a missing one."""
    other = log_again(SOUND, {"key/newest": change_entry(SOUND, "key/newest", **members)})
    forged = replace(CLEAN, ("status_proof", "key", "newest"), other["status_proof"]["key"]["newest"])

    assert judge(forged) is Verdict.INVALID


@pytest.mark.parametrize("members", [{"v": 0}, {"v": "2"}, {"v": True}, {"v": None}, {"type": 1}, {"type": None}])
def test_an_entry_without_version_or_type_is_invalid(members: dict[str, Any]) -> None:
    assert judge(log_again(SOUND, {"key/newest": change_entry(SOUND, "key/newest", **members)})) is Verdict.INVALID


def test_the_command_tells_an_unforeseen_error_from_a_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A traceback would end with the status of a verdict."""
    monkeypatch.setattr(verify_command, "verify_bundle", lambda *_, **__: 1 // 0)

    assert run(CLEAN, tmp_path) == verify_command.COULD_NOT_CHECK
    assert "ZeroDivisionError" in capsys.readouterr().err


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.just([]),
    st.just({}),
    st.sampled_from(["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "A" * 9000, "2" * 5000, "\ud800"]),
)
MEMBERS = st.sampled_from(
    ["v", "type", "id", "issuer_id", "kid", "alg", "key", "at", "commit", "seq", "prev", "status", "public_key",
     "compromised_at", "size", "digest", "minted_index", "trust_tier", "reason", "jurisdiction"]
)  # fmt: skip


@pytest.mark.more_in_soak
def test_whatever_a_bundle_holds_the_command_ends_with_a_documented_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bundles changed anywhere, with entries that this log proves and any signed time: never a traceback."""
    codes = set()

    @settings(max_examples=examples(150, many=3000), suppress_health_check=list(HealthCheck))
    @given(
        entries=st.dictionaries(st.sampled_from(PLACES), st.dictionaries(MEMBERS, JUNK, max_size=2), max_size=2),
        changes=st.lists(st.tuples(st.sampled_from(ALL), JUNK), max_size=2),
        at_s=st.one_of(st.just(AT_S), st.integers(0, 2**63 - 1)),
    )
    def attack(entries: dict[str, Any], changes: list[Any], at_s: int) -> None:
        try:
            changed = {p: change_entry(SOUND, p, **members) for p, members in entries.items() if p != "attestation"}
        except (ValueError, ValidationFailed):  # no JSON, such as a lone surrogate
            return
        document = log_again(SOUND, changed, at_s=at_s)
        for path, value in changes:
            try:
                document = replace(document, path, value)
            except (KeyError, TypeError, IndexError):  # an earlier change took the place away
                continue
        codes.add(run(document, tmp_path))
        assert UNFORESEEN not in capsys.readouterr().err

    attack()
    assert codes <= {0, 1, 2, 3}
    assert {0, 1, 2} <= codes
