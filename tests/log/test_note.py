"""Signed notes, verifier keys and checkpoints, first against the published example of the Go implementation."""

from __future__ import annotations

from base64 import b64encode

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from attestlab.core.errors import SignatureInvalid, ValidationFailed
from attestlab.log.merkle.hashing import EMPTY_ROOT, leaf_hash
from attestlab.log.note.note import Note, NoteSigner, SignatureType, TreeHead, VerifierKey, sign_checkpoint

# From the documentation of golang.org/x/mod/sumdb/note.
NEUMANN_VKEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
NEUMANN_TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
NEUMANN_LINE = (
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
NEUMANN = f"{NEUMANN_TEXT}\n{NEUMANN_LINE}"

ROOT = leaf_hash(b"anything")
HEAD = TreeHead("log.example/a", 7, ROOT)
AT_S = 1_795_262_400


@pytest.fixture
def signer() -> NoteSigner:
    return NoteSigner(HEAD.origin, Ed25519PrivateKey.from_private_bytes(bytes(range(32))))


def test_published_example_verifies_and_no_changed_one() -> None:
    key = VerifierKey.parse(NEUMANN_VKEY)
    assert Note.parse(NEUMANN).verify([key]) == {key: None}

    changed = NEUMANN.replace("the answer", "an answer")
    with pytest.raises(SignatureInvalid, match="does not verify"):
        Note.parse(changed).verify([key])


def test_a_verifier_key_is_written_as_it_was_read() -> None:
    assert str(VerifierKey.parse(NEUMANN_VKEY)) == NEUMANN_VKEY


@pytest.mark.parametrize(
    "vkey",
    [
        "",
        "PeterNeumann",
        NEUMANN_VKEY.replace("c74f20a3", "c74f20a4"),
        NEUMANN_VKEY.replace("c74f20a3", "C74F20A3"),
        NEUMANN_VKEY.replace("PeterNeumann", "PeterNeumannn"),
        NEUMANN_VKEY.replace("PeterNeumann", "Peter Neumann"),
        NEUMANN_VKEY.replace("PeterNeumann", "Peter\u2003Neumann"),
        NEUMANN_VKEY.replace("PeterNeumann", ""),
        NEUMANN_VKEY[:-4],
        NEUMANN_VKEY + "\n",
        "PeterNeumann+c74f20a3+" + b64encode(b"\x02" + bytes(32)).decode(),
        "PeterNeumann+c74f20a3+" + b64encode(b"\x01" + bytes(31)).decode(),
    ],
)
def test_a_mistyped_verifier_key_is_refused(vkey: str) -> None:
    with pytest.raises(ValidationFailed):
        VerifierKey.parse(vkey)


def test_a_checkpoint_has_the_layout_of_the_standard(signer: NoteSigner) -> None:
    note = sign_checkpoint(signer, HEAD, at_s=AT_S)

    lines = note.split("\n")
    assert lines[:4] == ["log.example/a", "7", b64encode(ROOT).decode(), ""]
    assert [line.split(" ")[:2] for line in lines[4:6]] == [["—", "log.example/a"]] * 2
    assert lines[6:] == [""]
    assert TreeHead.parse(Note.parse(note).text) == HEAD


def test_the_time_of_a_checkpoint_is_signed(signer: NoteSigner) -> None:
    """
    The second line is a cosignature/v1 of the same key, so a changed time does not verify.
    """
    cosigner = signer.vkey.cosigner()
    note = Note.parse(sign_checkpoint(signer, HEAD, at_s=AT_S))
    assert note.verify([signer.vkey, cosigner]) == {signer.vkey: None, cosigner: AT_S}

    timed = note.signatures[1]
    later = (AT_S + 1).to_bytes(8, "big") + timed.signature[8:]
    with pytest.raises(SignatureInvalid):
        cosigner.verify(note.text, later)


def test_the_two_signature_types_of_one_key_have_different_ids(signer: NoteSigner) -> None:
    assert signer.vkey.type is SignatureType.ED25519
    assert signer.vkey.key_id != signer.vkey.cosigner().key_id


def test_signatures_of_unknown_keys_are_ignored(signer: NoteSigner) -> None:
    stranger = NoteSigner("witness.example/w", Ed25519PrivateKey.generate())
    note = sign_checkpoint(signer, HEAD, at_s=AT_S) + stranger.cosign(HEAD.text, at_s=AT_S)
    assert Note.parse(note).verify([signer.vkey]) == {signer.vkey: None}
    assert Note.parse(note).verify([]) == {}


def test_a_key_of_the_same_name_but_another_id_is_unknown(signer: NoteSigner) -> None:
    namesake = NoteSigner(HEAD.origin, Ed25519PrivateKey.generate())
    note = Note.parse(sign_checkpoint(signer, HEAD, at_s=AT_S))
    assert note.verify([namesake.vkey]) == {}


def test_one_invalid_signature_of_a_known_key_invalidates_the_note(signer: NoteSigner) -> None:
    witness = NoteSigner("witness.example/w", Ed25519PrivateKey.generate())
    wrong = witness.cosign(HEAD.text.replace("7", "8"), at_s=AT_S)
    note = Note.parse(sign_checkpoint(signer, HEAD, at_s=AT_S) + wrong)
    with pytest.raises(SignatureInvalid, match=r"witness\.example/w"):
        note.verify([signer.vkey, witness.vkey.cosigner()])


def test_the_text_ends_at_the_last_blank_line(signer: NoteSigner) -> None:
    text = "first\n\nsecond\n"
    note = Note.parse(f"{text}\n{signer.sign(text)}")
    assert note.text == text
    assert note.verify([signer.vkey]) == {signer.vkey: None}


@pytest.mark.parametrize(
    "note",
    [
        "",
        NEUMANN_TEXT,
        NEUMANN_LINE,
        f"\n\n{NEUMANN_LINE}",
        NEUMANN[:-1],
        NEUMANN + "\n",
        NEUMANN.replace("\n", "\r\n"),
        NEUMANN.replace("—", "-"),
        NEUMANN.replace("— ", "—  "),
        NEUMANN.replace("nAM=", "nAN="),
        NEUMANN.replace("nAM=", "nAM"),
        NEUMANN.replace("x08go/", "x08go_"),
        NEUMANN.replace("PeterNeumann", "Peter+Neumann"),
        NEUMANN.replace("PeterNeumann", "Peter\u00a0Neumann"),
        NEUMANN.replace("problem", "pro\x00blem"),
        NEUMANN.replace("problem", "pro\ud800blem"),
        NEUMANN + "— short AAAAAA==\n",
        NEUMANN + "trailing text\n",
        NEUMANN_TEXT + "\n" + NEUMANN_LINE * 101,
    ],
)
def test_malformed_note_is_rejected(note: str) -> None:
    with pytest.raises(SignatureInvalid):
        Note.parse(note)


def test_a_hundred_signatures_are_accepted(signer: NoteSigner) -> None:
    text = HEAD.text
    assert len(Note.parse(f"{text}\n{signer.sign(text) * 100}").signatures) == 100


@pytest.mark.parametrize(
    "text",
    [
        "log.example/a\n7\n",
        f"\n7\n{b64encode(ROOT).decode()}\n",
        f"log.example/a\n07\n{b64encode(ROOT).decode()}\n",
        f"log.example/a\n+7\n{b64encode(ROOT).decode()}\n",
        f"log.example/a\n-7\n{b64encode(ROOT).decode()}\n",
        f"log.example/a\n\u0667\n{b64encode(ROOT).decode()}\n",
        f"log.example/a\n9223372036854775808\n{b64encode(ROOT).decode()}\n",
        f"log.example/a\n{'9' * 5000}\n{b64encode(ROOT).decode()}\n",
        f"log.example/a\n7\n{b64encode(ROOT[:-1]).decode()}\n",
        f"log.example/a\n7\n{b64encode(ROOT).decode().rstrip('=')}\n",
        f"log.example/a\n7\n{ROOT.hex()}\n",
        f"log.example/a\n0\n{b64encode(ROOT).decode()}\n",
        f"log.example/a\n7\n{b64encode(ROOT).decode()}\n\nextension\n",
    ],
)
def test_malformed_checkpoint_is_rejected(text: str) -> None:
    with pytest.raises(SignatureInvalid):
        TreeHead.parse(text)


def test_extension_lines_are_passed_over() -> None:
    assert TreeHead.parse(HEAD.text + "extension\n") == HEAD


def test_an_empty_log_has_a_checkpoint(signer: NoteSigner) -> None:
    empty = TreeHead(HEAD.origin, 0, EMPTY_ROOT)
    assert TreeHead.parse(Note.parse(sign_checkpoint(signer, empty, at_s=AT_S)).text) == empty


@pytest.mark.parametrize("name", ["", "two words", "a+b", "tab\there", "em\u2003space", "line\nbreak"])
def test_invalid_key_name_is_rejected_for_signing(name: str) -> None:
    with pytest.raises(ValidationFailed):
        NoteSigner(name, Ed25519PrivateKey.generate())


@given(st.integers(0, 10_000), st.integers(0, 7))
def test_no_single_bit_of_a_checkpoint_can_change(place: int, bit: int) -> None:
    signer = NoteSigner(HEAD.origin, Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
    raw = bytearray(sign_checkpoint(signer, HEAD, at_s=AT_S).encode())
    raw[place % len(raw)] ^= 1 << bit
    keys = [signer.vkey, signer.vkey.cosigner()]
    try:
        note = Note.parse(raw.decode())
        signed = note.verify(keys)
    except (UnicodeDecodeError, SignatureInvalid):
        return
    assert len(signed) < 2, "a changed bit went unnoticed by both signatures"


P = 2**255 - 19
HOSTILE_POINTS = {
    "the neutral element": (1).to_bytes(32, "little"),
    "order 2": (P - 1).to_bytes(32, "little"),
    "order 4": bytes(32),
    "order 8": bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
    "not canonical": (P + 1).to_bytes(32, "little"),
    "off the curve": (2).to_bytes(32, "little"),
}


def hostile_vkey(point: bytes, kind: SignatureType = SignatureType.ED25519) -> str:
    return str(VerifierKey("log.example/a", kind, point))


@pytest.mark.parametrize("kind", list(SignatureType))
@pytest.mark.parametrize("point", HOSTILE_POINTS.values(), ids=HOSTILE_POINTS)
def test_a_verifier_key_is_held_to_the_check_of_issuer_keys(point: bytes, kind: SignatureType) -> None:
    with pytest.raises(ValidationFailed, match=r"^The verifier key of log\.example/a cannot be used\. The key is"):
        VerifierKey.parse(hostile_vkey(point, kind))


def test_a_signature_that_a_key_of_small_order_accepts_is_none() -> None:
    """With the neutral element as key, R = S = 0 signs everything: (0, 1) = 0 * B - h * (0, 1)."""
    forged = (1).to_bytes(32, "little") + bytes(32)

    with pytest.raises(SignatureInvalid):
        VerifierKey("log.example/a", SignatureType.ED25519, HOSTILE_POINTS["the neutral element"]).verify("a\n", forged)
