"""The session of a person at the service: a refresh token that stays unused, and the access token of an hour.

A browser session outlives this process. So its refresh token is not replaced with each renewal: the sealed copy in the
browser's cookie (`cookies.py`) stays valid. The service accepts this on its private socket alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Self
from uuid import uuid4

from attestlab.client.service_client import ServiceClient
from attestlab.identity.shapes import TokensOut
from attestlab.web.request import KEPT_TOKEN, KeptTokenUse


class KeptSession:
    """A session that renews itself as long as the service lets it; threads may share one.

    The lock protects the access token. `client` has no credential.
    """

    def __init__(self, client: ServiceClient, tokens: TokensOut) -> None:
        self._client = client
        self._lock = Lock()
        self.refresh_token = tokens.refresh_token
        self._access_token = tokens.access_token

    @classmethod
    def sign_in(cls, client: ServiceClient, email: str, password: str) -> Self:
        """Begin a session.

        Raises:
            AuthInvalid: the password is wrong, or there is no such person.
            RateLimited: too many attempts failed.
        """
        answer = client.post("/v1/auth/login", {"email": email, "password": password})
        return cls(client, TokensOut.model_validate(answer))

    @classmethod
    def reopen(cls, client: ServiceClient, refresh_token: str) -> Self:
        """Open a session again, which an earlier process of the dashboards began.

        Raises:
            AuthInvalid: it has ended, or was not used for hours.
        """
        return cls(client, _exchange(client, refresh_token, KeptTokenUse.REOPEN))

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of a request in this session."""
        return {"Authorization": f"Bearer {self._access_token}"}

    def renew(self, refused: str | None) -> None:
        """Get the next access token, unless another thread did since `refused`, an Authorization header, was sent.

        Raises:
            AuthInvalid: the session has ended.
        """
        with self._lock:
            if self.headers["Authorization"] == refused:
                self._access_token = _exchange(self._client, self.refresh_token, KeptTokenUse.RENEW).access_token

    def __repr__(self) -> str:
        return f"KeptSession({self._client.place})"


def _exchange(client: ServiceClient, refresh_token: str, use: KeptTokenUse) -> TokensOut:
    body = {"refresh_token": refresh_token}
    answer = client.send("POST", "/v1/auth/refresh", body=body, headers={KEPT_TOKEN: use}, key=str(uuid4()))
    return TokensOut.model_validate_json(answer.content)
