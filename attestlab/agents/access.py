"""Who reaches the routes of agents: people and keys by scope, and an agent itself for its own acts (CONTRACT 11.0).

An agent's session needs no scope for what it does as itself: it reads itself, ends its sessions, votes, and reports
its own events and steps. Such a route declares `OWN_WRITERS` or `OWN_READERS`, and its service calls
`rules.require_own`, which refuses every other agent. Whatever else a session reaches, it reaches by its scopes.
"""

from __future__ import annotations

from typing import Final

from attestlab.orgs.rules import Scope
from attestlab.web.routing.authorization import Requirement

READERS: Final = Requirement(scope=Scope.AGENTS_READ)
WRITERS: Final = Requirement(scope=Scope.AGENTS_WRITE)
OWN_READERS: Final = Requirement(scope=Scope.AGENTS_READ, agents_without_scope=True)
OWN_WRITERS: Final = Requirement(scope=Scope.AGENTS_WRITE, agents_without_scope=True)
