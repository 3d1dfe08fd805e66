"""The credential in a request's headers. Verifying it is up to `Application.authenticate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from attestlab.core.errors import AuthInvalid, AuthRequired


class Credential(NamedTuple):
    """A secret and its declared kind."""

    kind: Literal["api_key", "bearer"]
    secret: str

    def __repr__(self) -> str:
        return f"Credential({self.kind!r})"


def extract_credential(headers: Mapping[str, str]) -> Credential:
    """Extract the API key from `X-API-Key` or `Authorization: ApiKey`, both accepted everywhere, or the bearer token.

    Raises:
        AuthRequired: the request has no credential.
        AuthInvalid: two credentials differ, or the scheme is unknown.
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
