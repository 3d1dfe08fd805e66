"""Every kind of link that the service mails or hands out."""

from __future__ import annotations

import re

import httpx

from attestlab.installation import Installation
from attestlab.mail.service import LeasedMail, Mails
from attestlab.mail.store import mails
from attestlab.orgs.rules import Plan, Role
from attestlab.orgs.shapes import UserIn
from support.attestations import make_mint_body, mint
from support.billing_portal import make_tenant, open_portal
from support.consumers import PASSWORD, make_signup
from support.in_process_server import make_client
from support.issuers import register_issuer
from support.orgs import TenantClients

ACCOUNT, OTHER = "bob@people.example", "bob.second@people.example"
SIGNED_UP, MINTED_TO, INVITED = "sofia@people.example", "nora@people.example", "tim@people.example"


class MailedLinks:
    """Every kind of link that the service mails or hands out, each to an address that waits for it."""

    def __init__(self, lab: Installation, url: str) -> None:
        self.lab, self.url = lab, url
        lab.orgs.add_consumer(ACCOUNT, PASSWORD, name="Bob")
        team = lab.orgs.create_tenant("Northfield", plan=Plan.ENTERPRISE)
        caller = lab.orgs.service_caller(team.tenant_id)
        lab.people.invite(UserIn(email=INVITED, role=Role.MEMBER), caller=caller)
        lab.consumers.signups.invite("operators.guest@people.example")
        with make_client(url) as anyone:
            self._ask_for_mails(anyone)
        with make_client(url, key=team.api_key) as registrar:
            issuer = register_issuer(registrar)
            for address in (ACCOUNT, MINTED_TO):
                assert mint(registrar, make_mint_body(issuer, recipient_email=address)).status_code == 201
        tenant = make_tenant(lab, "Southfield")
        self.portal_url = str(open_portal(TenantClients(lab, url, tenant))["portal_url"])

    def _ask_for_mails(self, anyone: httpx.Client) -> None:
        anyone.post("/v1/consumer/signup", json=make_signup(SIGNED_UP)).raise_for_status()
        anyone.post("/v1/auth/password/forgot", json={"email": ACCOUNT}).raise_for_status()
        login = anyone.post("/v1/auth/login", json={"email": ACCOUNT, "password": PASSWORD}).raise_for_status()
        with make_client(self.url, token=login.json()["access_token"]) as bob:
            bob.post("/v1/consumer/emails", json={"email": OTHER}).raise_for_status()

    def list_paths(self) -> list[str]:
        """List path and query of each link."""
        own = re.compile(rf"{re.escape(self.lab.portal_url)}(/\S*)")
        return [path for text in [*read_mails(self.lab), self.portal_url] for path in own.findall(text)]

    def token(self, address: str, page: str) -> str:
        """Return the token of the link to a page that was mailed to an address."""
        link = re.compile(rf"{page}\?token=([A-Za-z0-9_-]{{43}})\s")
        return next(found[1] for text in read_mails(self.lab, address) if (found := link.search(text)))


def read_mails(lab: Installation, recipient: str | None = None, *, portal_url: str | None = None) -> list[str]:
    """The texts of the mails that wait, oldest first, as a server delivers them whose address is `portal_url`."""
    settings = lab.settings.model_copy(update={"portal_url": portal_url or lab.portal_url})
    queue = Mails(keyring=lab.keyring, clock=lab.clock, settings=settings)
    with lab.storage.read() as connection:
        rows = connection.execute(mails.select().where(mails.c.sealed != b"").order_by(mails.c.id)).all()
    leased = [LeasedMail(row.id, row.recipient, row.subject, row.created_at, row.sealed) for row in rows]
    return [queue.text_of(mail) for mail in leased if recipient in (None, mail.recipient)]
