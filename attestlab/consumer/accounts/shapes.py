"""Wire models of consumers' accounts (CONTRACT 11.1)."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from attestlab.consumer.accounts.rules import MAX_BIO_LENGTH, USERNAME_FORM, PortfolioVisibility, SignupStatus
from attestlab.core.shapes import In, Moment, Name, Out, Uuid, omit_default, one_of
from attestlab.identity.shapes import Password, Token, TokensOut
from attestlab.orgs.shapes import InvitedEmail

Username = Annotated[str, StringConstraints(pattern=USERNAME_FORM)]
Bio = Annotated[str, StringConstraints(max_length=MAX_BIO_LENGTH)]
SignupStatusName = Annotated[str, one_of(SignupStatus)]
PortfolioVisibilityName = Annotated[str, one_of(PortfolioVisibility)]


class SignupIn(In, source="CONTRACT 11.1"):
    """A consumer's sign-up."""

    email: InvitedEmail
    """The address of the account, which a mail verifies. Format: e-mail address."""
    password: Annotated[str, StringConstraints(min_length=1, max_length=128)]
    """The password of the account. Format: text, 12-128 characters."""
    name: Name
    """The name of the person. Format: text, 1-200 characters."""
    username: Username | None = None
    """The name in the address of their portfolio, given at the verification if it is still free.
    Format: 3-30 of a-z 0-9 _ -.
    """
    invitation_token: Token | None = None
    """The token of an invitation to this very address, which verifies it at once. Format: base64url, 43 characters."""


class SignupOut(Out, source="CONTRACT 11.1"):
    """What a sign-up answers, the same for an address that has an account already."""

    id: Uuid
    """The account, once the address is verified. Format: UUID, 36 characters."""
    email: str
    """The address. Format: e-mail address, lower case."""
    name: str
    """The name of the person. Format: text, 1-200 characters."""
    username: str | None
    """The username; null until the address is verified. Format: 3-30 of a-z 0-9 _ -."""
    status: SignupStatusName
    """ACTIVE with the token of an invitation. Format: PENDING_VERIFICATION or ACTIVE."""
    created_at: Moment
    """When they signed up. Format: RFC 3339 date-time, UTC, milliseconds."""
    tokens: TokensOut | None = Field(default=None, exclude_if=lambda value: value is None)
    """The tokens of a session; left out until the address is verified."""


class VerifyEmailIn(In, wire_name="email_verification_input", source="CONTRACT 11.1"):
    """The token of a mailed link, which proves that its bearer reads the address."""

    token: Token
    """The token in the link. Format: base64url, 43 characters."""


class VerifiedEmailOut(Out, source="CONTRACT 11.1"):
    """A verified address."""

    id: Uuid
    """The account. Format: UUID, 36 characters."""
    email: str
    """The address. Format: e-mail address, lower case."""
    status: SignupStatusName
    """The state of the account. Format: ACTIVE."""
    claimed: int
    """How many attestations waited for the address, and are the account's now. Format: count."""


class EmailIn(In, wire_name="email_input", source="CONTRACT 11.1"):
    """An address."""

    email: InvitedEmail
    """The address. Format: e-mail address."""


class EmailPatch(In, wire_name="account_email_patch", source="CONTRACT 11.1"):
    """A change of one of the account's addresses."""

    primary: Literal[True]
    """Makes it the address that the account signs in with. Format: true."""


class AccountEmailOut(Out, source="CONTRACT 11.1"):
    """An address of an account."""

    email: str
    """The address. Format: e-mail address, lower case."""
    primary: bool
    """Whether the account signs in with it. Format: true or false."""
    verified_at: Moment | None
    """When it was verified; null until then. Format: RFC 3339 date-time, UTC, milliseconds."""


class AccountPatch(In, source="CONTRACT 11.1"):
    """Changes of an account; omitted fields are unchanged."""

    name: Name = Field(default="", json_schema_extra=omit_default)
    """The name of the person. Format: text, 1-200 characters."""
    bio: Bio = Field(default="", json_schema_extra=omit_default)
    """What they say about themselves. Format: text, at most 500 characters."""
    portfolio_visibility: PortfolioVisibility = Field(
        default=PortfolioVisibility.PUBLIC, json_schema_extra=omit_default
    )
    """Who sees their portfolio. Format: public or private."""


class UsernameIn(In, source="CONTRACT 11.1"):
    """The username that a consumer chooses, once."""

    username: Username
    """The name in the address of their portfolio. Format: 3-30 of a-z 0-9 _ -."""


class UsernameOut(Out, source="CONTRACT 11.1"):
    """The username of an account."""

    username: str
    """The name in the address of their portfolio. Format: 3-30 of a-z 0-9 _ -."""
    portfolio_url: str
    """The page of their portfolio. Format: absolute URL."""


class AccountOut(Out, source="CONTRACT 11.1"):
    """A consumer's account, as its owner sees it."""

    id: Uuid
    """The account. Format: UUID, 36 characters."""
    email: str
    """The address that it signs in with. Format: e-mail address, lower case."""
    emails: list[AccountEmailOut]
    """Its addresses, the primary one first. Format: at most 5."""
    name: str
    """The name of the person. Format: text, 1-200 characters."""
    username: str | None
    """The name in the address of their portfolio; null until it is chosen. Format: 3-30 of a-z 0-9 _ -."""
    bio: str
    """What they say about themselves. Format: text, at most 500 characters."""
    portfolio_visibility: PortfolioVisibilityName
    """Who sees their portfolio. Format: public or private."""
    portfolio_url: str | None
    """The page of their portfolio; null without a username. Format: absolute URL."""
    unread: int
    """How many items of the inbox are unread. Format: count."""
    protections: int
    """How many contents they protected. Format: count."""
    created_at: Moment
    """When the account was opened. Format: RFC 3339 date-time, UTC, milliseconds."""


class AccountDeletionIn(In, source="CONTRACT 11.1"):
    """The password of the account that is deleted."""

    password: Password
    """The password of the account. Format: text."""


class ExportedSessionOut(Out, source="CONTRACT 11.1"):
    """A session of the account."""

    id: Uuid
    """The session. Format: UUID, 36 characters."""
    created_at: Moment
    """When the person signed in. Format: RFC 3339 date-time, UTC, milliseconds."""
    ended_at: Moment | None
    """When it ended; null while it is open. Format: RFC 3339 date-time, UTC, milliseconds."""


class ExportedKeyOut(Out, source="CONTRACT 11.1"):
    """An API key of the account, without its secret."""

    id: Uuid
    """The key. Format: UUID, 36 characters."""
    name: str
    """Its name. Format: text, 1-200 characters."""
    prefix: str
    """Its visible beginning. Format: prefix and six characters."""
    created_at: Moment
    """When it was created. Format: RFC 3339 date-time, UTC, milliseconds."""
    expires_at: Moment | None
    """From this moment on it does not work. Format: RFC 3339 date-time, UTC, milliseconds."""
    revoked_at: Moment | None
    """When it was revoked. Format: RFC 3339 date-time, UTC, milliseconds."""


class AccountExportOut(Out, source="CONTRACT 11.1"):
    """All that the service keeps about an account."""

    exported_at: Moment
    """When it was read. Format: RFC 3339 date-time, UTC, milliseconds."""
    account: AccountOut
    """The account."""
    sessions: list[ExportedSessionOut]
    """Its sessions, oldest first."""
    api_keys: list[ExportedKeyOut]
    """Its API keys, oldest first."""
    parts: dict[str, object]
    """What other capabilities keep about it, by their names: such as inbox and protections. Format: JSON."""
