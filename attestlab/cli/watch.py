"""The commands of those who watch: `witness init`, `witness serve`, `log watch`. None of them needs the records."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attestlab.cli.output import COULD_NOT_CHECK, OK, PROBLEMS, Host, Json, Port, announce, reporting, show
from attestlab.core.standard_output import emit, print_stderr

if TYPE_CHECKING:
    from attestlab.log.follower.follower import Alarm, Follower, VerifiedEntry
    from attestlab.log.follower.state import FollowerState

witnesses = typer.Typer(no_args_is_help=True, help="A witness of logs that others run (C2SP tlog-witness).")

WitnessData = Annotated[Path, typer.Option("--data", help="Folder of the witness: its key and what it cosigned.")]


@witnesses.command("init")
def witness_init(
    data: WitnessData,
    name: Annotated[str, typer.Option(help="Its name, best a URL without the scheme.")],
    as_json: Json = False,
) -> None:
    """Make a witness and its key, and print the verifier key of its cosignatures.

    Example: attestlab witness init --data witness --name witness.example/w1 --json
    """
    import os

    from attestlab.witness.service import create_witness

    with reporting():
        vkey = create_witness(data, name=name, environ=os.environ)
    show({"name": vkey.name, "vkey": str(vkey)}, as_json)


@witnesses.command("serve")
def witness_serve(
    data: WitnessData,
    log: Annotated[
        list[str],
        typer.Option(
            "--log",
            metavar="[ORIGIN ]VKEY",
            help="A log's verifier key, after its origin where that is not the key's name; any number of them.",
        ),
    ],
    port: Port = 8081,
    host: Host = "127.0.0.1",
) -> None:
    """Cosign the checkpoints of these logs, as long as each only grows.

    The first line on stdout is `ready http://HOST:PORT`. SIGTERM finishes accepted requests.

    Example: attestlab witness serve --data witness --log "$(attestlab log vkey --data lab)" --port 8081
    """
    from attestlab.witness.serving import run_witness

    with reporting():
        run_witness(data, logs=log, host=host, port=port, announce=announce)


def log_watch(
    url: Annotated[str, typer.Argument(metavar="URL", help="Address of the log, or of the service that keeps it.")],
    vkey: Annotated[str, typer.Option(help="The log's verifier key, pinned.")],
    state: Annotated[Path, typer.Option(help="File in which it remembers how far it came.")],
    witnessed: Annotated[
        Path | None, typer.Option(metavar="POLICY", help="Demand the cosignatures of this tlog-policy.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Take in what is there, and end.")] = False,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 10.0,
    max_age: Annotated[float | None, typer.Option(min=0, help="Seconds after which a head is stale.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Talk in JSON too, one object a line on stderr.")] = False,
) -> None:
    """Follow a log: verify that it only grows, and print each entry as a line of JSON.

    What was printed is remembered, and never before it was printed. Exit status: 1 alarm, 2 unusable, 3 could
    not be reached (with --once; else it goes on trying).

    Example: attestlab log watch http://127.0.0.1:8080 --vkey "$VKEY" --state log.state --once
    """
    from attestlab.core.clock import SystemClock
    from attestlab.log.follower.follower import Follower
    from attestlab.log.follower.http_log import HttpLog
    from attestlab.log.note.trust_policy import TrustPolicy

    with reporting():
        policy = None if witnessed is None else TrustPolicy.for_log(witnessed.read_bytes(), vkey)
        source = HttpLog(url)
        follower = Follower(source, vkey, state, clock=SystemClock(), witnesses=policy, max_age_s=max_age)
        code = _watched(follower, once=once, interval_s=interval, say=_in_json if as_json else _in_words)
        source.close()
    raise typer.Exit(code)


Say = Callable[[str, dict[str, Any]], None]


def _watched(follower: Follower, *, once: bool, interval_s: float, say: Say) -> int:
    """Look until there is an alarm, or once; returns the exit code."""
    from attestlab.core.errors import Unavailable
    from attestlab.log.follower.follower import Alarm

    code = OK
    while True:
        try:
            before = follower.progress
            now = follower.advance(_print_entries)
            if once or now.size != before.size:
                _say_how_far(before, now, say)
        except Alarm as alarm:
            _say_alarm(alarm, say)
            return PROBLEMS
        except Unavailable as error:
            say(f"attestlab: {error.message}", {"error": error.message})
            code = COULD_NOT_CHECK
        if once:
            return code
        time.sleep(interval_s)


def _print_entries(seen: Sequence[VerifiedEntry]) -> None:
    """One line of JSON an entry; out of our hands when this returns."""
    from attestlab.log.follower.follower import entry_as_json

    if seen:
        emit("\n".join(json.dumps(entry_as_json(item)) for item in seen))


def _say_how_far(before: FollowerState, now: FollowerState, say: Say) -> None:
    new = now.size - before.size
    say(f"{now.size} entries, {new} of them new", {"tree_size": now.size, "root": now.root.hex(), "new": new})


def _say_alarm(alarm: Alarm, say: Say) -> None:
    say(f"ALARM {alarm.name.value}: {alarm.message}", {"message": alarm.message, **alarm.details})


def _in_words(words: str, _values: dict[str, Any]) -> None:
    print_stderr(words)


def _in_json(_words: str, values: dict[str, Any]) -> None:
    print_stderr(json.dumps(values))
