"""Reads what every page knows: the signed-in person and the tenant."""

from __future__ import annotations

from attestlab import Lab
from attestlab_dashboards.pages import Facts


def read_facts(lab: Lab, stage: str) -> Facts:
    """Read the facts of a lab's caller; `stage` is that of the service, such as `production`.

    Raises:
        AttestLabError: the service does not accept the caller, or is out of reach.
    """
    me = lab.me()
    return Facts(
        person=me.name,
        email=me.email or "",
        tenant=me.tenant_name,
        tenant_id=str(me.tenant_id),
        stage=stage,
        roles=frozenset(me.roles),
        scopes=frozenset(me.credential.scopes),
    )
