"""`attestlab log accept-head` on PostgreSQL: the head that is accepted was seen elsewhere than in this database."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from uuid import UUID

import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.crypto.keyring import FILE_NAME as KEY_FILE
from attestlab.installation import Installation
from attestlab.log.entries import sha256_name
from attestlab.log.head_guard import HEAD_GUARD
from attestlab.log.note.note import TreeHead
from attestlab.settings import Settings
from support.databases import database_name, temporary_postgres_database
from support.fork_server import run_command
from support.installations import InstallationTemplate

pytestmark = pytest.mark.on_postgresql


@dataclass(frozen=True)
class NewHost:
    """A host that a script added after a failover, the heads before and after it, and its promoted database."""

    data: Path
    database_url: str
    replicated: TreeHead
    newest: TreeHead

    def accept(self, *options: str) -> CompletedProcess[str]:
        """Run `attestlab log accept-head` on it."""
        return run_command(
            "log", "accept-head", "--data", str(self.data), "--database-url", self.database_url, *options
        )

    def accept_seen(self, head: TreeHead, *options: str) -> CompletedProcess[str]:
        """Accept a head that the operator saw elsewhere."""
        return self.accept("--size", str(head.size), "--root", sha256_name(head.root), *options)

    @property
    def is_guarded(self) -> bool:
        return (self.data / HEAD_GUARD).exists()


@pytest.fixture
def host(
    make_template: Callable[..., InstallationTemplate],
    engine: str,
    postgres_url: str,
    tmp_path: Path,
    clock: FixedClock,
) -> Iterator[NewHost]:
    """The standby has the log up to `replicated`; the first host signed `newest` since."""
    template = make_template(engine)
    tenant_id = template.made.tenant.tenant_id
    with template.copy_to(tmp_path) as settings:
        replicated = grow(settings, tenant_id, clock)
        assert settings.database_url is not None
        with temporary_postgres_database(postgres_url, template=database_name(settings.database_url)) as standby:
            newest = grow(settings, tenant_id, clock)
            (tmp_path / "new").mkdir()
            shutil.copy(settings.data / KEY_FILE, tmp_path / "new")
            yield NewHost(tmp_path / "new", standby, replicated, newest)


def grow(settings: Settings, tenant_id: UUID, clock: FixedClock) -> TreeHead:
    """Register an issuer, which the log has an entry of; returns the signed head."""
    profile = {"name": "Northfield", "domain": "north.example"}
    with closing(Installation.open(settings, clock=clock)) as lab:
        lab.issuers.create(profile, caller=lab.orgs.service_caller(tenant_id))
        with lab.storage.read() as connection:
            head = lab.log.head(connection)
        return TreeHead(head.origin, head.size, head.root)


def names_head(done: CompletedProcess[str], head: TreeHead) -> bool:
    """Whether a command printed a head, which a start script could hand to the next one."""
    shown = done.stdout + done.stderr
    return sha256_name(head.root) in shown or f" {head.size} " in shown or f"size  {head.size}" in shown


@pytest.mark.parametrize("options", [("--yes",), (), ("--yes", "--size", "1"), ("--yes", "--json")])
def test_a_start_script_does_not_accept_the_head_of_a_stale_standby(host: NewHost, options: tuple[str, ...]) -> None:
    refused = host.accept(*options)

    assert refused.returncode == 2, refused
    assert "give --size and --root of the newest head that you saw elsewhere" in refused.stderr
    assert "/v1/log/head" in refused.stderr
    assert "standby that was behind" in refused.stderr
    assert names_head(refused, host.replicated) is False
    assert not host.is_guarded


def test_the_head_that_others_saw_is_not_that_of_a_stale_standby(host: NewHost) -> None:
    refused = host.accept_seen(host.newest, "--yes")

    assert refused.returncode == 2, refused
    assert "another head than the given one" in refused.stderr
    assert names_head(refused, host.replicated) is False
    assert not host.is_guarded


def test_a_head_that_was_seen_is_accepted(host: NewHost) -> None:
    """Either the database is up to date, or the operator gives up the rest and says so."""
    accepted = host.accept_seen(host.replicated, "--json")

    assert (accepted.returncode, json.loads(accepted.stdout)["accepted"]) == (0, True), accepted
    assert names_head(host.accept(), host.replicated), "which its own guard agrees with"
    assert host.is_guarded


def test_a_host_whose_guard_objects_needs_a_head_that_was_seen(host: NewHost, tmp_path: Path) -> None:
    """Its own guard saw more than the promoted standby has."""
    shutil.copy(tmp_path / "data" / HEAD_GUARD, host.data)

    assert host.accept("--yes").returncode == 2
    assert host.accept_seen(host.replicated).returncode == 0
