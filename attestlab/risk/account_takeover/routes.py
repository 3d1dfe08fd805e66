"""HTTP route of logins."""

from attestlab.core.db.transaction import Transaction
from attestlab.orgs.rules import Caller, Scope
from attestlab.risk.account_takeover.service import AccountTakeover
from attestlab.risk.account_takeover.shapes import LoginAttemptIn, LoginOut
from attestlab.risk.logins.login import Login, LoginOutcome
from attestlab.risk.rules import settle_time
from attestlab.risk.shapes import FactorOut
from attestlab.web.executor import Executor
from attestlab.web.request import Request
from attestlab.web.routing.routes import Routes

routes = Routes("risk")


async def _parse_login(request: Request, body: LoginAttemptIn, logins: AccountTakeover, executor: Executor) -> Login:
    """Validate the login; the first one waits until the table of addresses is loaded in a thread."""
    login = Login(
        subject_id=body.subject_id,
        outcome=LoginOutcome(body.outcome),
        occurred_at=settle_time(body.occurred_at, request.now),
        ip=body.ip,
        device_id=body.device_id,
        country=body.country,
        user_agent=body.user_agent,
    )
    if not logins.is_warm:
        await executor.run_in_thread(logins.warm_up)
    return login


@routes.post("/v1/risk/ato/evaluate", scope=Scope.RISK_READ, prepare=_parse_login)
def evaluate_login(prepared: Login, caller: Caller, logins: AccountTakeover, tx: Transaction) -> LoginOut:
    """Assess one login: failures within an hour, spraying, strange values, travel, and what came before.

    Call it once for each attempt, failed ones included; the factors explain the score. From a score of 60 on
    it becomes a signal.
    """
    scored = logins.evaluate(prepared, caller=caller, tx=tx)
    factors = [FactorOut.of(factor) for factor in scored.factors]
    return LoginOut(score=scored.score, level=scored.level.value, factors=factors, signal_id=scored.signal_id)
