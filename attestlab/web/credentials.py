"""The credential a request presents, as it stands in its headers; whether it is good is not decided here."""

from __future__ import annotations

from collections.abc import Mapping

from attestlab.core.errors import AuthInvalid, AuthRequired


def api_key(headers: Mapping[str, str]) -> str:
    """The API key, from `X-API-Key` or `Authorization: ApiKey` (either form, everywhere).

    Raises:
        AuthRequired: there is neither.
        AuthInvalid: both and they differ, or another scheme.
    """
    plain, authorization = headers.get("x-api-key"), headers.get("authorization")
    if authorization is None:
        if not plain:
            raise AuthRequired
        return plain
    scheme, _, key = authorization.partition(" ")
    key = key.strip()
    if scheme.lower() != "apikey" or not key or (plain is not None and plain != key):
        raise AuthInvalid
    return key
