"""Selective disclosure (RFC 9901, SD-JWT): each claim behind a digest of its own, and what opens it.

A disclosure is base64url of `[salt, name, value]`, in an array of `[salt, value]`; in its place
stands the SHA-256 of that text. Objects and arrays are taken apart too (section 4.2.6), so that
one member can be shown without the others. There are no decoys: how many claims there are shows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Final

from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.errors import Conflict
from attestlab.core.strict_json import b64url_encode

ALGORITHM: Final = "sha-256"
SALT_BYTES: Final = 16
_RESERVED: Final = frozenset({"_sd", "_sd_alg", "..."})

Path = tuple[str | int, ...]
KeyedHash = Callable[[bytes], bytes]


class DisclosureBuilder:
    """Takes values apart; `disclosures` are what a holder shows or keeps to themselves.

    Salts are a keyed hash of where a value stands, so that they come out the same each time and
    nobody without the key can try out what a digest hides. `keyed_hash` is bound to one attestation.
    """

    def __init__(self, keyed_hash: KeyedHash) -> None:
        self.disclosures: list[str] = []
        self._keyed_hash = keyed_hash

    def conceal_members(self, value: Mapping[str, object], path: Path = ()) -> dict[str, object]:
        """An object that has a digest in place of each member; sorted, so that their order tells nothing.

        Raises:
            Conflict: a member has a name that the format keeps for itself.
        """
        if reserved := _RESERVED.intersection(value):
            raise Conflict(
                f"A claim is named {min(reserved)}, which SD-JWT keeps for itself; this attestation has no such form.",
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
