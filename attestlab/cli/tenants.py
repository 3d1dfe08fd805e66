"""Commands for tenants and consumers of an installation."""

from __future__ import annotations

from typing import Annotated

import typer

from attestlab.cli.output import (
    UNUSABLE,
    Data,
    DatabaseUrl,
    JsonOption,
    fail,
    open_installation,
    print_items,
    print_values,
    report_errors,
)
from attestlab.core.encoding import format_time, parse_uuid
from attestlab.core.standard_output import print_stderr
from attestlab.orgs.rules import Plan

tenants = typer.Typer(no_args_is_help=True, help="Tenants of an installation.")
consumers = typer.Typer(no_args_is_help=True, help="Consumers: people with an account.")


@tenants.command("create")
def tenant_create(
    name: Annotated[str, typer.Argument(help="Display name of the tenant, 1 to 200 characters.")],
    data: Data,
    plan: Annotated[str, typer.Option(help="FREE, STARTER, PROFESSIONAL or ENTERPRISE.")] = "FREE",
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """Create a tenant with an owner and a key.

    Exit status: 0 created, 2 the name or plan is not acceptable.

    Example: attestlab tenant create "Registry of Deeds" --plan STARTER --data lab --json
    """
    with report_errors(), open_installation(data, database_url) as lab:
        wanted = _parse_plan(plan)
        with lab.storage.write() as tx:
            created = lab.orgs.create_tenant(name, plan=Plan.FREE, tx=tx)
            if wanted is not Plan.FREE:
                lab.billing.set_plan(created.tenant_id, wanted, {}, tx=tx)
        with lab.storage.read() as connection:
            vkey = lab.log.vkey(connection)
    print_values({**created.public(), "log_vkey": vkey}, as_json)


@tenants.command("list")
def tenant_list(
    data: Data,
    with_consumers: Annotated[bool, typer.Option("--consumers", help="Also those of consumers.")] = False,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """List the tenants, oldest first, with their plans.

    Exit status: 0 listed, 2 there is no installation.

    Example: attestlab tenant list --data lab
    """
    with report_errors(), open_installation(data, database_url) as lab:
        found = lab.orgs.list_tenants(with_consumers=with_consumers)
    items = [
        {
            "tenant_id": str(each.id),
            "plan": each.plan,
            "operator": each.is_operator,
            "realm": each.realm or "tenant",
            "created_at": format_time(each.created_at),
            "name": each.name,
        }
        for each in found
    ]
    print_items(items, as_json)


@tenants.command("plan")
def tenant_plan(
    tenant_id: Annotated[str, typer.Argument(help="Id of the tenant, which `attestlab tenant list` prints.")],
    plan: Annotated[str, typer.Argument(help="FREE, STARTER, PROFESSIONAL or ENTERPRISE.")],
    data: Data,
    limits: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=COUNT", help="Override a limit, such as issuers=5; none is unlimited."),
    ] = None,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """Change a tenant's plan, effective with its next request; replaces earlier overrides of limits.

    A larger plan is charged for the rest of the month; a smaller one refunds nothing.

    Exit status: 0 changed, 2 there is no such tenant, plan or limit.

    Example: attestlab tenant plan 01997f3a-... STARTER --set issuers=25 --data lab
    """
    from attestlab.orgs.plans import allowance_for, parse_limits, public_limits

    with report_errors(), open_installation(data, database_url) as lab:
        row = lab.billing.set_plan(parse_uuid(tenant_id), _parse_plan(plan), parse_limits(limits or ()))
    allowed = public_limits(allowance_for(plan, row.adjusted, row.addons))
    print_values({"tenant_id": tenant_id, "plan": plan, **allowed}, as_json)


@tenants.command("invoices")
def tenant_invoices(
    tenant_id: Annotated[str, typer.Argument(help="Id of the tenant, which `attestlab tenant list` prints.")],
    data: Data,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """List a tenant's invoices, newest first.

    Exit status: 0 listed, 2 there is no such tenant.

    Example: attestlab tenant invoices 01997f3a-... --data lab
    """
    with report_errors(), open_installation(data, database_url) as lab:
        found = lab.billing.list_invoices(parse_uuid(tenant_id))
    items = [
        {
            "number": each.number,
            "status": each.status,
            "created_at": format_time(each.created_at),
            "period_end": format_time(each.period_end),
            "amount_minor": each.amount_minor,
            "currency": each.currency,
        }
        for each in found
    ]
    print_items(items, as_json)


@consumers.command("create")
def consumer_create(
    email: Annotated[str, typer.Argument(help="E-mail address that the consumer signs in with.")],
    data: Data,
    name: Annotated[str, typer.Option(help="Display name; the address when left out.")] = "",
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """Create a consumer with a random password, which is printed only once.

    Exit status: 0 created, 2 the address is taken or malformed.

    Example: attestlab consumer create ada@example.org --name "Ada Lovelace" --data lab --json
    """
    import secrets

    password = secrets.token_urlsafe(18)
    with report_errors(), open_installation(data, database_url) as lab:
        created = lab.orgs.add_consumer(email, password, name=name or email)
    print_values({**created.public(), "password": password}, as_json)


@consumers.command("invite")
def consumer_invite(
    email: Annotated[str, typer.Argument(help="E-mail address that the invitation is mailed to.")],
    data: Data,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """Mail an invitation, with which a person opens an account; prints its link, which works once, for 30 days.

    Exit status: 0 invited, 2 the address is taken or malformed.

    Example: attestlab consumer invite ada@example.org --data lab --json
    """
    with report_errors(), open_installation(data, database_url) as lab:
        invited = lab.consumers.signups.invite(email)
    print_values({"email": invited.email, "invited_until": format_time(invited.until), "link": invited.link}, as_json)
    if lab.settings.portal_url is None:  # only a server knows its own port
        print_stderr(
            f"Warning: this link begins with {lab.portal_url}, because no setting names the address of the service. "
            "The mail has the address of the server that sends it. Set ATTESTLAB_PORTAL_URL to print the same link."
        )


def _parse_plan(name: str) -> Plan:
    if name not in list(Plan):
        fail(f"Unknown plan {name!r}. Valid plans: {', '.join(Plan)}.", UNUSABLE)
    return Plan(name)
