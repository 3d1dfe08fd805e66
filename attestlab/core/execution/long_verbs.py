"""The declaration of verbs whose writes may be long: the server runs such a call in a child process.

    @long_write(_is_long_kill)
    def kill(self, agent_id: UUID, *, caller: Caller, tx: Transaction | None = None) -> KilledAgents:

A verb that changes thousands of rows says so once, and each of its callers is served alike. Inside the job of a
request or of the sweeper (`refer_long_writes`), a long call raises `TakesLongWrite`. The write queue then has the
child process make the call, and runs the job again, in which the verb returns what the process returned. Everywhere
else, such as on the command line and in the child process itself, the verb runs where it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial, wraps
from types import MethodType
from typing import Final, NamedTuple, ParamSpec, TypeVar, cast

from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Unavailable

MAX_ROWS_INSIDE: Final = 200
"""A verb that changes more rows of one kind than this is a long write: each takes 0.25 ms."""
_MAX_UNDECLARED: Final = 2 * MAX_ROWS_INSIDE  # a predicate counts only some kinds of rows
_PREDICATE: Final = "is_long_write"

P = ParamSpec("P")
Result = TypeVar("Result")
IsLong = Callable[..., bool]
"""Called with the service, with `execute`, and with the arguments of the verb but `tx`; reads no more than it must."""


class ServiceCall(NamedTuple):
    """The call of a service's verb, without its transaction."""

    service: object
    verb: str
    arguments: tuple[object, ...]
    named: Mapping[str, object]

    @classmethod
    def of(cls, verb: partial[Result]) -> ServiceCall:
        """Return the call that a `partial` of a service's method makes."""
        method = cast(MethodType, verb.func)
        return cls(method.__self__, method.__name__, verb.args, verb.keywords)

    def is_long(self, execute: Execute) -> bool:
        """Whether the call is a long write now.

        Raises:
            TypeError: the verb is not declared with `long_write`.
        """
        predicate: IsLong | None = getattr(getattr(self.service, self.verb), _PREDICATE, None)
        if predicate is None:
            raise TypeError(f"{type(self.service).__name__}.{self.verb} may be long. Declare it with @long_write.")
        return predicate(self.service, execute, *self.arguments, **self.named)


class DoneCall(NamedTuple):
    """A call that the child process has made and committed."""

    call: ServiceCall
    result: object

    def is_of(self, call: ServiceCall) -> bool:
        """Whether it is this call."""
        return self.call == call


class KeptCall(NamedTuple):
    """A committed call of an earlier try of the same request, whose result was kept with the idempotency key.

    The key stands for the arguments: those that a try makes by itself, such as a new key, differ.
    """

    service: type[object]
    verb: str
    result: object

    def is_of(self, call: ServiceCall) -> bool:
        """Whether it is this call, of the same request."""
        return (self.service, self.verb) == (type(call.service), call.verb)


class _Referral(NamedTuple):
    """How the long writes of a job run; `done` is the one that was made for it."""

    done: DoneCall | KeptCall | None


_REFERRAL: ContextVar[_Referral | None] = ContextVar("long writes run in the child process", default=None)


class TakesLongWrite(Unavailable):
    """A job calls a long write: have the child process make the call, then run the job again with its result."""

    def __init__(self, call: ServiceCall) -> None:
        super().__init__("This request changes very many rows. Retry in 1 second.")
        self.call = call


@contextmanager
def refer_long_writes(done: DoneCall | KeptCall | None = None) -> Iterator[None]:
    """Refer the long writes of a block to the child process, except the one that is `done`."""
    token = _REFERRAL.set(_Referral(done))
    try:
        yield
    finally:
        _REFERRAL.reset(token)


def long_write(is_long: IsLong) -> Callable[[Callable[P, Result]], Callable[P, Result]]:
    """Declare a verb of a service whose write may be long; its unit of work is the keyword `tx`.

    The call must be the same each time that its job runs, and its arguments and result can be pickled.
    """

    def declare(verb: Callable[P, Result]) -> Callable[P, Result]:
        @wraps(verb)
        def run(*arguments: P.args, **named: P.kwargs) -> Result:
            referral, tx = _REFERRAL.get(), cast("Transaction | None", named.get("tx"))
            if referral is None or tx is None or named.get("dry_run"):
                return verb(*arguments, **named)
            rest = {name: value for name, value in named.items() if name != "tx"}
            call = ServiceCall(arguments[0], verb.__name__, arguments[1:], rest)
            if referral.done is not None and referral.done.is_of(call):
                return cast(Result, referral.done.result)
            if call.is_long(tx.exec):
                raise TakesLongWrite(call)
            return verb(*arguments, **named)

        setattr(run, _PREDICATE, is_long)
        return run

    return declare


def require_declared(rows: int) -> None:
    """Require that a job does not change very many rows where others wait; call it where such rows are written.

    Raises:
        TypeError: the verb is not declared with `long_write`, or its predicate leaves out some rows.
    """
    if _REFERRAL.get() is not None and rows > _MAX_UNDECLARED:
        raise TypeError(f"{rows} rows change in one job, at most {_MAX_UNDECLARED} may. Declare its verb: @long_write.")
