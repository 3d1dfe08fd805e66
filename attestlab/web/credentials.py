"""The credential a request presents, as it stands in its headers; whether it is good is not decided here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from attestlab.core.errors import AuthInvalid, AuthRequired


class Credential(NamedTuple):
    """A secret and what it claims to be."""

    kind: Literal["api_key", "bearer"]
    secret: str

    def __repr__(self) -> str:
        return f"Credential({self.kind!r})"


def extract_credential(headers: Mapping[str, str]) -> Credential:
    """The API key, from `X-API-Key` or `Authorization: ApiKey` (either form, everywhere), or the bearer token.

    Raises:
        AuthRequired: there is none.
        AuthInvalid: there are two that differ, or another scheme.
    """
    key, authorization = headers.get("x-api-key"), headers.get("authorization")
    if authorization is None:
        if not key:
            raise AuthRequired
        return Credential("api_key", key)
    scheme, _, secret = authorization.partition(" ")
    secret, scheme = secret.strip(), scheme.lower()
    if not secret or (key is not None and (scheme, key) != ("apikey", secret)):
        raise AuthInvalid
    if scheme == "apikey":
        return Credential("api_key", secret)
    if scheme == "bearer":
        return Credential("bearer", secret)
    raise AuthInvalid
