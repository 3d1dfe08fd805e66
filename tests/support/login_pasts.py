"""Pasts of logins: made at random, sent as lines, learnt to the end, and compared by the documents that they leave."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from uuid import UUID

from sqlalchemy import select

from attestlab.core.clock import FixedClock
from attestlab.core.encoding import format_time
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller, Plan
from attestlab.risk.account_takeover.store import LoginLearningRecord, documents, find_learning
from attestlab.risk.logins.login import Login
from support.logins import CHROME, FAILURE, FIREFOX, SUCCESS

ADDRESSES = [f"{network}.{host}" for network in ("192.0.2", "8.8.8", "81.2.69", "133.11.0") for host in range(1, 6)]


def make_past(seed: int, count: int, begin: datetime, *, days: float = 300, users: int = 8) -> list[Login]:
    """Logins in the order of time, no two at one moment; lists of documents overflow, and users stay away for long."""
    random = Random(seed)
    times = sorted(random.sample(range(int(days * 24 * 3_600)), count))
    return [_make_login(random, begin + timedelta(seconds=at), at // (70 * 24 * 3_600), users) for at in times]


def _make_login(random: Random, at: datetime, season: int, users: int) -> Login:
    user = f"user-{random.randrange(users // 2) * 2 + season % 2}"
    is_guess = random.random() < 0.3
    return Login(
        f"user-{random.randrange(users)}" if is_guess else user,
        FAILURE if is_guess or random.random() < 0.1 else SUCCESS,
        at,
        random.choice([*ADDRESSES, None]),
        random.choice([None, *(f"{user}-device-{number}" for number in range(12))]) if not is_guess else None,
        None,
        random.choice([CHROME, FIREFOX, "curl/8.1", None]),
    )


def write_lines(logins: Iterable[Login]) -> bytes:
    """Logins as NDJSON, a line as the body of `ato/evaluate`."""
    return "".join(json.dumps(write_body(each)) + "\n" for each in logins).encode()


def write_body(login: Login) -> dict[str, str]:
    members = {name: getattr(login, name) for name in ("subject_id", "ip", "device_id", "country", "user_agent")}
    known = {name: value for name, value in members.items() if value is not None}
    return {**known, "outcome": str(login.outcome), "occurred_at": format_time(login.occurred_at)}


def add_tenant(lab: Installation, name: str) -> Caller:
    """A caller of a new tenant."""
    return lab.orgs.service_caller(lab.orgs.create_tenant(name, plan=Plan.ENTERPRISE).tenant_id)


def live_through(lab: Installation, clock: FixedClock, caller: Caller, logins: Sequence[Login]) -> None:
    """Report each login as it happens."""
    with lab.storage.write() as tx:
        for login in logins:
            clock.advance(login.occurred_at - clock.now())
            lab.risk.logins.evaluate(login, caller=caller, tx=tx)


def send(lab: Installation, caller: Caller, logins: Sequence[Login]) -> None:
    """Keep logins of the past, as a request does."""
    lines = lab.risk.logins.read_past(write_lines(logins), now=lab.clock.now())
    while (batch := lines.parse_batch()) is not None:
        with lab.storage.write() as tx:
            lab.risk.backfill.keep(tx, caller.tenant_id, batch)
    assert lines.rejected == []


def learn(lab: Installation, caller: Caller, *, at_most: int = 40, is_quiet: bool = True) -> bool:
    """Learn one slice; whether there was something to do."""
    with lab.storage.write() as tx:
        return lab.risk.backfill.learn(tx, caller.tenant_id, at_most=at_most, is_quiet=is_quiet)


def learn_all(lab: Installation, caller: Caller, *, at_most: int = 40) -> None:
    """Learn as the learner does once no more rows come."""
    while learn(lab, caller, at_most=at_most):
        pass
    assert [each.tenant_id for each in lab.risk.backfill.list_unlearnt() if each.tenant_id == caller.tenant_id] == []


def prune_all(lab: Installation, *, at_most: int = 30) -> None:
    """Delete what the sweeps of a server delete."""
    with lab.storage.write() as tx:
        while lab.risk.logins.prune(tx, at_most=at_most):
            pass


def get_state(lab: Installation, tenant_id: UUID) -> LoginLearningRecord:
    with lab.storage.read() as connection:
        found = find_learning(connection.execute, tenant_id)
    assert found is not None
    return found


def read_documents(lab: Installation, caller: Caller) -> dict[bytes, str]:
    """The documents that the tenant's next login may read."""
    state = get_state(lab, caller.tenant_id)
    with lab.storage.read() as connection:
        query = select(documents.c.generation, documents.c.digest, documents.c.document)
        rows = connection.execute(query.where(documents.c.tenant_id == caller.tenant_id)).all()
    found = {generation: {} for generation in (state.base, state.published)}
    for generation, digest, document in rows:
        found.get(generation, {})[bytes(digest)] = document
    return found[state.base] | found[state.published]


def score_next(lab: Installation, caller: Caller, logins: Sequence[Login], now: datetime) -> list[float]:
    """The scores of live logins, which are moved to the present in their order."""
    moved = [replace(login, occurred_at=now + timedelta(seconds=number)) for number, login in enumerate(logins)]
    return [lab.risk.logins.evaluate(login, caller=caller).score for login in moved]
