"""Webhooks: signed HTTP requests that report events to endpoints of a tenant (Standard Webhooks).

A receiver needs `verify` alone, which loads no database, web framework or HTTP client.
"""

from attestlab.core.errors import SignatureInvalid
from attestlab.webhooks.receiving import WebhookEvent, verify

__all__ = ["SignatureInvalid", "WebhookEvent", "verify"]
