"""Wire models of policies (CONTRACT section 9)."""

from typing import Annotated, Literal

from pydantic import (
    Field,
    RootModel,
    StringConstraints,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from attestlab.core.shapes import DescribedAs, In, Moment, Out, Uuid
from attestlab.core.text_forms import describe_form
from attestlab.policy.language.attributes import (
    MAX_ATTRIBUTES,
    MAX_ENUM_VALUES,
    PATH_LENGTH,
    TEXT_LENGTH,
    AttributeType,
)
from attestlab.policy.language.document import MAX_DOCUMENT_BYTES, Document, PolicyTest, RuleDoc

PolicyStatuses = Literal["DRAFT", "SHADOW", "ACTIVE", "ARCHIVED"]
Categories = Literal["MINT", "VERIFY", "BUNDLE_EXPORT"]
Targets = Literal["ISSUER", "VERIFICATION_PROFILE", "TENANT_DEFAULT"]
Effects = Literal["ALLOW", "DENY"]
Modes = Literal["ENFORCE", "MONITOR"]

_DIGEST = describe_form("^[0-9a-f]{64}$", "Send the digest of a simulation: 64 hex digits in lower case.")


class PolicyToml(In, source="CONTRACT 9"):
    """A policy document as TOML."""

    toml: Annotated[str, Field(max_length=MAX_DOCUMENT_BYTES)]
    """The document, see docs/policies.md. Format: TOML 1.0, at most 1,048,576 characters."""


class PolicyIn(RootModel[Annotated[dict[str, object], DescribedAs(Document | PolicyToml)]]):
    """A policy document (docs/policies.md), or `{"toml": "..."}`."""


SentPolicy = Annotated[dict[str, object], DescribedAs(PolicyIn)]
WrittenPolicy = Annotated[dict[str, object], DescribedAs(Document)]
WrittenRule = Annotated[dict[str, object], DescribedAs(RuleDoc)]
WrittenTest = Annotated[dict[str, object], DescribedAs(PolicyTest)]


class ActivateIn(In, wire_name="policy_activation_input", source="CONTRACT 9"):
    """The simulation report on this version, and the acknowledged dead rules."""

    simulation_digest: Annotated[str, Field(pattern=_DIGEST)] | None = None
    """The report_digest of a simulation of this version. Format: SHA-256, 64 lowercase hex digits."""
    acknowledge: Annotated[list[str], Field(default_factory=list, max_length=1_000)]
    """Dead rules that are meant to be dead. Format: rule ids."""
    note: Annotated[str, Field(max_length=1_024)] | None = None
    """A note for the audit trail. Format: text, at most 1024 characters."""


EnumValues = Annotated[list[Annotated[str, Field(max_length=TEXT_LENGTH)]], Field(max_length=MAX_ENUM_VALUES)]


class BoundsIn(In, wire_name="policy_bounds_input", source="CONTRACT 9"):
    """The bounds of a number, inclusive."""

    min: float | None = None
    """The lower bound; null if there is none. Format: inclusive."""
    max: float | None = None
    """The upper bound; null if there is none. Format: inclusive."""


def _single_domain_error(value: object, read: ValidatorFunctionWrapHandler) -> object:
    """Replace the errors of each member of the union by one sentence that describes a valid domain."""
    try:
        return read(value)
    except ValidationError:
        what = f"a list of at most {MAX_ENUM_VALUES:,} texts of at most {TEXT_LENGTH:,} characters, of an enum"
        raise PydanticCustomError("domain", f"A domain is {what}, or {{min, max}}, of a number.") from None


Domain = Annotated[EnumValues | BoundsIn | None, WrapValidator(_single_domain_error)]


class AttributeIn(In, wire_name="policy_attribute_input", source="CONTRACT 9"):
    """One of the tenant's own attributes."""

    path: Annotated[str, Field(max_length=PATH_LENGTH)]
    """The place of the attribute in a context. Format: dotted path."""
    type: AttributeType
    """The type of its values. Format: enum, text, number, integer or boolean."""
    domain: Domain = None
    """Its possible values; null if they are not bounded. Format: list of texts of an enum, or {min, max} of a number.
    """
    unit: Annotated[str, Field(max_length=32)] | None = None
    """The unit of a number, for people. Format: text, at most 32 characters."""
    mutable: bool = True
    """Whether a counterfactual may change it. Format: true or false."""


class AttributesIn(In, wire_name="policy_attributes_input", source="CONTRACT 9"):
    """All of the tenant's own attributes; an omitted attribute is removed."""

    attributes: Annotated[list[AttributeIn], Field(max_length=MAX_ATTRIBUTES)]
    """All of the tenant's own attributes; one that is left out is removed. Format: at most 200."""


class VerificationProfileIn(In, source="CONTRACT 9"):
    """A verification profile to create."""

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    """Its name. Format: text, 1-200 characters."""
    description: Annotated[str, StringConstraints(min_length=1, max_length=2048)] | None = None
    """Its purpose. Format: text, 1-2048 characters."""


class ProfileOut(Out, wire_name="verification_profile", source="CONTRACT 9"):
    """A verification profile: policies are bound to it, and verifiers name it."""

    id: Uuid
    """The profile. Format: UUID, 36 characters."""
    name: str
    """Its name, for people. Format: one line of at most 200 characters."""
    description: str | None
    """Its purpose. Format: text, at most 2048 characters."""
    created_at: Moment
    """When it was created. Format: RFC 3339 date-time, UTC, milliseconds."""


class AnalyzeIn(In, wire_name="policy_analysis_input", source="CONTRACT 9"):
    """A document, or the id of a policy whose newest version is analyzed; `against` is compared with it."""

    policy: SentPolicy | None = None
    """The document to analyze; send it or policy_id. Format: a policy document."""
    policy_id: Uuid | None = None
    """The policy whose newest version is analyzed. Format: UUID, 36 characters."""
    against: Uuid | SentPolicy | None = None
    """The policy to compare it with. Format: UUID, 36 characters, or a policy document."""

    @model_validator(mode="after")
    def _says_one(self) -> "AnalyzeIn":
        if (self.policy is None) == (self.policy_id is None):
            raise ValueError("Send exactly one of `policy` and `policy_id`.")
        return self


class PolicySummaryOut(Out, source="CONTRACT 9"):
    """A policy in lists: its active versions, without a document."""

    id: Uuid
    """The policy. Format: UUID, 36 characters."""
    tenant_id: Uuid
    """The tenant of the policy. Format: UUID, 36 characters."""
    name: str
    """Its name, for people. Format: 1-128 characters."""
    category: Categories
    """The action that it decides. Format: MINT, VERIFY or BUNDLE_EXPORT."""
    target_type: Targets
    """The type of its target. Format: ISSUER, VERIFICATION_PROFILE or TENANT_DEFAULT."""
    target_id: Uuid | None
    """The issuer or profile; null for TENANT_DEFAULT. Format: UUID, 36 characters."""
    status: PolicyStatuses
    """ACTIVE if a version decides, SHADOW if one is only evaluated. Format: DRAFT, SHADOW, ACTIVE or ARCHIVED."""
    version: int
    """The newest version. Format: from 1."""
    active_version: int | None
    """The version that decides. Format: from 1."""
    shadow_version: int | None
    """The version in shadow, which has no effect. Format: from 1."""
    digest: str
    """Digest of the newest version's meaning as RFC 8785 JSON. Format: SHA-256, 64 lowercase hex digits."""
    created_at: Moment
    """When it was created. Format: RFC 3339 date-time, UTC, milliseconds."""
    updated_at: Moment
    """When it last changed. Format: RFC 3339 date-time, UTC, milliseconds."""


class PolicyOut(PolicySummaryOut, source="CONTRACT 9"):
    """A policy with its newest document."""

    version: int
    """The newest version, which this object shows. Format: from 1."""
    mode: Modes
    """MONITOR is evaluated and reported, without effect. Format: ENFORCE or MONITOR."""
    default_effect: Effects
    """Its effect if no rule matches. Format: ALLOW or DENY."""
    rules: list[WrittenRule]
    """Its rules as written."""
    tests: list[WrittenTest] | None
    """Its tests: the expected decisions of this policy alone."""


class PolicyVersionSummaryOut(Out, source="CONTRACT 9"):
    """One version of a policy, without its document."""

    policy_id: Uuid
    """The policy. Format: UUID, 36 characters."""
    version: int
    """The number of the version. Format: from 1."""
    status: PolicyStatuses
    """The status of this version. Format: DRAFT, SHADOW, ACTIVE or ARCHIVED."""
    digest: str
    """Digest of document as RFC 8785 JSON. Format: SHA-256, 64 lowercase hex digits."""
    author: str
    """The person or key that created it. Format: 1-64 characters."""
    created_at: Moment
    """When it was created. Format: RFC 3339 date-time, UTC, milliseconds."""


class PolicyVersionOut(PolicyVersionSummaryOut, source="CONTRACT 9"):
    """One version of a policy with its document, which never changes."""

    document: WrittenPolicy
    """The document, with defaults written out."""


class AttributeOut(Out, wire_name="policy_attribute", source="CONTRACT 9"):
    """An attribute that policies may use; `own` is true for the tenant's own."""

    path: str
    """Its name in contexts and rules. Format: dotted lower-case words, at most 64 characters."""
    type: Literal["enum", "text", "number", "integer", "boolean"]
    """The type of its values. Format: enum, text, number, integer or boolean."""
    domain: list[str] | dict[str, float] | None
    """Its domain; a value outside it counts as missing. Format: the values of an enum; min and max of a number."""
    unit: str | None
    """The unit of a number. Format: at most 32 characters."""
    mutable: bool
    """Whether a person could change the value. Format: true or false."""
    own: bool
    """Whether it is the tenant's own. Format: true or false."""


class AttributesOut(Out, wire_name="policy_attributes", source="CONTRACT 9"):
    """The platform's attributes, then the tenant's own."""

    items: list[AttributeOut]
    """The attributes that policies may use. Format: the platform's first."""


class FindingOut(Out, wire_name="policy_finding", source="CONTRACT 9"):
    """A finding about a rule; `rule_id` is null if it is about an unreachable default."""

    kind: Literal["dead", "shadowed", "contradicting", "default_unreachable"]
    """The kind of finding. Format: dead, shadowed, contradicting or default_unreachable."""
    rule_id: str | None
    """The rule; null for the default. Format: 1-64 characters."""
    by: list[str]
    """The rules that shadow or contradict it. Format: rule ids."""
    witness: dict[str, object] | None
    """A context that shows a contradiction. Format: typed values by dotted path."""


class AnalysisOut(Out, wire_name="policy_analysis", source="CONTRACT 9"):
    """The results of an analysis; `equivalent` is null without `against`; the policies differ on `witness`."""

    findings: list[FindingOut]
    """The proven findings about the policy. Format: empty if there are none."""
    equivalent: bool | None
    """Whether both always decide alike. Format: null without against."""
    witness: dict[str, object] | None
    """A context on which they differ. Format: typed values by dotted path."""
