"""Service for members: invite, accept, get, list, change a role, remove.

An invitation is an e-mail with a token that exists nowhere else; its SHA-256 is stored. Rules that two concurrent
requests could break, such as that one owner must remain, are checked under the writer lock.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.crypto import passwords
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import Conflict, NotFound
from attestlab.core.events import Event
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write, outbox
from attestlab.core.records.actors import Actor, SystemActor, UserActor
from attestlab.core.records.audited_write import AuditContext
from attestlab.mail.service import Mails
from attestlab.orgs import invitations, role_rules, rules, store
from attestlab.orgs.events import MemberInvited, MemberJoined, MemberRemoved, RoleChanged
from attestlab.orgs.role_rules import UserStatus
from attestlab.orgs.rules import Caller, Role
from attestlab.orgs.shapes import UserIn
from attestlab.orgs.tables import UserRecord

MAX_RELEASED: Final = 100  # invitations that one sweep ends, to hold the lock briefly
TIMEKEEPER: Final = SystemActor("timekeeper")  # ends invitations


class Invitation(NamedTuple):
    """The columns of a person that an invitation sets."""

    roles: str
    invitation_sha256: bytes | None
    invited_until: datetime


@dataclass(frozen=True)
class AcceptInvitation:
    """A valid invitation, and the hash of the password that its recipient chose."""

    token_sha256: bytes
    password_hash: str = field(repr=False)


class OpenInvitation(NamedTuple):
    """An invitation that can be accepted, as its page shows it; `name` may be empty."""

    email: str
    name: str
    team: str
    until: datetime


class OnAccountOpened(Protocol):
    """A callback for each new account, in the transaction that opens it."""

    def __call__(self, tx: Transaction, *, user_id: UUID, address: str, at: datetime) -> int:
        """Deliver what waited for `address`, in lower case, which belongs to the account from now on.

        Returns the number of attestations that it delivered.
        """
        ...


class DependentsOnPeople(Protocol):
    """What depends on the people of a tenant, such as the agents for which they answer."""

    def leave(self, tx: Transaction, person: UserRecord, *, actor: Actor, at: datetime) -> None:
        """Note that a person was removed, in the transaction that removes them."""
        ...


OnRoleChanged = Callable[[Transaction, UserRecord, AuditContext], None]
"""Follows the change of a person's role, in the transaction that changes it."""


class People:
    """The members of a tenant.

    `is_further_address` tells which addresses consumers have beside their primary ones.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(
        self,
        *,
        storage: Storage,
        clock: Clock,
        mails: Mails,
        on_account_opened: OnAccountOpened,
        is_further_address: Callable[[Execute, str], bool],
    ) -> None:
        self.storage = storage
        self.clock = clock
        self.mails = mails
        self.on_account_opened = on_account_opened
        self.is_further_address = is_further_address
        self.dependents: list[DependentsOnPeople] = []
        self.on_role_changed: list[OnRoleChanged] = []

    def invite(self, person: UserIn, *, caller: Caller, tx: Transaction | None = None) -> UserRecord:
        """Invite a person by e-mail; a repeated invitation invalidates the previous link.

        An address that an account elsewhere has is invited as well, but only its mail says that no one can accept: who
        invites does not learn who has an account. An invitation keeps no one from opening another account, which ends
        it.

        Raises:
            ValidationFailed: the address or the name is invalid.
            PermissionDenied: the caller may not grant this role.
            Conflict: the address belongs to an account of this tenant.
        """
        address, role = role_rules.normalize_address(person.email), person.role
        name = "" if person.name is None else rules.validate_display_name("name", person.name)
        token = b64url_encode(secrets.token_bytes(role_rules.TOKEN_BYTES))
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            tenant = store.get_tenant(tx.exec, caller.tenant_id)
            role_rules.require_may_grant(role, caller=caller, is_operators=tenant.is_operator)
            until = now + role_rules.INVITATION_TTL
            invitation = Invitation(role.value, role_rules.hash_invitation(token), until)
            row = self._invite_or_renew(tx, address, name, invitation, caller, now)
            message = (
                invitations.invitation_mail(self.mails.portal_url, token, team_name=tenant.name, until=until)
                if row.invitation_sha256 is not None
                else invitations.shadowed_mail(team_name=tenant.name)
            )
            self.mails.enqueue(
                tx, tenant_id=caller.tenant_id, recipient=address, subject=message.subject, text=message.text, at=now
            )
            event = MemberInvited(user_id=row.id, role=role.value, invited_at=now, invited_until=until)
            outbox.publish(tx, caller.tenant_id, event, at=now)
        return row

    def find_invitation(self, token: str) -> OpenInvitation:
        """Return the invitation of a token; it stays open.

        Raises:
            NotFound: the token is unknown, used or expired; the error does not distinguish these.
        """
        with self.storage.read() as connection:
            row, address = self._find_invited(connection.execute, role_rules.hash_invitation(token))
            team = store.get_tenant(connection.execute, row.tenant_id).name
        assert row.invited_until is not None  # `_find_invited` requires it
        return OpenInvitation(address, row.name, team, row.invited_until)

    def prepare_join(self, token: str, password: str) -> AcceptInvitation:
        """Validate an invitation and hash the password; slow.

        Raises:
            NotFound: the token is unknown, used or expired; the error does not distinguish these.
            ValidationFailed: the password is too easy to guess.
        """
        token_sha256 = role_rules.hash_invitation(token)
        with self.storage.read() as connection:
            _, address = self._find_invited(connection.execute, token_sha256)
        passwords.require_acceptable(password, email=address, field="/password")
        return AcceptInvitation(token_sha256, passwords.hash_password(password))

    def join(
        self, acceptance: AcceptInvitation, *, name: str | None = None, tx: Transaction | None = None
    ) -> UserRecord:
        """Accept an invitation, which uses it up and opens an account.

        Raises:
            NotFound: the invitation was used, renewed or withdrawn since `prepare_join`, or the address has an account.
            ValidationFailed: the name is not one line.
        """
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            row, address = self._find_invited(tx.exec, acceptance.token_sha256)
            changes = {
                "email": address,
                "invited_address": None,
                "password_hash": acceptance.password_hash,
                "status": UserStatus.ACTIVE.value,
                "joined_at": now,
                "password_changed_at": now,
                "invitation_sha256": None,
                "invited_until": None,
                "name": row.name if name is None else rules.validate_display_name("name", name),
            }
            event = MemberJoined(
                user_id=row.id, role=role_rules.public_roles(role_rules.parse_roles(row.roles)), joined_at=now
            )
            joined = self._change(tx, row, changes, event, "user.join", UserActor(str(row.id)), now)
            self.on_account_opened(tx, user_id=row.id, address=address, at=now)
        return joined

    def get(self, user_id: UUID, *, caller: Caller) -> UserRecord:
        """Return one of the tenant's people.

        Raises:
            NotFound: the caller's tenant has no person with this id.
        """
        with self.storage.read() as connection:
            return store.get_owned(connection.execute, UserRecord, user_id, tenant_id=caller.tenant_id)

    def list_page(self, *, caller: Caller, before: UUID | None = None, limit: int = 50) -> Sequence[UserRecord]:
        """List the tenant's people, newest first; a removed person is listed without a name."""
        with self.storage.read() as connection:
            return store.list_page(connection, UserRecord, tenant_id=caller.tenant_id, before=before, limit=limit)

    def change_role(self, user_id: UUID, role: Role, *, caller: Caller, tx: Transaction | None = None) -> UserRecord:
        """Change a person's role, which ends their sessions: with the next sign-in they have the new one.

        Raises:
            NotFound: the caller's tenant has no person with this id.
            PermissionDenied: the caller may not grant this role, not change this person, or would promote themselves.
            Conflict: the person was removed, or is the last owner.
        """
        with self.storage.write(tx) as tx:
            row = store.get_owned(tx.exec, UserRecord, user_id, tenant_id=caller.tenant_id)
            current = role_rules.parse_roles(row.roles)
            self._require_may_set_role(tx, row, role, caller)
            new_roles = role_rules.with_role(current, role)
            if new_roles == current:
                return row
            self._require_other_holders(tx, row, current - new_roles)
            now = self.clock.now()
            event = RoleChanged(
                user_id=user_id,
                old_role=role_rules.public_roles(current),
                new_role=role_rules.public_roles(new_roles),
                changed_at=now,
            )
            for follow in self.on_role_changed:
                follow(tx, row, AuditContext(caller.tenant_id, caller, "user.change_role", now))
            return self._change(
                tx, row, {"roles": role_rules.format_roles(new_roles)}, event, "user.change_role", caller, now
            )

    def remove(self, user_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> None:
        """Remove a person: only an id remains, their sessions end, their address is free again.

        Raises:
            NotFound: the caller's tenant has no person with this id.
            PermissionDenied: the caller may not remove an owner, or a person with a platform role.
            Conflict: the person is the last owner.
        """
        with self.storage.write(tx) as tx:
            row = store.get_owned(tx.exec, UserRecord, user_id, tenant_id=caller.tenant_id)
            if row.status == UserStatus.REMOVED:
                return
            current = role_rules.parse_roles(row.roles)
            role_rules.require_may_change(current, caller=caller)
            self._require_other_holders(tx, row, current)
            now = self.clock.now()
            event = MemberRemoved(user_id=user_id, removed_at=now)
            tx.cache[store.ADDRESSES_CHANGED] = True
            self._change(tx, row, removal_changes(row, now), event, "user.remove", caller, now)
            for dependent in self.dependents:
                dependent.leave(tx, row, actor=caller, at=now)

    def release_lapsed(self, tx: Transaction) -> None:
        """Free the addresses of at most `MAX_RELEASED` invitations of earlier releases that lapsed.

        These hold the address: its owner can neither sign up nor join another team. Newer ones hold nothing.
        """
        now = self.clock.now()
        for row in store.list_lapsed(tx.exec, now, limit=MAX_RELEASED):
            released = {"email": role_rules.placeholder_address(row.id), "invited_address": row.email}
            context = AuditContext(row.tenant_id, TIMEKEEPER, "user.lapse", now)
            audited_write.change(tx, store.users, row, released, context)
            tx.cache[store.ADDRESSES_CHANGED] = True

    def _invite_or_renew(
        self, tx: Transaction, address: str, name: str, invitation: Invitation, caller: Caller, now: datetime
    ) -> UserRecord:
        """Create an invited person, or renew their invitation; return the row."""
        context = AuditContext(caller.tenant_id, caller, "user.invite", now)
        holder = store.find_user_by_address(tx.exec, address)
        invited = store.find_invitation(tx.exec, address, tenant_id=caller.tenant_id)
        is_further = self.is_further_address(tx.exec, address)
        is_elsewhere = is_further or (holder is not None and holder.tenant_id != caller.tenant_id)
        if is_elsewhere:
            invitation = invitation._replace(invitation_sha256=None)
        known = invited if holder is None or is_elsewhere else holder
        user_id = new_id(now) if known is None else known.id
        email = role_rules.placeholder_address(user_id)
        tx.cache[store.ADDRESSES_CHANGED] = True
        if known is None:
            row = UserRecord(
                id=user_id,
                tenant_id=caller.tenant_id,
                org_id=store.get_first_org(tx.exec, caller.tenant_id),
                email=email,
                name=name,
                password_hash="",
                roles=invitation.roles,
                created_at=now,
                status=UserStatus.INVITED.value,
                invitation_sha256=invitation.invitation_sha256,
                invited_until=invitation.invited_until,
                invited_address=address,
            )
            return audited_write.insert(tx, store.users, row, context)
        if known.status != UserStatus.INVITED:
            raise Conflict("This address belongs to an account already.", details={"reason": "address_taken"})
        role_rules.require_may_change(role_rules.parse_roles(known.roles), caller=caller)
        address_now = {"email": email, "invited_address": address}
        renewed = {**address_now, **invitation._asdict(), "name": name or known.name}
        return audited_write.change(tx, store.users, known, renewed, context)

    def _find_invited(self, execute: Execute, token_sha256: bytes) -> tuple[UserRecord, str]:
        """Return the person of an open invitation, and their address, which no account has."""
        row = store.find_user_by_invitation(execute, token_sha256)
        if row is None or row.status != UserStatus.INVITED:
            raise NotFound("invitation", "with this token")
        if row.invited_until is None or self.clock.now() >= row.invited_until:
            raise NotFound("invitation", "with this token")
        address = row.invited_address or row.email
        holder = store.find_user_by_address(execute, address)
        if (holder is not None and holder.id != row.id) or self.is_further_address(execute, address):
            raise NotFound("invitation", "with this token")
        return row, address

    def _require_may_set_role(self, tx: Transaction, row: UserRecord, role: Role, caller: Caller) -> None:
        if row.status == UserStatus.REMOVED:
            raise Conflict("This person was removed. Invite them again.", details={"status": row.status})
        current = role_rules.parse_roles(row.roles)
        role_rules.require_may_grant(
            role, caller=caller, is_operators=store.get_tenant(tx.exec, caller.tenant_id).is_operator
        )
        role_rules.require_may_change(current, caller=caller)
        if str(row.id) == caller.actor_id:
            role_rules.require_no_self_promotion(current, role)

    def _require_other_holders(self, tx: Transaction, row: UserRecord, losing: frozenset[Role]) -> None:
        """Require that other people keep the roles; an invited person has not joined, so their roles do not matter."""
        if row.status != UserStatus.INVITED:
            role_rules.require_not_last(losing, {Role(role) for role in store.list_roles_of_others(tx, row)})

    def _change(
        self,
        tx: Transaction,
        row: UserRecord,
        changes: Mapping[str, object],
        event: Event,
        action: str,
        actor: Actor,
        now: datetime,
    ) -> UserRecord:
        changed = audited_write.change(tx, store.users, row, changes, AuditContext(row.tenant_id, actor, action, now))
        outbox.publish(tx, row.tenant_id, event, at=now)
        return changed


def removal_changes(row: UserRecord, now: datetime) -> dict[str, object]:
    """Return the columns of a person of whom only an id remains."""
    return {
        "status": UserStatus.REMOVED.value,
        "email": role_rules.removed_address(row.id),
        "invited_address": None,
        "name": "",
        "password_hash": "",
        "roles": "",
        "invitation_sha256": None,
        "invited_until": None,
        "removed_at": now,
    }
