"""Commands for recovery after a restore or a clock change: the operator confirms what the service cannot know."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from attestlab.cli.numbers import whole_number
from attestlab.cli.output import (
    UNUSABLE,
    Data,
    DatabaseUrl,
    JsonOption,
    fail,
    open_installation,
    print_values,
    report_errors,
)
from attestlab.core.encoding import format_time
from attestlab.core.standard_output import emit, print_stderr

if TYPE_CHECKING:
    from attestlab.log.head_acceptance import RestoredHead


NOT_SEEN = (
    "On PostgreSQL, give --size and --root of the newest head that you saw elsewhere; --yes is not enough. The records "
    "may be those of a standby that was behind when it was promoted, and the log would be signed a second time from "
    "there. Read size and root_hash at /v1/log/head of a server that signed last, or from a witness or follower. "
    "Nothing was accepted."
)
NOT_THE_ONE = (
    "The records have another head than the given one. They may be those of a standby that was behind when it was "
    "promoted, or the log grew: read the newest head again where it was signed. Nothing was accepted."
)


def accept_head(
    data: Data,
    database_url: DatabaseUrl = None,
    size: Annotated[
        int | None,
        typer.Option(parser=whole_number(0), metavar="SIZE", help="Accept only a head of this many entries."),
    ] = None,
    root: Annotated[
        str | None, typer.Option(metavar="HASH", help="Accept only a head with this root_hash, sha256:... .")
    ] = None,
    is_confirmed: Annotated[bool, typer.Option("--yes", help="Accept the head without asking (SQLite).")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the head of restored records and, after confirmation, let the log continue from it.

    Entries signed after this head are abandoned; `attestlab log fsck` reports that from then on.
    On SQLite, a script confirms with --yes, or with --size and --root together. On PostgreSQL, --size and
    --root of a head that you saw elsewhere are required, and the head is shown only if they match.

    Exit status: 0 accepted, or nothing was to accept; 2 not confirmed, or another head than the given one.

    Example: attestlab log accept-head --data lab
    """
    with report_errors(), open_installation(data, database_url) as lab:
        from attestlab.log.head_acceptance import accept_head, examine_head

        is_seen = size is not None and root is not None
        with lab.storage.read() as connection:
            restored = examine_head(connection, lab.guard)
        if restored.objection is not None:
            if lab.guard.is_shared and not is_seen:
                fail(NOT_SEEN, UNUSABLE)
            _require_expected(restored, size, root, is_named=not lab.guard.is_shared)
        if not as_json:
            _print_head(restored)
        if restored.objection is not None:
            if not (is_confirmed or is_seen):
                _confirm(
                    "Are these the newest records that exist, and should the log continue from here?",
                    "Nothing was accepted. Confirm with --yes, or with --size and --root of the head shown.",
                )
            with lab.storage.write() as tx:
                accept_head(tx, lab.guard, restored.head)
    _print_outcome(restored, as_json)


def confirm_time(
    data: Data,
    database_url: DatabaseUrl = None,
    is_confirmed: Annotated[bool, typer.Option("--yes", help="Confirm the time without asking.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Confirm the clock's time after a leap, such as a year without a server.

    Until then expiries are not made permanent, and checkpoints keep the last known time. A confirmation cannot be
    undone: expired attestations become permanently EXPIRED, and no later checkpoint has an earlier time.

    Exit status: 0 confirmed, 2 not confirmed.

    Example: attestlab log confirm-time --data lab
    """
    with report_errors(), open_installation(data, database_url) as lab:
        with lab.storage.read() as connection:
            known = lab.log.time.last_known(connection)
        shown = {"now": format_time(lab.clock.now()), "last_known": None if known is None else format_time(known)}
        if not as_json:
            print_values(shown, False)
        if not is_confirmed:
            _confirm("Is this the correct time, in UTC?", "Nothing was confirmed. Check the clock, then use --yes.")
        with lab.storage.write() as tx:
            shown["confirmed"] = format_time(lab.log.time.confirm(tx))
    print_values(shown if as_json else {"confirmed": shown["confirmed"]}, as_json)


def _print_head(restored: RestoredHead) -> None:
    shown = restored.public()
    del shown["newest_entries"]
    print_values({name: value for name, value in shown.items() if value is not None}, False)
    for row in reversed(restored.newest):
        emit(f"entry {row.index}  {row.kind}  {row.subject or ''}".rstrip())


def _require_expected(restored: RestoredHead, size: int | None, root: str | None, *, is_named: bool) -> None:
    """Fail for another head than the given one; a script could copy the right one, so only SQLite's is named."""
    shown = restored.public()
    if size not in (None, shown["size"]) or root not in (None, shown["root_hash"]):
        other = (
            f"The records have a head of size {shown['size']} with root {shown['root_hash']}, "
            "not the given one. Nothing was accepted."
        )
        fail(other if is_named else NOT_THE_ONE, UNUSABLE)


def _confirm(question: str, refusal: str) -> None:
    """Ask on a terminal; without a terminal, fail, because a script must confirm by its options."""
    if not sys.stdin.isatty() or not typer.confirm(question, err=True):
        fail(refusal, UNUSABLE)


def _print_outcome(restored: RestoredHead, as_json: bool) -> None:
    is_changed = restored.objection is not None
    if as_json:
        emit(json.dumps({**restored.public(), "accepted": is_changed}))
    print_stderr(
        "accepted; servers sign again" if is_changed else "the head guard agrees with the records; nothing to accept"
    )
