"""Test vectors made by others: Wycheproof signatures, RFC 8785 pairs, RFC 6962 proofs.

They are read from the folder that ATTESTLAB_VECTORS names, by default `shared/vectors`
beside the checkout. Where they are absent the asking module is skipped and says so.
"""

from __future__ import annotations

import json
import os
from base64 import b64decode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

DEFAULT_FOLDER = Path(__file__).resolve().parents[3] / "shared" / "vectors"


def collection_folder(name: str) -> Path:
    """The folder of one collection; skips the caller where it is absent."""
    found = Path(os.environ.get("ATTESTLAB_VECTORS") or DEFAULT_FOLDER) / name
    if not found.is_dir():
        pytest.skip("no vectors", allow_module_level=True)
    return found


@dataclass(frozen=True)
class SignatureCase:
    """One Wycheproof case; `result` is valid, invalid or acceptable.

    `public` is the key as DER SubjectPublicKeyInfo, `jwk` the same as a JSON Web Key where the file has it, else empty.
    """

    id: str
    public: bytes
    jwk: dict[str, str]
    message: bytes
    signature: bytes
    result: str
    flags: tuple[str, ...]


def wycheproof(file_name: str) -> list[SignatureCase]:
    """Every case of a Wycheproof signature file such as `ed25519_test.json`."""
    document = json.loads((collection_folder("wycheproof") / file_name).read_bytes())
    return [
        SignatureCase(
            id=f"{test['tcId']} {test['comment']}",
            public=bytes.fromhex(group["publicKeyDer"]),
            jwk=group.get("publicKeyJwk") or group.get("keyJwk") or {},
            message=bytes.fromhex(test["msg"]),
            signature=bytes.fromhex(test["sig"]),
            result=test["result"],
            flags=tuple(test["flags"]),
        )
        for group in document["testGroups"]
        for test in group["tests"]
    ]


def jcs_pairs() -> list[tuple[str, bytes, bytes]]:
    """(name, input, canonical output): the canonical bytes are those of the hex dump, beyond doubt of line ends."""
    jcs = collection_folder("jcs")
    return [
        (path.stem, path.read_bytes(), bytes.fromhex((jcs / "outhex" / f"{path.stem}.txt").read_text()))
        for path in sorted((jcs / "input").glob("*.json"))
    ]


def merkle(kind: str) -> dict[str, dict[str, Any]]:
    """The `inclusion` or `consistency` cases by name; hashes and proofs are bytes, a null proof is the empty list."""
    cases = json.loads((collection_folder("merkle") / f"{kind}.json").read_bytes())
    hashes = {"leafHash", "root", "root1", "root2"}
    return {
        name: {
            **case,
            **{key: b64decode(case[key] or "") for key in hashes & case.keys()},
            "proof": [b64decode(node) for node in case["proof"] or []],
        }
        for name, case in cases.items()
    }
