"""The event of a test delivery; its docstring is in the event catalogue."""

from __future__ import annotations

from dataclasses import dataclass

from attestlab.core.events import Event


@dataclass(frozen=True)
class WebhookTested(Event, type="webhook.test"):
    """A test delivery was requested; its `data` is the payload of the request, or this one."""

    status: str | None = None
    source: str | None = None
