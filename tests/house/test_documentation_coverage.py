"""Every route, event, setting and command has its line in the docs (the house style, rule 12)."""

import importlib
import inspect
import re
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import typer

from attestlab.cli import commands, python_reference
from attestlab.cli.access_table import replace_table
from attestlab.client.lab import Lab
from attestlab.core import errors
from attestlab.core.events import Event
from attestlab.orgs.plans import ADJUSTABLE, PLANS
from attestlab.orgs.rules import Scope
from attestlab.server.app import all_routes
from attestlab.settings import Settings
from attestlab.web.paging import OffsetPageQuery, PageQuery

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
REFERENCE = re.compile(r"`([\w.]+)` explains the (?:arguments|result) and errors\.")
TABLE = re.compile(r"(pd|pl|pa|duckdb)\.")  # what packages of extras make
RESULT = re.compile(r"^Returns:\n((?:    .*\n?)+)", re.MULTILINE)
MIN_WORDS = 3  # of a result: the name of its type says too little
WITHOUT_ERRORS = {"count_flips", "sha256", "steps"}  # they compute from what they are given
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def _modules(name: str) -> list[object]:
    return [
        importlib.import_module(f"attestlab.{path.parent.name}.{name}")
        for path in sorted((ROOT / "attestlab").glob(f"*/{name}.py"))
    ]


def test_every_event_is_documented():
    """A subscriber reads docs/events.md and nothing else; a type that is not there does not exist for him."""
    _modules("events")
    declared = {name for name, event in Event.catalogue.items() if event.__module__.startswith("attestlab.")}
    rows = set(re.findall(r"^\| `([a-z_.]+)`", (DOCS / "events.md").read_text(), re.MULTILINE))

    assert declared - rows == set(), "add a row to docs/events.md"
    assert rows - declared == set(), "docs/events.md has a type that no events.py declares"


def test_every_setting_is_documented():
    """What can be set is found in one table, by its option or its variable."""
    table = (DOCS / "operations.md").read_text()

    missing = [name for name in Settings.model_fields if f"`ATTESTLAB_{name.upper()}`" not in table]
    assert missing == [], "add a row to docs/operations.md"


def test_every_route_is_documented():
    """docs/http.md names every method and path that the server answers."""
    page = (DOCS / "http.md").read_text()

    answered = [f"{route.method} {route.path}" for route in all_routes()]

    assert len(answered) > 20
    assert [route for route in answered if f"`{route}`" not in page] == [], "add a line to docs/http.md"


def test_every_filter_of_a_list_is_documented():
    """The row of a list in docs/http.md names its filters as clients send them."""
    rows = dict(re.findall(r"^\| `(GET [^`]+)` (.*)", (DOCS / "http.md").read_text(), re.MULTILINE))
    queries = {f"{route.method} {route.path}": route.query for route in all_routes()}
    lists = {path: query for path, query in queries.items() if query and issubclass(query, PageQuery)}

    filters = [
        (path, field.alias or name)
        for path, query in lists.items()
        for name, field in query.model_fields.items()
        if name not in OffsetPageQuery.model_fields
    ]
    assert len(filters) > 30
    missing = [f"{path} {name}" for path, name in filters if f"`{name}`" not in rows[path]]
    assert missing == [], f"name the filter in its row of docs/http.md: {missing}"


def test_access_table_matches_the_routes():
    """docs/access.md shows what the routes declare; `make access` writes it again."""
    page = (DOCS / "access.md").read_text()

    assert replace_table(page, all_routes()) == page, "docs/access.md is older than the routes: make access"


def test_every_scope_is_documented():
    """The section Scopes of docs/access.md has each scope in a row; the table below it is of routes."""
    section = (DOCS / "access.md").read_text().partition("## Scopes\n")[2].partition("\n## ")[0]
    rows = "\n".join(line for line in section.splitlines() if line.startswith("|"))

    named = set(re.findall(r"`([a-z]+:[a-z]+)`", rows))
    assert {scope.value for scope in Scope} - named == set(), "name the scope in docs/access.md, section Scopes"
    assert named - {scope.value for scope in Scope} == set(), "docs/access.md names a scope that orgs/rules.py lacks"


def test_python_reference_matches_the_docstrings():
    """docs/python-reference.md shows every public name; `make reference` writes it again."""
    is_current = (DOCS / "python-reference.md").read_text() == python_reference.render_page()
    assert is_current, "docs/python-reference.md is older than the docstrings: make reference"


def test_python_reference_has_every_noun_of_a_lab():
    """A lab makes its nouns when it opens; the reference lists their classes."""
    made = re.findall(r"self\.(\w+) = (\w+Collection)\(", inspect.getsource(Lab.__init__))

    assert {noun: kind.__name__ for noun, kind in python_reference.NOUNS.items()} == dict(made)


def test_every_public_verb_shows_an_example():
    """`help(lab.mint)` ends with an example, which `make check` runs; building a world would take it too long."""
    verbs = python_reference.list_public_verbs()

    assert len(verbs) > 100
    without = [name for name, verb in verbs.items() if ">>> " not in (inspect.getdoc(verb) or "")]
    assert without == ["attestlab.demo_world"]


def test_every_public_verb_explains_its_arguments_and_errors():
    """`help(lab.signals.add)` says what each argument is and which of our errors it raises, or which verb says so."""
    verbs = python_reference.list_public_verbs()
    faults = {name: found for name, verb in verbs.items() if (found := list_gaps(verb, verbs))}

    assert faults == {}


def test_every_public_verb_says_in_words_what_it_returns():
    """By a section `Returns:`, by "returns" in its first lines, or by naming the verb that explains the result."""
    verbs = python_reference.list_public_verbs()

    assert [name for name, verb in verbs.items() if not says_what_returns(verb)] == []


def says_what_returns(verb: Any) -> bool:
    text = (inspect.getdoc(verb) or "").partition(">>> ")[0]
    if inspect.signature(verb).return_annotation in ("None", None) or REFERENCE.search(text):
        return True
    if found := RESULT.search(text):
        return len(found[1].split()) >= MIN_WORDS
    return re.search(r"\breturns?\b", re.split(r"^\w+:$", text, flags=re.MULTILINE)[0], re.IGNORECASE) is not None


@pytest.mark.parametrize("noun", python_reference.NOUNS)
def test_the_examples_of_a_noun_are_its_own(noun: str):
    """`help(lab.people.list)` shows an example with `lab.people`, also of a verb that all nouns have."""
    verbs = inspect.getmembers(python_reference.NOUNS[noun], inspect.isfunction)
    examples = {name: inspect.getdoc(verb) or "" for name, verb in verbs if not name.startswith("_")}

    plain = (
        *("annotations", "api_keys", "compliance", "inbox", "lists", "people", "protections", "receipt_types", "runs"),
        *("sessions", "views", "webhooks", "witness"),
    )
    assert len(examples) >= (1 if noun in plain else 7)
    assert [name for name, text in examples.items() if not names_noun(text, noun)] == []


def names_noun(text: str, noun: str) -> bool:
    """Whether an example uses a noun, of any lab, such as that of a person who signed in."""
    lines = [line for line in text.splitlines() if line.startswith((">>> ", "... "))]
    return any(re.search(rf"\b{noun}\.\w", line) for line in lines)


def list_gaps(verb: Any, verbs: Mapping[str, object]) -> list[str]:
    """What the docstring of a verb leaves out or says twice, and defaults that `help` shows as `<Algorithm...>`."""
    text = (inspect.getdoc(verb) or "").partition(">>> ")[0]
    if referred := REFERENCE.search(text):
        return [] if referred[1] in verbs else [referred[1]]
    signature = inspect.signature(verb)
    parameters = [name for name in signature.parameters if name not in ("self", "cls")]
    gaps = [name for name in parameters if not re.search(rf"\b{name.rstrip('_')}\b", text)]
    named = re.findall(r"^    ([A-Z]\w+(?:, [A-Z]\w+)*):", text.partition("Raises:")[2], re.MULTILINE)
    may_fail = bool(parameters) or TABLE.match(str(signature.return_annotation)) is not None
    if may_fail and not named and verb.__name__ not in WITHOUT_ERRORS:
        gaps.append("Raises")
    gaps += [f"{section} twice" for section in ("Args", "Returns", "Raises") if text.count(f"\n{section}:\n") > 1]
    gaps += [f"default of {name}" for name in parameters if isinstance(signature.parameters[name].default, Enum)]
    return gaps + [each for names in named for each in names.split(", ") if not is_error(each)]


def is_error(name: str) -> bool:
    """Whether a name is that of an error of ours."""
    return issubclass(getattr(errors, name, object), errors.AttestLabError)


def test_every_command_is_documented():
    """docs/operations.md names every command of the command line."""
    page = (DOCS / "operations.md").read_text()
    root = typer.main.get_command(commands.app)

    missing = [words for words in _commands(root, "attestlab") if f"`{words}" not in page]
    assert missing == [], "add a row to docs/operations.md"


def test_every_documented_command_exists():
    """A row of docs/operations.md without a command is of one that was removed or renamed."""
    rows = re.findall(r"^\| `(attestlab(?: [a-z][a-z-]*)+)", (DOCS / "operations.md").read_text(), re.MULTILINE)
    existing = set(_commands(typer.main.get_command(commands.app), "attestlab"))

    assert [words for words in rows if words not in existing] == [], "add the command to attestlab/cli/commands.py"


def test_a_command_has_one_row():
    """Two rows of a command contradict each other at the next change."""
    rows = re.findall(r"^\| `(attestlab(?: [a-z][a-z-]*)+)", (DOCS / "operations.md").read_text(), re.MULTILINE)

    assert [name for name in sorted(set(rows)) if rows.count(name) > 1] == ["attestlab verify"]  # a bundle, a badge


def _commands(group: Any, words: str) -> list[str]:
    """The leaves of the tree of commands, as one types them."""
    if not hasattr(group, "commands"):
        return [words]
    return [leaf for name, command in group.commands.items() for leaf in _commands(command, f"{words} {name}")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page: Path):
    """A link inside of the project that leads nowhere is a defect of the page."""
    leading_nowhere = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]

    assert leading_nowhere == []


def test_plan_table_matches_the_plans():
    """docs/limits.md shows what `orgs/plans.py` holds to."""
    lines = (DOCS / "limits.md").read_text().splitlines()
    head = "| | " + " | ".join(PLANS) + " |"
    rows = {
        name: f"| `{name}` | " + " | ".join(_spelling_of(getattr(allowed, name)) for allowed in PLANS.values()) + " |"
        for name in ADJUSTABLE
    }

    assert head in lines
    assert [name for name, row in rows.items() if row not in lines] == [], "correct the table of docs/limits.md"


def _spelling_of(limit: int | None) -> str:
    return "-" if limit is None else str(limit)


def test_a_change_stands_once_in_the_changelog():
    """Two branches that bring the same bullet leave it twice, or one inside the other."""
    unreleased = (ROOT / "CHANGELOG.md").read_text().partition("\n## [0.1.0]")[0]
    begins = re.findall(r"^- (.{1,50})", unreleased, re.MULTILINE)

    assert begins
    assert [text for text in set(begins) if begins.count(text) > 1] == []
    assert re.findall(r"^(?:- +-|[ \t]+-) .*", unreleased, re.MULTILINE) == []
