"""The settings of an installation; each can be set by an environment variable `ATTESTLAB_<NAME>`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from attestlab.core.addresses import IPNetwork, read_network
from attestlab.core.errors import ValidationFailed
from attestlab.core.path_prefix import parse_path_prefix
from attestlab.core.urls import is_web_address, quote_url

PREFIX = "ATTESTLAB_"
MAX_PRICE_MINOR = 10**9  # a thousand units of each add-on fit into a JSON number then
# Read elsewhere: commands over HTTP, the keyring, the offline verifier and the tests.
OTHER_VARIABLES = frozenset(PREFIX + name for name in ("API_KEY", "KEK", "KEK_NEXT", "TRUST", "VECTORS"))


class Stage(StrEnum):
    """The deployment stage; production rejects development keys and everything meant only for trials."""

    SANDBOX = "sandbox"
    PRODUCTION = "production"


class Settings(BaseSettings):
    """The settings of an installation, frozen."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    data: Path = Field(
        default=Path("attestlab-data"), description="Folder of the records, the keyring and the head guard."
    )
    database_url: str | None = Field(
        default=None, description="SQLite or PostgreSQL URL of the records; SQLite in the data folder when left out."
    )
    env: Stage = Field(default=Stage.SANDBOX, description="sandbox or production.")
    portal_url: str | None = Field(
        default=None, description="Address people see in verification links; the server's own when left out."
    )
    path_prefix: str | None = Field(
        default=None,
        description="Path below which a proxy serves us, such as /attest; that of the portal's URL when left out.",
    )
    key_prefix: str = Field(default="al", pattern=r"^[a-z]{1,12}$", description="First part of tenant API keys.")
    consumer_key_prefix: str = Field(
        default="alc", pattern=r"^[a-z]{1,12}$", description="First part of consumers' API keys."
    )
    log_origin: str | None = Field(
        default=None, description="Name of the log, fixed when it is created; generated when left out."
    )
    witnesses: Path | None = Field(
        default=None,
        description="A tlog-policy file: the witnesses that should cosign checkpoints, their URLs, a quorum.",
    )
    token_issuer: str | None = Field(
        default=None, description="The `iss` of access tokens; the name of the log when left out."
    )
    smtp_url: SecretStr | None = Field(
        default=None, description="Mail server, smtp://user:password@host:port; a Maildir in the data folder without."
    )
    mail_from: str = Field(default="AttestLab <attestlab@localhost>", description="Sender of e-mails.")
    idle_timeout_s: float = Field(default=30.0, gt=0, description="Seconds a connection may idle between two requests.")
    body_timeout_s: float = Field(default=60.0, gt=0, description="Seconds a request body may take.")

    max_connections: int = Field(
        default=4096, gt=0, description="Connections that one server process keeps at once; fewer if files are short."
    )
    max_connections_per_address: int = Field(
        default=256,
        gt=0,
        description="Connections from one address at once; loopback and trusted proxies have no such limit.",
    )
    address_requests_per_minute: int = Field(
        default=3000, gt=0, description="Requests without a credential that one address may send in a minute."
    )
    dashboards: bool = Field(
        default=True, description="Whether /dash serves the dashboards, in a process of their own."
    )
    trusted_proxies: Annotated[tuple[IPNetwork, ...], NoDecode] = Field(
        default=(),
        description="Networks of proxies whose X-Forwarded-For and X-Forwarded-Prefix are believed, with commas.",
    )

    currency: str = Field(
        default="USD", pattern=r"^[A-Z]{3}$", description="The currency of all prices, as in ISO 4217."
    )
    price_starter_minor: int = Field(
        default=2_900, ge=0, le=MAX_PRICE_MINOR, description="Price of STARTER a month, in the currency's minor unit."
    )
    price_professional_minor: int = Field(
        default=19_900,
        ge=0,
        le=MAX_PRICE_MINOR,
        description="Price of PROFESSIONAL a month, in the currency's minor unit.",
    )
    price_addon_minor: int = Field(
        default=1_000,
        ge=0,
        le=MAX_PRICE_MINOR,
        description="Price of one unit of an add-on a month, in the currency's minor unit.",
    )

    security_contact: str | None = Field(
        default=None,
        pattern=r"^(mailto:|https://|tel:)[!-~]+$",
        description="Where people report weaknesses, such as mailto:security@example.com; no security.txt without it.",
    )
    dns_server: str | None = Field(
        default=None, description="host:port of the DNS resolver for domain proofs; the system's when left out."
    )
    webhook_allow_private: bool = Field(
        default=False, description="Whether webhooks may go to http and to private addresses; never in production."
    )

    stripe_api_key: SecretStr | None = Field(
        default=None, description="Secret key of the Stripe account that charges tenants; without it, none is charged."
    )
    stripe_webhook_secret: SecretStr | None = Field(
        default=None, description="Secret with which Stripe signs what it sends to /billing/stripe/webhook."
    )
    stripe_url: str = Field(default="https://api.stripe.com", description="Address of Stripe's API.")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, values: dict[str, object]) -> dict[str, object]:
        """Reject a misspelled setting, which would have no effect.

        Raises:
            ValidationFailed: a name is not that of a setting.
        """
        for name in values.keys() - cls.model_fields.keys():
            raise ValidationFailed.of(f"/{name}", "unknown", f"Unknown setting {name!r}.{_suggest_names(name, '')}")
        return values

    @field_validator("path_prefix")
    @classmethod
    def _parse_path_prefix(cls, value: str | None) -> str | None:
        return None if value is None else parse_path_prefix(value)

    @field_validator("portal_url")
    @classmethod
    def _require_web_address(cls, value: str | None) -> str | None:
        """Reject a portal's URL that no browser can follow, such as one without its scheme.

        Raises:
            ValidationFailed: it has no scheme http or https or no host, or has a user, a query or a fragment.
        """
        if not value or is_web_address(value):
            return value
        message = (
            f"{quote_url(value)} is no address of a site. Set {PREFIX}PORTAL_URL to one like "
            "https://attest.example.org."
        )
        raise ValidationFailed.of("/portal_url", "url", message)

    @model_validator(mode="after")
    def _refuse_unclean_path(self) -> Self:
        """Reject a portal's URL with a path that cannot be that of cookies and redirects.

        Raises:
            ValidationFailed: its path is no path prefix, and no setting names another one.
        """
        try:
            _ = self.served_below
        except ValueError as error:
            message = f"The path of the portal's URL cannot be the path prefix. {error} Set {PREFIX}PATH_PREFIX."
            raise ValidationFailed.of("/portal_url", "path", message) from None
        return self

    @model_validator(mode="after")
    def _refuse_private_webhooks_in_production(self) -> Self:
        """Reject the setting with which a tenant's webhook reaches the operator's own network.

        Raises:
            ValidationFailed: it is set in production.
        """
        if self.webhook_allow_private and self.env is Stage.PRODUCTION:
            message = f"{PREFIX}WEBHOOK_ALLOW_PRIVATE is for the sandbox only. Unset it, or set {PREFIX}ENV=sandbox."
            raise ValidationFailed.of("/webhook_allow_private", "production", message)
        return self

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _read_networks(cls, value: object) -> object:
        """Read networks, one text or several; an IPv4-mapped one is that of IPv4, as the addresses of peers are."""
        parts = [part for part in value.split(",") if part.strip()] if isinstance(value, str) else value
        if not isinstance(parts, list | tuple):
            return parts
        return [read_network(part) if isinstance(part, str) else part for part in parts]

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        """Show the settings that differ from their defaults; of the records' URL only the engine, not a password."""
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if value != field.default:
                yield name, value.partition(":")[0] if name == "database_url" else value

    @property
    def records_url(self) -> str:
        """The database URL of the records."""
        return self.database_url or f"sqlite:///{self.data / 'records.db'}"

    @property
    def public_url(self) -> str:
        """The address at which people reach the service; one of this machine where no setting names it.

        A server sets its own address, so only commands and labs in process lack one.
        """
        return (self.portal_url or "http://127.0.0.1").rstrip("/")

    @property
    def has_stripe(self) -> bool:
        """Whether Stripe charges tenants: it needs both secrets."""
        return self.stripe_api_key is not None and self.stripe_webhook_secret is not None

    @property
    def served_below(self) -> str:
        """The path prefix of requests for which no trusted proxy forwards one."""
        if self.path_prefix is not None:
            return self.path_prefix
        return parse_path_prefix(urlsplit(self.portal_url or "").path)


def unknown_variables(names: Iterable[str]) -> list[str]:
    """Describe each environment variable that has the prefix but is not a setting, with the closest valid name."""
    known = OTHER_VARIABLES | {PREFIX + name.upper() for name in Settings.model_fields}
    unknown = sorted(name for name in names if name.upper().startswith(PREFIX) and name.upper() not in known)
    return [
        f"The environment variable {name} is not read.{_suggest_names(name[len(PREFIX) :], PREFIX)}" for name in unknown
    ]


def _suggest_names(name: str, prefix: str) -> str:
    names = [prefix + known.upper() if prefix else known for known in Settings.model_fields]
    close = get_close_matches((prefix + name)[:64], names, n=1)
    return f" Did you mean {close[0]!r}?" if close else f" Valid names: {', '.join(names)}."
