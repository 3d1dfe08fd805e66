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

Statuses = Literal["DRAFT", "SHADOW", "ACTIVE", "ARCHIVED"]
Categories = Literal["MINT", "VERIFY", "BUNDLE_EXPORT"]
Targets = Literal["ISSUER", "VERIFICATION_PROFILE", "TENANT_DEFAULT"]
Effects = Literal["ALLOW", "DENY"]
Modes = Literal["ENFORCE", "MONITOR"]

_DIGEST = describe_form("^[0-9a-f]{64}$", "Send the digest of a simulation: 64 hex digits in lower case.")


class PolicyToml(In):
    """A policy document as TOML."""

    toml: Annotated[str, Field(max_length=MAX_DOCUMENT_BYTES)]


class PolicyIn(RootModel[Annotated[dict[str, object], DescribedAs(Document | PolicyToml)]]):
    """A policy document (docs/policies.md), or `{"toml": "..."}`."""


SentPolicy = Annotated[dict[str, object], DescribedAs(PolicyIn)]
WrittenPolicy = Annotated[dict[str, object], DescribedAs(Document)]
WrittenRule = Annotated[dict[str, object], DescribedAs(RuleDoc)]
WrittenTest = Annotated[dict[str, object], DescribedAs(PolicyTest)]


class ActivateIn(In):
    """The simulation report on this version, and the acknowledged dead rules."""

    simulation_digest: Annotated[str, Field(pattern=_DIGEST)] | None = None
    acknowledge: Annotated[list[str], Field(default_factory=list, max_length=1_000)]
    note: Annotated[str, Field(max_length=1_024)] | None = None


EnumValues = Annotated[list[Annotated[str, Field(max_length=TEXT_LENGTH)]], Field(max_length=MAX_ENUM_VALUES)]


class BoundsIn(In):
    """The bounds of a number, inclusive."""

    min: float | None = None
    max: float | None = None


def _single_domain_error(value: object, read: ValidatorFunctionWrapHandler) -> object:
    """Replace the errors of each member of the union by one sentence that describes a valid domain."""
    try:
        return read(value)
    except ValidationError:
        what = f"a list of at most {MAX_ENUM_VALUES:,} texts of at most {TEXT_LENGTH:,} characters, of an enum"
        raise PydanticCustomError("domain", f"A domain is {what}, or {{min, max}}, of a number.") from None


Domain = Annotated[EnumValues | BoundsIn | None, WrapValidator(_single_domain_error)]


class AttributeIn(In):
    """One of the tenant's own attributes."""

    path: Annotated[str, Field(max_length=PATH_LENGTH)]
    type: AttributeType
    domain: Domain = None
    unit: Annotated[str, Field(max_length=32)] | None = None
    mutable: bool = True


class AttributesIn(In):
    """All of the tenant's own attributes; an omitted attribute is removed."""

    attributes: Annotated[list[AttributeIn], Field(max_length=MAX_ATTRIBUTES)]


class VerificationProfileIn(In):
    """A verification profile to create."""

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
    description: Annotated[str, StringConstraints(min_length=1, max_length=2048)] | None = None


class ProfileOut(Out):
    """A verification profile: policies are bound to it, and verifiers name it."""

    id: Uuid
    name: str
    description: str | None
    created_at: Moment


class AnalyzeIn(In):
    """A document, or the id of a policy whose newest version is analyzed; `against` is compared with it."""

    policy: SentPolicy | None = None
    policy_id: Uuid | None = None
    against: Uuid | SentPolicy | None = None

    @model_validator(mode="after")
    def _says_one(self) -> "AnalyzeIn":
        if (self.policy is None) == (self.policy_id is None):
            raise ValueError("Send exactly one of `policy` and `policy_id`.")
        return self


class PolicySummaryOut(Out):
    """A policy in lists: its active versions, without a document."""

    id: Uuid
    tenant_id: Uuid
    name: str
    category: Categories
    target_type: Targets
    target_id: Uuid | None
    status: Statuses
    version: int
    active_version: int | None
    shadow_version: int | None
    digest: str
    created_at: Moment
    updated_at: Moment


class PolicyOut(PolicySummaryOut):
    """A policy with its newest document."""

    mode: Modes
    default_effect: Effects
    rules: list[WrittenRule]
    tests: list[WrittenTest] | None


class PolicyVersionSummaryOut(Out):
    """One version of a policy, without its document."""

    policy_id: Uuid
    version: int
    status: Statuses
    digest: str
    author: str
    created_at: Moment


class PolicyVersionOut(PolicyVersionSummaryOut):
    """One version of a policy with its document, which never changes."""

    document: WrittenPolicy


class AttributeOut(Out):
    """An attribute that policies may use; `own` is true for the tenant's own."""

    path: str
    type: Literal["enum", "text", "number", "integer", "boolean"]
    domain: list[str] | dict[str, float] | None
    unit: str | None
    mutable: bool
    own: bool


class AttributesOut(Out):
    """The platform's attributes, then the tenant's own."""

    items: list[AttributeOut]


class FindingOut(Out):
    """A finding about a rule; `rule_id` is null if it is about an unreachable default."""

    kind: Literal["dead", "shadowed", "contradicting", "default_unreachable"]
    rule_id: str | None
    by: list[str]
    witness: dict[str, object] | None


class AnalysisOut(Out):
    """The results of an analysis; `equivalent` is null without `against`; the policies differ on `witness`."""

    findings: list[FindingOut]
    equivalent: bool | None
    witness: dict[str, object] | None
