"""Accounts as their wire models."""

from attestlab.consumer.accounts.addresses import AccountEmail
from attestlab.consumer.accounts.rules import SignupStatus
from attestlab.consumer.accounts.service import AccountExport, AccountView
from attestlab.consumer.accounts.shapes import (
    AccountEmailOut,
    AccountExportOut,
    AccountOut,
    ExportedKeyOut,
    ExportedSessionOut,
    SignupOut,
    VerifiedEmailOut,
)
from attestlab.consumer.accounts.signups import SignedUp
from attestlab.consumer.accounts.store import PersonalAccount
from attestlab.consumer.accounts.verification import VerifiedEmail
from attestlab.core.row_rendering import RowRenderer
from attestlab.identity.rendering import render_tokens
from attestlab.identity.tables import SessionRecord
from attestlab.orgs.tables import ApiKeyRecord

render_signup = RowRenderer(
    SignupOut, SignedUp, tokens=lambda row: None if row.tokens is None else render_tokens(row.tokens)
)
render_verified = RowRenderer(VerifiedEmailOut, VerifiedEmail, status=lambda _: SignupStatus.ACTIVE)
render_email = RowRenderer(AccountEmailOut, AccountEmail)
render_account = RowRenderer(
    AccountOut,
    AccountView,
    parts={"account": PersonalAccount},
    emails=lambda view: list(map(render_email, view.emails)),
)
_render_session = RowRenderer(ExportedSessionOut, SessionRecord)
_render_key = RowRenderer(ExportedKeyOut, ApiKeyRecord)


render_export = RowRenderer(
    AccountExportOut,
    AccountExport,
    account=lambda export: render_account(export.view),
    sessions=lambda export: list(map(_render_session, export.sessions)),
    api_keys=lambda export: list(map(_render_key, export.api_keys)),
)
