"""The event of a test delivery; its docstring is in the event catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from attestlab.core.events import Event, EventField


@dataclass(frozen=True)
class WebhookTested(Event, type="webhook.test"):
    """A test delivery was requested; its `data` is the payload of the request, or this one."""

    status: Annotated[str | None, EventField("The status that the test reports.", "ok", 64)] = None
    source: str | None = None
