"""Keyring: a sealed key opens only under its own key-encryption key, for its own owner, and unchanged."""

from __future__ import annotations

import os
import pickle
import stat
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab.core.crypto import signing
from attestlab.core.crypto.keyring import ENVIRONMENT_NAME, FILE_NAME, Keyring
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import Conflict, IntegrityFailed, ValidationFailed

KEK = bytes(range(32))
OWNER = {
    "tenant_id": UUID("0193b5a0-7f3c-7abc-8def-0123456789ab"),
    "issuer_id": UUID("0193b5a0-7f3c-7abc-8def-0123456789ac"),
    "kid": "key-1",
    "alg": "Ed25519",
}
SECRET = b"a private key in PKCS #8"


def sealed() -> bytes:
    return Keyring(KEK).seal(SECRET, **OWNER)


def kek_file(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / FILE_NAME
    path.write_text(text)
    path.chmod(mode)
    return path


def test_unsealed_key_equals_the_sealed_key():
    keyring = Keyring(KEK)
    private = signing.generate(Algorithm.ED25519)

    blob = keyring.seal(signing.dump_private(private), **OWNER)
    opened = signing.load_private(Algorithm.ED25519, keyring.unseal(blob, **OWNER))

    assert opened.public_key() == private.public_key()


@settings(deadline=None)
@given(st.binary(max_size=100), st.text(st.characters(exclude_categories=["Cs"])), st.none() | st.uuids())
def test_seal_round_trips(secret, kid, tenant_id):
    owner = OWNER | {"kid": kid, "tenant_id": tenant_id}

    assert Keyring(KEK).unseal(Keyring(KEK).seal(secret, **owner), **owner) == secret


def test_changed_bit_of_a_blob_is_detected():
    blob = sealed()

    for bit in range(len(blob) * 8):
        changed = bytearray(blob)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(IntegrityFailed):
            Keyring(KEK).unseal(bytes(changed), **OWNER)


def test_truncated_or_extended_blob_is_rejected():
    blob = sealed()

    for changed in [blob[:length] for length in range(len(blob))] + [blob + b"\0", b"\0" + blob, blob + blob]:
        with pytest.raises(IntegrityFailed):
            Keyring(KEK).unseal(changed, **OWNER)


@pytest.mark.parametrize(
    "other",
    [
        {"tenant_id": OWNER["issuer_id"]},
        {"tenant_id": None},
        {"issuer_id": OWNER["tenant_id"]},
        {"issuer_id": None},
        {"tenant_id": OWNER["issuer_id"], "issuer_id": OWNER["tenant_id"]},
        {"kid": "key-2"},
        {"kid": ""},
        {"kid": 'key-1","tenant_id":"'},
        {"alg": "ES256"},
        {"kid": "Ed25519", "alg": "key-1"},
    ],
)
def test_blob_opens_only_for_its_owner(other):
    blob = sealed()

    with pytest.raises(IntegrityFailed, match="does not open"):
        Keyring(KEK).unseal(blob, **OWNER | other)
    assert Keyring(KEK).unseal(blob, **OWNER) == SECRET


def test_wrong_kek_is_named():
    right, wrong = Keyring(KEK), Keyring(KEK[::-1])

    with pytest.raises(IntegrityFailed, match=rf"under the key-encryption key {right.id.hex()}.*{wrong.id.hex()}"):
        wrong.unseal(sealed(), **OWNER)


def test_forged_kek_id_does_not_open_a_blob():
    """
    A blob that claims to be another keyring's still does not open there.
    """
    wrong = Keyring(KEK[::-1])
    blob = sealed()

    with pytest.raises(IntegrityFailed, match="does not open"):
        wrong.unseal(blob[:1] + wrong.id + blob[9:], **OWNER)


def test_two_seals_of_one_key_share_only_the_head():
    blobs = [sealed() for _ in range(200)]

    assert {blob[:9] for blob in blobs} == {b"\x01" + Keyring(KEK).id}
    assert len({blob[9:21] for blob in blobs}) == 200
    assert not any(SECRET in blob for blob in blobs)


def test_a_rewrapped_key_opens_under_the_new_key_encryption_key_only():
    old, new = Keyring(KEK), Keyring(KEK[::-1])
    blob = sealed()

    moved = old.rewrap(blob, new, **OWNER)

    assert new.unseal(moved, **OWNER) == SECRET
    assert old.unseal(blob, **OWNER) == SECRET
    with pytest.raises(IntegrityFailed):
        old.unseal(moved, **OWNER)
    with pytest.raises(IntegrityFailed):
        old.rewrap(moved, new, **OWNER)


def test_a_created_keyring_opens_again_from_its_folder(tmp_path):
    blob = Keyring.create(tmp_path).seal(SECRET, **OWNER)

    assert Keyring.open(tmp_path, {}).unseal(blob, **OWNER) == SECRET
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


def test_key_file_is_private_for_any_umask(tmp_path):
    before = os.umask(0)
    try:
        Keyring.create(tmp_path)
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600


def test_a_second_keyring_is_never_created_over_the_first(tmp_path):
    first = Keyring.create(tmp_path)

    with pytest.raises(Conflict, match="exists"):
        Keyring.create(tmp_path)
    assert Keyring.open(tmp_path, {}).id == first.id
    assert len(list(tmp_path.iterdir())) == 1


def test_two_keyrings_never_share_a_key(tmp_path):
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()

    assert len({Keyring.create(folder).id for folder in folders}) == 2


def test_the_environment_goes_before_the_file(tmp_path):
    of_file = Keyring.create(tmp_path)

    assert Keyring.open(tmp_path, {ENVIRONMENT_NAME: b64url_encode(KEK)}).id == Keyring(KEK).id
    assert Keyring.open(tmp_path, {ENVIRONMENT_NAME: ""}).id == of_file.id


def test_key_file_content_is_accepted_from_the_environment(tmp_path):
    keyring = Keyring.create(tmp_path)
    text = (tmp_path / FILE_NAME).read_text()

    assert Keyring.open(tmp_path / "elsewhere", {ENVIRONMENT_NAME: text}).id == keyring.id


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o622, 0o601, 0o610, 0o777])
def test_key_file_of_wrong_mode_is_rejected_with_the_remedy(tmp_path, mode):
    path = kek_file(tmp_path, b64url_encode(KEK), mode)

    with pytest.raises(ValidationFailed, match=f"chmod 600 {path}"):
        Keyring.open(tmp_path, {})
    path.chmod(0o400)
    assert Keyring.open(tmp_path, {}).id == Keyring(KEK).id


def test_missing_kek_names_both_sources(tmp_path):
    with pytest.raises(ValidationFailed, match=rf"Set {ENVIRONMENT_NAME} or restore .*{FILE_NAME}"):
        Keyring.open(tmp_path, {})


@pytest.mark.parametrize(
    "text", ["x", "not base64url!" * 3, b64url_encode(KEK[:31]), b64url_encode(KEK + b"x"), "é" * 43, KEK.hex()]
)
def test_malformed_kek_is_rejected_without_quoting_it(tmp_path, text):
    kek_file(tmp_path, text)

    for environ in ({}, {ENVIRONMENT_NAME: text}):
        with pytest.raises(ValidationFailed, match="32 bytes") as refused:
            Keyring.open(tmp_path, environ)
        assert text not in str(refused.value.details) + refused.value.message or len(text) == 1


def test_an_empty_file_is_refused(tmp_path):
    kek_file(tmp_path, "")

    with pytest.raises(ValidationFailed, match="32 bytes"):
        Keyring.open(tmp_path, {})


def test_repr_of_a_keyring_hides_its_key():
    keyring = Keyring(KEK)

    assert repr(keyring) == f"<Keyring {keyring.id.hex()}>"
    with pytest.raises(TypeError):
        pickle.dumps(keyring)


def test_kek_of_another_length_is_rejected():
    with pytest.raises(ValueError, match="must have 32"):
        Keyring(KEK[:16])


def test_concurrent_creation_has_one_winner_and_a_complete_file(tmp_path):
    code = (
        "import sys, pathlib\n"
        "from attestlab.core.errors import Conflict\n"
        "from attestlab.core.crypto.keyring import Keyring\n"
        "sys.stdin.read()\n"
        "try: print(Keyring.create(pathlib.Path(sys.argv[1])).id.hex())\n"
        "except Conflict: print('conflict')\n"
    )
    racers = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdin=-1, stdout=-1, text=True) for _ in range(4)
    ]
    for racer in racers:
        racer.stdin.close()
    outcomes = sorted(racer.stdout.read().strip() for racer in racers)
    for racer in racers:
        racer.wait()
        racer.stdout.close()

    assert outcomes.count("conflict") == 3
    assert Keyring.open(tmp_path, {}).id.hex() in outcomes


def test_sealed_secret_opens_only_for_its_purpose():
    """
    An answer is not taken for another, nor for a private key; and a private key for neither.
    """
    keyring = Keyring(KEK)
    blob = keyring.seal_secret(SECRET, purpose="answer 1")

    assert keyring.unseal_secret(blob, purpose="answer 1") == SECRET
    with pytest.raises(IntegrityFailed, match="answer 2"):
        keyring.unseal_secret(blob, purpose="answer 2")
    with pytest.raises(IntegrityFailed):
        keyring.unseal(blob, **OWNER)
    with pytest.raises(IntegrityFailed):
        keyring.unseal_secret(sealed(), purpose="answer 1")
    with pytest.raises(IntegrityFailed):
        Keyring(bytes(32)).unseal_secret(blob, purpose="answer 1")


def test_the_same_secret_sealed_twice_looks_different():
    keyring = Keyring(KEK)

    assert keyring.seal_secret(SECRET, purpose="mail") != keyring.seal_secret(SECRET, purpose="mail")


def test_keyed_hash_depends_on_the_kek():
    assert Keyring(KEK).keyed_sha256(b"request") == Keyring(KEK).keyed_sha256(b"request")
    assert Keyring(KEK).keyed_sha256(b"request") != Keyring(bytes(32)).keyed_sha256(b"request")
    assert Keyring(KEK).keyed_sha256(b"request") != Keyring(KEK).keyed_sha256(b"request.")
