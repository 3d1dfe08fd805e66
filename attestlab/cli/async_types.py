"""The types of the async twin, for editors and type checkers: `attestlab/client/asynchronous/typed_lab.pyi`.

The twin finds its verbs by name, so their types are written from those of the lab that waits. `make reference` runs
`python -m attestlab.cli.async_types FILE`, which writes the stub; a test compares the two.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import get_args

from attestlab.cli.python_reference import NOUNS
from attestlab.client.analysis.listing import Listing
from attestlab.client.analysis.row_forms import RowForms
from attestlab.client.analysis.rows import Rows
from attestlab.client.asynchronous.twins import NOT_AWAITED
from attestlab.client.collections.base import Collection
from attestlab.client.handles.base import Handle
from attestlab.client.lab import Lab

Function = Callable[..., object]

_HEAD = '''\
"""The types of the async twin; `make reference` writes this file from the verbs of `attestlab.client`.

A twin of a handle has the handle's fields and is accepted wherever the handle is, so it is typed as a subclass whose
verbs are awaited instead. An index that is no slice finds one object, by its id, name or position.
"""

# mypy: disable-error-code="override, overload-overlap"
'''
_OWN_IMPORTS = {
    **{name: ("collections.abc", name) for name in ("AsyncIterator", "Awaitable")},
    **{name: ("typing", name) for name in ("Generic", "Self", "SupportsIndex", "TypeVar", "overload")},
    "TracebackType": ("types", "TracebackType"),
    "builtins": ("builtins", ""),
}
_ALIASES = {"pandas": "pd", "polars": "pl", "pyarrow": "pa"}
_LAB = """\
class AsyncLab:
    \"\"\"A lab whose verbs are awaited; `attestlab.connect_async` opens it.\"\"\"
{nouns}
{verbs}
    async def close(self) -> None:
        \"\"\"Close the connections; may be called again.\"\"\"
    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
"""
_ROWS = """\
class AsyncRows:
    \"\"\"Rows that are read when a verb is awaited, or by `async for`.\"\"\"
    @property
    def columns(self) -> Awaitable[list[str]]:
        \"\"\"The names of the columns.\"\"\"
    async def count(self) -> int:
        \"\"\"Count the rows.\"\"\"
    def __aiter__(self) -> AsyncIterator[dict[str, object]]: ...
    def __getitem__(self, which: slice) -> AsyncRows: ...
"""
_FOUND = 'Found = TypeVar("Found")\n'
_LISTING = """\
class AsyncListing(Generic[Found]):
    \"\"\"The objects of a list: `async for` reads it once, what is awaited reads it from its begin.\"\"\"
    async def count(self) -> int:
        \"\"\"Count the objects by reading all.\"\"\"
    def __aiter__(self) -> AsyncIterator[Found]: ...
    def __anext__(self) -> Awaitable[Found]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[list[Found]]: ...
    @overload
    def __getitem__(self, which: SupportsIndex) -> Awaitable[Found]: ...
"""
_READING = """\
    @property
    def rows(self) -> AsyncRows:
        \"\"\"All rows of the data set.\"\"\"
    @property
    def columns(self) -> Awaitable[list[str]]:
        \"\"\"The names of the columns.\"\"\"
"""
_FILTERS = """\
    @property
    def filters(self) -> dict[str, str]:
        \"\"\"The filters of `list`: each name, and what it takes.\"\"\"
"""
_LIST = """\
    async def count(self) -> int:
        \"\"\"Count the objects.\"\"\"
    def __aiter__(self) -> AsyncIterator[{item}]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[list[{item}]]: ...
"""
_BY_ID = """\
    @overload
    def __getitem__(self, which: {key}) -> Awaitable[{item}]: ...
"""


def render_stub() -> str:
    """Render the stub; `ruff format` gives it its final lines."""
    parts = [
        *(_render_handle(kind) for kind in _list_handles() if list_verbs(kind)),
        _ROWS + _render_verbs(Rows),
        _LISTING + _render_verbs(Listing),
        *(_render_noun(kind) for kind in NOUNS.values()),
        _render_lab(),
    ]
    body = "\n".join(parts)
    return f"{_HEAD}\n{_render_imports(_FOUND + body)}\n{_FOUND}\n{body}"


def list_verbs(kind: type) -> dict[str, Function]:
    """List the public verbs that classes of the facade define for a class; those of every handle are not awaited."""
    found: dict[str, Function] = {}
    for each in reversed(kind.__mro__):
        if each is not Handle and each.__module__.startswith("attestlab.client."):
            found |= {name: verb for name, verb in vars(each).items() if _is_verb(name, verb)}
    return found


def _is_verb(name: str, member: object) -> bool:
    """Whether a member is a public function that this package wrote, rather than Pydantic."""
    return inspect.isfunction(member) and name[0] != "_" and member.__module__.startswith("attestlab.client.")


def _list_handles() -> list[type[Handle]]:
    kinds: dict[str, type[Handle]] = {}
    waiting: list[type[Handle]] = [Handle]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            waiting.append(kind)
            kinds[kind.__name__] = kind
    return [kind for name, kind in sorted(kinds.items()) if not name.startswith("_")]


def _twin_name(name: str) -> str:
    return f"Async{name.removesuffix('Handle')}"


def _name_twins(annotation: str) -> str:
    """Replace what a verb of the lab that waits returns by its twins; a handle without verbs is its own."""
    twins = {kind.__name__: _twin_name(kind.__name__) for kind in _list_handles() if list_verbs(kind)}
    twins |= {"Lab": "AsyncLab", "Rows": "AsyncRows", "Listing": "AsyncListing"}
    return re.sub(r"\b\w+\b", lambda found: twins.get(found[0], found[0]), annotation)


def _render_handle(kind: type[Handle]) -> str:
    head = f"class {_twin_name(kind.__name__)}({kind.__name__}):\n    {_quote(kind)}\n"
    return head + _render_verbs(kind)


def _render_noun(kind: type) -> str:
    name = f"Async{kind.__name__.removesuffix('Collection')}Noun"
    reading = _READING if issubclass(kind, RowForms) else ""
    verbs = re.sub(r"\bItem\b", _find_item(kind), _render_verbs(kind))
    members = re.sub(r"(?<!\.)\blist\[", "builtins.list[", f"{reading}{_render_list(kind)}{verbs}")  # a verb is `list`
    members += "".join(_render_data_sets(kind)) + (_FILTERS if issubclass(kind, Collection) else "")
    return f"class {name}:\n    {_quote(kind)}\n{members}"


def _render_data_sets(kind: type) -> Iterator[str]:
    """Render the further data sets of a noun, such as `lab.witness.votes`."""
    for name, member in vars(kind).items():
        if isinstance(member, property) and inspect.signature(member.fget or len).return_annotation == "Rows":
            yield f"    @property\n    def {name}(self) -> AsyncRows:\n        {_quote(member)}\n"


def _render_list(kind: type) -> str:
    """Render how a noun is iterated and indexed, from the annotations of its `__getitem__`."""
    item = _find_item(kind)
    found = {
        ast.unparse(each.args.args[1].annotation): _name_twins(ast.unparse(each.returns))
        for each in _list_overloads(kind)
        if each.args.args[1].annotation and each.returns
    }
    by_id = {key: returned for key, returned in found.items() if key != "slice"} or {"object": item}
    return _LIST.format(item=item) + "".join(_BY_ID.format(key=key, item=each) for key, each in by_id.items())


def _find_item(kind: type) -> str:
    for base in getattr(kind, "__orig_bases__", ()):
        for argument in get_args(base):
            return _name_twins(argument.__name__)
    returned: str = vars(kind)["__iter__"].__annotations__["return"]
    return _name_twins(returned.removeprefix("Iterator[").removesuffix("]"))


def _list_overloads(kind: type) -> Iterator[ast.FunctionDef]:
    """Yield the overloads of `__getitem__` in the source of a class."""
    tree = ast.parse(inspect.getsource(sys.modules[kind.__module__]))
    own = next(each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == kind.__name__)
    for each in own.body:
        if isinstance(each, ast.FunctionDef) and each.name == "__getitem__" and each.decorator_list:
            yield each


def _render_lab() -> str:
    nouns = [f"    {noun}: Async{kind.__name__.removesuffix('Collection')}Noun" for noun, kind in NOUNS.items()]
    verbs = _render_verbs(Lab, without=frozenset({"close"}))
    return _LAB.format(nouns="\n".join([*nouns, "    verifications: AsyncRows"]), verbs=verbs.rstrip())


def _render_verbs(kind: type, *, without: frozenset[str] = frozenset()) -> str:
    return "".join(
        _render_verb(verb)
        for name, verb in sorted(list_verbs(kind).items())
        if name not in without | NOT_AWAITED | {"of_dataset"}
    )


def _render_verb(verb: Function) -> str:
    """Render one verb: a lazy one returns a twin at once, others are awaited."""
    signature = inspect.signature(verb)
    returned = _name_twins(str(signature.return_annotation))
    keyword = "def" if returned == "AsyncRows" or returned.startswith("AsyncListing[") else "async def"
    parameters = ", ".join(_render_parameters(signature.parameters.values()))
    line = f"    {keyword} {verb.__name__}({parameters}) -> {returned}:\n"
    return f"{line}        {_quote(verb)}\n"


def _render_parameters(parameters: Iterable[inspect.Parameter]) -> Iterator[str]:
    is_keyword_only = False
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not is_keyword_only:
            is_keyword_only = True
            yield "*"
        star = "*" if each.kind is each.VAR_POSITIONAL else "**" if each.kind is each.VAR_KEYWORD else ""
        is_keyword_only = is_keyword_only or each.kind is each.VAR_POSITIONAL
        annotation = "" if each.annotation is each.empty else f": {each.annotation}"
        default = "" if each.default is each.empty else f" = {_show_default(each.default)}"
        yield f"{star}{each.name}{annotation}{default}"


def _show_default(value: object) -> str:
    return repr(value) if value is None or type(value) in (bool, int, float, str, tuple) else "..."


def _quote(member: object) -> str:
    return f'"""{(inspect.getdoc(member) or "").partition(chr(10))[0]}"""'


def _render_imports(body: str) -> str:
    """Import each name of the body from the module whose verbs use it; standard library, packages, this package."""
    used = {each.id for each in ast.walk(ast.parse(body)) if isinstance(each, ast.Name)}
    kinds = (Lab, Rows, Listing, RowForms, Collection, *NOUNS.values(), *_list_handles())
    known = dict(_OWN_IMPORTS)
    for name in sorted({each.__module__ for kind in kinds for each in kind.__mro__}):
        known |= _list_imports(sys.modules[name]) if name.startswith("attestlab.") else {}
    wanted = {name: (*known[name], name) for name in used if name in known}
    sections: dict[int, list[str]] = {}
    for module in sorted({module for module, _, _ in wanted.values()}):
        names = sorted(alias for home, alias, _ in wanted.values() if home == module and alias)
        line = f"from {module} import {', '.join(names)}" if names else _import_whole(module)
        sections.setdefault(_rank_section(module), []).append(line)
    return "\n\n".join("\n".join(sorted(lines, key=_is_from)) for _, lines in sorted(sections.items())) + "\n"


def _import_whole(module: str) -> str:
    alias = _ALIASES.get(module)
    return f"import {module} as {alias}" if alias else f"import {module}"


def _is_from(line: str) -> bool:
    return line.startswith("from ")


def _rank_section(module: str) -> int:
    root = module.partition(".")[0]
    return 0 if root in sys.stdlib_module_names else 2 if root == "attestlab" else 1


def _list_imports(module: ModuleType) -> dict[str, tuple[str, str]]:
    """Map each name that a module imports or defines to its home: a module and a name there, empty for the module."""
    tree = ast.parse(inspect.getsource(module))
    found: dict[str, tuple[str, str]] = {}
    for each in ast.walk(tree):
        if isinstance(each, ast.Import):
            found |= {alias.asname or alias.name: (alias.name, "") for alias in each.names}
        elif isinstance(each, ast.ImportFrom) and each.module != "__future__":  # of which a noun has the name
            found |= {alias.name: (str(each.module), alias.name) for alias in each.names}
    targets = [each.targets[0] for each in tree.body if isinstance(each, ast.Assign)]
    defined = [each.name for each in tree.body if isinstance(each, ast.ClassDef)]
    defined += [each.id for each in targets if isinstance(each, ast.Name)]
    return found | {name: (module.__name__, name) for name in defined}


def main() -> None:
    """Write the stub that the first argument names."""
    Path(sys.argv[1]).write_text(render_stub(), encoding="utf-8")


if __name__ == "__main__":
    main()
