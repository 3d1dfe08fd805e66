"""A view in Visual Studio Code and Colab: all that it needs comes over the protocol of Jupyter's widgets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from support.kernel_front_end import FrontEnd, Message, open_front_end

# By what the kernels of Visual Studio Code and Colab are known: a variable, and a module.
VSCODE = {"VSCODE_PID": "1"}
COLAB = "import sys, types\n\nsys.modules['google.colab'] = types.ModuleType('google.colab')"
KERNELS = {"vscode": (VSCODE, ""), "colab": ({}, COLAB)}
WIDGET = "application/vnd.jupyter.widget-view+json"
ADDRESS = re.compile(r"\bhttps?://[^\s\"'`\\)<]+")
NAMES = ("http://www.w3.org/",)  # of vocabularies, which nothing asks for


@pytest.fixture(params=KERNELS)
def front_end(caches: None, request: pytest.FixtureRequest) -> Iterator[FrontEnd]:
    environment, before = KERNELS[request.param]
    with open_front_end(**environment) as opened:
        opened.run(f"{before}\nimport attestlab\n\nlab = attestlab.demo(history=False)")
        yield opened


def show(front_end: FrontEnd, code: str) -> tuple[str, Message]:
    """Run a cell that shows a view; returns the id of its model, and the bundle."""
    (bundle,) = front_end.run(code)
    return bundle[WIDGET]["model_id"], bundle


def list_panes(messages: list[Message]) -> dict[str, str]:
    return {pane["key"]: pane["html"] for each in messages if each["do"] == "panes" for pane in each["panes"]}


def list_foreign_addresses(value: object) -> list[str]:
    return [each for each in ADDRESS.findall(json.dumps(value)) if not each.startswith(NAMES)]


def test_a_view_is_shown_clicked_and_closed(front_end: FrontEnd) -> None:
    model, bundle = show(front_end, 'view = lab.explore("risk", days=7)\nview')
    assert "Entities affected" in bundle["text/html"]
    state = front_end.models[model]
    assert state["_esm"].rstrip().endswith("export default { initialize: mount, render };")
    assert not re.search(r"^\s*import\b|\bimport\(|\bfetch\(|@import|\burl\(", state["_esm"], re.MULTILINE)

    front_end.send(model, hello=True, n=1)
    drawn = front_end.wait_for(model, "ready")
    assert "Entities affected" in list_panes(drawn)["kpis"]
    assert list_foreign_addresses([front_end.models, drawn]) == []
    front_end.send(model, ev="window", v="30d", n=2)
    assert (
        'data-v="30d" data-key="window:30d" aria-pressed="true"'
        in list_panes(front_end.wait_for(model, "ready"))["chips"]
    )
    assert front_end.run("view.state.window")[0]["text/plain"] == "'30d'"

    front_end.close(model)
    again, _ = show(front_end, "view.set(days=90)\nview")
    assert again != model
    front_end.send(again, hello=True, n=1)
    assert "kpis" in list_panes(front_end.wait_for(again, "ready"))
    assert front_end.received[model] == []
