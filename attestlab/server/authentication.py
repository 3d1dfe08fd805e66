"""Finds the caller of a request by its API key, access token or agent's token."""

from __future__ import annotations

import hashlib
from datetime import datetime

from attestlab.core.errors import AuthInvalid
from attestlab.identity.reader_tokens import require_read
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.web.request import Authenticate, Request


def build_authenticator(lab: Installation) -> Authenticate:
    """Build the function that finds the caller behind an API key, an access token or the token of an agent."""

    def authenticate(request: Request) -> Caller:
        credential = request.credential
        if credential is None:
            raise AuthInvalid
        if credential.kind == "bearer" and lab.identity.readers.is_token(credential.secret):
            return _authenticate_reader(lab, request, credential.secret)
        if credential.kind == "bearer":
            return authenticate_bearer(lab, credential.secret, now=request.now, is_use=not request.is_unattended)
        name = ("caller", hashlib.sha256(credential.secret.encode()).digest())
        caller = lab.storage.cached_read(name, lambda connection: lab.orgs.authenticate(connection, credential.secret))
        if caller.expires_at is not None and request.now >= caller.expires_at:
            raise AuthInvalid(known=caller)
        lab.credential_uses.note(caller, at=request.now)
        return caller

    return authenticate


def _authenticate_reader(lab: Installation, request: Request, token: str) -> Caller:
    """Find the person for whom the service draws a report; its process asks on the private socket alone."""
    if not request.is_from_service:
        raise AuthInvalid
    reader = lab.identity.readers.authenticate(token, now=request.now)
    require_read(request.method, request.path)
    return reader


def authenticate_bearer(lab: Installation, secret: str, *, now: datetime, is_use: bool = True) -> Caller:
    """Find the caller behind the access token of a person, or the token of an agent.

    Raises:
        AuthInvalid: the token is unknown or expired, or its session has ended.
    """
    if lab.agents.authentication.is_token(secret):
        return lab.agents.authentication.authenticate(secret, now=now)
    return lab.identity.sessions.authenticate(secret, now=now, is_use=is_use)
