"""What a dashboard page is made of: panes that load and draw, events that change the state, actions that write.

A page module declares a `DashboardPage` of pure functions and knows neither Panel nor the browser. Its state is also
the query of its address (`state.py`): Back works, and a copied link shows the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic, NamedTuple, TypeVar

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.client.analysis.rows import Rows
from attestlab.core.errors import AttestLabError, ValidationFailed
from attestlab_dashboards.lake_query import write_python
from attestlab_dashboards.safe import NOTHING
from attestlab_dashboards.state import PageState

S = TypeVar("S", bound=PageState)
D = TypeVar("D")
AnyRows = Rows | Records[Any]


class Facts(NamedTuple):
    """What every page knows: the signed-in person and the tenant."""

    person: str
    email: str
    tenant: str
    tenant_id: str
    stage: str
    roles: frozenset[str]
    scopes: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Pane(Generic[S, D]):
    """A pane: `load` asks the facade in a thread, `draw` makes markup of the answer.

    `reads` names the fields of the state that `load` depends on; while they are unchanged, the answer is kept.
    Without a `question` the pane has no card. `reading` says what it shows, and `how` what a person does with it, which
    a still leaves out. Without its `scope`, a person sees who can grant it instead. The query of `copy_sql` can be
    copied as Python too, unless `copy_python` writes other Python. What `remember` returns, the browser remembers for
    the next visit of the page; an empty text changes nothing.

    The answer of a pane that `is_common` is the same for all people of a tenant with equal rights, so they share it.

    A pane that `is_tool` works for the person at the page alone, such as a check of a file; no still has it.

    A load that `is_long` shows how long it has taken, with what it has to do in the words of `expects`, and a button
    that cancels it. A pane that `is_optional` only adds to what is drawn already, so its failure changes nothing,
    unless `draw_unread` draws why it could not be read.
    """

    key: str
    load: Callable[[Lab, S], D]
    draw: Callable[[D, S], Markup]
    reads: tuple[str, ...]
    question: str = ""
    reading: str | Callable[[D, S], str] = ""
    how: str | Callable[[D, S], str] = ""
    span: int = 12
    scope: str = ""
    copy_sql: Callable[[S], str] | None = None
    copy_python: Callable[[S], str] | None = None
    export: Callable[[Lab, S], AnyRows] | None = None
    remember: Callable[[D, S], str] | None = None
    is_long: bool = False
    expects: Callable[[Lab, S], str] | None = None
    is_optional: bool = False
    draw_unread: Callable[[AttestLabError], Markup] | None = None
    is_tool: bool = False
    is_common: bool = False

    def compose_sql(self, state: S) -> str | None:
        """Compose the query of the pane, to copy; None if it is no query."""
        return None if self.copy_sql is None else self.copy_sql(state)

    def compose_python(self, state: S) -> str | None:
        """Compose Python that asks what the pane shows, to copy; None if there is none."""
        if self.copy_python is not None:
            return self.copy_python(state)
        sql = self.compose_sql(state)
        return None if sql is None else write_python(sql)


class Notice(NamedTuple):
    """What an action did and what is next, and the state to show then; None keeps the state."""

    text: Markup
    state: Any = None


@dataclass(frozen=True, kw_only=True)
class Action(Generic[S]):
    """A write. `run` gets the fields of its form as the browser sent them; its errors are shown as they are."""

    scope: str
    run: Callable[[Lab, S, Mapping[str, str]], Notice]


def read_field(fields: Mapping[str, str], name: str) -> str:
    """Read a field of a form that may not be empty.

    Raises:
        ValidationFailed: it is missing or empty.
    """
    text = fields.get(name, "").strip()
    if not text:
        raise ValidationFailed.of(f"/{name}", "missing", f"The {name} is missing. Enter it, and send the form again.")
    return text


def _draw_no_notes(_lab: Lab, _facts: Facts, _span: str) -> Markup:
    return NOTHING


def _no_chips(_state: Any, _facts: Facts) -> Markup:
    return NOTHING


@dataclass(frozen=True, kw_only=True)
class DashboardPage(Generic[S]):
    """A page of the dashboards. The panes `answer` and `kpis` come first, the cards after them.

    A pane `primary` draws at the title what a person does most on the page, as a button.

    Without the `scope` of the page, a person sees one card that names it, and nothing is loaded.

    `chips` draws the filters at once; a pane of this key draws them again with what it has loaded.

    `recall` takes what the browser remembers of the last visit, which may be any text, into the state.

    `count_waiting` counts what waits on the page for the signed-in person: a badge at its name in the navigation.
    """

    path: str
    name: str
    question: str
    state: type[S]
    panes: tuple[Pane[S, Any], ...]
    scope: str = ""
    chips: Callable[[S, Facts], Markup] = _no_chips
    events: Mapping[str, Callable[[S, str], S]] = field(default_factory=dict)
    actions: Mapping[str, Action[S]] = field(default_factory=dict)
    recall: Callable[[S, str], S] | None = None
    count_waiting: Callable[[Lab], int] | None = None

    def is_open_to(self, facts: Facts) -> bool:
        """Whether a person may see the page."""
        return not self.scope or self.scope in facts.scopes

    @property
    def has_long_loads(self) -> bool:
        """Whether a load of the page can be cancelled."""
        return any(pane.is_long for pane in self.panes)

    @property
    def icon(self) -> str:
        """The name of the page's icon."""
        return self.path


AnyPage = DashboardPage[Any]
AnyPane = Pane[Any, Any]
AnyAction = Action[Any]


@dataclass(frozen=True)
class SharedParts:
    """What a page has in common with all others: panes, actions, and the annotations of the time that it shows.

    `draw_notes` draws those that overlap a span `from/to`, for a person who `may_read_notes`.
    """

    panes: tuple[AnyPane, ...] = ()
    actions: Mapping[str, AnyAction] = field(default_factory=dict)
    draw_notes: Callable[[Lab, Facts, str], Markup] = _draw_no_notes
    may_read_notes: Callable[[Facts], bool] = lambda _facts: False


NO_SHARED_PARTS: Final = SharedParts()
