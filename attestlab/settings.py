"""All settings in one frozen place; each can be given as an environment variable `ATTESTLAB_<NAME>`."""

from __future__ import annotations

from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

IPNetwork = IPv4Network | IPv6Network


class Environment(StrEnum):
    """Production refuses dev keys and everything that is only for trying out."""

    SANDBOX = "sandbox"
    PRODUCTION = "production"


class Settings(BaseSettings):
    """What an installation may choose."""

    model_config = SettingsConfigDict(env_prefix="ATTESTLAB_", frozen=True, extra="ignore")

    data: Path = Field(
        default=Path("attestlab-data"), description="Folder of the records, the keyring and the head guard."
    )
    database_url: str | None = Field(
        default=None, description="SQLite or PostgreSQL URL of the records; SQLite in the data folder when left out."
    )
    env: Environment = Field(default=Environment.SANDBOX, description="sandbox or production.")
    portal_url: str | None = Field(
        default=None, description="Address people see in verification links; the server's own when left out."
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
        description="A tlog-policy file: the witnesses that are asked to cosign checkpoints, their URLs, a quorum.",
    )
    token_issuer: str | None = Field(
        default=None, description="The `iss` of access tokens; the name of the log when left out."
    )
    smtp_url: SecretStr | None = Field(
        default=None, description="Mail server, smtp://user:password@host:port; a Maildir in the data folder without."
    )
    mail_from: str = Field(default="AttestLab <attestlab@localhost>", description="Sender of e-mails.")
    idle_timeout_s: float = Field(default=30.0, gt=0, description="Seconds a connection may rest between two requests.")
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
    trusted_proxies: Annotated[tuple[IPNetwork, ...], NoDecode] = Field(
        default=(), description="Networks of proxies whose X-Forwarded-For is believed, separated by commas."
    )

    dns_server: str | None = Field(
        default=None, description="host:port of the resolver that domain proofs are looked up at; else the system's."
    )

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @property
    def records_url(self) -> str:
        """Where the records are."""
        return self.database_url or f"sqlite:///{self.data / 'records.db'}"
