"""Commands for policies in files: check one before it is saved, and replay it over past decisions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from attestlab.cli.doors import ApiKey, Folder, LabDoor, Tenant, UrlOption
from attestlab.cli.output import OK, PROBLEMS, DatabaseUrl, JsonOption, print_items, print_values, report_errors
from attestlab.core.counting import plural
from attestlab.core.errors import ValidationFailed
from attestlab.core.standard_output import emit, print_stderr

if TYPE_CHECKING:
    from attestlab.policy.analysis.analyzer import AnalysisFinding
    from attestlab.policy.language.attributes import Registry
    from attestlab.policy.language.document import Document

policies = typer.Typer(no_args_is_help=True, help="Policies in files, before they are saved.")

PolicyFile = Annotated[Path, typer.Argument(metavar="FILE", help="A policy document in TOML or JSON.")]


@policies.command("check")
def policy_check(
    file: PolicyFile,
    data: Folder = None,
    url: UrlOption = None,
    api_key: ApiKey = None,
    tenant: Tenant = None,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """Check a policy: its document, its own tests, and by proof its rules.

    Without --data and --url it may use the attributes of the platform; a lab adds the tenant's own.
    Exit status: 0 could be activated, 1 a test fails or a rule is dead, 2 unusable input.

    Example: attestlab policy check policy.toml
    """
    door = LabDoor(data, url, api_key, database_url, tenant)
    with report_errors():
        found = _check(file, _read_registry(door))
    if as_json:
        emit(json.dumps(found.public()))
    else:
        _print_check(found)
    raise typer.Exit(OK if found.is_activatable else PROBLEMS)


@policies.command("simulate")
def policy_simulate(
    file: PolicyFile,
    replaces: Annotated[
        str | None, typer.Option(metavar="POLICY", help="Id or name of the policy that the file would replace.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Time of the first decision, such as 2026-11-01 (UTC); default: all."),
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Time from which decisions are left out; default: now.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="ATTRIBUTE", help="Count flips by this attribute; may be repeated, up to three times."),
    ] = None,
    data: Folder = None,
    url: UrlOption = None,
    api_key: ApiKey = None,
    tenant: Tenant = None,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """Replay a policy over past decisions, and show which ones it would have changed.

    Nothing is saved or activated.

    Exit status: 0 replayed, whatever would change; 2 the policy or the period is not valid, or the lab refused.

    Example: attestlab policy simulate policy.toml --data lab --since 2026-11-01 --by jurisdiction
    """
    with report_errors(), LabDoor(data, url, api_key, database_url, tenant).open() as lab:
        report = lab.policies.simulate(file, replaces=replaces, since=since, until=until, by=by or ())
        shown = report.to_dict()
        counts = {
            "policy": report.policy_name,
            "decided": report.decided,
            "newly_denied": report.newly_denied,
            "newly_allowed": report.newly_allowed,
            "unexpected_flips": report.self_check.unexpected_flips,
            "report_digest": report.report_digest,
        }
    if as_json:
        emit(json.dumps(shown))
        return
    print_values(counts, False)
    print_items(
        [{**flip.segments, "from": flip.from_, "to": flip.to, "decisions": flip.count} for flip in report.flips], False
    )
    if "flips" in report.truncated:
        print_stderr(
            f"attestlab: These are the {len(report.flips)} largest rows, and there are more. Count by fewer attributes "
            "with --by, or shorten the period with --since and --until."
        )


def _read_registry(door: LabDoor) -> Registry:
    """Return the attributes that a policy may use: the platform's, and those of the tenant of a lab."""
    from attestlab.policy.language.attribute_documents import parse_attribute
    from attestlab.policy.language.attributes import PLATFORM

    if not door.is_given:
        return PLATFORM
    with door.open() as lab:
        own = [each.to_dict() for each in lab.policies.attributes() if each.own]
    return PLATFORM.with_own(map(parse_attribute, own))


class PolicyCheck(NamedTuple):
    """What is true of a valid policy in a file."""

    document: Document
    failing_tests: list[str]
    findings: list[AnalysisFinding]

    @property
    def dead_rules(self) -> list[AnalysisFinding]:
        """The rules that no context matches, for which a policy is not activated."""
        return [each for each in self.findings if each.kind.value == "dead"]

    @property
    def is_activatable(self) -> bool:
        """Whether nothing that the file shows would refuse its activation."""
        return not self.failing_tests and not self.dead_rules

    def public(self) -> dict[str, object]:
        """Return the object that the command prints."""
        findings = [
            {"kind": each.kind.value, "rule_id": each.rule_id, "by": list(each.by), "witness": each.witness}
            for each in self.findings
        ]
        return {
            "policy": self.document.name,
            "digest": self.document.digest,
            "rules": len(self.document.rules),
            "tests": len(self.document.tests or ()),
            "failing_tests": self.failing_tests,
            "findings": findings,
            "activatable": self.is_activatable,
        }


def _check(file: Path, registry: Registry) -> PolicyCheck:
    """Check a policy file.

    Raises:
        ValidationFailed: it is not a valid policy.
    """
    from attestlab.policy.analysis.analyzer import analyze
    from attestlab.policy.evaluation.binder import bind
    from attestlab.policy.language import policy_tests

    try:
        document = _read_document(file)
        policy = bind(document, registry)
        policy_tests.require_valid(document, registry)
    except ValidationFailed as error:
        for fault in error.fields[1:]:  # the message has the first
            print_stderr(f"attestlab: {fault.field}: {fault.message}")
        raise
    return PolicyCheck(document, policy_tests.find_failing(document, policy, registry), analyze(policy))


def _read_document(file: Path) -> Document:
    from attestlab.client.policy_documents import read_policy
    from attestlab.policy.formats.toml import parse_body

    return parse_body(read_policy(file))


def _print_check(found: PolicyCheck) -> None:
    for name in found.failing_tests:
        emit(f"failing test: {name}")
    for finding in found.findings:
        by = f", because of {', '.join(finding.by)}" if finding.by else ""
        emit(f"{finding.kind.value}: {finding.rule_id or 'the default'}{by}")
    counted = f"{plural(len(found.document.rules), 'rule')}, {plural(len(found.document.tests or ()), 'test')}"
    verdict = "can be activated" if found.is_activatable else "cannot be activated"
    print_stderr(f"{found.document.name}: {counted}, {verdict}")
