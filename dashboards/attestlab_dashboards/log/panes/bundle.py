"""A bundle that was pasted or dropped, checked in this process: the service is not asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from attestlab import Bundle, Lab
from attestlab.core.errors import ValidationFailed
from attestlab_dashboards import icons
from attestlab_dashboards.formats import count
from attestlab_dashboards.log.evidence import Examination, Trust, examine, read_trust
from attestlab_dashboards.log.panes.steps import draw_limits, draw_steps, draw_trust, draw_verdict, write_examination
from attestlab_dashboards.log.state import LogState
from attestlab_dashboards.log.subject import NEWEST_PYTHON
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html
from attestlab_dashboards.widgets import button


@dataclass(frozen=True)
class BundleCheck:
    """The check of a bundle: its examination, or why its text is no bundle. Both are empty without a bundle."""

    trust: Trust
    examination: Examination | None = None
    name: str = ""
    refusal: str = ""


def load_bundle_check(lab: Lab, state: LogState) -> BundleCheck:
    """Examine the bundle of the state offline; the lab gives only the log's key, and not even that if one is pinned."""
    policy, trust = read_trust(lab, state)
    if not state.bundle.strip():
        return BundleCheck(trust)
    try:
        bundle = Bundle.read(state.bundle.encode(errors="replace"))
        examination = examine(bundle.document, policy)
    except ValidationFailed as error:
        return BundleCheck(trust, refusal=error.message)
    name = f"{bundle.statement.title}, entry {count(bundle.log.index)}, key {bundle.statement.kid}"
    return BundleCheck(trust, examination, name)


def tell_bundle_check(data: BundleCheck, _state: LogState) -> str:
    """Name the bundle, for the line under the title."""
    return data.name or "Checked here, without asking the service; the file goes no further than this page's process"


def draw_bundle_check(data: BundleCheck, state: LogState) -> Markup:
    """Draw the place for a bundle, and its check below."""
    return html(
        '<div class="lg-check"><div>{form}</div><div>{result}</div></div>',
        form=_draw_form(state),
        result=_draw_result(data),
    )


def _draw_form(state: LogState) -> Markup:
    return html(
        '<form data-act="check" class="lg-paste"><label class="al-hidden" for="lg-bundle">Bundle as JSON</label>'
        '<textarea id="lg-bundle" class="in mono" name="bundle" rows="4" maxlength="1000000" '
        'placeholder="Paste the JSON of a bundle"></textarea><div class="lg-actions">'
        '<button class="btn sm primary" data-key="check">Check the bundle</button>'
        '<label class="btn sm" data-drop="bundle" data-read="bundle">{document}Choose a bundle'
        '<input type="file" class="al-hidden" data-read="bundle" accept=".json,application/json" '
        'aria-label="Choose the file of a bundle"></label>'
        '<label class="btn sm" data-drop="pin" data-read="pin">{key}Pin a trust policy'
        '<input type="file" class="al-hidden" data-read="pin" aria-label="Choose a file in tlog-policy format"></label>'
        "{clear}{unpin}</div></form>",
        document=icons.draw("document"),
        key=icons.draw("key"),
        clear=button("Clear the bundle", ev="bundle") if state.bundle else NOTHING,
        unpin=button("Unpin the policy", ev="pin") if state.trust else NOTHING,
    )


def _draw_result(data: BundleCheck) -> Markup:
    if data.refusal:
        return html('<p class="lg-alarm">{why}</p>', why=data.refusal)
    if data.examination is None:
        return html('<p class="lg-limits">{trust}</p>', trust=draw_trust(data.trust))
    return html(
        "{verdict}{steps}{limits}",
        verdict=draw_verdict(data.examination),
        steps=draw_steps(data.examination.steps, name="bundle"),
        limits=draw_limits(data.examination, data.trust),
    )


_PARSE_NEWEST: Final = f"attestlab.Bundle.parse(lab.attestations.bundle({NEWEST_PYTHON}).document)"


def copy_bundle_python(state: LogState) -> str:
    """Compose the offline check of the pasted bundle; without one, of the newest attestation's."""
    document = state.bundle.strip()
    bundle = f"attestlab.Bundle.read({document.encode(errors='replace')!r})" if document else _PARSE_NEWEST
    return write_examination(state, bundle)


PANE: Final = Pane(
    key="bundle",
    is_tool=True,
    question="Is the bundle you were given genuine?",
    reading=tell_bundle_check,
    load=load_bundle_check,
    draw=draw_bundle_check,
    reads=("bundle", "trust"),
    copy_python=copy_bundle_python,
)
