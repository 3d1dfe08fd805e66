"""Wire models of what providers of payments send."""

from __future__ import annotations

from attestlab.core.shapes import Out


class StripeEventOut(Out, source="CONTRACT 11.6"):
    """That an event of Stripe was taken, so that Stripe does not send it again."""

    received: bool
    """Whether the event was taken. Format: true."""
