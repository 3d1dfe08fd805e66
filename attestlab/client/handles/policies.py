"""Policies, decisions, analyses and simulations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar, Self, cast
from uuid import UUID

from pydantic import model_validator

from attestlab.client import arguments, card_contents, policy_documents
from attestlab.client.analysis.records import Records
from attestlab.client.arguments import When
from attestlab.client.exploring import LiveView, explore
from attestlab.client.handles.base import Handle
from attestlab.client.handles.simulation_parts import RuleAlone, SweptValues, plot_simulation
from attestlab.client.progress import show_progress
from attestlab.client.service_client import Json, ServiceClient, path_of
from attestlab.core.errors import NotFound, ValidationFailed
from attestlab.policy.shapes import (
    AnalysisOut,
    AttributeOut,
    FindingOut,
    PolicyOut,
    PolicySummaryOut,
    PolicyVersionSummaryOut,
)
from attestlab.simulation.shapes import (
    ExampleOut,
    FlipOut,
    GroupOut,
    ReasonOut,
    RuleEffectOut,
    SimulationOut,
    TransitionOut,
    WithoutRiskOut,
)

if TYPE_CHECKING:
    from attestlab.plots import Chart

MAX_BY = 3  # attributes that a simulation counts by
ThresholdLike = tuple[str, str] | tuple[str, str, str] | Mapping[str, object]


class AnalysisHandle(AnalysisOut, Handle):
    """What is true of a policy for every possible context: dead and shadowed rules, and differences to another."""

    shown_fields: ClassVar = ("findings", "equivalent")

    findings: Records[FindingOut]


class AttributeHandle(AttributeOut, Handle):
    """An attribute that the tenant's policies may use."""

    shown_fields: ClassVar = ("path", "type", "domain", "unit")


class VersionHandle(PolicyVersionSummaryOut, Handle):
    """A version of a policy."""

    shown_fields: ClassVar = ("policy_id", "version", "status", "author", "created_at")

    def read_document(self) -> dict[str, object]:
        """Return the document of this version, which never changes, as a new dict.

        >>> lab.policies["Employment checks"].versions()[-1].read_document()["default_effect"]
        'DENY'
        """
        path = path_of("v1", "policies", self.policy_id, "versions", self.version)
        return cast("dict[str, object]", self._client.get(path)["document"])


class SimulationHandle(SimulationOut, Handle):
    """What a policy would have decided in the past, compared with what was decided."""

    shown_fields: ClassVar = ("policy_name", "decided", "newly_allowed", "newly_denied")

    transitions: Records[TransitionOut]
    flips: Records[FlipOut]
    why: Records[ReasonOut]
    examples: Records[ExampleOut]
    groups: Records[GroupOut]
    rules: Records[RuleEffectOut]
    without_risk: Records[WithoutRiskOut]
    sweep: SweptValues | None
    sweeps: list[SweptValues]
    alone: RuleAlone | None

    @model_validator(mode="after")
    def _name_segments(self) -> Self:
        """Give the table of flips its columns also where no decision flips."""
        self.flips.members = tuple(self.by)
        return self

    def _repr_html_(self) -> str:
        return card_contents.draw_simulation(self, self.newly_allowed, self.newly_denied)

    def plot(self, what: str | None = None, *, title: str | None = None) -> Chart:
        """Draw the decisions that would change, what each rule does, or the values of a sweep.

        Args:
            what: `flips`, the decisions that change, by the attributes of the simulation; `rules`, what each matches;
                or `sweep`. By default the sweep if there is one, else the flips.
            title: above the chart; by default the policy.

        Returns:
            A HoloViews element, which a notebook shows as a picture (`attestlab.plots`).

        Raises:
            ValidationFailed: `what` is another word, or the simulation has no sweep.
            MissingExtra: the extra `notebook` is not installed.

        >>> report = lab.policies["Employment checks"].simulate(until="2026-11-02", by="trust_tier")
        >>> chart = report.plot()
        """
        return plot_simulation(self, what, title)

    @property
    def policy_name(self) -> str:
        """The name of the simulated policy."""
        return self.policy.name

    @property
    def newly_allowed(self) -> int:
        """How many decisions would flip from DENY to ALLOW."""
        return self.count_flips("DENY", "ALLOW")

    @property
    def newly_denied(self) -> int:
        """How many decisions would flip from ALLOW to DENY."""
        return self.count_flips("ALLOW", "DENY")

    def count_flips(self, before: str, after: str) -> int:
        """Return the number of decisions with one result before and another after.

        `before` and `after` are `ALLOW` or `DENY`.

        >>> report = lab.policies["Employment checks"].simulate(until="2026-11-02")
        >>> report.count_flips("ALLOW", "DENY")
        444
        """
        return sum(each.count for each in self.transitions if (each.from_, each.to) == (before, after))


class _PolicyVerbs(Handle):
    """What one does with a policy."""

    id: UUID

    def simulate(
        self, *, since: When | None = None, until: When | None = None, by: Iterable[str] | str = ()
    ) -> SimulationHandle:
        """Replay the newest version over the tenant's past decisions; its digest is what `activate` needs.

        `lab.policies.simulate` explains the arguments and errors.

        >>> lab.policies["Employment checks"].simulate(until="2026-11-02").decided
        5192
        """
        return simulate(self._client, {"policy_id": self.id}, since=since, until=until, by=by)

    def explore(self, **state: object) -> LiveView:
        """Show the policy simulator for this policy in a cell: what is clicked in it is data for the next cell.

        Args:
            state: what the page shows at first, such as `window="90d"` (`Lab.explore`).

        Returns:
            The view: its `state`, `rows`, `sql`, `python`, `set`, `save` and panes, as `Lab.explore` explains.

        Raises:
            MissingExtra: a package of the extra `notebook` is not installed.
            ValidationFailed: the page has no such parameter or value; the message names those that it has.

        >>> lab.policies["Employment checks"].explore(days=90).state.window
        '90d'
        """
        return explore(self._client, "policy", {"policy": str(self.id), **state})

    def analyze(self) -> AnalysisHandle:
        """Analyze the newest version; `lab.policies.analyze` explains the result and errors.

        >>> lab.policies["Employment checks"].analyze().findings
        Records(0 Finding)
        """
        return AnalysisHandle.parse(
            self._client, self._client.post("/v1/policies/analyze", {"policy_id": self.id}, is_read=True)
        )

    def versions(self) -> Records[VersionHandle]:
        """List the versions, newest first; returns each with its status, author and digest.

        >>> [(each.version, each.status) for each in lab.policies["Employment checks"].versions()]
        [(2, 'DRAFT'), (1, 'ACTIVE')]
        """
        answers = self._client.iterate(path_of("v1", "policies", self.id, "versions"))
        return Records((VersionHandle.parse(self._client, answer) for answer in answers), VersionHandle)

    def shadow(self) -> PolicyHandle:
        """Evaluate the newest version without effect; `lab.policies.shadow` explains the result and errors.

        >>> document = lab.policies.get("Employment checks").document
        >>> lab.policies.create(document | {"name": "Shadows"}).shadow().status
        'SHADOW'
        """
        return change_policy(self._client, self.id, "shadow")

    def activate(
        self,
        simulation: SimulationHandle | str | None = None,
        *,
        acknowledge: Iterable[str] = (),
        note: str | None = None,
    ) -> PolicyHandle:
        """Let the newest version decide; by a signed-in owner or admin (`lab.as_(email, password=...)`).

        `lab.policies.activate` explains the arguments and errors.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> target = {"target_type": "ISSUER", "target_id": lab.issuers["Orchard Press"].id}
        >>> checks = lab.policies.get("Employment checks").document
        >>> draft = lab.policies.create(checks | target | {"name": "Press checks", "category": "MINT"})
        >>> ann.policies["Press checks"].activate(draft.simulate()).status
        'ACTIVE'
        """
        return activate_policy(self._client, self.id, simulation, acknowledge=acknowledge, note=note)

    def archive(self) -> PolicyHandle:
        """Archive the policy permanently; `lab.policies.archive` explains the result and errors.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> document = lab.policies.get("Employment checks").document
        >>> ann.policies.create(document | {"name": "Old checks"}).archive().status
        'ARCHIVED'
        """
        return change_policy(self._client, self.id, "archive")

    def toml(self) -> str:
        """Return the newest document as TOML.

        >>> print(lab.policies["Employment checks"].toml().splitlines()[0])
        name = "Employment checks"
        """
        return self._client.get_text(path_of("v1", "policies", self.id), {"format": "toml"})


class PolicyHandle(PolicyOut, _PolicyVerbs):
    """A policy with its newest document."""

    shown_fields: ClassVar = ("name", "category", "status", "version", "id")

    @property
    def document(self) -> dict[str, object]:
        """The newest document as a new dict, to change and to pass on: `policy.document | {"rules": [...]}`."""
        members = ("name", "category", "target_type", "target_id", "mode", "default_effect", "rules", "tests")
        return {name: value for name, value in self.to_dict().items() if name in members and value is not None}

    def _repr_html_(self) -> str:
        return card_contents.draw_policy(self, self.rules)


class PolicySummaryHandle(PolicySummaryOut, _PolicyVerbs):
    """A policy as lists show it, without its document."""

    shown_fields: ClassVar = ("name", "category", "status", "version", "id")

    def _repr_html_(self) -> str:
        return card_contents.draw_policy(self)


PolicyLike = UUID | str | PolicyHandle | PolicySummaryHandle


def find_policy_id(client: ServiceClient, what: object) -> UUID:
    """Find the id of a policy: its UUID, the text of that, its name, or the object.

    Raises:
        NotFound: there is no policy of that name.
        ValidationFailed: several have the name, or it is no name.
    """
    if not isinstance(what, str) or arguments.is_uuid(what):
        return arguments.read_id(what, "a policy")
    found = [item for item in client.iterate("/v1/policies") if str(item["name"]).casefold() == what.casefold()]
    if not found:
        raise NotFound("policy", f"by the name {what[:80]!r}", remedy="`lab.policies` lists them.")
    if len(found) > 1:
        raise ValidationFailed(f"{len(found)} policies are called {what[:80]!r}. Pass the id of one.")
    return UUID(str(found[0]["id"]))


def name_policy(client: ServiceClient, policy: object) -> dict[str, object]:
    """Name a policy in a body: by its id if it is stored, or as a document."""
    if isinstance(policy, Mapping | bytes) or arguments.is_path(policy):
        return {"policy": policy_documents.read_policy(policy)}
    if isinstance(policy, str) and (policy_documents.is_document(policy) or arguments.is_file(policy)):
        return {"policy": policy_documents.read_policy(policy)}
    return {"policy_id": find_policy_id(client, policy)}


def simulate(
    client: ServiceClient,
    policy: Mapping[str, object],
    *,
    since: When | None,
    until: When | None,
    by: Iterable[str] | str,
    options: Mapping[str, object] | None = None,
) -> SimulationHandle:
    """Replay a policy over past decisions."""
    body = {
        **policy,
        **arguments.read_period(since, until),
        "by": arguments.read_texts(by, name="by"),
        **(options or {}),
    }
    with show_progress("Simulating the policy"):
        return SimulationHandle.parse(client, client.post("/v1/policies/simulate", body))


def change_policy(client: ServiceClient, policy_id: UUID, change: str, body: Json | None = None) -> PolicyHandle:
    """Change the status of a policy."""
    return PolicyHandle.parse(client, client.post(path_of("v1", "policies", policy_id, change), body))


def activate_policy(
    client: ServiceClient,
    policy_id: UUID,
    simulation: SimulationHandle | str | None,
    *,
    acknowledge: Iterable[str],
    note: str | None,
) -> PolicyHandle:
    """Activate the newest version of a policy."""
    digest = simulation.report_digest if isinstance(simulation, SimulationHandle) else simulation
    named = arguments.read_texts(acknowledge, name="acknowledge")
    body = {"simulation_digest": digest, "acknowledge": named, "note": note}
    return change_policy(client, policy_id, "activate", {name: each for name, each in body.items() if each is not None})
