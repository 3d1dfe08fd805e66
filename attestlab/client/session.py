"""The session of a person in a lab: an access token of an hour, and a refresh token for the next one (docs/http.md)."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from uuid import uuid4

from attestlab.client.service_client import ServiceClient
from attestlab.core.errors import AuthInvalid
from attestlab.identity.shapes import TokensOut


class PersonSession:
    """A session that renews itself as long as the service lets it; threads may share one.

    The lock protects the tokens. Each refresh token is sent with one Idempotency-Key, so that a renewal that broke off
    can be repeated: with another key, the service would take the second use for that of a thief and end the session.
    """

    def __init__(self, client: ServiceClient, tokens: TokensOut) -> None:
        self._client = client
        self._lock = Lock()
        self._accept(tokens)

    @classmethod
    def sign_in(cls, client: ServiceClient, email: str, password: str) -> PersonSession:
        """Begin a session; `client` has no credential.

        Raises:
            AuthInvalid: the password is wrong, or there is no such person.
        """
        answer = client.post("/v1/auth/login", {"email": email, "password": password})
        return cls(client, TokensOut.model_validate(answer))

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of a request in this session."""
        return {"Authorization": f"Bearer {self._tokens.access_token}"}

    def renew(self, refused: str | None) -> None:
        """Get the next tokens, unless another thread did since `refused`, an Authorization header, was sent.

        Raises:
            AuthInvalid: the session has ended.
        """
        with self._lock:
            if self.headers["Authorization"] != refused:
                return
            try:
                answer = self._client.post(
                    "/v1/auth/refresh", {"refresh_token": self._tokens.refresh_token}, key=self._key
                )
            except AuthInvalid as error:
                error.add_note("The session has ended. Sign in again: lab.as_(address, password=...).")
                raise
            self._accept(TokensOut.model_validate(answer))

    def __repr__(self) -> str:
        return f"PersonSession({self._client.place})"

    def _accept(self, tokens: TokensOut) -> None:
        self._tokens, self._key = tokens, str(uuid4())
