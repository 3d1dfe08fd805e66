"""The commands: results on stdout, messages on stderr, `--json` for results as JSON.

Heavy modules are imported inside the commands, so that `--help` is fast and `verify`
loads neither database nor server.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from attestlab.cli import recovery, watch
from attestlab.cli.output import (
    COULD_NOT_CHECK,
    OK,
    PROBLEMS,
    UNUSABLE,
    Data,
    DatabaseUrl,
    Host,
    Json,
    Port,
    announce,
    fail,
    load_settings,
    open_installation,
    print_values,
    progress_on_stderr,
    report_errors,
    warn_about_shared_folder,
)
from attestlab.core.standard_output import emit, exit_on_lost_output, print_stderr

if TYPE_CHECKING:
    from attestlab.orgs.rules import Plan

app = typer.Typer(
    name="attestlab",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Attestation and verification infrastructure.\n\n"
    "Examples:\n\n"
    "  attestlab demo --port 8080\n\n"
    "  attestlab init --data lab --json\n\n"
    "  attestlab serve --data lab --port 8080\n\n"
    "  attestlab verify bundle.json --file diploma.pdf --trust log.policy",
)
tenants = typer.Typer(no_args_is_help=True, help="Tenants of an installation.")
consumers = typer.Typer(no_args_is_help=True, help="Consumers: people with an account.")
log = typer.Typer(no_args_is_help=True, help="The transparency log.")
lakes = typer.Typer(no_args_is_help=True, help="The lake: data of the records as Parquet, for analysis.")
keys = typer.Typer(no_args_is_help=True, help="The key-encryption key.")
app.add_typer(tenants, name="tenant")
app.add_typer(consumers, name="consumer")
log.command("watch")(watch.log_watch)
log.command("accept-head")(recovery.accept_head)
log.command("confirm-time")(recovery.confirm_time)
app.add_typer(log, name="log")
app.add_typer(lakes, name="lake")
app.add_typer(keys, name="keyring")
app.add_typer(watch.witnesses, name="witness")


@app.command()
def init(data: Data, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """Create an installation: database, keyring, log, the operator's tenant, an owner and a key.

    Example: attestlab init --data lab --json
    """
    from attestlab.installation import Installation

    with report_errors():
        lab, made = Installation.init(load_settings(data, database_url))
        lab.close()
        warn_about_shared_folder(data)
    print_values(made.public(), as_json)


@tenants.command("create")
def tenant_create(
    name: str,
    data: Data,
    plan: Annotated[str, typer.Option(help="FREE, STARTER, PROFESSIONAL or ENTERPRISE.")] = "FREE",
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Create a tenant with an owner and a key.

    Example: attestlab tenant create "Registry of Deeds" --plan STARTER --data lab --json
    """
    with report_errors(), open_installation(data, database_url) as lab:
        created = lab.orgs.create_tenant(name, plan=_parse_plan(plan))
        with lab.storage.read() as connection:
            vkey = lab.log.vkey(connection)
    print_values({**created.public(), "log_vkey": vkey}, as_json)


@tenants.command("plan")
def tenant_plan(
    tenant_id: str,
    plan: Annotated[str, typer.Argument(help="FREE, STARTER, PROFESSIONAL or ENTERPRISE.")],
    data: Data,
    limits: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=COUNT", help="Override a limit, such as issuers=5; none is unlimited."),
    ] = None,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Change a tenant's plan, effective with its next request; replaces earlier overrides of limits.

    Example: attestlab tenant plan 01997f3a-... STARTER --set issuers=25 --data lab
    """
    from attestlab.core.encoding import parse_uuid
    from attestlab.orgs.plans import allowance_for, parse_limits, public_limits

    with report_errors(), open_installation(data, database_url) as lab:
        row = lab.orgs.set_plan(parse_uuid(tenant_id), _parse_plan(plan), parse_limits(limits or ()))
    print_values({"tenant_id": tenant_id, "plan": plan, **public_limits(allowance_for(plan, row.adjusted))}, as_json)


@consumers.command("create")
def consumer_create(
    email: str,
    data: Data,
    name: Annotated[str, typer.Option(help="Display name; the address when left out.")] = "",
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Create a consumer with a random password, which is printed only once.

    Example: attestlab consumer create ada@example.org --name "Ada Lovelace" --data lab --json
    """
    import secrets

    password = secrets.token_urlsafe(18)
    with report_errors(), open_installation(data, database_url) as lab:
        created = lab.orgs.add_consumer(email, password, name=name or email)
    print_values({**created.public(), "password": password}, as_json)


@app.command()
def serve(
    data: Data,
    port: Port = 8080,
    host: Host = "127.0.0.1",
    database_url: DatabaseUrl = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that share the port.")] = 1,
    env: Annotated[str, typer.Option(envvar="ATTESTLAB_ENV", help="sandbox or production.")] = "sandbox",
) -> None:
    """Serve the HTTP API; initializes a new installation first.

    The first line on stdout is `ready http://HOST:PORT`. SIGTERM finishes accepted requests.

    Example: attestlab serve --data lab --port 8080
    """
    from attestlab.cli.processes import shared_metrics

    with shared_metrics(workers), report_errors():
        serving = _load_server()
        _warn_about_unknown_variables()
        settings = load_settings(data, database_url, env=env)
        made = serving.ensure_initialized(settings)
        if made is not None:
            print_stderr(
                "Initialized. Save these credentials, they are printed only once:\n"
                + json.dumps(made.public(), indent=2)
            )
            warn_about_shared_folder(settings.data)
        code = serving.run(settings, host=host, port=port, workers=workers, announce=announce)
    raise typer.Exit(code)


@app.command()
def demo(
    port: Port = 8080,
    host: Host = "127.0.0.1",
    data: Annotated[Path | None, typer.Option("--data", help="Folder of the demo; temporary when left out.")] = None,
    as_json: Json = False,
) -> None:
    """Serve a demo installation: issuers of every tier, with documents that are minted and verified.

    Example: attestlab demo --port 8080
    """
    serving = _load_server()
    with report_errors():
        code = serving.run_demo(data, host=host, port=port, show=lambda shown: _print_demo(shown, as_json))
    raise typer.Exit(code)


@app.command(context_settings={"ignore_unknown_options": True, "help_option_names": []}, add_help_option=False)
def verify(arguments: typer.Context) -> None:
    """Verify a proof bundle offline, against a pinned trust policy."""
    raise typer.Exit(_run_verify(arguments.args))


@keys.command("rewrap")
def keyring_rewrap(data: Data, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """Seal all keys and secrets under a new key-encryption key; no server may run meanwhile.

    The new key replaces DIR/keyring.key; if ATTESTLAB_KEK is set, it is read from ATTESTLAB_KEK_NEXT.

    Example: attestlab keyring rewrap --data lab
    """
    import os

    from attestlab.cli.rekey import rewrap

    with report_errors():
        done = rewrap(load_settings(data, database_url), os.environ)
    if done is None:
        print_stderr("An earlier rewrap was completed: the records had been resealed already.")
    print_values(done.public() if done is not None else {"ended": True}, as_json)


@log.command("vkey")
def log_vkey(data: Data, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """Print the log's verifier key, for pinning.

    Example: attestlab log vkey --data lab
    """
    with report_errors(), open_installation(data, database_url) as lab, lab.storage.read() as connection:
        vkey = lab.log.vkey(connection)
    emit(json.dumps({"vkey": vkey}) if as_json else vkey)


@log.command("fsck")
def log_fsck(data: Data, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """Recompute every leaf, tile, root, signature and hash chain from the records.

    Exit status: 0 clean, 1 problems, 3 newer records existed or may have existed: see `attestlab log accept-head`.

    Example: attestlab log fsck --data lab
    """
    from attestlab.integrity.parallel_fsck import find_problems
    from attestlab.log.integrity import FORK, GUARD

    with report_errors(), progress_on_stderr("checking", is_shown=not as_json) as progress:
        problems = find_problems(load_settings(data, database_url), progress=progress)
    shown = [{"kind": item.kind, "where": item.where, "message": item.message} for item in problems]
    if as_json:
        emit(json.dumps({"clean": not shown, "problems": shown}))
    else:
        for item in problems:
            emit(f"{item.kind} {item.where}: {item.message}")
        print_stderr("clean" if not problems else f"{len(problems)} problems")
    guarded = any(item.kind in (GUARD, FORK) for item in problems)
    raise typer.Exit(COULD_NOT_CHECK if guarded else PROBLEMS if problems else OK)


@log.command("export")
def log_export(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for the static tile tree.")],
    data: Data,
    database_url: DatabaseUrl = None,
    as_json: Json = False,
) -> None:
    """Write the log as a static C2SP tile tree that any web server can host.

    Example: attestlab log export public/log --data lab
    """
    from attestlab.log.export import export

    with report_errors(), open_installation(data, database_url) as lab, lab.storage.read() as connection:
        done = export(lab.log, connection, out)
    print_values({"folder": str(out), "tree_size": done.size, "files_written": done.files}, as_json)


@lakes.command("export")
def lake_export(data: Data, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """Export new rows to the lake; a server does this by itself, in full parts.

    Example: attestlab lake export --data lab
    """
    with report_errors(), open_installation(data, database_url) as lab:
        parts = lab.lake.export()
    print_values({"folder": str(lab.lake.folder), "parts_written": parts}, as_json)


@lakes.command("rebuild")
def lake_rebuild(data: Data, database_url: DatabaseUrl = None, as_json: Json = False) -> None:
    """Delete the lake and rebuild it from the records.

    Example: attestlab lake rebuild --data lab
    """
    with report_errors(), open_installation(data, database_url) as lab:
        parts = lab.lake.rebuild()
    print_values({"folder": str(lab.lake.folder), "parts_written": parts}, as_json)


def main() -> None:
    """Run the command line. `verify` bypasses typer, which takes longer to load than `verify` takes to run."""
    with exit_on_lost_output():
        if sys.argv[1:2] == ["verify"]:
            sys.exit(_run_verify(sys.argv[2:]))
        app()


def _run_verify(arguments: list[str]) -> int:
    from attestlab.cli import verify as verify_command

    return verify_command.command(arguments)


def _warn_about_unknown_variables() -> None:
    """Print misspelled settings on stderr; they do not stop a server, because another version may read them."""
    import os

    from attestlab.settings import unknown_variables

    for warning in unknown_variables(os.environ):
        print_stderr(f"attestlab: {warning}")


def _load_server() -> ModuleType:
    """Load the server with the garbage collector disabled, which would otherwise scan it repeatedly."""
    gc.disable()
    from attestlab.cli import serve as cli_serve

    gc.enable()
    return cli_serve


def _parse_plan(name: str) -> Plan:
    from attestlab.orgs.rules import Plan

    if name not in list(Plan):
        fail(f"Unknown plan {name!r}. Valid plans: {', '.join(Plan)}.", UNUSABLE)
    return Plan(name)


def _print_demo(shown: dict[str, str], as_json: bool) -> None:
    if as_json:
        emit(json.dumps(shown))
        return
    emit(
        f"AttestLab demo at {shown['url']}\n"
        f"  sign-in   {shown['owner_email']}  {shown['owner_password']}\n"
        f"  API key   {shown['api_key']}\n"
        f"  log vkey  {shown['log_vkey']}\n"
        f"  a page    {shown['url']}/a/{shown['attestation_id']}?k={shown['share_key']}\n\n"
        "Try:\n"
        f"  curl -s {shown['url']}/v1/verify -H 'Content-Type: application/json' \\\n"
        f'       -d \'{{"attestation_id": "{shown["attestation_id"]}"}}\'\n\n'
        "Stop with Ctrl-C."
    )


if __name__ == "__main__":
    main()
