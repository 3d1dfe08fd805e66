"""Commands for the transparency log of an installation; followers and witnesses are in `watch`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attestlab.cli import recovery, watch
from attestlab.cli.colors import BAD, paint
from attestlab.cli.output import (
    COULD_NOT_CHECK,
    OK,
    PROBLEMS,
    Data,
    DatabaseUrl,
    JsonOption,
    load_settings,
    open_installation,
    print_values,
    report_errors,
)
from attestlab.cli.progress import progress_on_stderr
from attestlab.core.counting import plural
from attestlab.core.standard_output import emit, print_stderr

if TYPE_CHECKING:
    from attestlab.log.fsck_record import FsckSummary

log = typer.Typer(no_args_is_help=True, help="The transparency log.")
log.command("watch")(watch.log_watch)
log.command("accept-head")(recovery.accept_head)
log.command("confirm-time")(recovery.confirm_time)


@log.command("vkey")
def log_vkey(data: Data, database_url: DatabaseUrl = None, as_json: JsonOption = False) -> None:
    """Print the log's verifier key, for pinning.

    Exit status: 0 printed, 2 there is no installation.

    Example: attestlab log vkey --data lab
    """
    with report_errors(), open_installation(data, database_url) as lab, lab.storage.read() as connection:
        vkey = lab.log.vkey(connection)
    emit(json.dumps({"vkey": vkey}) if as_json else vkey)


@log.command("fsck")
def log_fsck(data: Data, database_url: DatabaseUrl = None, as_json: JsonOption = False) -> None:
    """Recompute every leaf, tile, root, signature and hash chain from the records.

    The log inspector and `GET /v1/log/head` show when this was, over how many entries, and how many problems it found.

    Exit status: 0 clean, 1 problems, 2 there is no installation, 3 newer records existed or may have existed: see
    `attestlab log accept-head`.

    Example: attestlab log fsck --data lab
    """
    with (
        report_errors(after_interrupt="The check has no result."),
        progress_on_stderr("checking", is_shown=not as_json) as progress,
    ):
        from attestlab.integrity.parallel_fsck import check_installation
        from attestlab.log.integrity import FORK, GUARD

        settings = load_settings(data, database_url)
        problems, summary = check_installation(settings, progress=progress)
    _record(settings.data, summary)
    shown = [{"kind": item.kind, "where": item.where, "message": item.message} for item in problems]
    if as_json:
        emit(json.dumps({"clean": not shown, "problems": shown}))
    else:
        for item in problems:
            emit(f"{paint(item.kind, BAD)} {item.where}: {item.message}")
        print_stderr("clean" if not problems else f"{plural(len(problems), 'problem')}")
    guarded = any(item.kind in (GUARD, FORK) for item in problems)
    raise typer.Exit(COULD_NOT_CHECK if guarded else PROBLEMS if problems else OK)


def _record(folder: Path, summary: FsckSummary | None) -> None:
    """Record a check for the servers of this folder; a check of a read-only copy has its result without that."""
    from attestlab.log.fsck_record import FSCK_RECORD, FsckRecord

    if summary is None:
        return
    try:
        FsckRecord(folder / FSCK_RECORD).write(summary)
    except OSError as error:
        print_stderr(f"The check was not recorded in {folder / FSCK_RECORD}: {error.strerror}")


@log.command("export")
def log_export(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for the static tile tree.")],
    data: Data,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """Write the log as a static C2SP tile tree that any web server can host.

    Exit status: 0 the tree is complete, 2 OUT holds something else, or a file could not be written; each file that was
    written is whole, and the next run continues.

    Example: attestlab log export public/log --data lab
    """
    with (
        report_errors(after_interrupt="Run it again to write the rest."),
        progress_on_stderr("exporting", is_shown=not as_json) as progress,
        open_installation(data, database_url) as lab,
        lab.storage.read() as connection,
    ):
        from attestlab.log.export import export

        done = export(lab.log, connection, out, progress=progress)
    print_values({"folder": str(out), "tree_size": done.size, "files_written": done.files}, as_json)
