"""Commands for witnesses and log followers: `witness init`, `witness serve`, `log watch`. None needs the records."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attestlab.cli.numbers import MAX_WAIT_S, seconds
from attestlab.cli.output import (
    COULD_NOT_CHECK,
    OK,
    PROBLEMS,
    Host,
    JsonOption,
    Port,
    announce,
    print_values,
    report_errors,
    report_listening_errors,
)
from attestlab.core.clock import SystemClock
from attestlab.core.counting import plural
from attestlab.core.errors import Unavailable
from attestlab.core.extras import require_extra
from attestlab.core.standard_output import emit, print_stderr

if TYPE_CHECKING:
    from attestlab.log.follower.follower import Alarm, Follower, VerifiedEntry
    from attestlab.log.follower.state import FollowerState

witnesses = typer.Typer(no_args_is_help=True, help="A witness of other operators' logs (C2SP tlog-witness).")

WitnessData = Annotated[
    Path,
    typer.Option(
        "--data",
        envvar="ATTESTLAB_DATA",
        help="Folder of the witness: its key and its cosigned heads.",
        show_default=False,
    ),
]


@witnesses.command("init")
def witness_init(
    data: WitnessData,
    name: Annotated[str, typer.Option(help="Name of the witness, preferably a URL without the scheme.")],
    as_json: JsonOption = False,
) -> None:
    """Create a witness and its key, and print the verifier key of its cosignatures.

    Exit status: 0 created, 2 the folder holds a witness, or the name is not acceptable.

    Example: attestlab witness init --data witness --name witness.example/w1 --json
    """
    import os

    with report_errors():
        require_extra("server")
        from attestlab.witness.service import create_witness

        vkey = create_witness(data, name=name, environ=os.environ)
    print_values({"name": vkey.name, "vkey": str(vkey)}, as_json)


@witnesses.command("serve")
def witness_serve(
    data: WitnessData,
    log: Annotated[
        list[str],
        typer.Option(
            "--log",
            metavar="[ORIGIN ]VKEY",
            help="A log's verifier key, preceded by its origin if that is not the key's name; may be repeated.",
        ),
    ],
    port: Port = 8081,
    host: Host = "127.0.0.1",
) -> None:
    """Cosign the checkpoints of these logs as long as each log only grows.

    The first line on stdout is `ready http://HOST:PORT`. SIGTERM finishes accepted requests.

    Exit status: 0 stopped by SIGTERM or Ctrl-C, 2 it could not start.

    Example: attestlab witness serve --data witness --log "$(attestlab log vkey --data lab)" --port 8081
    """
    with report_errors(), report_listening_errors(host, port):
        require_extra("server")
        from attestlab.witness.server import run_witness

        run_witness(data, logs=log, host=host, port=port, announce=announce)


def log_watch(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of the log, or of the service that runs it.")],
    vkey: Annotated[str, typer.Option(help="The log's verifier key, pinned.")],
    state: Annotated[Path, typer.Option(help="File for the last verified tree.")],
    witnessed: Annotated[
        Path | None, typer.Option(metavar="POLICY", help="Require the cosignatures of this tlog-policy.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Read the current entries, then exit.")] = False,
    interval: Annotated[
        float, typer.Option(parser=seconds(0.1, MAX_WAIT_S), metavar="SECONDS", help="Seconds between two polls.")
    ] = 10.0,
    max_age: Annotated[
        float | None,
        typer.Option(parser=seconds(0), metavar="SECONDS", help="Seconds after which a head is stale; default: never."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print messages as JSON too, one object a line.")] = False,
) -> None:
    """Follow a log: verify that it only grows, and print each entry as a line of JSON.

    An entry is recorded as seen only after it was printed.

    Exit status: 0 no alarm (with --once), 1 alarm, 2 unusable input, 3 the log could not be reached (only with --once;
    otherwise the command retries), 130 ended by Ctrl-C.

    Example: attestlab log watch http://127.0.0.1:8080 --vkey "$VKEY" --state log.state --once
    """
    with report_errors():
        from attestlab.log.follower.follower import Follower
        from attestlab.log.follower.http_log import HttpLog
        from attestlab.log.note.trust_policy import TrustPolicy

        policy = None if witnessed is None else TrustPolicy.for_log(witnessed.read_bytes(), vkey)
        source = HttpLog(url)
        follower = Follower(source, vkey, state, clock=SystemClock(), witnesses=policy, max_age_s=max_age)
        code = _watch(follower, once=once, interval_s=interval, say=_in_json if as_json else _in_words)
        source.close()
    raise typer.Exit(code)


Report = Callable[[str, dict[str, object]], None]


def _watch(follower: Follower, *, once: bool, interval_s: float, say: Report) -> int:
    """Poll the log until there is an alarm, or once; returns the exit code."""
    from attestlab.log.follower.follower import Alarm

    code = OK
    while True:
        try:
            before, printer = follower.progress, _EntryPrinter()
            now = follower.advance(printer)
            if once or now.size != before.size:
                _report_progress(before, now, printer.not_audited, say)
        except Alarm as alarm:
            _report_alarm(alarm, say)
            return PROBLEMS
        except Unavailable as error:
            say(f"attestlab: {error.message}", {"error": error.message})
            code = COULD_NOT_CHECK
        if once:
            return code
        time.sleep(interval_s)


class _EntryPrinter:
    """Prints one line of JSON for each entry, and flushes; counts those of unknown types, which no follower audits."""

    def __init__(self) -> None:
        self.not_audited = 0

    def __call__(self, seen: Sequence[VerifiedEntry]) -> None:
        from attestlab.log.entries import EntryType
        from attestlab.log.follower.follower import entry_as_json

        shown = [entry_as_json(item) for item in seen]
        self.not_audited += sum(each["type"] not in list(EntryType) for each in shown)
        if shown:
            emit("\n".join(map(json.dumps, shown)))


def _report_progress(before: FollowerState, now: FollowerState, not_audited: int, say: Report) -> None:
    new = now.size - before.size
    skipped = f"; {not_audited} have a type that this version does not audit" if not_audited else ""
    say(
        f"{plural(now.size, 'entry', 'entries')}, {new} of them new{skipped}",
        {"tree_size": now.size, "root": now.root.hex(), "new": new, "not_audited": not_audited},
    )


def _report_alarm(alarm: Alarm, say: Report) -> None:
    say(f"ALARM {alarm.name.value}: {alarm.message}", {"message": alarm.message, **alarm.details})


def _in_words(words: str, _values: dict[str, object]) -> None:
    print_stderr(words)


def _in_json(_words: str, values: dict[str, object]) -> None:
    print_stderr(json.dumps(values))
