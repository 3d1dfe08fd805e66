"""Members over HTTP: invited by e-mail, joined once, given roles, and removed except for an id."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import select

from attestlab.core.clock import FixedClock
from attestlab.mail.store import mails
from attestlab.orgs import store
from attestlab.orgs.rules import Plan, Scope
from support.orgs import (
    PASSWORD,
    TenantClients,
    accept_invitation,
    read_audit_trail,
    read_mail_text,
    read_mailed_token,
)
from support.outbox import read_events_of_type

ADA = "ada@people.example"
WRITE = (Scope.USERS_READ, Scope.USERS_WRITE)
NO_INVITATION = "No invitation with this token is known."


def invited(client: httpx.Client, email: str = ADA, role: str = "member", **more: Any) -> dict[str, Any]:
    answer = client.post("/v1/users", json={"email": email, "role": role, **more})
    assert answer.status_code == 201, answer.text
    user: dict[str, Any] = answer.json()
    return user


def user_row(tenant_clients: TenantClients, user_id: str) -> dict[str, Any]:
    with tenant_clients.lab.storage.read() as connection:
        rows = connection.execute(select(*store.users.c)).mappings()
        return next(dict(row) for row in rows if str(row["id"]) == user_id)


def test_an_invitation_is_a_mail_with_a_link_and_no_account_yet(
    tenant_clients: TenantClients, clock: FixedClock
) -> None:
    with tenant_clients.with_key(*WRITE) as client:
        answer = client.post("/v1/users", json={"email": " Ada@People.Example ", "role": "analyst", "name": "Ada"})
        user = answer.json()
        shown = client.get(answer.headers["Location"]).json()

    assert (answer.status_code, shown) == (201, user)
    assert (user["email"], user["name"], user["roles"], user["status"]) == (ADA, "Ada", ["analyst"], "INVITED")
    assert (user["tenant_id"], user["org_id"]) == (
        str(tenant_clients.tenant.tenant_id),
        str(tenant_clients.tenant.org_id),
    )
    assert user["joined_at"] is None
    token = read_mailed_token(tenant_clients.lab, ADA)
    assert len(base64.urlsafe_b64decode(token + "=")) == 32
    [event] = read_events_of_type(tenant_clients.lab, "team.member_invited")
    assert (event["user_id"], event["role"]) == (user["id"], "analyst")
    assert ADA not in str(event)


def test_only_the_tokens_sha_256_is_stored_and_its_mail_is_sealed(tenant_clients: TenantClients) -> None:
    with tenant_clients.with_key(*WRITE) as client:
        invited(client)
    token = read_mailed_token(tenant_clients.lab, ADA)

    with tenant_clients.lab.storage.read() as connection:
        stored = [*connection.execute(select(*store.users.c)), *connection.execute(select(*mails.c))]
    assert token not in repr(stored)


@pytest.mark.both_engines
def test_accepting_an_invitation_allows_sign_in(tenant_clients: TenantClients) -> None:
    with tenant_clients.with_key(*WRITE) as client, tenant_clients.anonymous() as anyone:
        user = invited(client, role="analyst")
        joined = accept_invitation(anyone, read_mailed_token(tenant_clients.lab, ADA), name="Ada Lovelace")

    assert joined.status_code == 200, joined.text
    assert joined.json()["id"] == user["id"]
    assert (joined.json()["status"], joined.json()["name"]) == ("ACTIVE", "Ada Lovelace")
    with tenant_clients.sign_in(ADA) as ada:
        assert ada.get("/v1/me").json()["roles"] == ["analyst"]
    assert [event["role"] for event in read_events_of_type(tenant_clients.lab, "team.member_joined")] == ["analyst"]
    assert read_audit_trail(tenant_clients.lab, user["id"])[:2] == [("user.invite", "API_KEY"), ("user.join", "USER")]


def test_an_invitation_is_valid_once(tenant_clients: TenantClients) -> None:
    with tenant_clients.with_key(*WRITE) as client, tenant_clients.anonymous() as anyone:
        invited(client)
        token = read_mailed_token(tenant_clients.lab, ADA)
        statuses = [
            accept_invitation(anyone, token).status_code,
            accept_invitation(anyone, token, "another password").status_code,
        ]

    assert statuses == [200, 404]
    tenant_clients.sign_in(ADA).close()


def test_an_invitation_is_valid_for_seven_days(tenant_clients: TenantClients, clock: FixedClock) -> None:
    with tenant_clients.with_key(*WRITE) as client, tenant_clients.anonymous() as anyone:
        for email in (ADA, "grace@people.example"):
            invited(client, email)
        clock.advance(timedelta(days=7) - timedelta(milliseconds=1))
        last = accept_invitation(anyone, read_mailed_token(tenant_clients.lab, ADA)).status_code
        clock.advance(timedelta(milliseconds=1))
        after = accept_invitation(anyone, read_mailed_token(tenant_clients.lab, "grace@people.example"))

    assert (last, after.status_code, after.json()["message"]) == (200, 404, NO_INVITATION)


def test_every_invalid_token_gets_the_same_error(tenant_clients: TenantClients, clock: FixedClock) -> None:
    """Unknown, used, renewed, withdrawn, expired, malformed: the same error."""
    emails = [f"{word}@people.example" for word in ("used", "renewed", "removed", "expired")]
    with tenant_clients.with_key(*WRITE) as client, tenant_clients.anonymous() as anyone:
        ids = {email: invited(client, email)["id"] for email in emails}
        tokens = [read_mailed_token(tenant_clients.lab, email) for email in emails]
        accept_invitation(anyone, tokens[0])
        clock.advance(timedelta(days=3))
        invited(client, emails[1])
        client.delete(f"/v1/users/{ids[emails[2]]}")
        clock.advance(timedelta(days=5))
        answers = [accept_invitation(anyone, token).json() for token in (*tokens, "A" * 43, "x")]

    assert {answer["message"] for answer in answers} == {NO_INVITATION}
    assert {answer["http_status"] for answer in answers} == {404}


def test_a_repeated_invitation_invalidates_the_previous_link(tenant_clients: TenantClients, clock: FixedClock) -> None:
    with tenant_clients.with_key(*WRITE) as client, tenant_clients.anonymous() as anyone:
        first = invited(client, name="Ada")
        old = read_mailed_token(tenant_clients.lab, ADA)
        clock.advance(timedelta(days=6))
        again = invited(client, role="analyst")
        new = read_mailed_token(tenant_clients.lab, ADA)
        statuses = [accept_invitation(anyone, old).status_code, accept_invitation(anyone, new).status_code]

    assert (again["id"], again["roles"], again["name"]) == (first["id"], ["analyst"], "Ada")
    assert (new != old, statuses) == (True, [404, 200])


def test_an_address_of_an_account_of_the_tenant_is_a_conflict(tenant_clients: TenantClients) -> None:
    with tenant_clients.with_key(*WRITE) as client:
        address = tenant_clients.tenant.owner_email
        taken = client.post("/v1/users", json={"email": address.upper(), "role": "member"})

    assert (taken.status_code, taken.json()["details"]["reason"]) == (409, "address_taken")


@pytest.mark.both_engines
def test_only_the_mail_says_that_an_address_has_an_account_elsewhere(
    tenant_clients: TenantClients, clock: FixedClock
) -> None:
    """The list shows it as invited; once it has no account elsewhere, another invitation can be accepted."""
    lab, other = tenant_clients.lab, tenant_clients.lab.orgs.create_tenant("Other", plan=Plan.FREE)
    with tenant_clients.with_key(*WRITE) as client, tenant_clients.with_key(*WRITE, tenant=other) as stranger:
        own = invited(client)
        with tenant_clients.anonymous() as anyone:
            accept_invitation(anyone, read_mailed_token(lab, ADA)).raise_for_status()
        clock.advance(timedelta(seconds=1))  # so that the mails have an order
        theirs = invited(stranger, role="analyst", name="Ada")
        text = read_mail_text(lab, ADA)
        again = invited(stranger)
        listed = [user for user in stranger.get("/v1/users").json()["items"] if user["status"] == "INVITED"]
        changed = stranger.patch(f"/v1/users/{theirs['id']}", json={"role": "admin"}).json()
        assert client.delete(f"/v1/users/{own['id']}").status_code == 204
        clock.advance(timedelta(seconds=1))
        invited(stranger)
        with tenant_clients.anonymous() as anyone:
            joined = accept_invitation(anyone, read_mailed_token(lab, ADA)).json()

    assert ("token=" in text, "account of another kind" in text) == (False, True)
    assert (theirs["email"], theirs["status"], theirs["roles"]) == (ADA, "INVITED", ["analyst"])
    assert listed == [again]
    assert (changed["email"], changed["roles"]) == (ADA, ["admin"])
    assert {user["id"] for user in (theirs, again, joined)} == {theirs["id"]}
    assert (joined["email"], joined["status"], joined["name"]) == (ADA, "ACTIVE", "Ada")


def test_of_a_removed_person_with_an_account_elsewhere_the_address_is_forgotten(tenant_clients: TenantClients) -> None:
    other = tenant_clients.lab.orgs.create_tenant("Other", plan=Plan.FREE)
    with tenant_clients.with_key(*WRITE, tenant=other) as stranger:
        user = invited(stranger, tenant_clients.tenant.owner_email)
        assert stranger.delete(f"/v1/users/{user['id']}").status_code == 204

    assert tenant_clients.tenant.owner_email not in repr(user_row(tenant_clients, user["id"]))


def test_a_weak_password_is_rejected_and_the_token_stays_valid(tenant_clients: TenantClients) -> None:
    with tenant_clients.with_key(*WRITE) as client, tenant_clients.anonymous() as anyone:
        invited(client)
        token = read_mailed_token(tenant_clients.lab, ADA)
        refused = [accept_invitation(anyone, token, password) for password in ("short", ADA.upper(), "x" * 1025, "")]
        named = accept_invitation(anyone, token, name="two\nlines")
        joined = accept_invitation(anyone, token)

    assert [answer.json()["details"]["fields"][0]["field"] for answer in refused] == ["/password"] * 4
    assert (named.status_code, joined.status_code) == (400, 200)


def test_accepting_rejects_unknown_fields(tenant_clients: TenantClients) -> None:
    with tenant_clients.with_key(*WRITE) as client, tenant_clients.anonymous() as anyone:
        user = invited(client)
        token = read_mailed_token(tenant_clients.lab, ADA)
        extra = [{"role": "owner"}, {"roles": ["owner"]}, {"email": "x@y.example"}, {"tenant_id": str(uuid4())}]
        statuses = [accept_invitation(anyone, token, **more).status_code for more in extra]
        shown = client.get(f"/v1/users/{user['id']}").json()

    assert statuses == [400] * len(extra)
    assert shown == user


def test_an_accept_is_replayed_under_its_idempotency_key(tenant_clients: TenantClients) -> None:
    with tenant_clients.with_key(*WRITE) as client, tenant_clients.anonymous() as anyone:
        invited(client)
        anyone.headers["Idempotency-Key"] = "once"
        token = read_mailed_token(tenant_clients.lab, ADA)
        first, second = accept_invitation(anyone, token), accept_invitation(anyone, token)

    assert (second.status_code, second.content) == (200, first.content)
    assert second.headers["Idempotent-Replayed"] == "true"


def test_an_invalid_invitation_names_the_field(tenant_clients: TenantClients) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"email": "no-address", "role": "member"}, "/email"),
        ({"email": "a@b.example\r\nBcc: c@d.example", "role": "member"}, "/email"),
        ({"email": "x" * 250 + "@b.example", "role": "member"}, "/email"),
        ({"email": ADA, "role": "king"}, "/role"),
        ({"email": ADA}, "/role"),
        ({"email": ADA, "role": "member", "name": "a\u202eb"}, "/name"),
        ({"email": ADA, "role": "member", "status": "ACTIVE"}, "/status"),
        ({"email": ADA, "role": "member", "password": PASSWORD}, "/password"),
        ({"email": ADA, "role": "member", "tenant_id": str(uuid4())}, "/tenant_id"),
        ({"email": ADA, "roles": ["member"], "role": "member"}, "/roles"),
    ]
    with tenant_clients.with_key(*WRITE) as client:
        answers = [client.post("/v1/users", json=body) for body, _ in refused]
        listed = client.get("/v1/users").json()["items"]

    assert [answer.json()["details"]["fields"][0]["field"] for answer in answers] == [field for _, field in refused]
    assert [user["email"] for user in listed] == [tenant_clients.tenant.owner_email]


def test_invitations_require_the_right_role(tenant_clients: TenantClients) -> None:
    _, admin = tenant_clients.person("admin")
    _, analyst = tenant_clients.person("analyst")
    with (
        tenant_clients.owner() as owner,
        admin,
        analyst,
        tenant_clients.with_key(*WRITE) as key,
        tenant_clients.with_key(Scope.USERS_READ) as reader,
    ):
        statuses = {
            (name, role): client.post("/v1/users", json={"email": f"{name}.{role}@x.example", "role": role}).status_code
            for name, client in {
                "owner": owner,
                "admin": admin,
                "key": key,
                "analyst": analyst,
                "reader": reader,
            }.items()
            for role in ("owner", "admin", "analyst", "member", "super_admin", "content_admin", "reviewer")
        }

    allowed = {pair for pair, status in statuses.items() if status == 201}
    assert allowed == {
        ("owner", "owner"),
        *((who, role) for who in ("owner", "admin", "key") for role in ("admin", "analyst", "member")),
    }
    assert {status for status in statuses.values() if status != 201} == {403}


def test_platform_roles_are_given_in_the_operators_tenant_by_a_super_admin(
    tenant_clients: TenantClients, caller: Any
) -> None:
    with tenant_clients.lab.storage.read() as connection:
        org = connection.execute(select(store.orgs.c.id).where(store.orgs.c.tenant_id == caller.tenant_id)).scalar_one()
    operator = type(tenant_clients.tenant)(caller.tenant_id, org, "", "", "")
    _, root = tenant_clients.person("owner super_admin", tenant=operator, email="root@people.example")
    _, plain = tenant_clients.person("owner", tenant=operator, email="plain@people.example")
    with root, plain:
        given = root.post("/v1/users", json={"email": "r@people.example", "role": "reviewer"})
        refused = plain.post("/v1/users", json={"email": "s@people.example", "role": "reviewer"})
        added = root.patch(f"/v1/users/{invited(root, role='admin')['id']}", json={"role": "content_admin"})
        alone = root.patch(f"/v1/users/{added.json()['id']}", json={"role": "member"})
        untouched = plain.delete(f"/v1/users/{given.json()['id']}")

    assert (given.status_code, given.json()["roles"]) == (201, ["reviewer"])
    assert (refused.status_code, refused.json()["details"]["required_roles"]) == (403, ["super_admin"])
    assert (added.json()["roles"], alone.json()["roles"]) == (["admin", "content_admin"], ["member"])
    assert (untouched.status_code, untouched.json()["details"]["required_roles"]) == (403, ["super_admin"])


@pytest.mark.both_engines
def test_a_changed_role_ends_the_sessions_and_applies_from_the_next_sign_in_on(tenant_clients: TenantClients) -> None:
    ada, signed_in = tenant_clients.person("member", email=ADA)
    with tenant_clients.owner() as owner, signed_in:
        before = signed_in.get("/v1/users").status_code
        changed = owner.patch(f"/v1/users/{ada}", json={"role": "admin"})
        over = signed_in.get("/v1/users").status_code
        with tenant_clients.sign_in(ADA) as again:
            after = again.get("/v1/users").status_code
            same = owner.patch(f"/v1/users/{ada}", json={"role": "admin"})
            kept = again.get("/v1/users").status_code

    assert (before, changed.status_code, changed.json()["roles"]) == (403, 200, ["admin"])
    assert (over, after, kept) == (401, 200, 200)
    assert same.content == changed.content
    events = read_events_of_type(tenant_clients.lab, "team.role_changed")
    assert [(event["user_id"], event["old_role"], event["new_role"]) for event in events] == [(ada, "member", "admin")]


def test_self_promotion_is_rejected_and_only_owners_manage_owners(tenant_clients: TenantClients) -> None:
    ada, admin = tenant_clients.person("admin")
    with tenant_clients.owner() as owner, admin, tenant_clients.with_key(*WRITE) as key:
        me = owner.get("/v1/me").json()["id"]
        second, _client = tenant_clients.person("owner", email="second@people.example")
        refused = [
            admin.patch(f"/v1/users/{ada}", json={"role": "owner"}),
            admin.patch(f"/v1/users/{me}", json={"role": "member"}),
            admin.delete(f"/v1/users/{me}"),
            key.patch(f"/v1/users/{second}", json={"role": "member"}),
            key.delete(f"/v1/users/{second}"),
            owner.patch(f"/v1/users/{ada}", json={"role": "super_admin"}),
        ]
        lowered = admin.patch(f"/v1/users/{ada}", json={"role": "member"})

    assert [answer.status_code for answer in refused] == [403] * len(refused)
    assert lowered.json()["roles"] == ["member"]


@pytest.mark.both_engines
@pytest.mark.parametrize("attempt", ["remove", "demote"])
def test_the_last_owner_cannot_be_removed(tenant_clients: TenantClients, attempt: str) -> None:
    with tenant_clients.owner() as owner:
        me = owner.get("/v1/me").json()["id"]
        invited(owner, role="owner")  # who has not joined yet is no owner

        def tried() -> httpx.Response:
            if attempt == "remove":
                return owner.delete(f"/v1/users/{me}")
            return owner.patch(f"/v1/users/{me}", json={"role": "admin"})

        alone = tried()
        with tenant_clients.anonymous() as anyone:
            accept_invitation(anyone, read_mailed_token(tenant_clients.lab, ADA))
        with_others = tried()

    assert (alone.status_code, alone.json()["details"]["reason"]) == (409, "last_owner")
    assert with_others.status_code in (200, 204)


def test_only_an_id_of_a_removed_person_remains(tenant_clients: TenantClients) -> None:
    ada, signed_in = tenant_clients.person("admin", email=ADA)
    with tenant_clients.owner() as owner, signed_in:
        removed = owner.delete(f"/v1/users/{ada}")
        over = signed_in.get("/v1/me")
        again = owner.delete(f"/v1/users/{ada}")
        shown = owner.get(f"/v1/users/{ada}").json()
        patched = owner.patch(f"/v1/users/{ada}", json={"role": "member"})
        reinvited = invited(owner)

    assert (removed.status_code, removed.content, again.status_code) == (204, b"", 204)
    assert (over.status_code, patched.status_code) == (401, 409)
    assert (shown["status"], shown["email"], shown["name"], shown["roles"]) == (
        "REMOVED",
        f"{ada}@removed.invalid",
        "",
        [],
    )
    assert reinvited["id"] != ada
    row = user_row(tenant_clients, ada)
    assert (row["password_hash"], row["invitation_sha256"]) == ("", None)
    assert [event["user_id"] for event in read_events_of_type(tenant_clients.lab, "team.member_removed")] == [ada]
    with tenant_clients.anonymous() as anyone:
        assert anyone.post("/v1/auth/login", json={"email": ADA, "password": PASSWORD}).status_code == 401


@pytest.mark.both_engines
def test_the_list_is_newest_first_and_a_page_at_a_time(tenant_clients: TenantClients, clock: FixedClock) -> None:
    with tenant_clients.with_key(*WRITE) as client:
        for number in range(3):
            clock.advance(timedelta(milliseconds=1))
            invited(client, f"person{number}@people.example")
        page = client.get("/v1/users", params={"limit": 3}).json()
        rest = client.get("/v1/users", params={"limit": 3, "cursor": page["next_cursor"]}).json()

    assert [user["email"][:7] for user in page["items"]] == ["person2", "person1", "person0"]
    assert ([user["status"] for user in rest["items"]], rest["next_cursor"]) == (["ACTIVE"], None)
    assert "password" not in str(page)


def test_another_tenants_person_answers_exactly_like_a_missing_one(tenant_clients: TenantClients) -> None:
    other = tenant_clients.lab.orgs.create_tenant("Other", plan=Plan.FREE)
    with tenant_clients.owner() as owner, tenant_clients.owner(other) as stranger:
        theirs, none = owner.get("/v1/me").json()["id"], str(uuid4())
        for method, body in (("GET", None), ("PATCH", {"role": "member"}), ("DELETE", None)):
            there, nowhere = (
                stranger.request(method, f"/v1/users/{id}", json=body, headers={"X-Request-Id": "r"})
                for id in (theirs, none)
            )
            assert (there.status_code, there.text.replace(theirs, "id")) == (404, nowhere.text.replace(none, "id"))
        assert theirs not in stranger.get("/v1/users").text
        assert owner.get("/v1/me").status_code == 200
