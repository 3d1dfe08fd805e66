"""The commands: results on stdout, messages on stderr, `--json` for results as JSON.

Heavy modules are imported inside the commands, so that `--help` is fast.
"""

from __future__ import annotations

import gc
import json
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from attestlab.cli import badges, minting, watch, webhooks
from attestlab.cli.agents import agents
from attestlab.cli.blog import blog
from attestlab.cli.logs import log
from attestlab.cli.notebooks import notebooks
from attestlab.cli.numbers import whole_number
from attestlab.cli.output import (
    Data,
    DatabaseUrl,
    Host,
    JsonOption,
    Port,
    announce,
    load_settings,
    open_installation,
    print_values,
    report_errors,
    report_listening_errors,
    require_folder,
    warn_about_shared_folder,
)
from attestlab.cli.policies import policies
from attestlab.cli.progress import progress_on_stderr
from attestlab.cli.receipts import receipts
from attestlab.cli.search import search
from attestlab.cli.tenants import consumers, tenants
from attestlab.cli.views import annotate, annotation_commands, view_commands
from attestlab.core.extras import list_missing, require_extra
from attestlab.core.standard_output import emit, print_stderr
from attestlab.core.version import VERSION

if TYPE_CHECKING:
    from attestlab.demos.served import Credentials

app = typer.Typer(
    name="attestlab",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Attestation and verification infrastructure.\n\n"
    "Exit status of every command: 0 done, 1 done with the negative result that its help names, 2 refused (nothing was "
    "done, unless its help says so), 3 could not check, or an error of the program, 130 ended by Ctrl-C. Results are "
    "on stdout, messages on stderr.\n\n"
    "Examples:\n\n"
    "  attestlab demo --port 8080\n\n"
    "  attestlab init --data lab --json\n\n"
    "  attestlab serve --data lab --port 8080\n\n"
    "  attestlab verify bundle.json --file diploma.pdf --trust log.policy",
)
lakes = typer.Typer(no_args_is_help=True, help="The lake: data of the records as Parquet, for analysis.")
keys = typer.Typer(no_args_is_help=True, help="The key-encryption key.")
_CONTINUE = "Every part of the lake that was written is whole. Run it again to write the rest."
app.command("mint")(minting.mint)
app.command("search")(search)
app.command("annotate")(annotate)
app.command("badge")(badges.badge)
app.command("notebooks")(notebooks)
app.command("listen")(webhooks.listen)
app.command("trigger")(webhooks.trigger)
app.add_typer(tenants, name="tenant")
app.add_typer(consumers, name="consumer")
app.add_typer(receipts, name="receipt")
app.add_typer(agents, name="agent")
app.add_typer(policies, name="policy")
app.add_typer(blog, name="blog")
app.add_typer(log, name="log")
app.add_typer(view_commands, name="views")
app.add_typer(annotation_commands, name="annotations")
app.add_typer(lakes, name="lake")
app.add_typer(keys, name="keyring")
app.add_typer(watch.witnesses, name="witness")


def _print_version(is_asked: bool) -> None:
    if is_asked:
        emit(f"attestlab {VERSION}")
        raise typer.Exit


@app.callback()
def attestlab(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """The options of `attestlab` itself."""


@app.command()
def init(data: Data, database_url: DatabaseUrl = None, as_json: JsonOption = False) -> None:
    """Create an installation: database, keyring, log, the operator's tenant, an owner and a key.

    Exit status: 0 created, 2 the folder or database has an installation, or cannot be written.

    Example: attestlab init --data lab --json
    """
    with report_errors():
        settings = load_settings(data, database_url)
        from attestlab.installation import Installation

        lab, made = Installation.init(settings)
        lab.platform_issuer.ensure()
        lab.close()
        warn_about_shared_folder(data)
    print_values(made.public(), as_json)


@app.command()
def serve(
    data: Data,
    port: Port = 8080,
    host: Host = "127.0.0.1",
    database_url: DatabaseUrl = None,
    workers: Annotated[
        int, typer.Option(parser=whole_number(1, 64), metavar="COUNT", help="Processes that share the port, 1 to 64.")
    ] = 1,
    env: Annotated[str, typer.Option(envvar="ATTESTLAB_ENV", help="sandbox or production.")] = "sandbox",
) -> None:
    """Serve the HTTP API; initializes an empty folder or database first.

    The first line on stdout is `ready http://HOST:PORT`. SIGTERM finishes accepted requests.

    Exit status: 0 stopped by SIGTERM or Ctrl-C, 2 it could not start: the folder, port or a setting is unusable. With
    --workers, the largest status of the processes that it stopped.

    Example: attestlab serve --data lab --port 8080
    """
    from attestlab.cli.processes import shared_metrics

    require_folder(data)
    with shared_metrics(workers), report_errors():
        serving = _load_server()
        _warn_about_unknown_variables()
        settings = load_settings(data, database_url, env=env)
        with report_listening_errors(host, port):
            sockets = serving.listen(host, port)
        made = serving.ensure_initialized(settings)
        if made is not None:
            print_stderr(
                "Initialized. Save these credentials, they are printed only once:\n"
                + json.dumps(made.public(), indent=2)
            )
            warn_about_shared_folder(settings.data)
        code = serving.run(settings, sockets, host=host, workers=workers, announce=announce)
    raise typer.Exit(code)


@app.command()
def demo(
    port: Port = 8080,
    host: Host = "127.0.0.1",
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Folder of the demo; temporary when left out, whatever ATTESTLAB_DATA is."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Serve a demo installation: issuers of every tier, with documents that are minted and verified.

    Exit status: 0 stopped by SIGTERM or Ctrl-C, 2 it could not start.

    Example: attestlab demo --port 8080
    """
    with report_errors():
        serving = _load_server()
        with report_listening_errors(host, port):
            sockets = serving.listen(host, port)
        code = serving.run_demo(data, sockets, host=host, show=lambda shown: _print_demo(shown, as_json))
    raise typer.Exit(code)


@app.command()
def openapi() -> None:
    """Print the description of the HTTP API (OpenAPI 3.1), for generators of clients.

    Exit status: 0 printed, 2 the extra `server` is not installed.

    Example: attestlab openapi > openapi.json
    """
    with report_errors():
        require_extra("server")
        from attestlab.server.app import describe_api

        document = describe_api()
    emit(document.decode())


@app.command()
def verify(
    bundle: Annotated[
        Path, typer.Argument(metavar="BUNDLE.json", help="A proof bundle, or an Open Badge: PNG, SVG or JWT.")
    ],
    file: Annotated[
        Path | None, typer.Option(metavar="DOC", help="The document that was attested, or the payload.")
    ] = None,
    payload: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file that must be the payload itself.")
    ] = None,
    trust: Annotated[
        Path | None,
        typer.Option(metavar="TRUST", envvar="ATTESTLAB_TRUST", help="Pinned logs and witnesses, a C2SP tlog-policy."),
    ] = None,
    policies: Annotated[
        list[Path] | None,
        typer.Option(
            "--policy",
            metavar="POLICY",
            help="Your own verification policy, TOML or JSON, which must also allow it; may be repeated.",
        ),
    ] = None,
    as_of: Annotated[
        int,
        typer.Option(
            parser=whole_number(0),
            metavar="SIZE",
            help="Number of log entries that the status must cover, by a status list.",
        ),
    ] = 0,
    issuer: Annotated[
        Path | None,
        typer.Option(metavar="ISSUER.json", help="For an Open Badge: the pinned metadata of its issuer."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Verify offline: a proof bundle against a pinned trust policy, or an Open Badge against its issuer's keys.

    Exit status: 0 VALID, 1 another verdict, 2 unusable input, such as a bundle that contradicts itself because its
    issuer was renamed by hand, 3 could not check, such as without a trust policy or a package. Only 0 is a proof.

    Example: attestlab verify bundle.json --file diploma.pdf --trust log.policy
    """
    from attestlab.cli import verify as verify_command

    raise typer.Exit(
        verify_command.verify(
            bundle,
            file=file,
            trust=trust,
            payload=payload,
            policies=policies or (),
            as_of=as_of,
            issuer=issuer,
            as_json=as_json,
        )
    )


@keys.command("rewrap")
def keyring_rewrap(data: Data, database_url: DatabaseUrl = None, as_json: JsonOption = False) -> None:
    """Seal all keys and secrets under a new key-encryption key; no server may run at the same time.

    The new key replaces DIR/keyring.key; if ATTESTLAB_KEK is set, it is read from ATTESTLAB_KEK_NEXT.

    Exit status: 0 all are resealed, 2 a key is unusable, or a server has the installation open; nothing was changed.

    Example: attestlab keyring rewrap --data lab
    """
    import os

    with (
        report_errors(after_interrupt="Run it again to complete it."),
        progress_on_stderr("resealing", is_shown=not as_json) as progress,
    ):
        settings = load_settings(data, database_url)
        from attestlab.cli.rekey import rewrap

        done = rewrap(settings, os.environ, progress=progress)
    if done is None:
        print_stderr("An earlier rewrap was completed: the records had been resealed already.")
    print_values(done.public() if done is not None else {"ended": True}, as_json)


@lakes.command("export")
def lake_export(data: Data, database_url: DatabaseUrl = None, as_json: JsonOption = False) -> None:
    """Export new rows to the lake; a server does this by itself, in full parts.

    Exit status: 0 all rows are exported, 2 the lake is newer than the records, or a part could not be written; the
    parts before it stay, and the next run continues.

    Example: attestlab lake export --data lab
    """
    with report_errors(after_interrupt=_CONTINUE), open_installation(data, database_url) as lab:
        parts = lab.lake.export()
    print_values({"folder": str(lab.lake.folder), "parts_written": parts}, as_json)


@lakes.command("rebuild")
def lake_rebuild(data: Data, database_url: DatabaseUrl = None, as_json: JsonOption = False) -> None:
    """Delete the lake and rebuild it from the records.

    Exit status: 0 rebuilt, 2 a part could not be removed or written; run it again to complete the lake.

    Example: attestlab lake rebuild --data lab
    """
    with report_errors(after_interrupt=_CONTINUE), open_installation(data, database_url) as lab:
        parts = lab.lake.rebuild()
    print_values({"folder": str(lab.lake.folder), "parts_written": parts}, as_json)


def _warn_about_unknown_variables() -> None:
    """Print misspelled settings on stderr; they do not stop a server, because another version may read them."""
    import os

    from attestlab.settings import unknown_variables

    for warning in unknown_variables(os.environ):
        print_stderr(f"attestlab: {warning}")


def _load_server() -> ModuleType:
    """Load the server with the garbage collector disabled, which would otherwise scan it repeatedly."""
    require_extra("server")
    gc.disable()
    from attestlab.cli import serve as cli_serve

    gc.enable()
    return cli_serve


def _print_demo(shown: Credentials, as_json: bool) -> None:
    if as_json:
        emit(json.dumps(shown))
        return
    emit(
        f"AttestLab demo at {shown['url']}\n"
        f"  dashboard {_describe_dashboards(shown['url'])}\n"
        f"  sign-in   {shown['owner_email']}  {shown['owner_password']}\n"
        f"{_describe_people(shown)}"
        f"{_describe_consumers(shown)}"
        f"  API key   {shown['api_key']}\n"
        f"  log vkey  {shown['log_vkey']}\n"
        f"  a page    {shown['url']}/a/{shown['attestation_id']}?k={shown['share_key']}\n\n"
        "Try:\n"
        f"  curl -s {shown['url']}/v1/verify -H 'Content-Type: application/json' \\\n"
        f'       -d \'{{"attestation_id": "{shown["attestation_id"]}"}}\'\n\n'
        "Stop with Ctrl-C."
    )


def _describe_dashboards(url: object) -> str:
    """Describe where the dashboards are, or how to install them."""
    if list_missing("dash"):
        return "not installed: pip install 'attestlab[dash]'"
    return f"{url}/dash/ signs in with one click"


def _describe_people(shown: Credentials) -> str:
    """Describe the people of a demo with their roles and their password; a folder of an older version has none."""
    people = shown.get("people")
    if not isinstance(people, dict):
        return ""
    named = "".join(f"            {address}  {role}\n" for address, role in people.items())
    return f"  people    password {shown['people_password']}\n{named}"


def _describe_consumers(shown: Credentials) -> str:
    """Describe the consumers of a demo, who sign in to their inboxes; a folder of an older version has none."""
    consumers = shown.get("consumers")
    if not isinstance(consumers, dict):
        return ""
    named = "".join(f"            {address}  /u/{username}\n" for address, username in consumers.items())
    return f"  consumers {shown['url']}/signin with the same password\n{named}"
