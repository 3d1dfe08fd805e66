"""Usage: what the tenant uses of its plan, when it reaches a limit, and what a change would cost and alter."""
