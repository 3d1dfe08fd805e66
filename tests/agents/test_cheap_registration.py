"""What a registration does not ask the records, because it would flush each agent of a group apart."""

from __future__ import annotations

from typing import Any

from sqlalchemy import event

from attestlab.agents.shapes import AgentIn
from attestlab.orgs.rules import Caller
from support.orgs import TenantClients


def test_a_key_that_the_service_makes_is_not_looked_up(clients: TenantClients, keeper: Caller) -> None:
    registry, sent = clients.lab.agents.registry, list[str]()
    prepared = registry.prepare(AgentIn(display_name="Invoice reader"))

    def keep(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        sent.append(statement)

    with clients.lab.storage.write() as tx:
        event.listen(tx.connection, "before_cursor_execute", keep)
        made = registry.add(prepared, caller=keeper, tx=tx)
        asked = [statement for statement in sent if "FROM agent_keys" in statement]
        event.remove(tx.connection, "before_cursor_execute", keep)

    assert asked == []
    assert registry.get(made.row.id, caller=keeper).keys[0].custody == "managed"
