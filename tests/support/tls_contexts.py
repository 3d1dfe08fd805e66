"""HTTP clients of the tests share their TLS contexts: each would read the system's certificates, for 30 ms."""

from __future__ import annotations

import os
import ssl
from functools import cache
from typing import Any

from httpx._transports import default

_create = default.create_ssl_context


def share_tls_contexts() -> None:
    """Create one context for each choice of certificates; tests speak plain HTTP and never use it."""
    default.create_ssl_context = _find_context


def _find_context(verify: Any = True, cert: Any = None, *, trust_env: bool = True) -> ssl.SSLContext:
    if isinstance(verify, ssl.SSLContext):
        return verify
    return _make_context(verify, cert, trust_env, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _make_context(verify: Any, cert: Any, trust_env: bool, *_environment: str | None) -> ssl.SSLContext:
    return _create(verify=verify, cert=cert, trust_env=trust_env)
