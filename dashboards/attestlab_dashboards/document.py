"""The document of a page: `panel_material_ui.Page` with our shell in its template.

`Page` draws nothing before its scripts are loaded, so the shell is HTML of the template, and the scripts come behind
it. The library documents neither the blocks of its template nor the place of its root: the lock pins its version, and
the browser tests cover both.
"""

from __future__ import annotations

from typing import Any, Final

import panel as pn
from markupsafe import Markup
from panel.util.parameters import edit_readonly
from panel_material_ui.template.base import Page as MaterialPage

from attestlab_dashboards.shell import draw_head

_TEMPLATE: Final = """{% extends 'base.html' %}
{% block preamble %}{{ al_head }}{% endblock %}
{% block js_resources %}{% endblock %}
{% block contents %}{{ al_shell }}{{ bokeh_js }}<i id="al-here"></i>{{ super() }}{% endblock %}
{% block loader_script %}{% endblock %}"""
# How the library's own frame is taken out of the way: our bar, navigation and page margins replace it.
_SX: Final = {
    "width": "100%",
    "height": "auto",
    "overflow": "visible",
    "display": "block",
    "background": "transparent",
    "& .MuiAppBar-root": {"display": "none"},
    "& main > div > .MuiToolbar-root": {"display": "none"},
    "& main, & .main-content": {"overflow": "visible", "padding": "0", "background": "transparent"},
}


class ShellPage(MaterialPage):
    """A page whose template has our shell; one class for all pages, because the library keeps what it makes of each."""

    _esm_base = MaterialPage._esm_base

    def __init__(self, shell: Markup, body: pn.viewable.Viewable, *, title: str) -> None:
        self._shell = shell
        super().__init__(
            title=title,
            template=_TEMPLATE,
            theme_toggle=False,
            busy_indicator=None,
            main=[pn.Column(body, sizing_mode="stretch_width")],
            sx=_SX,
        )
        # It follows the state of the whole server, which every callback of any person would send to every open page,
        # and which keeps the page for as long as the process lives. To follow another parameter ends that; to set a
        # value does not.
        with edit_readonly(self):
            self.busy = self.param.theme_toggle

    def _populate_template_variables(self, template_variables: dict[str, Any]) -> None:
        super()._populate_template_variables(template_variables)
        template_variables |= {"al_head": draw_head(), "al_shell": self._shell, "html_attrs": 'data-theme="light"'}
