"""`attestlab verify`: verifies a bundle, an Open Badge or a chain of delegations without database, server or network.

A well-formed command line is parsed by argparse, because typer takes longer to load than a verification takes to run.
Help, completion and errors are typer's, from the same options in `commands`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from attestlab.attestations.bundle.bundle import Bundle
from attestlab.attestations.bundle.report import OfflineReport
from attestlab.attestations.bundle.verifier import verify_bundle
from attestlab.attestations.rules import RECEIPT, Reason, RecordKind, Verdict, sha256
from attestlab.attestations.verification.steps import State
from attestlab.cli.colors import BAD, GOOD, OPEN, paint
from attestlab.cli.unforeseen import COULD_NOT_CHECK, explain_unforeseen
from attestlab.core.counting import plural
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.errors import AttestLabError, MissingExtra, NewerFormat
from attestlab.core.standard_output import emit, print_stderr
from attestlab.core.strict_json import parse_json
from attestlab.log.note.trust_policy import TrustPolicy

if TYPE_CHECKING:
    from attestlab.attestations.bundle.verifier_policies import VerifierPolicies
    from attestlab.attestations.verification.logged_issuer import LoggedIssuer
    from attestlab.cli.verify_badge import BadgeReport
    from attestlab.cli.verify_delegation import DelegationReport
    from attestlab.cli.verify_run import OfflineRunReport

NO_DOCUMENT = "attestlab: The {noun} has no document hash, so the file could not be checked."
TOO_OLD = "attestlab: The bundle does not show the status as of the first"
VALID, OTHER_VERDICT, UNUSABLE = 0, 1, 2
MARKS = {State.OK: "ok", State.FAILED: "FAILED", State.OPEN: "open", State.NOT_CHECKED: "-"}
COLORS = {State.OK: GOOD, State.FAILED: BAD, State.OPEN: OPEN, State.NOT_CHECKED: OPEN}
SILENT = {
    "content": "not checked: name the document with --file, or the payload with --payload",
    "key": "the key is active",
}
READ_BYTES = 1024 * 1024
NO_TRUST = (
    "No trust policy: a bundle cannot prove its own trustworthiness. Pin the log's key in a file "
    "(`log <vkey>` and `quorum none`) and name it with --trust or ATTESTLAB_TRUST."
)
NO_ISSUER = (
    "No metadata of the issuer: a badge cannot prove its own trustworthiness. Save what "
    "/.well-known/jwt-vc-issuer/v1/issuers/ID of its service answers, and name the file with --issuer."
)
DELEGATION_FORMAT = b"attestlab-delegation/"
RUN_FORMAT = b"attestlab-run/"
AGENT_OPTIONS = (
    "--file, --payload, --policy, --as-of and --issuer do not belong to a chain of delegations or a run. Omit them."
)
BADGE_OPTIONS = "--file, --payload, --policy and --as-of belong to proof bundles, and this is an Open Badge. Omit them."


def command(arguments: list[str]) -> int | None:
    """Run the command line of `attestlab verify`; returns the exit status, or None if typer has to answer."""
    parser = _QuietParser(allow_abbrev=False, add_help=False)
    pinned = os.environ.get("ATTESTLAB_TRUST") or None
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--payload", type=Path)
    parser.add_argument("--trust", type=Path, default=pinned and Path(pinned))
    parser.add_argument("--issuer", type=Path)
    parser.add_argument("--policy", dest="policies", action="append", default=[], type=Path)
    parser.add_argument("--as-of", type=_read_size, default=0)
    parser.add_argument("--json", dest="as_json", action="store_true")
    try:
        return verify(**vars(parser.parse_args(arguments)))
    except _NotWellFormed:
        return None


def verify(
    bundle: Path,
    *,
    file: Path | None,
    trust: Path | None,
    payload: Path | None = None,
    policies: Sequence[Path] = (),
    as_of: int = 0,
    issuer: Path | None = None,
    kind: RecordKind | None = None,
    as_json: bool = False,
) -> int:
    """Verify a bundle, an Open Badge, a chain of delegations or a run, and print the results; returns the exit status.

    With `kind`, a bundle of another kind of record is unusable, and so is a badge, a chain or a run.

    Whatever this function does not foresee ends with COULD_NOT_CHECK.
    """
    try:
        with _explain("Unusable input: ", UNUSABLE):
            content = bundle.read_bytes()  # once, because it may be a pipe
        is_plain = not (file or payload or policies or as_of)
        badge = None if kind else _check_badge(content, issuer, is_plain=is_plain)
        of_agents = None if kind else _check_agents(content, trust, is_plain=is_plain and issuer is None)
        if of_agents is not None:
            shown = json.dumps(of_agents.as_json()) if as_json else of_agents.as_text()
            status = VALID if of_agents.is_valid else OTHER_VERDICT
        elif badge is not None:
            shown = json.dumps(badge.as_json()) if as_json else badge.as_text()
            status = VALID if badge.verdict is Verdict.VALID else OTHER_VERDICT
        else:
            parsed, report = _check(content, file=file, trust=trust, payload=payload, policies=policies, kind=kind)
            shown = json.dumps(_as_json(parsed, report)) if as_json else _as_text(parsed, report)
            status = _exit_status(report, as_of)
    except _NotChecked as error:
        return _fail(str(error), error.exit_status, as_json)
    except Exception as error:
        return _fail(explain_unforeseen(error), COULD_NOT_CHECK, as_json)
    emit(shown)
    return status


class _NotChecked(Exception):
    """The command could not reach a verdict."""

    def __init__(self, message: str, exit_status: int = COULD_NOT_CHECK) -> None:
        super().__init__(message)
        self.exit_status = exit_status


def _check(
    bundle: bytes,
    *,
    file: Path | None,
    trust: Path | None,
    payload: Path | None,
    policies: Sequence[Path],
    kind: RecordKind | None,
) -> tuple[Bundle, OfflineReport]:
    """Read the inputs and verify the bundle.

    Raises:
        _NotChecked: an input cannot be used, there is no trust policy, or the bundle needs a newer verifier.
    """
    with _explain("Unusable input: ", UNUSABLE):
        parsed = Bundle.read(bundle)
        found = parsed.statement.kind
        if kind not in (None, found):
            raise _NotChecked(f"This is the bundle of an {found.noun}. Use: attestlab verify BUNDLE.json", UNUSABLE)
        digest = _digest_payload(payload) if found is RECEIPT else _sha256(payload)
        digests = {"file_sha256": _sha256(file), "payload_sha256": digest}
    if trust is None:
        raise _NotChecked(NO_TRUST)
    with _explain("The trust policy cannot be used: "):
        pinned = TrustPolicy.parse(trust.read_bytes())
    with _explain("A policy cannot be used: "):
        own = _read_policies(policies)
    with _explain():
        return parsed, verify_bundle(parsed, trust=pinned, now=datetime.now(UTC), policies=own, **digests)


def _check_badge(content: bytes, issuer: Path | None, *, is_plain: bool) -> BadgeReport | None:
    """Verify the Open Badge in a file; None if the file has none, so that it should be a bundle.

    Raises:
        _NotChecked: the badge cannot be read, an option does not belong to it, or the issuer's metadata is missing.
    """
    if content.lstrip().startswith(b"{"):  # most files are bundles, and need not load what badges need
        return None
    from attestlab.cli import verify_badge
    from attestlab.exports.badge_credential import BadgeCredential
    from attestlab.exports.baking import pictures

    with _explain("Unusable input: ", UNUSABLE):
        credential = pictures.find_credential(content)
        if credential is None:
            return None
        badge = BadgeCredential.parse(credential)
    if not is_plain:
        raise _NotChecked(BADGE_OPTIONS, UNUSABLE)
    if issuer is None:
        raise _NotChecked(NO_ISSUER)
    with _explain("The issuer's metadata cannot be used: "):
        return verify_badge.verify_offline(badge, issuer, datetime.now(UTC))


def _check_agents(content: bytes, trust: Path | None, *, is_plain: bool) -> DelegationReport | OfflineRunReport | None:
    """Verify the chain of delegations or the run in a file; None if the file has another document.

    Raises:
        _NotChecked: it cannot be read, an option does not belong to it, or there is no trust policy.
    """
    if DELEGATION_FORMAT not in content and RUN_FORMAT not in content:  # most files need not load what agents need
        return None
    from attestlab.cli import verify_delegation, verify_run

    with _explain("Unusable input: ", UNUSABLE):
        chain, run = verify_delegation.find_bundle(content), verify_run.find_bundle(content)
    if chain is None and run is None:
        return None
    if not is_plain:
        raise _NotChecked(AGENT_OPTIONS, UNUSABLE)
    if trust is None:
        raise _NotChecked(NO_TRUST)
    with _explain("The trust policy cannot be used: "):
        if chain is not None:
            return verify_delegation.verify_offline(chain, trust, datetime.now(UTC))
        return None if run is None else verify_run.verify_offline(run, trust)


@contextmanager
def _explain(prefix: str = "", exit_status: int = COULD_NOT_CHECK) -> Iterator[None]:
    """Say which input an error of the block is about; the input is not at fault for a version or a package."""
    try:
        yield
    except (NewerFormat, MissingExtra) as error:
        raise _NotChecked(error.message) from error
    except (OSError, AttestLabError) as error:
        raise _NotChecked(f"{prefix}{error}", exit_status) from error


def _exit_status(report: OfflineReport, as_of: int) -> int:
    if report.verdict is not Verdict.VALID:
        return OTHER_VERDICT
    if Reason.DOCUMENT_HASH_NOT_STORED in report.report.reasons:
        print_stderr(NO_DOCUMENT.format(noun=report.kind.noun))
        return COULD_NOT_CHECK
    if (report.as_of or 0) < as_of:
        print_stderr(f"{TOO_OLD} {plural(as_of, 'entry', 'entries')}; get a newer bundle.")
        return COULD_NOT_CHECK
    return VALID


class _NotWellFormed(Exception):
    """The command line has an error, or asks for help."""


class _QuietParser(argparse.ArgumentParser):
    """A parser that leaves every message to typer."""

    def error(self, message: str) -> NoReturn:
        raise _NotWellFormed(message)


def _read_size(text: str) -> int:
    """Read a number of entries; a negative one is left to typer, which names the limit."""
    if (size := int(text)) < 0:
        raise ValueError
    return size


def _read_policies(paths: Sequence[Path]) -> VerifierPolicies | None:
    """Read the verifier's own policies; without any, their parser is not loaded."""
    if not paths:
        return None
    from attestlab.attestations.bundle.verifier_policies import VerifierPolicies

    return VerifierPolicies.read([path.read_bytes() for path in paths])


def _sha256(path: Path | None) -> bytes | None:
    if path is None:
        return None
    digest = hashlib.sha256()
    with path.open("rb") as source:
        while piece := source.read(READ_BYTES):
            digest.update(piece)
    return digest.digest()


def _digest_payload(path: Path | None) -> bytes | None:
    """Digest the payload of a receipt, which signs its canonical form: spaces and the order of members do not count."""
    return None if path is None else sha256(canonical(parse_json(path.read_bytes())))


def _fail(message: str, code: int, as_json: bool) -> int:
    if as_json:
        emit(json.dumps({"verdict": None, "error": message}))
    print_stderr(f"attestlab: {message}")
    return code


def _as_json(bundle: Bundle, report: OfflineReport) -> dict[str, object]:
    return {
        "verdict": report.verdict.value,
        "valid": report.verdict is Verdict.VALID,
        f"{bundle.statement.kind.noun}_id": str(bundle.statement.id),
        "reasons": [reason.value for reason in report.report.reasons],
        "checks": [
            {
                "step": finding.step,
                "ok": finding.state is State.OK,
                "state": finding.state.value,
                "reasons": [reason.value for reason in finding.reasons],
                "detail": finding.detail,
            }
            for finding in report.report.results
        ],
        "issuer": None if report.issuer is None else {**asdict(report.issuer), "known_as": report.issuer.known_as},
        "log": {"origin": report.origin, "tree_size": report.tree_size},
        "status_as_of": report.as_of,
        "not_checked": list(report.not_checked),
    }


def _as_text(bundle: Bundle, report: OfflineReport) -> str:
    color = GOOD if report.verdict is Verdict.VALID else BAD
    lines = [f"{paint(report.verdict.value, color)}  {bundle.statement.kind.noun} {bundle.statement.id}"]
    for finding in report.report.results:
        notes = [", ".join(reason.value for reason in finding.reasons), finding.detail]
        mark = paint(f"{MARKS[finding.state]:<6}", COLORS[finding.state])
        note = "  ".join(filter(None, notes)) or SILENT.get(finding.step, "holds")
        lines.append(f"  {mark} {finding.step:<13} {note}")
    if report.origin is not None:
        lines.append(f"  log    {report.origin}, {plural(report.tree_size or 0, 'entry', 'entries')}")
    if report.issuer is not None:
        lines.append(f"  issuer  {_describe_issuer(report.issuer)}")
    if report.as_of is not None:
        lines.append(f"  status  as of the first {report.as_of} entries, by a status list of the log")
    lines += [f"  not checked offline: {item}" for item in report.not_checked]
    return "\n".join(lines)


def _describe_issuer(issuer: LoggedIssuer) -> str:
    """Call an issuer by what was verified about it, as its public page does."""
    name = issuer.known_as
    if name is None:
        return f"of unverified identity ({issuer.trust_tier})"
    return f"{name if name.isprintable() else ascii(name)} ({issuer.trust_tier})"
