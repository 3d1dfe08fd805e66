"""HTTP routes of consumers' accounts: sign-up, verification, username, addresses, export and deletion."""

from attestlab.consumer.accounts.addresses import Addresses
from attestlab.consumer.accounts.rendering import (
    render_account,
    render_email,
    render_export,
    render_signup,
    render_verified,
)
from attestlab.consumer.accounts.service import Accounts
from attestlab.consumer.accounts.shapes import (
    AccountDeletionIn,
    AccountEmailOut,
    AccountExportOut,
    AccountOut,
    AccountPatch,
    EmailIn,
    EmailPatch,
    SignupIn,
    SignupOut,
    UsernameIn,
    UsernameOut,
    VerifiedEmailOut,
    VerifyEmailIn,
)
from attestlab.consumer.accounts.signups import PreparedSignup, Signups
from attestlab.consumer.accounts.verification import EmailVerification
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, RateLimited
from attestlab.identity.shapes import AcceptedOut
from attestlab.orgs.rules import Caller, ConsumerScope, Realm
from attestlab.web.executor import Executor
from attestlab.web.request import Request
from attestlab.web.routing.authorization import PUBLIC, Requirement
from attestlab.web.routing.routes import Routes

routes = Routes("accounts")
_READ = Requirement(scope=ConsumerScope.CONSUMER_READ, realm=Realm.CONSUMER)
_WRITE = Requirement(scope=ConsumerScope.CONSUMER_WRITE, realm=Realm.CONSUMER)
_IN_PERSON = Requirement(user_only=True, realm=Realm.CONSUMER)  # an address or the password opens the account


async def _prepare_signup(request: Request, body: SignupIn, signups: Signups, executor: Executor) -> PreparedSignup:
    """Validate the sign-up and hash the password before the write, because hashing is slow."""
    return await executor.hash_password(lambda: signups.prepare(body, peer=request.peer, now=request.now))


@routes.post(
    "/v1/consumer/signup", scope=PUBLIC, prepare=_prepare_signup, status=201, secret=True, raises=(RateLimited,)
)
def sign_up_consumer(prepared: PreparedSignup, tx: Transaction, signups: Signups) -> SignupOut:
    """Sign up as a consumer; a mail verifies the address, and until then nothing else exists.

    An address that has an account gets the same answer, and a mail that says so. With the token of an invitation to
    this address the account is active at once, and the answer has tokens.
    """
    return render_signup(signups.sign_up(prepared, tx=tx))


@routes.post("/v1/consumer/verify-email", scope=PUBLIC, secret=True)
def verify_email(body: VerifyEmailIn, tx: Transaction, verification: EmailVerification) -> VerifiedEmailOut:
    """Verify an address with the token of a mailed link, within 24 hours; the same token again answers the same.

    It opens the account of a sign-up, or adds an address to an account, which then has what waited for it. A token
    that is unknown or expired is a 400 with the reason `token_invalid`.
    """
    return render_verified(verification.verify(body.token, tx=tx))


async def _count_mail(request: Request, body: EmailIn, addresses: Addresses, executor: Executor) -> str:
    """Count the mail before the write, because the counts are not part of the records."""
    return await executor.run_in_thread(lambda: addresses.count_mail(body.email, now=request.now))


@routes.post(
    "/v1/consumer/verify-email/resend",
    scope=PUBLIC,
    prepare=_count_mail,
    status=202,
    secret=True,
    raises=(RateLimited,),
)
def resend_verification(prepared: str, tx: Transaction, signups: Signups) -> AcceptedOut:
    """Mail the link of a sign-up again; the answer is the same whatever the address.

    An address is sent at most three of these mails an hour.
    """
    signups.resend(prepared, tx=tx)
    return AcceptedOut()


@routes.get("/v1/consumer/me", scope=_READ)
def get_account(caller: Caller, accounts: Accounts) -> AccountOut:
    """Get the consumer's account.

    It has the addresses, what others see, and how much is unread.
    """
    return render_account(accounts.get(caller=caller))


@routes.patch("/v1/consumer/me", scope=_WRITE)
def update_account(body: AccountPatch, tx: Transaction, caller: Caller, accounts: Accounts) -> AccountOut:
    """Change the name, the bio or who sees the portfolio.

    Omitted members stay unchanged.
    """
    return render_account(accounts.update(body, caller=caller, tx=tx))


@routes.put("/v1/consumer/me/username", scope=_WRITE, raises=(Conflict,))
def choose_username(body: UsernameIn, tx: Transaction, caller: Caller, accounts: Accounts) -> UsernameOut:
    """Choose the username, once; it is the address of the portfolio.

    A username that is taken or reserved, or a second one, is a 409. It stays taken when the account is deleted.
    """
    accounts.choose_username(body.username, caller=caller, tx=tx)
    return UsernameOut(username=body.username, portfolio_url=accounts.portfolio_url(body.username))


@routes.post("/v1/consumer/emails", scope=_IN_PERSON, prepare=_count_mail, status=201, raises=(Conflict, RateLimited))
def add_email(prepared: str, tx: Transaction, caller: Caller, addresses: Addresses) -> AccountEmailOut:
    """Add an address, which a mailed link verifies; an account has at most five.

    An address of another account gets the same answer, and its mail says so. Repeated, it mails another link.
    """
    return render_email(addresses.add(prepared, caller=caller, tx=tx))


@routes.patch("/v1/consumer/emails/{email}", scope=_IN_PERSON, raises=(Conflict,))
def make_email_primary(
    email: str, body: EmailPatch, tx: Transaction, caller: Caller, addresses: Addresses
) -> AccountEmailOut:
    """Make a verified address the primary one, with which the account signs in.

    An address that is not verified yet is a 409.
    """
    assert body.primary  # the only value that the model accepts
    return render_email(addresses.make_primary(email, caller=caller, tx=tx))


@routes.delete("/v1/consumer/emails/{email}", scope=_IN_PERSON, status=204, raises=(Conflict,))
def remove_email(email: str, tx: Transaction, caller: Caller, addresses: Addresses) -> None:
    """Remove an address; the primary one is a 409.

    What was delivered to it stays in the account.
    """
    addresses.remove(email, caller=caller, tx=tx)


@routes.get("/v1/consumer/export", scope=_READ)
async def export_account(caller: Caller, accounts: Accounts, executor: Executor) -> AccountExportOut:
    """Export all that the service keeps about the account, as one JSON.

    It has the account, its sessions, keys, and the parts of the inbox and of protections.
    """
    return render_export(await executor.run_in_thread(lambda: accounts.export(caller=caller)))


async def _require_password(
    request: Request, body: AccountDeletionIn, caller: Caller, accounts: Accounts, executor: Executor
) -> None:
    """Verify the password before the write, because that is slow."""
    await executor.hash_password(
        lambda: accounts.require_password(body.password, caller=caller, peer=request.peer, now=request.now)
    )


@routes.post(
    "/v1/consumer/me/delete",
    scope=_IN_PERSON,
    prepare=_require_password,
    status=204,
    secret=True,
    raises=(RateLimited,),
)
def delete_account(tx: Transaction, caller: Caller, accounts: Accounts) -> None:
    """Delete the account: sessions, keys, bio, inbox and portfolio go.

    The username stays taken. Entries of the log stay, because they name no one, and every proof still verifies.
    """
    accounts.delete(caller=caller, tx=tx)
