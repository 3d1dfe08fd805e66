"""Selective disclosure (RFC 9901, SD-JWT): replaces each claim by a digest, and builds its disclosure.

A disclosure is base64url of `[salt, name, value]`, or in an array of `[salt, value]`; the SHA-256
of that text replaces the claim. Objects and arrays are disclosed recursively (section 4.2.6), so
that one member can be shown without the others. There are no decoys, so the number of claims is visible.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Final

from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import Conflict

ALGORITHM: Final = "sha-256"
SALT_BYTES: Final = 16
_RESERVED: Final = frozenset({"_sd", "_sd_alg", "..."})

Path = tuple[str | int, ...]
KeyedHash = Callable[[bytes], bytes]


class DisclosureBuilder:
    """Builds disclosures; the holder decides which of `disclosures` to present.

    Salts are a keyed hash of a value's path, so that they are the same on each export and
    only a holder of the key can test guesses against a digest. `keyed_hash` is bound to one attestation.
    """

    def __init__(self, keyed_hash: KeyedHash) -> None:
        self.disclosures: list[str] = []
        self._keyed_hash = keyed_hash

    def conceal_members(self, value: Mapping[str, object], path: Path = ()) -> dict[str, object]:
        """Replace each member of an object by a digest; sorted, so that their order reveals nothing.

        Raises:
            Conflict: a member has a name that SD-JWT reserves.
        """
        if reserved := _RESERVED.intersection(value):
            raise Conflict(
                f"The claim name {min(reserved)} is reserved by SD-JWT, so this attestation has no such export.",
                details={"reason": "claim_name_reserved"},
            )
        digests = sorted(self._digest((*path, name), inner, name) for name, inner in value.items())
        return {"_sd": digests} if digests else {}

    def _conceal(self, value: object, path: Path) -> object:
        if isinstance(value, Mapping):
            return self.conceal_members(value, path)
        if isinstance(value, list):
            return [{"...": self._digest((*path, place), inner)} for place, inner in enumerate(value)]
        return value

    def _digest(self, path: Path, value: object, *name: str) -> str:
        salt = b64url_encode(self._keyed_hash(canonical(list(path)))[:SALT_BYTES])
        disclosed = json.dumps([salt, *name, self._conceal(value, path)], ensure_ascii=False, separators=(",", ":"))
        disclosure = b64url_encode(disclosed.encode())
        self.disclosures.append(disclosure)
        return b64url_encode(hashlib.sha256(disclosure.encode("ascii")).digest())
