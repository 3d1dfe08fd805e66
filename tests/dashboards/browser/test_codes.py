"""No page shows a code where a word is meant: the visible words of each page as it opens, in the demo."""

from __future__ import annotations

import re
from typing import Final

import pytest

from attestlab_dashboards.page_list import PAGES
from support.browser import needs_chromium
from support.dashboards.windows import Windows

pytestmark = needs_chromium

CODE: Final = re.compile(
    r"(?<![\w@./:-])(?:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[a-z]+(?:_[a-z0-9]+)+|[a-z][a-z_]+(?:\.[a-z_]+)+)(?![\w@/:-])"
)
DOMAIN: Final = re.compile(r"\.(?:example|invalid)\b")
CODE_CELLS: Final = "code, pre, textarea, .po-code, .mono, .al-id, svg, script, style, [data-code]"
POLICY_WORDS: Final = re.compile(
    r"(?:key|document|issuer|claims|signal)\.[a-z_]+|trust_tier|risk_rating|assurance_level|SELF_SIGNED|key\.age_days"
)  # attributes and their values, which the text of a policy names
READ: Final = """([main, cells]) => {
  const words = [];
  const read = node => {
    for (const one of node.childNodes) {
      if (one.nodeType === Node.TEXT_NODE) words.push(one.data);
      else if (one.nodeType === Node.ELEMENT_NODE && !one.matches(cells) && one.checkVisibility()) read(one);
    }
  };
  read(main);
  return words.join("\\n");
}"""


@pytest.mark.parametrize("path", [page.path for page in PAGES])
def test_a_page_shows_words_instead_of_codes(windows: Windows, path: str) -> None:
    with windows.visit(f"/dash/{path}", reduced_motion="reduce") as page:
        words = page.locator("#al-main").evaluate(
            "(main, cells) => (" + READ + ")([main.shadowRoot ?? main, cells])", CODE_CELLS
        )

    assert len(words) > 500
    assert list_codes(words, path) == []


@pytest.mark.parametrize("code", ["SUSPEND_ISSUER", "verification.failed", "key_compromised", "risk.signal.escalated"])
def test_a_code_is_found(code: str) -> None:
    assert list_codes(f"it was {code}, so", "issuers") == [code]


@pytest.mark.parametrize(
    "words", ["farm.example.org", "ann@demo.example", "e.g. DENY", "an issuer. The key", "docs:read"]
)
def test_what_is_no_code_is_not_found(words: str) -> None:
    assert list_codes(words, "issuers") == []


def list_codes(words: str, path: str) -> list[str]:
    """The codes among the words of a page, each once."""
    found = sorted({each for each in CODE.findall(words) if not DOMAIN.search(each)})
    return [each for each in found if not (path == "policy" and POLICY_WORDS.fullmatch(each))]
