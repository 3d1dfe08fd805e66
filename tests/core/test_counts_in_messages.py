"""A count agrees with its noun in what people read outside of the dashboards: cards, reprs, commands, mails, reasons.

The sources are read: a formatted number right before a plural noun is written by `plural`, or can never be one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import attestlab

SOURCE = Path(attestlab.__file__).parent
READ_BY_PEOPLE = (
    *("client/card_contents.py", "client/risk_cards.py", "client/consumer_cards.py", "client/agent_cards.py"),
    *("client/lab.py", "client/handles", "client/collections", "cli", "mail", "portal", "lake", "identity"),
    *("consumer/accounts", "risk/logins", "risk/enforcement", "risk/rendering.py", "agents/compliance", "agents/trust"),
)
NOUNS = re.compile(
    r" (?:entries|entities|problems|hops|steps|times|decisions|logins|signals|rows|items|kinds|facts|keys|links|rings|"
    r"minutes|days|hours|attestations|cases|scopes|networks|accounts|events|requests|controls|outcomes|agents|"
    r"deliveries|recipients|users|comments|annotations|views|sessions|policies|issuers|invoices|attempts)\b"
)
NEVER_ONE = {
    "client/agent_cards.py: verdict.depth": "1 hop has words for itself",
    "client/collections/enforcement.py: len(done)": "whole requests of 100",
    "client/collections/log.py: last": "the size of a head that is not the first",
    "client/handles/attestations.py: len(results)": "`1 of 1 items were minted` counts among all",
    "client/handles/inbox_deliveries.py: count": "counts among all",
    "client/handles/inbox_deliveries.py: len(recipients)": "none, or more than the limit",
    "client/handles/issuers.py: len(found)": "several have one name",
    "client/handles/policies.py: len(found)": "several have one name",
    "client/risk_cards.py: _count_rows(bulk)": "counts among all",
    "client/risk_cards.py: len(ring.users)": "a ring has three users",
    "cli/verify.py: report.as_of": "a status list covers more than its own entry",
    "cli/verify_delegation.py: report.depth": "1 hop has words for itself",
    "portal/consumer_signup_routes.py: verified.claimed": "one has words for itself",
    "portal/error_pages.py: math.ceil(seconds / 60)": "two minutes at least",
    "risk/enforcement/comments.py: last": "the limit",
    "risk/enforcement/routes.py: len(results)": "whole units of 100",
    "risk/enforcement/triage.py: self.count": "one has words for itself",
    "risk/rendering.py: row.signal_count": "one has words for itself",
    "risk/logins/attacks.py: strangers": "one is no evidence",
    "risk/logins/attacks.py: len(users)": "a farm has several",
    "risk/logins/strangeness.py: _ratio(strangeness.total)": "a factor above two",
    "agents/compliance/rules.py: longest / timedelta(hours=1)": "has a decimal place",
}


def test_a_number_before_a_plural_is_written_by_its_count() -> None:
    found = {name for path in list_modules() for name in list_bare_counts(path)}

    assert found - set(NEVER_ONE) == set()
    assert set(NEVER_ONE) - found == set()  # what is gone needs no reason


def list_modules() -> Iterator[Path]:
    for name in READ_BY_PEOPLE:
        path = SOURCE / name
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def list_bare_counts(path: Path) -> Iterator[str]:
    """The numbers of f-strings that stand before a plural, by module and expression; bounds are capitals."""
    for node in ast.walk(ast.parse(path.read_text())):
        for value, text in zip(node.values, node.values[1:], strict=False) if isinstance(node, ast.JoinedStr) else ():
            if (
                isinstance(value, ast.FormattedValue)
                and isinstance(text, ast.Constant)
                and NOUNS.match(str(text.value))
            ):
                expression = ast.unparse(value.value)
                if not re.search(r"[A-Z]{3}|limit", expression):
                    yield f"{path.relative_to(SOURCE)}: {expression}"


def test_a_bare_count_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "module.py"
    module.write_text("x = f'{len(found):,} signals of {plural(n, \"case\")}, at most {MAX_ROWS} rows'")

    monkeypatch.setitem(globals(), "SOURCE", tmp_path)
    assert list(list_bare_counts(module)) == ["module.py: len(found)"]
