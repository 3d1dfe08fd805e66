"""A consumer's lab, through both doors: the inbox, protections and the portfolio; and deliveries by an issuer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import attestlab
from attestlab.client.handles.bundles import BundleHandle
from attestlab.client.handles.inbox import InboxItemHandle
from attestlab.client.lab import Lab
from attestlab.core.errors import AttestLabError, Conflict, NotFound, PermissionDenied, ValidationFailed
from attestlab.orgs.rules import Plan
from support.lab_walk import CLAIMS
from support.orgs import PASSWORD
from support.server_process import ServerProcess

DOORS = ("in process", "over HTTP")
DEGREE = {**CLAIMS, "degree_type": "MSc"}


class Door(NamedTuple):
    """The labs of an issuer, and of a consumer with a username, on one installation."""

    issuer: Lab
    consumer: Lab
    username: str

    def deliver(self, **options: Any) -> InboxItemHandle:
        """Deliver a fresh degree to the consumer; return it as their inbox has it."""
        minted = self.issuer.mint(issuer="Registrar", schema="degree", claims=DEGREE)
        minted.deliver(self.username, **options)
        return self.consumer.inbox[0]


@pytest.fixture(scope="module")
def doors(running: ServerProcess) -> Iterator[dict[str, Door]]:
    installation = running.open_lab()
    tenant = installation.orgs.create_tenant("Registry", plan=Plan.ENTERPRISE)
    for name in ("inside", "outside"):
        made = installation.orgs.add_consumer(f"{name}@people.example", PASSWORD, name=name.title())
        installation.orgs.set_plan(made.tenant_id, Plan.ENTERPRISE, {})
    installation.close()
    with attestlab.open(running.database_url, data=running.data) as lab, attestlab.connect(running.url) as anyone:
        issuer = lab.as_("Registry")
        issuer.issuers.create("Registrar", "registrar.example")
        inside = lab.as_("inside@people.example", password=PASSWORD)
        signed_in = anyone.as_("outside@people.example", password=PASSWORD)
        for name, each in (("inside", inside), ("outside", signed_in)):
            each._client.put("/v1/consumer/me/username", {"username": name})
        key = str(signed_in._client.post("/v1/consumer/api-keys", {"name": "Notebook"})["secret"])
        with (
            attestlab.connect(running.url, key) as outside,
            attestlab.connect(running.url, tenant.api_key) as registry,
        ):
            yield {
                "in process": Door(issuer, inside, "inside"),
                "over HTTP": Door(registry, outside, "outside"),
            }


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest, doors: dict[str, Door]) -> Door:
    return doors[request.param]


def test_a_consumer_reads_verifies_and_exports_what_was_delivered(door: Door, tmp_path: Path) -> None:
    item = door.deliver(safe_metadata={"title": "Your <b>degree</b>"})

    assert (item.issuer_name, item.delivery_state, item.read_state) == ("Registrar", "DELIVERED", "UNREAD")
    assert item.verify().verdict.value == "VALID"
    assert item.record().claims == DEGREE
    assert isinstance(item.bundle(), BundleHandle)
    assert door.consumer.verify(item.bundle().save(tmp_path / "degree.json")).verdict.value == "VALID"
    assert item.sd_jwt().save(tmp_path / "degree.sd-jwt").read_text().endswith("~")
    assert door.consumer.verify(item.badge()).verdict.value == "VALID"
    assert door.consumer.attestations[item.attestation_id].id == item.attestation_id
    card = item._repr_html_()
    assert ("Your &lt;b&gt;degree&lt;/b&gt;" in card, item.share_url in card, item.share_url in repr(item)) == (
        True,
        False,
        False,
    )


def test_a_consumer_marks_and_declines(door: Door) -> None:
    item = door.deliver()

    assert item.mark("READ").read_state == "READ"
    assert item.id not in [each.id for each in door.consumer.inbox]
    assert door.consumer.inbox.list(read_state="READ")[0].id == door.consumer.inbox[str(item.id)].id == item.id
    assert door.consumer.inbox.mark(item.id, "UNREAD").read_state == "UNREAD"
    declined = door.consumer.inbox.decline(item, "not mine")
    assert (declined.delivery_state, declined.read_state) == ("DECLINED", "ARCHIVED")
    assert item.decline().delivery_state == "DECLINED"
    with pytest.raises(NotFound):
        item.record()
    with pytest.raises(Conflict):
        item.mark("UNREAD")
    with pytest.raises(ValidationFailed, match="read_state"):
        item.mark("SEEN")


def test_an_issuer_delivers_to_addresses_and_usernames(door: Door) -> None:
    minted = door.issuer.mint(issuer="Registrar", schema="degree", claims=DEGREE)
    unknown = f"unknown.{door.username}@people.example"

    delivered = door.issuer.attestations[minted.id].deliver([door.username, unknown, door.username])

    assert delivered.df()[["recipient", "delivery_state"]].to_numpy().tolist() == [
        [door.username, "DELIVERED"],
        [unknown, "PENDING"],
    ]
    assert minted.deliver(door.username)[0].id == delivered[0].id


@pytest.mark.parametrize("to", [[], "", 7, [None], [f"{number}@people.example" for number in range(21)]])
def test_a_wrong_list_of_recipients_is_refused_before_anything_is_sent(door: Door, to: Any) -> None:
    minted = door.issuer.mint(issuer="Registrar", schema="degree", claims=DEGREE)

    with pytest.raises(ValidationFailed, match="to "):
        minted.deliver(to)
    with pytest.raises(NotFound):
        door.issuer._client.get(f"/v1/attestations/{minted.id}/delivery")


def test_a_delivery_that_breaks_off_names_those_who_have_it(door: Door) -> None:
    minted = door.issuer.mint(issuer="Registrar", schema="degree", claims=DEGREE)

    with pytest.raises(AttestLabError, match=r"Of 3 recipients 1 have it .* 'no-such-name' was refused") as caught:
        minted.deliver([door.username, "no-such-name", "third@people.example"])

    assert (caught.value.code, caught.value.details["not_sent"]) == ("NOT_FOUND", 1)
    assert [each.recipient for each in caught.value.details["results"]] == [door.username]  # type: ignore[attr-defined]  # of this verb


def test_a_protected_file_stays_here(door: Door, tmp_path: Path) -> None:
    content = f"a photo of {door.username}".encode()
    (tmp_path / "photo.png").write_bytes(content)

    photo = door.consumer.protect(tmp_path / "photo.png", title="Sunset")

    assert photo.content_hash == hashlib.sha256(content).hexdigest()
    assert (photo.content_type, photo.file_name, photo.file_size) == ("image", "photo.png", len(content))
    assert (photo.visibility, photo.source, photo.attestation_status.value) == ("private", "own", "VALID")
    assert photo.verify(file=BytesIO(content)).verdict.value == "VALID"
    assert photo.verify(file=b"another").verdict.value == "ALTERED"
    assert photo.record().document_hash == photo.content_hash
    with pytest.raises(Conflict) as caught:
        door.consumer.protect(BytesIO(content), title="Again")
    assert caught.value.details["protection_id"] == str(photo.id)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.mp4", "video"), ("a.mp3", "audio"), ("a.pdf", "document"), ("a.txt", "document"), ("a.bin", "other")],
)
def test_a_file_has_the_kind_that_its_name_stands_for(door: Door, tmp_path: Path, name: str, kind: str) -> None:
    (tmp_path / name).write_text(f"{name} of {door.username}")

    with (tmp_path / name).open("rb") as file:
        assert door.consumer.protect(file, title=name).content_type == kind


def test_a_consumer_publishes_unlists_revokes_and_removes(door: Door) -> None:
    consumer = door.consumer
    photo = consumer.protect(b"to publish", title="Harbour", category="harbours", description="At noon.")

    assert photo.publish().visibility == "public"
    assert [each.id for each in consumer.protections.list(visibility="public", category="harbours")] == [photo.id]
    assert photo.unlist().visibility == "unlisted"
    changed = consumer.protections.update(photo.id, title="Old harbour", visibility="private", description=None)  # type: ignore[arg-type]  # None is no change
    assert (changed.title, changed.description, changed.visibility) == ("Old harbour", "At noon.", "private")
    assert consumer.protections.verification_days(photo, days=3).items.df().shape == (3, 3)
    assert photo.revoke("not mine").attestation_status.value == "REVOKED"
    with pytest.raises(Conflict):
        consumer.protections.revoke(photo, "again")
    photo.remove()
    with pytest.raises(NotFound):
        consumer.protections[photo.id]
    with pytest.raises(NotFound):
        consumer.protections.remove(photo)


def test_a_received_credential_can_be_shown(door: Door) -> None:
    item = door.deliver()

    shown = item.show("My degree", visibility="unlisted")

    assert (shown.source, shown.attestation_id, shown.visibility) == ("received", item.attestation_id, "unlisted")
    assert door.consumer.protections[shown.id].title == "My degree"


def test_a_portfolio_is_a_card_and_a_frame(door: Door, doors: dict[str, Door]) -> None:
    consumer, username = door.consumer, door.username
    for number in range(3):
        consumer.protect(f"public {number}".encode(), title=f"<i>Photo</i> {number}", visibility="public")
    consumer.protect(b"kept", title="Kept")

    portfolio = doors["over HTTP"].issuer.portfolio(f" {username} ")

    assert [title for title in portfolio.df()["title"] if "Photo" in title] == [
        f"<i>Photo</i> {number}" for number in (2, 1, 0)
    ]
    assert "Kept" not in portfolio.df()["title"].to_list()
    assert (portfolio.username, portfolio.name) == (username, username.title())
    assert f"username='{username}'" in repr(portfolio)
    assert "&lt;i&gt;Photo&lt;/i&gt; 2 (VALID)" in portfolio._repr_html_()
    assert portfolio.url.endswith(f"/u/{username}")


def test_a_portfolio_is_read_to_its_end(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attestlab.client.handles.portfolios.PAGE_ROWS", 1)
    titles = [
        door.consumer.protect(title.encode(), title=title, visibility="public").title for title in ("First", "Second")
    ]

    assert door.consumer.portfolio(door.username).df()["title"].to_list()[:2] == titles[::-1]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda lab: lab.protect(b"x", title=""),
        lambda lab: lab.protect(b"x", title="x" * 201),
        lambda lab: lab.protect("no such file.png", title="x"),
        lambda lab: lab.protect(7, title="x"),
        lambda lab: lab.protect(b"x", title="x", visibility="everyone"),
        lambda lab: lab.protect(b"x", title="x", visibilty="public"),
        lambda lab: lab.protections.show("no id", "x"),
        lambda lab: lab.protections.list(visibility="everyone"),
        lambda lab: lab.inbox.list(read_state="SEEN"),
        lambda lab: lab.inbox["no id"],
        lambda lab: lab.protections.verification_days("0193b5a0-7f3c-7abc-8def-0123456789ab", days="many"),
        lambda lab: lab.portfolio(""),
        lambda lab: lab.portfolio(7),
    ],
)
def test_a_wrong_argument_ends_in_one_line(door: Door, wrong: Any) -> None:
    with pytest.raises(ValidationFailed) as caught:
        wrong(door.consumer)

    assert "\n" not in caught.value.message


def test_only_consumers_have_an_inbox(door: Door) -> None:
    for read in (lambda lab: lab.inbox[0], lambda lab: lab.protections[0], lambda lab: lab.protect(b"x", title="x")):
        with pytest.raises(PermissionDenied):
            read(door.issuer)
    with pytest.raises(NotFound):
        door.consumer.portfolio("no-such-name")
