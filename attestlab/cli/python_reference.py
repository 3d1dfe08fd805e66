"""The Python reference: every public name with its signature and docstring, for `docs/python-reference.md`.

`python -m attestlab.cli.python_reference docs/python-reference.md` writes the page.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path

import attestlab
from attestlab.client.analysis.listing import Listing
from attestlab.client.analysis.records import Records
from attestlab.client.analysis.rows import Rows
from attestlab.client.collections.agent_sessions import AgentSessionCollection
from attestlab.client.collections.agents import AgentCollection
from attestlab.client.collections.api_keys import ApiKeyCollection
from attestlab.client.collections.attestations import AttestationCollection
from attestlab.client.collections.audit import AuditCollection
from attestlab.client.collections.base import DatasetCollection
from attestlab.client.collections.billing import BillingCollection
from attestlab.client.collections.compliance import ComplianceCollection
from attestlab.client.collections.decisions import DecisionCollection
from attestlab.client.collections.delegations import DelegationCollection
from attestlab.client.collections.enforcement import CaseCollection, ChallengeCollection, ListCollection
from attestlab.client.collections.inbox import InboxCollection
from attestlab.client.collections.issuers import IssuerCollection
from attestlab.client.collections.log import LogCollection
from attestlab.client.collections.people import PeopleCollection
from attestlab.client.collections.policies import PolicyCollection
from attestlab.client.collections.protections import ProtectionCollection
from attestlab.client.collections.receipt_types import ReceiptTypeCollection
from attestlab.client.collections.receipts import ReceiptCollection
from attestlab.client.collections.risk import SignalCollection
from attestlab.client.collections.runs import RunCollection
from attestlab.client.collections.sessions import SessionCollection
from attestlab.client.collections.views import AnnotationCollection, ViewCollection
from attestlab.client.collections.votes import VoteRequestCollection
from attestlab.client.collections.webhooks import WebhookCollection
from attestlab.client.handles.base import Handle
from attestlab.client.handles.replays import ContextReplay
from attestlab.client.lab import Lab
from attestlab.client.own_examples import is_copied

NOUNS: dict[str, type] = {
    "attestations": AttestationCollection,
    "issuers": IssuerCollection,
    "log": LogCollection,
    "policies": PolicyCollection,
    "decisions": DecisionCollection,
    "signals": SignalCollection,
    "cases": CaseCollection,
    "challenges": ChallengeCollection,
    "lists": ListCollection,
    "people": PeopleCollection,
    "api_keys": ApiKeyCollection,
    "sessions": SessionCollection,
    "webhooks": WebhookCollection,
    "receipt_types": ReceiptTypeCollection,
    "receipts": ReceiptCollection,
    "inbox": InboxCollection,
    "protections": ProtectionCollection,
    "agents": AgentCollection,
    "agent_sessions": AgentSessionCollection,
    "delegations": DelegationCollection,
    "compliance": ComplianceCollection,
    "witness": VoteRequestCollection,
    "runs": RunCollection,
    "views": ViewCollection,
    "annotations": AnnotationCollection,
    "audit": AuditCollection,
    "billing": BillingCollection,
}
_HEAD = """\
# Python reference

Every public name, from its docstring; `make reference` writes this page. [python.md](python.md)
explains them in order. In the examples `lab` is `attestlab.demo()`, and they find its data as it is
when it opens; `make check` runs them.
"""
VALUES: tuple[type, ...] = (Rows, Listing, Records, ContextReplay)  # what verbs return beside objects
_NOT_CALLED: tuple[object, ...] = (attestlab.Settings, attestlab.Installation, Lab, *VALUES)  # other names make them
_INTERNAL = frozenset({"of_dataset"})  # of public classes, for this package alone
_SECTION = re.compile(r"^(Args|Raises|Returns|Yields):$", re.MULTILINE)
_WIDTH = 100
# doctest finds examples in the module of a function alone, so not those of copied verbs.
__test__ = {
    f"{noun}.{name}": inspect.getdoc(verb) or ""
    for noun, kind in NOUNS.items()
    for name, verb in inspect.getmembers(kind, is_copied)
}


def render_page() -> str:
    """Render the page in Markdown."""
    sections = (_render_package, _render_lab, _render_nouns, _render_plots, _render_values, _render_objects)
    return "\n".join([_HEAD, *(line for render in sections for line in render())])


def list_public_verbs() -> dict[str, object]:
    """Map the name of each public function of the package, a lab, its nouns and objects to the function."""
    handles = {kind.__name__: kind for kind in _list_subclasses(Handle) if not kind.__name__.startswith("_")}
    values = {kind.__name__: kind for kind in VALUES}
    kinds = {"lab": Lab, **{f"lab.{noun}": kind for noun, kind in NOUNS.items()}, **handles, **values}
    package = {f"attestlab.{name}": getattr(attestlab, name) for name in attestlab.__all__}
    verbs = {f"{owner}.{name}": verb for owner, kind in kinds.items() for name, verb in _list_verbs(kind)}
    return {name: each for name, each in {**package, **_list_charts(), **verbs}.items() if inspect.isfunction(each)}


def _list_charts() -> dict[str, object]:
    """Map the name of each function of `attestlab.plots` to it."""
    from attestlab import plots  # the only part of the reference that needs the extra `notebook`

    found = {f"attestlab.plots.{name}": getattr(plots, name) for name in plots.__all__}
    return {name: member for name, member in found.items() if inspect.isfunction(member)}


def _render_package() -> Iterator[str]:
    yield "## attestlab\n"
    for name in attestlab.__all__:
        member = getattr(attestlab, name)
        yield from _render_member(f"attestlab.{name}", member, methods=member is not Lab)


def _render_lab() -> Iterator[str]:
    yield "## lab\n"
    for name, verb in _list_verbs(Lab):
        yield from _render_member(f"lab.{name}", verb)


def _render_nouns() -> Iterator[str]:
    yield "## Every noun\n"
    yield _wrap("`lab.attestations` and the other nouns are lists and data sets; all have these names.\n")
    shared = dict(_list_verbs(DatasetCollection))
    for name, verb in shared.items():
        yield from _render_member(f"lab.<noun>.{name}", verb)
    for noun, kind in NOUNS.items():
        yield f"## lab.{noun}\n"
        yield _render_text(kind)
        for name, verb in _list_verbs(kind):
            if shared.get(name) is not verb and not is_copied(verb):
                yield from _render_member(f"lab.{noun}.{name}", verb)


def _render_plots() -> Iterator[str]:
    from attestlab import plots

    yield "## attestlab.plots\n"
    yield _render_text(plots)
    for name, function in _list_charts().items():
        yield from _render_member(name, function)


def _render_values() -> Iterator[str]:
    yield "## Rows and lists\n"
    yield _wrap("What verbs return that is a table, or several objects.\n")
    for kind in VALUES:
        yield from _render_member(kind.__name__, kind)


def _render_objects() -> Iterator[str]:
    yield "## Objects\n"
    yield _wrap("What verbs return; the fields are those of the HTTP answer.\n")
    public = (each for each in _list_subclasses(Handle) if not each.__name__.startswith("_"))
    for kind in sorted(public, key=lambda each: each.__name__):
        yield f"### {kind.__name__}\n"
        yield _render_text(kind)
        yield _wrap(f"Fields: {', '.join(f'`{name}`' for name in kind.model_fields)}.\n")
        shared = dict(_list_verbs(Handle))
        yield from _render_list(
            f"`{name}{_format_signature(verb)}`: {_summarise(verb)}"
            for name, verb in _list_verbs(kind)
            if shared.get(name) is not verb
        )


def _render_member(title: str, member: object, *, methods: bool = True) -> Iterator[str]:
    """Yield a heading, the signature, the docstring and, for a class, one line for each public method."""
    yield f"### {title}\n"
    if signature := _format_signature(member):
        yield _wrap(f"`{title.rpartition('.')[2]}{signature}`\n")
    yield _render_text(member)
    if isinstance(member, type) and issubclass(member, Enum):
        yield _wrap(f"Values: {', '.join(f'`{each.value}`' for each in member)}.\n")
    elif isinstance(member, type) and methods:
        found = ((name, verb) for name, verb in _list_verbs(member) if _summarise(verb) and name not in _INTERNAL)
        yield from _render_list(f"`{name}{_format_signature(verb)}`: {_summarise(verb)}" for name, verb in found)


def _list_verbs(kind: type) -> list[tuple[str, object]]:
    """List the public methods and properties that classes of this project define for a class."""
    ours = [each for each in kind.__mro__ if each.__module__.startswith("attestlab.")]
    names = {name for each in ours for name in vars(each) if not name.startswith(("_", "model_"))}  # Pydantic's own
    found = ((name, inspect.getattr_static(kind, name)) for name in names)
    return sorted((name, member) for name, member in found if _is_verb(member))


def _is_verb(member: object) -> bool:
    return inspect.isfunction(member) or isinstance(member, property | classmethod | staticmethod)


def _list_subclasses(kind: type[Handle]) -> set[type[Handle]]:
    return {each for found in kind.__subclasses__() for each in (found, *_list_subclasses(found))}


def _format_signature(member: object) -> str:
    """Return the parameters with their types, without `self`; empty for what people do not call."""
    called = member.__func__ if isinstance(member, classmethod | staticmethod) else member
    if not callable(called) or called in _NOT_CALLED or (isinstance(called, type) and issubclass(called, Enum)):
        return ""
    signature = inspect.signature(called)
    parameters = [_shorten(each) for name, each in signature.parameters.items() if name not in ("self", "cls")]
    return str(signature.replace(parameters=parameters, return_annotation=_Source(signature.return_annotation)))


class _Source(str):
    """Text that a signature shows as it is, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _shorten(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter with its type as in the source, and with an enumeration or function as its default by name."""
    if isinstance(parameter.annotation, str):
        parameter = parameter.replace(annotation=_Source(parameter.annotation))
    if isinstance(parameter.default, Enum):
        return parameter.replace(default=parameter.default.value)
    if callable(parameter.default) and parameter.default is not parameter.empty:
        parameter = parameter.replace(default=_Source(parameter.default.__name__))
    return parameter


def _render_text(member: object) -> str:
    """Return a docstring in Markdown: paragraphs, then a list for each of its sections, then its example."""
    text, prompt, example = (inspect.getdoc(member) or "").partition(">>>")
    head, *sections = _SECTION.split(text)
    parts = [_wrap(paragraph) for paragraph in head.strip().split("\n\n")]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        items = "\n".join(_render_list(_split_items(body))).rstrip()
        parts.append(_wrap(f"{title}: {body.strip()}") if title in ("Returns", "Yields") else f"{title}:\n\n{items}")
    if prompt:
        parts.append(f"```pycon\n{prompt}{example.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def _split_items(body: str) -> Iterator[str]:
    """Yield the items of a section: lines that begin at its indentation, each with its continuation."""
    for item in re.split(r"\n(?=\S)", textwrap.dedent(body.strip("\n"))):
        name, colon, meaning = item.strip().partition(":")
        yield f"`{name}`:{meaning}" if colon and " " not in name else item


def _render_list(items: Iterable[str]) -> Iterator[str]:
    lines = [_wrap(item, first="- ", others="  ") for item in items]
    if lines:
        yield "\n".join(lines) + "\n"


def _summarise(member: object) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(member) or "").partition("\n")[0]


def _wrap(paragraph: str, *, first: str = "", others: str = "") -> str:
    ended = "\n" if paragraph.endswith("\n") else ""
    fill = textwrap.TextWrapper(_WIDTH, first, others, break_long_words=False, break_on_hyphens=False).fill
    return fill(" ".join(paragraph.split())) + ended


def main() -> None:
    """Write the page that the first argument names."""
    Path(sys.argv[1]).write_text(render_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
